/* Driver of messages over the cache-integrated interfaces of SARC. */
#include "messaging/driver.h"
#include "messaging/narthex.h"

static void start(const struct narthex_information *machine) {
    (void)machine;
    narthex_check(false, "node %d has an interface of SARC, for which there is no driver yet",
                  narthex_node());
}

const struct send_driver send_sarc[HEADER_VARIANTS] = {[LARGE_HEADER] = {start, 0, 0}};
const struct receive_driver receive_sarc[HEADER_VARIANTS] = {[LARGE_HEADER] = {start, 0, 0}};
