/* Arithmetic that gives the same bits natively and on the simulated machine: no multiplication is
 * merged with the addition after it, whatever the compiler and the processor would like. Included
 * at the top of a program. */
#ifndef NARTHEX_PROGRAMS_EXACT_H
#define NARTHEX_PROGRAMS_EXACT_H

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC optimize("fp-contract=off")
#endif

#endif
