/* StarT-Voyager's firmware with the occupancies of Table 2 (firmware/voyager/occupancy.h). */
#define STATED_OCCUPANCY 1

#include "firmware/voyager/main.c"
