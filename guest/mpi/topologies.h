/* Cartesian topologies: the ranks of a communicator as places of a grid. */
#ifndef NARTHEX_MPI_TOPOLOGIES_H
#define NARTHEX_MPI_TOPOLOGIES_H

#include "mpi/communicators.h"

void topology_copy(const struct communicator *from, struct communicator *to);
void topology_release(struct communicator *comm);

#endif
