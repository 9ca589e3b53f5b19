/* The pairs of particles that a node computes: which they are, and their forces.
 *
 * All lengths are in Lennard-Jones units, and positions lie in a periodic box. */
#ifndef NARTHEX_MOLDYN_PAIRS_H
#define NARTHEX_MOLDYN_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* Forces vanish beyond this distance, or half the box if that is smaller. It decides what share of
 * the time the reduction has, 40 % with NI2w (isca96 Section 4.2): README.md. */
#define CUT_OFF 2.5
/* Pairs are listed up to so many cut-offs. */
#define REACH 1.2

typedef double vector[3];

/* A multiple of 2^-32. */
typedef int64_t fixed;
#define FIXED_ONE 0x1p32

static inline fixed to_fixed(double value) {
    return (fixed)(value * FIXED_ONE);
}

/* The bytes that the list of `own` particles' pairs needs. */
size_t pairs_room_bytes(size_t own);

/* This node computes pairs of the particles `first` .. `end` - 1, of `particles` in a cubic box of
 * side `box`, which are at `positions` whenever a function below is called. The list goes to
 * `room`, of pairs_room_bytes, aligned to 8. Fails without memory. */
void pairs_start(const vector *positions, int particles, int first, int end, double box,
                 void *room);

/* Lists the pairs that are so near that they may come within the cut-off. Polls. */
void pairs_list(void);

/* Their number. */
int pairs_count(void);

/* Fails if two particles may have come within the cut-off that are not in the list, which is made
 * every `rebuild` iterations. */
void pairs_check(int rebuild);

/* Adds the forces of listed pairs to those of both particles in `force`, which has room for all
 * particles; returns their potential energy, shifted to be zero at the cut-off. Polls. */
fixed pairs_add_forces(fixed (*force)[3]);

#endif
