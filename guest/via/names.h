/* Names of VIPL's functions, and of those that are built of them, where there are several VIPLs.
 *
 * The VIPL of guest/via has the specification's names, and is in every program. One that may run
 * over queue pairs as well is compiled with VIPL_PREFIX: its calls go to guest/via_verbs/choose.c,
 * which asks the VIPL of the interface. */
#ifndef NARTHEX_VIA_NAMES_H
#define NARTHEX_VIA_NAMES_H

#ifdef VIPL_PREFIX

#define VIPL_JOIN(prefix, name) prefix##name
#define VIPL_PREFIXED(prefix, name) VIPL_JOIN(prefix, name)
#define VIPL(name) VIPL_PREFIXED(VIPL_PREFIX, name)

#define VipOpenNic VIPL(VipOpenNic)
#define VipCloseNic VIPL(VipCloseNic)
#define VipQueryNic VIPL(VipQueryNic)
#define VipErrorCallback VIPL(VipErrorCallback)
#define VipCreatePtag VIPL(VipCreatePtag)
#define VipDestroyPtag VIPL(VipDestroyPtag)
#define VipRegisterMem VIPL(VipRegisterMem)
#define VipDeregisterMem VIPL(VipDeregisterMem)
#define VipCreateVi VIPL(VipCreateVi)
#define VipDestroyVi VIPL(VipDestroyVi)
#define VipQueryVi VIPL(VipQueryVi)
#define VipConnectWait VIPL(VipConnectWait)
#define VipConnectAccept VIPL(VipConnectAccept)
#define VipConnectReject VIPL(VipConnectReject)
#define VipConnectRequest VIPL(VipConnectRequest)
#define VipDisconnect VIPL(VipDisconnect)
#define VipPostSend VIPL(VipPostSend)
#define VipSendDone VIPL(VipSendDone)
#define VipPostRecv VIPL(VipPostRecv)
#define VipRecvDone VIPL(VipRecvDone)
#define VipCreateCQ VIPL(VipCreateCQ)
#define VipDestroyCQ VIPL(VipDestroyCQ)
#define VipCQDone VIPL(VipCQDone)

#define via_require VIPL(via_require)
#define via_connect VIPL(via_connect)
#define via_describe VIPL(via_describe)
#define via_sender_open VIPL(via_sender_open)
#define via_send_copied VIPL(via_send_copied)
#define via_send_in_place VIPL(via_send_in_place)
#define via_sender_close VIPL(via_sender_close)
#define pinned_cache_open VIPL(pinned_cache_open)
#define pinned_cache_find VIPL(pinned_cache_find)
#define pinned_cache_close VIPL(pinned_cache_close)

#else

#define VIPL(name) name

#endif

#endif
