/* The numbers of the simulator's own system calls, which no Linux uses
 * (cores/src/linux/numbers.rs). */
#ifndef NARTHEX_RUNTIME_SIMULATOR_CALLS_H
#define NARTHEX_RUNTIME_SIMULATOR_CALLS_H

enum { CALL_REPORT = 0x4e00, CALL_FAIL = 0x4e01, CALL_REGION = 0x4e02, CALL_COUNT = 0x4e04 };
enum { REGION_END = 0, REGION_BEGIN = 1 };
enum { CALL_CHECKPOINT = 0x4e05 };
enum { CALL_WAIT_FOR_INTERRUPT = 0x4e06 };

#endif
