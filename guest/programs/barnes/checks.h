/* What barnes checks after its last step, and reports. */
#ifndef BARNES_CHECKS_H
#define BARNES_CHECKS_H

#include "forces.h"
#include "zones.h"

/* Sums over bodies, at the time of their positions. */
struct totals {
    double kinetic, potential;
    double momentum[3], speed; /* speed: of the magnitudes of the momenta */
    double interactions, bodies, names;
};

/* Checks and reports. `first` and `last` are this node's totals in those steps; `pulls` are the
 * last step's, one for each member of the zone. The positions they belong to are those of the
 * generation that came before. */
void checks_report(struct totals first, struct totals last, const struct zone *zone,
                   const struct pull *pulls);

#endif
