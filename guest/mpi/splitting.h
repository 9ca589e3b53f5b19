/* What makes communicators of others. */
#ifndef NARTHEX_MPI_SPLITTING_H
#define NARTHEX_MPI_SPLITTING_H

#include "mpi/topologies.h"

/* All ranks of `comm` call it together: makes a communicator of `group` at those that give one,
 * which is this rank's own group, and NULL at others. Returns an error's class. */
int make_communicator(struct communicator *comm, struct group *group, struct communicator **made,
                      const char *function);

#endif
