/* Addresses of datagrams. Within a subnet one is a process's number: no call of the system makes
 * it. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/provider.h"

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr) {
    bool is_sound = attr->port_num == 1 && !attr->is_global;
    struct address_handle *own = is_sound ? malloc(sizeof *own) : NULL;
    if (!own) {
        errno = is_sound ? ENOMEM : EINVAL;
        return NULL;
    }
    *own = (struct address_handle){{pd->context, pd, 0}, attr->dlid, attr->sl};
    return &own->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah) {
    free(ah);
    return 0;
}
