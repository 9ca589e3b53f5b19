/* Attributes: values that a program keeps with a communicator, by keys. */
#ifndef NARTHEX_MPI_ATTRIBUTES_H
#define NARTHEX_MPI_ATTRIBUTES_H

#include "mpi/communicators.h"

/* Copies to a duplicate those that are to be copied; deletes all. Return an error's class. */
int attributes_copy(struct communicator *from, struct communicator *to);
int attributes_delete(struct communicator *comm);

#endif
