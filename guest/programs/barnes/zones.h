/* Zones: which bodies a node computes. */
#ifndef BARNES_ZONES_H
#define BARNES_ZONES_H

#include "tree.h"

struct zone {
    uint32_t *members; /* indices of bodies, in the order of the tree */
    uint32_t count;
};

/* This node's zone in the present tree: the n-th of equally costly stretches of its bodies. */
const struct zone *zone_choose(void);

#endif
