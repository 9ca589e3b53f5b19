/* What the messaging library uses of channels beside the verbs. */
#ifndef NARTHEX_VERBS_CHANNELS_H
#define NARTHEX_VERBS_CHANNELS_H

#include "verbs/include/infiniband/verbs.h"

/* The completion queue with a number; there has to be one. */
struct ibv_cq *verbs_completion_queue(uint32_t number);
/* Events of a completion queue that has no channel go to this one: 0, or the error number. */
int verbs_join_channel(struct ibv_cq *cq, struct ibv_comp_channel *channel);
/* Takes the next event that is there, without waiting: whose it is; NULL if there is none. */
struct ibv_cq *verbs_take_event(struct ibv_comp_channel *channel);
/* The vector of the messages behind its events. */
uint64_t verbs_vector(const struct ibv_comp_channel *channel);

#endif
