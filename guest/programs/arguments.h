/* Command-line numbers of the programs, checked. */
#ifndef NARTHEX_PROGRAMS_ARGUMENTS_H
#define NARTHEX_PROGRAMS_ARGUMENTS_H

#include <stdlib.h>

#include "narthex.h"

/* Argument `index`, called `name`, as a number in least..most; `otherwise` when it is not given. */
static inline long argument(int count, char **values, int index, const char *name, long least,
                            long most, long otherwise) {
    if (index >= count)
        return otherwise;
    char *end;
    long value = strtol(values[index], &end, 10);
    narthex_check(*values[index] && !*end && value >= least && value <= most,
                  "%s: argument %d (%s) is \"%s\"; allowed are whole numbers from %ld to %ld",
                  values[0], index, name, values[index], least, most);
    return value;
}

#endif
