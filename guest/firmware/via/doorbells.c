#include "firmware/via/doorbells.h"

#include "firmware/via/completion.h"
#include "firmware/via/receive.h"
#include "firmware/via/send.h"
#include "runtime/marker.h"

void answer_doorbell(void) {
    uint64_t source = via_load(REGISTER_VIA_DOORBELL_SOURCE);
    uint64_t token = via_load(REGISTER_VIA_DOORBELL);
    bool is_receive = source & 1;
    uint64_t number = (uint32_t)source >> 1;
    struct vi *vi = &vis[number % VIS];
    if (vi->doorbells != (source & ~1ul) || vi->state == VI_NONE) {
        report(source >> 32 & (PROCESSES - 1), VIP_ERROR_POST_DESC, VIP_RESOURCE_VI, number, token);
    } else if (is_receive) {
        ENTER(ACTIVITY_RECEIVE);
        post_receive(vi, token);
        LEAVE();
    } else {
        ENTER(ACTIVITY_SEND);
        send_descriptor(vi, token);
        LEAVE();
    }
}
