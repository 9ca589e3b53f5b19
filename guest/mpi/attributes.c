#include "mpi/attributes.h"

#include <stdlib.h>

#include "mpi/errors.h"
#include "mpi/transport.h"

/* A key of a program; its number is its place. */
struct key {
    bool is_free;
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *remove;
    void *state;
    struct key *next;
    int number;
};

struct attribute {
    struct attribute *next;
    struct key *key;
    void *value;
};

/* Beyond the numbers of the standard's own. */
enum { FIRST_KEY = 1000 };

static struct key *keys;
static int last_key = FIRST_KEY;

static struct key *find_key(int number) {
    struct key *key = keys;
    while (key && (key->number != number || key->is_free))
        key = key->next;
    return key;
}

#define FIND_KEY(key, number)                                                                      \
    struct key *key = find_key(number);                                                            \
    CHECK(key, MPI_ERR_KEYVAL, "the key %d is none", number)

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
                            MPI_Comm_delete_attr_function *remove, int *keyval, void *extra_state) {
    CHECK_ACTIVE();
    struct key *key = mpi_allocate(sizeof *key);
    *key = (struct key){false, copy, remove, extra_state, keys, ++last_key};
    keys = key;
    *keyval = key->number;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_create_keyval);

/* Attributes that have it keep it until they go. */
int PMPI_Comm_free_keyval(int *keyval) {
    struct communicator *comm = NULL;
    CHECK_ACTIVE();
    FIND_KEY(key, *keyval);
    key->is_free = true;
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_free_keyval);

static struct attribute **link_of(struct communicator *comm, int number) {
    struct attribute **link = &comm->attributes;
    while (*link && (*link)->key->number != number)
        link = &(*link)->next;
    return link;
}

static int delete_value(struct communicator *comm, const struct attribute *attribute) {
    const struct key *key = attribute->key;
    if (key->remove == MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    return key->remove(communicator_handle(comm), key->number, attribute->value, key->state);
}

static void set_value(struct communicator *comm, struct key *key, void *value) {
    struct attribute *attribute = mpi_allocate(sizeof *attribute);
    *attribute = (struct attribute){comm->attributes, key, value};
    comm->attributes = attribute;
}

int PMPI_Comm_set_attr(MPI_Comm handle, int keyval, void *value) {
    FIND_COMMUNICATOR(comm, handle);
    FIND_KEY(key, keyval);
    struct attribute *attribute = *link_of(comm, keyval);
    if (!attribute) {
        set_value(comm, key, value);
        return MPI_SUCCESS;
    }
    int error = delete_value(comm, attribute);
    attribute->value = value;
    return error;
}
MPI_NAME(Comm_set_attr);

/* Attributes that every communicator has; NULL if it is none of them. */
static int *standard_value(int keyval) {
    static int largest_tag = LARGEST_TAG, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE;
    static int is_global = 1, last_code = MPI_ERR_LASTCODE, ranks, application;
    ranks = world.size;
    switch (keyval) {
    case MPI_TAG_UB:
        return &largest_tag;
    case MPI_HOST:
        return &host;
    case MPI_IO:
        return &io;
    case MPI_WTIME_IS_GLOBAL:
        return &is_global;
    case MPI_LASTUSEDCODE:
        return &last_code;
    case MPI_UNIVERSE_SIZE:
        return &ranks;
    case MPI_APPNUM:
        return &application;
    default:
        return NULL;
    }
}

int PMPI_Comm_get_attr(MPI_Comm handle, int keyval, void *value, int *flag) {
    FIND_COMMUNICATOR(comm, handle);
    int *standard = standard_value(keyval);
    *flag = 1;
    if (standard) {
        *(int **)value = standard;
        return MPI_SUCCESS;
    }
    CHECK(find_key(keyval) || *link_of(comm, keyval), MPI_ERR_KEYVAL, "the key %d is none", keyval);
    const struct attribute *attribute = *link_of(comm, keyval);
    *flag = attribute != NULL;
    if (attribute)
        *(void **)value = attribute->value;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_get_attr);

/* Deletes the attribute to which a link leads. */
static int delete_at(struct communicator *comm, struct attribute **link) {
    struct attribute *attribute = *link;
    int error = delete_value(comm, attribute);
    if (error)
        return error;
    *link = attribute->next;
    free(attribute);
    return MPI_SUCCESS;
}

int PMPI_Comm_delete_attr(MPI_Comm handle, int keyval) {
    FIND_COMMUNICATOR(comm, handle);
    struct attribute **link = link_of(comm, keyval);
    CHECK(*link, MPI_ERR_KEYVAL, "there is no attribute of key %d", keyval);
    return delete_at(comm, link);
}
MPI_NAME(Comm_delete_attr);

int attributes_delete(struct communicator *comm) {
    int error = MPI_SUCCESS;
    while (comm->attributes && !error)
        error = delete_at(comm, &comm->attributes);
    return error;
}

int attributes_copy(struct communicator *from, struct communicator *to) {
    MPI_Comm handle = communicator_handle(from);
    for (const struct attribute *each = from->attributes; each; each = each->next) {
        const struct key *key = each->key;
        void *value = each->value;
        int is_copied = key->copy == MPI_COMM_DUP_FN, error = MPI_SUCCESS;
        if (key->copy != MPI_COMM_NULL_COPY_FN && !is_copied)
            error = key->copy(handle, key->number, key->state, each->value, &value, &is_copied);
        if (error)
            return error;
        if (is_copied)
            set_value(to, each->key, value);
    }
    return MPI_SUCCESS;
}

/* The names before MPI 2. */
int PMPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *remove, int *keyval,
                       void *extra_state) {
    return PMPI_Comm_create_keyval(copy, remove, keyval, extra_state);
}
MPI_NAME(Keyval_create);

int PMPI_Keyval_free(int *keyval) {
    return PMPI_Comm_free_keyval(keyval);
}
MPI_NAME(Keyval_free);

int PMPI_Attr_put(MPI_Comm comm, int keyval, void *value) {
    return PMPI_Comm_set_attr(comm, keyval, value);
}
MPI_NAME(Attr_put);

int PMPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag) {
    return PMPI_Comm_get_attr(comm, keyval, value, flag);
}
MPI_NAME(Attr_get);

int PMPI_Attr_delete(MPI_Comm comm, int keyval) {
    return PMPI_Comm_delete_attr(comm, keyval);
}
MPI_NAME(Attr_delete);
