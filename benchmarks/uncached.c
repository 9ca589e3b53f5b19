/* Uncached loads, one after the other: it reads the first register of the network interface, whose
 * address is the sixth word of the page that says what there is.
 *
 *     uncached COUNT      how often */
#include <stdint.h>
#include <stdlib.h>

#define INFORMATION ((volatile const uint64_t *)0x50000000)

enum { REGISTERS = 5 };

int main(int count, char **values) {
    long loads = count > 1 ? atol(values[1]) : 1;
    volatile const uint64_t *status = (volatile const uint64_t *)INFORMATION[REGISTERS];
    uint64_t sum = 0;
    while (loads-- > 0)
        sum += *status;
    return sum == 1;
}
