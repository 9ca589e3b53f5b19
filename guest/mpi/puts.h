/* Puts: the data of a rendezvous straight to their place, by interfaces that write to another
 * process's memory themselves.
 *
 *     sender                                    receiver
 *     announcement: may be put  ──────────►     finds its receive; offers its memory
 *     put       ◄──────────  grant: slot, place
 *     all data  ═════════════════════════►      its memory
 *                                               "all has come": put_arrives
 *
 * An interface's way to do it is a table of functions, of which puts.c has the list; without one
 * the data go in pieces, as messages (mpi/transport.h). Both ends register memory for their
 * interface and keep it so: a registration is a call of the operating system, and messages come
 * from and go to the same memory again and again. Where it is refused, the data go in pieces. */
#ifndef NARTHEX_MPI_PUTS_H
#define NARTHEX_MPI_PUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a put goes, as the receiver's interface names it to the sender's. */
struct put_place {
    uint64_t address, key;
};

struct put_way {
    size_t least_bytes; /* shorter messages are not worth it: they are eager */
    /* Begins; all ranks call this together. */
    void (*start)(void);
    /* Whether the interface may read this memory from now on. */
    bool (*may_leave)(const void *memory, size_t bytes);
    /* Lets a rank put so many bytes here; put_arrives with the slot when it has. */
    bool (*offer)(int source, void *memory, size_t bytes, uint32_t slot, struct put_place *place);
    /* Puts them there. They have left when it returns. */
    void (*put)(int rank, const void *memory, size_t bytes, const struct put_place *place,
                uint32_t slot);
    /* Looks for puts that have come; NULL where they are messages. */
    void (*poll)(void);
};

extern const struct put_way mpi_puts_of_via, mpi_puts_of_voyager;

/* This machine's; NULL if it has none. */
extern const struct put_way *mpi_put_way;

/* Finds the way, and begins. */
void puts_start(void);

#endif
