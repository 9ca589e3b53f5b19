/* Markers tell the simulator's time ledger what the processor is doing.
 *
 * A marker is an instruction without effect, `slti x0, x0, NUMBER`: it writes the register that is
 * always zero. A RISC-V machine (and qemu) does nothing; the simulator recognises it, takes no time
 * for it and books the time that follows under the activity. Activities nest: enter and leave
 * work like a stack. On any other processor a marker is nothing at all. */
#ifndef NARTHEX_RUNTIME_MARKER_H
#define NARTHEX_RUNTIME_MARKER_H

/* The activities of every program, with the numbers the simulator gives them. Those of firmware are
 * in firmware/devices.h. */
#define ACTIVITY_APPLICATION 0     /* the program's own work */
#define ACTIVITY_SEND 1            /* software overhead to send */
#define ACTIVITY_WAIT_TO_SEND 2    /* the interface has no room */
#define ACTIVITY_POLL 3            /* looking for an arrival */
#define ACTIVITY_RECEIVE 4         /* software overhead to receive */
#define ACTIVITY_BUFFERING 5       /* saving arrivals in memory while a send is blocked */
#define ACTIVITY_SYNCHRONISATION 6 /* barriers and locks */
#define ACTIVITY_SHARED_MEMORY 7   /* fetching blocks of shared memory, and giving them away */

#ifdef __riscv
#define MARKER(number) __asm__ volatile("slti x0, x0, %0" ::"i"(number) : "memory")
#else
#define MARKER(number) ((void)0)
#endif

#define ENTER(activity) MARKER(0x4e0 + (activity))
#define LEAVE() MARKER(0x4f0)

#endif
