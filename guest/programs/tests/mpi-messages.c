/* Sends, receives, requests and datatypes of MPI: what every library must print. */
#include "mpi_test.h"

enum { SHORT = 10, LONG = 30000 }; /* ints: eager, and in pieces */

static int out[LONG], in[LONG];

static int next(void) {
    return (rank + 1) % size;
}

static int previous(void) {
    return (rank - 1 + size) % size;
}

static void report(const char *what, const MPI_Status *status, int count) {
    int received;
    MPI_Get_count(status, MPI_INT, &received);
    say("%s: %d ints from %d, tag %d, digest %u", what, received, status->MPI_SOURCE,
        status->MPI_TAG, digest(in, (size_t)count * sizeof(int)));
}

/* Around the ring, with every mode of sending. */
static void test_modes(void) {
    static const int counts[] = {0, 1, SHORT, 2048, LONG};
    for (int index = 0; index < 5; index++) {
        int count = counts[index];
        MPI_Request request;
        MPI_Status status;
        fill(out, count, rank + index);
        memset(in, 0, sizeof in);
        MPI_Irecv(in, LONG, MPI_INT, previous(), index, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank % 2 == 0)
            MPI_Send(out, count, MPI_INT, next(), index, MPI_COMM_WORLD);
        else if (index % 2 == 0)
            MPI_Ssend(out, count, MPI_INT, next(), index, MPI_COMM_WORLD);
        else
            MPI_Rsend(out, count, MPI_INT, next(), index, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        report("modes", &status, count);
        MPI_Sendrecv(out, count, MPI_INT, previous(), 50, in, LONG, MPI_INT, next(), 50,
                     MPI_COMM_WORLD, &status);
        report("sendrecv", &status, count);
        MPI_Sendrecv_replace(in, count, MPI_INT, next(), 51, previous(), MPI_ANY_TAG,
                             MPI_COMM_WORLD, &status);
        report("replace", &status, count);
    }
}

/* A long run of messages with one tag, most of which are short: some wait for their receives, some
 * are waited for; they stand at odd addresses as well, and other tags come between. */
static void test_runs(void) {
    enum { RUN = 1200, WAITING = 300, TAG = 60 };
    static char sent[300], came[300];
    unsigned sum = 0;
    MPI_Request requests[8];
    for (int index = 0; index < RUN; index++) {
        int bytes = index % 11 == 0 ? 250 : index % 9, tag = index % 100 == 99 ? TAG + 1 : TAG;
        MPI_Status status;
        memset(sent, index + rank, sizeof sent);
        MPI_Isend(sent + index % 3, bytes, MPI_CHAR, next(), tag, MPI_COMM_WORLD,
                  &requests[index % 8]);
        MPI_Wait(&requests[index % 8], MPI_STATUS_IGNORE);
        int take = index < WAITING ? 0 : index == RUN - 1 ? 1 + WAITING : 1;
        for (; take > 0; take--) {
            MPI_Recv(came + index % 5, 260, MPI_CHAR, previous(), MPI_ANY_TAG, MPI_COMM_WORLD,
                     &status);
            MPI_Get_count(&status, MPI_CHAR, &bytes);
            sum = sum * 31 + digest(came + index % 5, (size_t)bytes) + (unsigned)status.MPI_TAG;
        }
    }
    say("runs of messages, digest %u", sum);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int index = 0; index < 40; index++) { /* receives first */
        int value = rank + index, other;
        MPI_Irecv(&other, 1, MPI_INT, previous(), TAG, MPI_COMM_WORLD, requests);
        MPI_Send(&value, 1, MPI_INT, next(), TAG, MPI_COMM_WORLD);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        if (other != previous() + index)
            say("message %d has %d", index, other);
    }
}

/* A communicator is freed while a receive and a synchronous send of it wait; others are made. */
static void test_freed(void) {
    enum { OTHERS = 4 };
    MPI_Comm freed, others[OTHERS];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int value = 100 + rank, other = -1, flags = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Irecv(&other, 1, MPI_INT, previous(), 7, freed, &requests[0]);
    MPI_Comm copy = freed;
    MPI_Issend(&value, 1, MPI_INT, next(), 7, copy, &requests[1]);
    MPI_Comm_free(&freed);
    for (int index = 0; index < OTHERS; index++) {
        int count = 0;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &others[index]);
        MPI_Comm_size(others[index], &count);
        flags += count;
    }
    MPI_Waitall(2, requests, statuses);
    say("freed: %d from %d with tag %d, %d", other, statuses[0].MPI_SOURCE, statuses[0].MPI_TAG,
        flags);
    for (int index = 0; index < OTHERS; index++)
        MPI_Comm_free(&others[index]);
}

/* Rank 0 takes what all others send, whoever comes first; those of one rank in their order. */
static void test_any(void) {
    enum { EACH = 5 };
    if (rank != 0) {
        for (int index = 0; index < EACH; index++) {
            int value = rank * 100 + index;
            MPI_Send(&value, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
        }
        return;
    }
    int last[256], sum = 0, in_order = 1;
    memset(last, -1, sizeof last);
    for (int index = 0; index < EACH * (size - 1); index++) {
        int value;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        in_order &= status.MPI_TAG == status.MPI_SOURCE && value > last[status.MPI_SOURCE];
        last[status.MPI_SOURCE] = value;
        sum += value;
    }
    say("any: sum %d, in order %d", sum, in_order);
}

/* Receives of one source and of any, posted in turn: each message finds the oldest that fits, and
 * each receive the oldest message, whichever come first. */
static void test_order(bool is_posted_first) {
    enum { RECEIVES = 24 };
    int got[RECEIVES], sent[RECEIVES];
    unsigned bits = is_posted_first ? 0x5a3c96 : 0xc3a569;
    MPI_Request receives[RECEIVES], sends[RECEIVES];
    for (int phase = 0; phase < 2; phase++) {
        for (int index = 0; index < RECEIVES && (phase == 0) == is_posted_first; index++)
            MPI_Irecv(&got[index], 1, MPI_INT, bits >> index & 1 ? previous() : MPI_ANY_SOURCE,
                      index % 3 % 2, MPI_COMM_WORLD, &receives[index]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int index = 0; index < RECEIVES && (phase == 1) == is_posted_first; index++) {
            sent[index] = rank * 100 + index;
            MPI_Isend(&sent[index], 1, MPI_INT, next(), index % 3 == 1, MPI_COMM_WORLD,
                      &sends[index]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Waitall(RECEIVES, receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(RECEIVES, sends, MPI_STATUSES_IGNORE);
    for (int index = 0; index < RECEIVES; index += 4)
        say("order %d: %d %d %d %d", is_posted_first, got[index], got[index + 1], got[index + 2],
            got[index + 3]);
}

/* Receives take messages by tags, not in the order of their arrival. */
static void test_tags(void) {
    int values[3] = {rank, rank + 10, rank + 20}, got[3];
    MPI_Request requests[3];
    for (int tag = 0; tag < 3; tag++)
        MPI_Isend(&values[tag], 1, MPI_INT, next(), tag, MPI_COMM_WORLD, &requests[tag]);
    for (int tag = 2; tag >= 0; tag--)
        MPI_Recv(&got[tag], 1, MPI_INT, previous(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    say("tags: %d %d %d", got[0], got[1], got[2]);
}

/* More than the credits of a pair, with none received meanwhile. */
static void test_flood(void) {
    enum { MANY = 300, EACH = 100 };
    static MPI_Request requests[MANY];
    static int many[MANY][EACH];
    unsigned all = 0;
    for (int index = 0; index < MANY; index++) {
        fill(many[index], EACH, index);
        MPI_Isend(many[index], EACH, MPI_INT, next(), index % 3, MPI_COMM_WORLD, &requests[index]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int tag = 2; tag >= 0; tag--)
        for (int index = tag; index < MANY; index += 3) {
            MPI_Recv(in, EACH, MPI_INT, previous(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            all = all * 31 + digest(in, EACH * sizeof(int));
        }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    say("flood: %u", all);
}

/* Every call that waits or tests. */
static void test_completion(void) {
    enum { MANY = 4 };
    int values[MANY], got[MANY], index, flag, done, indices[MANY], sum = 0;
    MPI_Request receives[MANY], sends[MANY];
    MPI_Status statuses[MANY];
    for (int round = 0; round < 4; round++) {
        for (int number = 0; number < MANY; number++) {
            values[number] = rank * 100 + round * 10 + number;
            MPI_Irecv(&got[number], 1, MPI_INT, previous(), number, MPI_COMM_WORLD,
                      &receives[number]);
            MPI_Issend(&values[number], 1, MPI_INT, next(), number, MPI_COMM_WORLD, &sends[number]);
        }
        for (int left = MANY; left > 0;) {
            done = 1;
            if (round == 0) {
                MPI_Waitany(MANY, receives, &index, &statuses[0]);
            } else if (round == 1) {
                MPI_Testany(MANY, receives, &index, &done, &statuses[0]);
            } else if (round == 2) {
                MPI_Waitsome(MANY, receives, &done, indices, statuses);
            } else {
                MPI_Testsome(MANY, receives, &done, indices, MPI_STATUSES_IGNORE);
            }
            left -= done;
        }
        for (int number = 0; number < MANY; number++)
            sum = sum * 3 + got[number];
        do
            MPI_Testall(MANY, sends, &flag, statuses);
        while (!flag);
    }
    MPI_Waitany(MANY, receives, &index, &statuses[0]);
    MPI_Testsome(MANY, receives, &done, indices, statuses);
    MPI_Test(&receives[0], &flag, &statuses[0]);
    MPI_Get_count(&statuses[0], MPI_INT, &got[0]);
    say("completion: %d, then %d %d %d %d %d", sum, index == MPI_UNDEFINED, done == MPI_UNDEFINED,
        flag, statuses[0].MPI_SOURCE == MPI_ANY_SOURCE, got[0]);
}

/* Nobody's messages, probes, cancelled receives, buffered sends. */
static void test_others(void) {
    MPI_Status status;
    MPI_Request request;
    int flag, count, cancelled, bytes = LONG * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
    void *memory = malloc((size_t)bytes), *detached;
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("nobody: %d %d %d", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG,
        count);
    MPI_Irecv(in, 1, MPI_INT, previous(), 999, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    MPI_Iprobe(MPI_ANY_SOURCE, 998, MPI_COMM_WORLD, &flag, &status);
    say("cancelled %d, probed %d", cancelled, flag);
    MPI_Buffer_attach(memory, bytes);
    fill(out, LONG, rank);
    MPI_Bsend(out, LONG, MPI_INT, next(), 60, MPI_COMM_WORLD);
    memset(out, 0, sizeof out);
    MPI_Probe(previous(), MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
    report("buffered", &status, count);
    MPI_Buffer_detach(&detached, &count);
    say("detached %d %d", detached == memory, count == bytes);
    free(memory);
}

static void test_persistent(void) {
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int first[2];
    MPI_Recv_init(in, LONG, MPI_INT, previous(), 70, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, LONG, MPI_INT, next(), 70, MPI_COMM_WORLD, &requests[1]);
    MPI_Ssend_init(first, 2, MPI_INT, MPI_PROC_NULL, 71, MPI_COMM_WORLD, &requests[2]);
    for (int round = 0; round < 3; round++) {
        fill(out, LONG, rank * 10 + round);
        MPI_Start(&requests[0]);
        MPI_Startall(2, requests + 1);
        MPI_Waitall(3, requests, statuses);
        report("persistent", &statuses[0], LONG);
    }
    for (int index = 0; index < 3; index++)
        MPI_Request_free(&requests[index]);
    say("freed %d", requests[0] == MPI_REQUEST_NULL);
}

struct record {
    double value;
    int index;
    char letter;
};

/* A column, a triangle, structures and blocks of arrays; sent as one type, received as another. */
static void test_types(void) {
    enum { ROWS = 12, COLUMNS = 9 };
    int matrix[ROWS][COLUMNS], got[ROWS][COLUMNS], lengths[ROWS], places[ROWS];
    MPI_Datatype column, resized, triangle, block, record;
    MPI_Aint lower, extent;
    MPI_Status status;
    int bytes;
    fill(&matrix[0][0], ROWS * COLUMNS, rank);
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &resized);
    MPI_Type_commit(&resized);
    memset(got, 0, sizeof got);
    MPI_Sendrecv(matrix, 3, resized, next(), 80, got, 3 * ROWS, MPI_INT, previous(), 80,
                 MPI_COMM_WORLD, &status);
    say("columns %u", digest(got, sizeof got));
    MPI_Sendrecv(matrix, 3 * ROWS, MPI_INT, next(), 81, got, 3, resized, previous(), 81,
                 MPI_COMM_WORLD, &status);
    say("rows %u", digest(got, sizeof got));
    for (int row = 0; row < ROWS; row++) {
        lengths[row] = row < COLUMNS ? row : COLUMNS;
        places[row] = row * COLUMNS;
    }
    MPI_Type_indexed(ROWS, lengths, places, MPI_INT, &triangle);
    MPI_Type_commit(&triangle);
    memset(got, 0, sizeof got);
    MPI_Sendrecv(matrix, 1, triangle, next(), 82, got, 1, triangle, previous(), 82, MPI_COMM_WORLD,
                 &status);
    MPI_Type_size(triangle, &bytes);
    MPI_Type_get_extent(triangle, &lower, &extent);
    say("triangle %u, %d bytes, %d to %d", digest(got, sizeof got), bytes, (int)lower, (int)extent);
    int sizes[] = {ROWS, COLUMNS}, parts[] = {4, 5}, starts[] = {3, 2};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &block);
    MPI_Type_commit(&block);
    memset(got, 0, sizeof got);
    MPI_Sendrecv(matrix, 1, block, next(), 83, got, 1, block, previous(), 83, MPI_COMM_WORLD,
                 &status);
    MPI_Type_get_true_extent(block, &lower, &extent);
    say("block %u, %d to %d", digest(got, sizeof got), (int)lower, (int)extent);
    struct record records[5], others[5];
    int ones[] = {1, 1, 1};
    MPI_Aint displacements[] = {offsetof(struct record, value), offsetof(struct record, index),
                                offsetof(struct record, letter)};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Type_create_struct(3, ones, displacements, types, &record);
    MPI_Type_commit(&record);
    for (int index = 0; index < 5; index++)
        records[index] = (struct record){rank + index / 4.0, index, (char)('a' + index)};
    MPI_Sendrecv(records, 5, record, next(), 84, others, 5, record, previous(), 84, MPI_COMM_WORLD,
                 &status);
    MPI_Type_size(record, &bytes);
    MPI_Type_get_extent(record, &lower, &extent);
    say("records %d %g %d %c, %d bytes in %d", status.MPI_SOURCE, others[4].value, others[3].index,
        others[2].letter, bytes, (int)extent);
    char packed[200], came[200];
    int position = 0, back = 0;
    MPI_Pack(&rank, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Pack(records, 3, record, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Sendrecv(packed, position, MPI_PACKED, next(), 85, came, sizeof came, MPI_PACKED,
                 previous(), 85, MPI_COMM_WORLD, &status);
    position = 0;
    MPI_Unpack(came, sizeof came, &position, &back, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(came, sizeof came, &position, others, 3, record, MPI_COMM_WORLD);
    say("packed %d %g, %d", back, others[2].value, position);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
    MPI_Type_free(&triangle);
    MPI_Type_free(&block);
    MPI_Type_free(&record);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    test_modes();
    if (size > 1) /* what is sent to oneself may have to be received before */
        test_runs();
    test_freed();
    test_any();
    MPI_Barrier(MPI_COMM_WORLD);
    test_order(true);
    test_order(false);
    test_tags();
    test_flood();
    test_completion();
    test_others();
    test_persistent();
    test_types();
    MPI_Finalize();
}
