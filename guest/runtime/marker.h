/* Markers tell the simulator's time ledger what the processor is doing.
 *
 * A marker is an instruction without effect, `slti x0, x0, NUMBER`: it writes the register that is
 * always zero. A RISC-V machine (and qemu) does nothing; the simulator recognises it, takes no time
 * for it and books the time that follows under the activity. Activities nest: enter and leave
 * work like a stack. On any other processor a marker is nothing at all. */
#ifndef NARTHEX_RUNTIME_MARKER_H
#define NARTHEX_RUNTIME_MARKER_H

/* The activities, with the numbers the simulator gives them. */
#define ACTIVITY_APPLICATION 0     /* the program's own work */
#define ACTIVITY_SEND 1            /* software overhead to send */
#define ACTIVITY_WAIT_TO_SEND 2    /* the interface has no room */
#define ACTIVITY_POLL 3            /* looking for an arrival */
#define ACTIVITY_RECEIVE 4         /* software overhead to receive */
#define ACTIVITY_BUFFERING 5       /* saving arrivals in memory while a send is blocked */
#define ACTIVITY_SYNCHRONISATION 6 /* barriers and locks */
#define ACTIVITY_SHARED_MEMORY 7   /* fetching blocks of shared memory, and giving them away */
#define ACTIVITY_DMA_SETUP 8       /* firmware: starting a DMA engine */
#define ACTIVITY_DMA_INTERRUPT 9   /* firmware: the interrupt at the end of its copy */
#define ACTIVITY_DISPATCH 10       /* firmware: what an event asks for */
#define ACTIVITY_RESUME 11         /* firmware: taking up a suspended operation */
#define ACTIVITY_MARSHAL 12        /* firmware: having a message fetched that is to be sent */
#define ACTIVITY_LAUNCH 13         /* firmware: translating its destination, having it sent */
#define ACTIVITY_DEMULTIPLEX 14    /* firmware: having an arrived message brought to its queue */
#define ACTIVITY_FREE_BUFFER 15    /* firmware: freeing its buffer, showing it in its queue */
#define ACTIVITY_RELEASE 17        /* firmware: a program has taken messages; 16 is LEAVE's */

#ifdef __riscv
#define MARKER(number) __asm__ volatile("slti x0, x0, %0" ::"i"(number) : "memory")
#else
#define MARKER(number) ((void)0)
#endif

#define ENTER(activity) MARKER(0x4e0 + (activity))
#define LEAVE() MARKER(0x4f0)

#endif
