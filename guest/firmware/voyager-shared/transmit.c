/* StarT-Voyager's firmware with shared memory over the snooped space. */
#define SHARED_MEMORY 1

#include "firmware/voyager/transmit.c"
