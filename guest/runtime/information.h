/* The information page: what the machine tells the program that runs on it.
 *
 * Before a simulated node starts, the simulator writes a page of facts for each of its processes
 * into its memory: which node and which process it is, which network interface it has, and where
 * the registers and queues that it has of that interface are mapped. One binary therefore runs over
 * every interface: the messaging library reads this page at start-up and picks its driver.
 *
 * The page exists only inside the simulator, which says where in the environment variable
 * NARTHEX_PAGE, a hexadecimal address. Without it (a native build, or an emulator such as qemu) no
 * page is touched, and the program is a machine of one node whose messages to itself go through
 * memory. A native build starts as many ranks as NARTHEX_RANKS says, each a process of the host. */
#ifndef NARTHEX_RUNTIME_INFORMATION_H
#define NARTHEX_RUNTIME_INFORMATION_H

#include <stdbool.h>

#include "runtime/registers.h"

/* Beside the drivers of interfaces: the one of a program that runs without the simulator. */
#define DRIVER_LOOPBACK UINT64_C(0)
#ifndef __riscv
#define DRIVER_RANKS (~UINT64_C(0)) /* of several ranks */
#endif

/* The machine this program runs on; valid from the first statement of `main`. */
const struct narthex_information *narthex_information(void);

/* Whether the program runs inside the simulator. */
bool narthex_is_simulated(void);

#endif
