/* RDMA writes and reads. The study of eager data transfer leaves them out. */
#ifndef NARTHEX_FIRMWARE_VIA_RDMA_H
#define NARTHEX_FIRMWARE_VIA_RDMA_H

#include "firmware/via/packet.h"
#include "firmware/via/state.h"

/* Sends the RDMA of a descriptor; VIP_STATUS_... errors and operation. A read leaves the VI in
 * VI_READING. */
uint64_t rdma_transmit(struct vi *vi, const uint64_t *words, struct work *work);

/* Takes in a packet of an RDMA. */
void receive_rdma(struct vi *vi, const struct header *slot);

/* Whether there are reads of others to answer, and answers the oldest. */
bool has_read(void);
void answer_read(void);

#endif
