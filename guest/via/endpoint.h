/* What programs of VIPL begin with: an open interface, one region of memory, and VIs connected to
 * other processes. Errors end the program with a message. */
#ifndef NARTHEX_VIA_ENDPOINT_H
#define NARTHEX_VIA_ENDPOINT_H

#include "via/vipl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fails with the names of the call and of its code unless it was successful. */
void via_check(VIP_RETURN result, const char *call);

/* The same with the code's number, for the messaging library. */
void via_require(VIP_RETURN result, const char *call);

/* A VI of this process, connected to one of process `rank`, which calls this too. Of two processes
 * the one with the lower rank waits for the other; `number` tells several VIs of a pair apart. */
void via_connect(VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, int rank, unsigned number);

/* A descriptor that sends from or receives into one piece of memory. */
void via_describe(VIP_DESCRIPTOR *descriptor, void *memory, VIP_MEM_HANDLE handle,
                  VIP_UINT32 bytes);

#ifdef __cplusplus
}
#endif

#endif
