/* MPI over Narthex's messaging library.
 *
 * Handles, constants, integer sizes and MPI_Status are those of the standard's application binary
 * interface (MPI 5.0, Chapter 20), so what is compiled against another header of that ABI can be
 * linked. A function that is not declared here is not there: a program that calls it does not link.
 * docs/mpi.md has the table of functions, and what differs from other implementations.
 *
 * Every function but MPI_Wtime and MPI_Wtick returns MPI_SUCCESS or an error of one of the classes
 * MPI_ERR_*, unless the error handler ends the run, as the one that is set at first does, with a
 * message that names the rank, the function and what is wrong. Each has a second name, PMPI_*, for
 * tools that put functions of their own in the place of the first. */
#ifndef NARTHEX_MPI_H
#define NARTHEX_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 3
#define MPI_SUBVERSION 1
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

/* An address or a difference of two; a place in a file, which has no functions here; a count. */
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

/* What was received, from whom. The last field is the library's own. */
typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Win *MPI_Win;

/* Communicators and groups */
#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_GROUP_EMPTY ((MPI_Group)0x109)

/* Other handles */
#define MPI_WIN_NULL ((MPI_Win)0x110)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_INFO_ENV ((MPI_Info)0x131)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)

/* Error handlers */
#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_ABORT ((MPI_Errhandler)0x142)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)

/* Operations of reductions */
#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_SUM ((MPI_Op)0x21)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_MAX ((MPI_Op)0x23)
#define MPI_PROD ((MPI_Op)0x24)
#define MPI_BAND ((MPI_Op)0x28)
#define MPI_BOR ((MPI_Op)0x29)
#define MPI_BXOR ((MPI_Op)0x2a)
#define MPI_LAND ((MPI_Op)0x30)
#define MPI_LOR ((MPI_Op)0x31)
#define MPI_LXOR ((MPI_Op)0x32)
#define MPI_MINLOC ((MPI_Op)0x38)
#define MPI_MAXLOC ((MPI_Op)0x39)
#define MPI_REPLACE ((MPI_Op)0x3c) /* of one-sided accumulation alone, as is the next */
#define MPI_NO_OP ((MPI_Op)0x3d)

/* Datatypes of C and C++ */
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_OFFSET ((MPI_Datatype)0x203)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x213)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x217)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_CXX_BOOL ((MPI_Datatype)0x239)
#define MPI_WCHAR ((MPI_Datatype)0x23c)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)

/* Addresses that stand for something else */
#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_ERRCODES_IGNORE ((int *)0)

/* Ranks, tags and other integers that stand for something else */
enum {
    MPI_ANY_SOURCE = -1,
    MPI_ANY_TAG = -2,
    MPI_PROC_NULL = -3,
    MPI_ROOT = -4,
    MPI_UNDEFINED = -32766
};

/* Which threads may call; how communicators and groups compare; how one is split; topologies */
enum {
    MPI_THREAD_SINGLE = 0,
    MPI_THREAD_FUNNELED = 1024,
    MPI_THREAD_SERIALIZED = 2048,
    MPI_THREAD_MULTIPLE = 4096,
    MPI_ORDER_C = 12,
    MPI_ORDER_FORTRAN = 15,
    MPI_IDENT = 201,
    MPI_CONGRUENT = 202,
    MPI_SIMILAR = 203,
    MPI_UNEQUAL = 204,
    MPI_CART = 211,
    MPI_GRAPH = 212,
    MPI_DIST_GRAPH = 213,
    MPI_COMM_TYPE_SHARED = 221
};

/* Locks of windows; what a program asserts of its epochs, which changes nothing here */
enum {
    MPI_MODE_NOCHECK = 1024,
    MPI_MODE_NOPRECEDE = 2048,
    MPI_MODE_NOPUT = 4096,
    MPI_MODE_NOSTORE = 8192,
    MPI_MODE_NOSUCCEED = 16384,
    MPI_LOCK_EXCLUSIVE = 301,
    MPI_LOCK_SHARED = 302
};

/* Attributes that communicators have from the start */
enum {
    MPI_KEYVAL_INVALID = 0,
    MPI_TAG_UB = 501,
    MPI_IO = 502,
    MPI_HOST = 503,
    MPI_WTIME_IS_GLOBAL = 504,
    MPI_APPNUM = 505,
    MPI_LASTUSEDCODE = 506,
    MPI_UNIVERSE_SIZE = 507
};

/* Lengths of strings, their final zero counted, and of what MPI_Bsend keeps with a message */
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_OBJECT_NAME 128
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_BSEND_OVERHEAD 512

/* Classes of errors */
enum {
    MPI_SUCCESS = 0,
    MPI_ERR_BUFFER = 1,
    MPI_ERR_COUNT = 2,
    MPI_ERR_TYPE = 3,
    MPI_ERR_TAG = 4,
    MPI_ERR_COMM = 5,
    MPI_ERR_RANK = 6,
    MPI_ERR_REQUEST = 7,
    MPI_ERR_ROOT = 8,
    MPI_ERR_GROUP = 9,
    MPI_ERR_OP = 10,
    MPI_ERR_TOPOLOGY = 11,
    MPI_ERR_DIMS = 12,
    MPI_ERR_ARG = 13,
    MPI_ERR_UNKNOWN = 14,
    MPI_ERR_TRUNCATE = 15,
    MPI_ERR_OTHER = 16,
    MPI_ERR_INTERN = 17,
    MPI_ERR_PENDING = 18,
    MPI_ERR_IN_STATUS = 19,
    MPI_ERR_DISP = 26,
    MPI_ERR_KEYVAL = 36,
    MPI_ERR_LOCKTYPE = 37,
    MPI_ERR_NO_MEM = 39,
    MPI_ERR_RMA_RANGE = 48,
    MPI_ERR_RMA_SYNC = 50,
    MPI_ERR_SIZE = 52,
    MPI_ERR_WIN = 56,
    MPI_ERR_ERRHANDLER = 61,
    MPI_ERR_LASTCODE = 0x3fff
};

/* Functions that a program gives: an operation; what copies and deletes an attribute's value (the
 * constants below stand for none, and for a plain copy); what is called with an error. */
typedef void MPI_User_function(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype);
typedef int MPI_Comm_copy_attr_function(MPI_Comm comm, int keyval, void *extra_state, void *value,
                                        void *copied_value, int *flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int keyval, void *value,
                                          void *extra_state);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *error_code, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function *)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)
#define MPI_NULL_COPY_FN MPI_COMM_NULL_COPY_FN
#define MPI_DUP_FN MPI_COMM_DUP_FN
#define MPI_NULL_DELETE_FN MPI_COMM_NULL_DELETE_FN

/* Declares a function under both names. */
#define NARTHEX_MPI(type, name, ...)                                                               \
    type PMPI_##name(__VA_ARGS__);                                                                 \
    type MPI_##name(__VA_ARGS__)

/* Beginning and end */

/* Begins; the first call of a rank but for those that say so. The pointers may be NULL. */
NARTHEX_MPI(int, Init, int *argc, char ***argv);
/* The same; `provided` becomes at most MPI_THREAD_SERIALIZED. */
NARTHEX_MPI(int, Init_thread, int *argc, char ***argv, int required, int *provided);
/* The provided level; whether this thread began. */
NARTHEX_MPI(int, Query_thread, int *provided);
NARTHEX_MPI(int, Is_thread_main, int *flag);
/* Whether a rank has begun, has ended; may be called at any time, as the next two. */
NARTHEX_MPI(int, Initialized, int *flag);
NARTHEX_MPI(int, Finalized, int *flag);
/* The standard's version; words about this library. */
NARTHEX_MPI(int, Get_version, int *version, int *subversion);
NARTHEX_MPI(int, Get_library_version, char *version, int *length);
/* The version of the ABI. */
NARTHEX_MPI(int, Abi_get_version, int *major, int *minor);
/* Ends; returns when every rank has called it. */
NARTHEX_MPI(int, Finalize, void);
/* Ends the run of all ranks as failed. */
NARTHEX_MPI(int, Abort, MPI_Comm comm, int errorcode);
/* "node N" of this rank. */
NARTHEX_MPI(int, Get_processor_name, char *name, int *length);
/* Seconds of simulated time since the machine started, the same on all ranks; their resolution. */
NARTHEX_MPI(double, Wtime, void);
NARTHEX_MPI(double, Wtick, void);
/* For tools that replace it; does nothing itself. */
NARTHEX_MPI(int, Pcontrol, const int level, ...);

/* Communicators */

NARTHEX_MPI(int, Comm_size, MPI_Comm comm, int *size);
NARTHEX_MPI(int, Comm_rank, MPI_Comm comm, int *rank);
/* MPI_IDENT, MPI_CONGRUENT (same ranks in order), MPI_SIMILAR (same ranks) or MPI_UNEQUAL. */
NARTHEX_MPI(int, Comm_compare, MPI_Comm comm1, MPI_Comm comm2, int *result);
/* Always 0: there are no intercommunicators here. */
NARTHEX_MPI(int, Comm_test_inter, MPI_Comm comm, int *flag);
/* A communicator of the same ranks, with the attributes that are to be copied. */
NARTHEX_MPI(int, Comm_dup, MPI_Comm comm, MPI_Comm *newcomm);
/* A communicator of those ranks of `group`; MPI_COMM_NULL at others. */
NARTHEX_MPI(int, Comm_create, MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm);
/* One for every color, its ranks ordered by key, then by rank; MPI_UNDEFINED takes no part. */
NARTHEX_MPI(int, Comm_split, MPI_Comm comm, int color, int key, MPI_Comm *newcomm);
/* One for every node of the machine (MPI_COMM_TYPE_SHARED). */
NARTHEX_MPI(int, Comm_split_type, MPI_Comm comm, int split_type, int key, MPI_Info info,
            MPI_Comm *newcomm);
NARTHEX_MPI(int, Comm_free, MPI_Comm *comm);
/* Names, which messages about errors and hangs use. */
NARTHEX_MPI(int, Comm_set_name, MPI_Comm comm, const char *name);
NARTHEX_MPI(int, Comm_get_name, MPI_Comm comm, char *name, int *length);

/* Groups */

NARTHEX_MPI(int, Comm_group, MPI_Comm comm, MPI_Group *group);
NARTHEX_MPI(int, Group_size, MPI_Group group, int *size);
NARTHEX_MPI(int, Group_rank, MPI_Group group, int *rank);
NARTHEX_MPI(int, Group_translate_ranks, MPI_Group group1, int count, const int ranks1[],
            MPI_Group group2, int ranks2[]);
NARTHEX_MPI(int, Group_compare, MPI_Group group1, MPI_Group group2, int *result);
NARTHEX_MPI(int, Group_union, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
NARTHEX_MPI(int, Group_intersection, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
NARTHEX_MPI(int, Group_difference, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
NARTHEX_MPI(int, Group_incl, MPI_Group group, int count, const int ranks[], MPI_Group *newgroup);
NARTHEX_MPI(int, Group_excl, MPI_Group group, int count, const int ranks[], MPI_Group *newgroup);
/* Ranges are {first, last, stride}. */
NARTHEX_MPI(int, Group_range_incl, MPI_Group group, int count, int ranges[][3],
            MPI_Group *newgroup);
NARTHEX_MPI(int, Group_range_excl, MPI_Group group, int count, int ranges[][3],
            MPI_Group *newgroup);
NARTHEX_MPI(int, Group_free, MPI_Group *group);

/* Point to point */

/* Sends; the buffer may then change. Tags are 0 to the value of MPI_TAG_UB, 16777215. */
NARTHEX_MPI(int, Send, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm);
/* The same; returns when the receive has begun. */
NARTHEX_MPI(int, Ssend, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm);
/* The same as MPI_Send, where the receive has been posted. */
NARTHEX_MPI(int, Rsend, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm);
/* The same from the attached buffer: returns at once. */
NARTHEX_MPI(int, Bsend, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm);
NARTHEX_MPI(int, Buffer_attach, void *buffer, int size);
/* Returns when all messages in the buffer have left. */
NARTHEX_MPI(int, Buffer_detach, void *buffer_address, int *size);
NARTHEX_MPI(int, Recv, void *buffer, int count, MPI_Datatype datatype, int source, int tag,
            MPI_Comm comm, MPI_Status *status);
NARTHEX_MPI(int, Sendrecv, const void *send_buffer, int send_count, MPI_Datatype send_type,
            int destination, int send_tag, void *receive_buffer, int receive_count,
            MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
            MPI_Status *status);
NARTHEX_MPI(int, Sendrecv_replace, void *buffer, int count, MPI_Datatype datatype, int destination,
            int send_tag, int source, int receive_tag, MPI_Comm comm, MPI_Status *status);
/* How many elements were received; MPI_UNDEFINED if they are no whole number. */
NARTHEX_MPI(int, Get_count, const MPI_Status *status, MPI_Datatype datatype, int *count);

/* The same without waiting; the request tells when they are complete. */
NARTHEX_MPI(int, Isend, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Issend, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Irsend, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Ibsend, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Irecv, void *buffer, int count, MPI_Datatype datatype, int source, int tag,
            MPI_Comm comm, MPI_Request *request);

/* Persistent requests, which MPI_Start begins again and again. */
NARTHEX_MPI(int, Send_init, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Ssend_init, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Rsend_init, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Bsend_init, const void *buffer, int count, MPI_Datatype datatype, int destination,
            int tag, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Recv_init, void *buffer, int count, MPI_Datatype datatype, int source, int tag,
            MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Start, MPI_Request *request);
NARTHEX_MPI(int, Startall, int count, MPI_Request requests[]);

/* Whether a message has come that a receive would match, which stays where it is. */
NARTHEX_MPI(int, Probe, int source, int tag, MPI_Comm comm, MPI_Status *status);
NARTHEX_MPI(int, Iprobe, int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);

/* Requests */

NARTHEX_MPI(int, Wait, MPI_Request *request, MPI_Status *status);
NARTHEX_MPI(int, Waitall, int count, MPI_Request requests[], MPI_Status statuses[]);
NARTHEX_MPI(int, Waitany, int count, MPI_Request requests[], int *index, MPI_Status *status);
NARTHEX_MPI(int, Waitsome, int count, MPI_Request requests[], int *completed, int indices[],
            MPI_Status statuses[]);
NARTHEX_MPI(int, Test, MPI_Request *request, int *flag, MPI_Status *status);
NARTHEX_MPI(int, Testall, int count, MPI_Request requests[], int *flag, MPI_Status statuses[]);
NARTHEX_MPI(int, Testany, int count, MPI_Request requests[], int *index, int *flag,
            MPI_Status *status);
NARTHEX_MPI(int, Testsome, int count, MPI_Request requests[], int *completed, int indices[],
            MPI_Status statuses[]);
/* Whether it is complete; it stays a request. */
NARTHEX_MPI(int, Request_get_status, MPI_Request request, int *flag, MPI_Status *status);
NARTHEX_MPI(int, Request_free, MPI_Request *request);
/* Cancels a receive that has not matched; a send is never cancelled. */
NARTHEX_MPI(int, Cancel, MPI_Request *request);
NARTHEX_MPI(int, Test_cancelled, const MPI_Status *status, int *flag);

/* Datatypes */

NARTHEX_MPI(int, Type_contiguous, int count, MPI_Datatype oldtype, MPI_Datatype *newtype);
NARTHEX_MPI(int, Type_vector, int count, int blocklength, int stride, MPI_Datatype oldtype,
            MPI_Datatype *newtype);
/* With the stride in bytes. */
NARTHEX_MPI(int, Type_create_hvector, int count, int blocklength, MPI_Aint stride,
            MPI_Datatype oldtype, MPI_Datatype *newtype);
NARTHEX_MPI(int, Type_indexed, int count, const int blocklengths[], const int displacements[],
            MPI_Datatype oldtype, MPI_Datatype *newtype);
/* With displacements in bytes. */
NARTHEX_MPI(int, Type_create_hindexed, int count, const int blocklengths[],
            const MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype);
NARTHEX_MPI(int, Type_create_indexed_block, int count, int blocklength, const int displacements[],
            MPI_Datatype oldtype, MPI_Datatype *newtype);
NARTHEX_MPI(int, Type_create_hindexed_block, int count, int blocklength,
            const MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype);
NARTHEX_MPI(int, Type_create_struct, int count, const int blocklengths[],
            const MPI_Aint displacements[], const MPI_Datatype types[], MPI_Datatype *newtype);
/* A block of an array of `dimensions` dimensions. */
NARTHEX_MPI(int, Type_create_subarray, int dimensions, const int sizes[], const int subsizes[],
            const int starts[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype);
NARTHEX_MPI(int, Type_create_resized, MPI_Datatype oldtype, MPI_Aint lower_bound, MPI_Aint extent,
            MPI_Datatype *newtype);
NARTHEX_MPI(int, Type_dup, MPI_Datatype oldtype, MPI_Datatype *newtype);
NARTHEX_MPI(int, Type_commit, MPI_Datatype *datatype);
NARTHEX_MPI(int, Type_free, MPI_Datatype *datatype);
/* Bytes of data; from where to where an element reaches, in bytes; the same without padding. */
NARTHEX_MPI(int, Type_size, MPI_Datatype datatype, int *size);
NARTHEX_MPI(int, Type_get_extent, MPI_Datatype datatype, MPI_Aint *lower_bound, MPI_Aint *extent);
NARTHEX_MPI(int, Type_get_true_extent, MPI_Datatype datatype, MPI_Aint *lower_bound,
            MPI_Aint *extent);
NARTHEX_MPI(int, Get_address, const void *location, MPI_Aint *address);
NARTHEX_MPI(MPI_Aint, Aint_add, MPI_Aint base, MPI_Aint displacement);
NARTHEX_MPI(MPI_Aint, Aint_diff, MPI_Aint address1, MPI_Aint address2);
NARTHEX_MPI(int, Pack, const void *buffer, int count, MPI_Datatype datatype, void *packed,
            int packed_size, int *position, MPI_Comm comm);
NARTHEX_MPI(int, Unpack, const void *packed, int packed_size, int *position, void *buffer,
            int count, MPI_Datatype datatype, MPI_Comm comm);
NARTHEX_MPI(int, Pack_size, int count, MPI_Datatype datatype, MPI_Comm comm, int *size);

/* Operations */

NARTHEX_MPI(int, Op_create, MPI_User_function *function, int commutes, MPI_Op *op);
NARTHEX_MPI(int, Op_free, MPI_Op *op);
NARTHEX_MPI(int, Op_commutative, MPI_Op op, int *commutes);
NARTHEX_MPI(int, Reduce_local, const void *in, void *inout, int count, MPI_Datatype datatype,
            MPI_Op op);

/* Collectives, each also without waiting */

NARTHEX_MPI(int, Barrier, MPI_Comm comm);
NARTHEX_MPI(int, Ibarrier, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Bcast, void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
NARTHEX_MPI(int, Ibcast, void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
            MPI_Request *request);
NARTHEX_MPI(int, Gather, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm);
NARTHEX_MPI(int, Igather, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
            MPI_Request *request);
NARTHEX_MPI(int, Gatherv, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            const int receive_counts[], const int displacements[], MPI_Datatype receive_type,
            int root, MPI_Comm comm);
NARTHEX_MPI(int, Igatherv, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            const int receive_counts[], const int displacements[], MPI_Datatype receive_type,
            int root, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Scatter, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm);
NARTHEX_MPI(int, Iscatter, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
            MPI_Request *request);
NARTHEX_MPI(int, Scatterv, const void *send, const int send_counts[], const int displacements[],
            MPI_Datatype send_type, void *receive, int receive_count, MPI_Datatype receive_type,
            int root, MPI_Comm comm);
NARTHEX_MPI(int, Iscatterv, const void *send, const int send_counts[], const int displacements[],
            MPI_Datatype send_type, void *receive, int receive_count, MPI_Datatype receive_type,
            int root, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Allgather, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            int receive_count, MPI_Datatype receive_type, MPI_Comm comm);
NARTHEX_MPI(int, Iallgather, const void *send, int send_count, MPI_Datatype send_type,
            void *receive, int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
            MPI_Request *request);
NARTHEX_MPI(int, Allgatherv, const void *send, int send_count, MPI_Datatype send_type,
            void *receive, const int receive_counts[], const int displacements[],
            MPI_Datatype receive_type, MPI_Comm comm);
NARTHEX_MPI(int, Iallgatherv, const void *send, int send_count, MPI_Datatype send_type,
            void *receive, const int receive_counts[], const int displacements[],
            MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Alltoall, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            int receive_count, MPI_Datatype receive_type, MPI_Comm comm);
NARTHEX_MPI(int, Ialltoall, const void *send, int send_count, MPI_Datatype send_type, void *receive,
            int receive_count, MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Alltoallv, const void *send, const int send_counts[],
            const int send_displacements[], MPI_Datatype send_type, void *receive,
            const int receive_counts[], const int receive_displacements[],
            MPI_Datatype receive_type, MPI_Comm comm);
NARTHEX_MPI(int, Ialltoallv, const void *send, const int send_counts[],
            const int send_displacements[], MPI_Datatype send_type, void *receive,
            const int receive_counts[], const int receive_displacements[],
            MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *request);
/* The same with a type for each block; displacements are bytes. */
NARTHEX_MPI(int, Alltoallw, const void *send, const int send_counts[],
            const int send_displacements[], const MPI_Datatype send_types[], void *receive,
            const int receive_counts[], const int receive_displacements[],
            const MPI_Datatype receive_types[], MPI_Comm comm);
NARTHEX_MPI(int, Ialltoallw, const void *send, const int send_counts[],
            const int send_displacements[], const MPI_Datatype send_types[], void *receive,
            const int receive_counts[], const int receive_displacements[],
            const MPI_Datatype receive_types[], MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Reduce, const void *send, void *receive, int count, MPI_Datatype datatype,
            MPI_Op op, int root, MPI_Comm comm);
NARTHEX_MPI(int, Ireduce, const void *send, void *receive, int count, MPI_Datatype datatype,
            MPI_Op op, int root, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Allreduce, const void *send, void *receive, int count, MPI_Datatype datatype,
            MPI_Op op, MPI_Comm comm);
NARTHEX_MPI(int, Iallreduce, const void *send, void *receive, int count, MPI_Datatype datatype,
            MPI_Op op, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Reduce_scatter, const void *send, void *receive, const int receive_counts[],
            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
NARTHEX_MPI(int, Ireduce_scatter, const void *send, void *receive, const int receive_counts[],
            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Reduce_scatter_block, const void *send, void *receive, int receive_count,
            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
NARTHEX_MPI(int, Ireduce_scatter_block, const void *send, void *receive, int receive_count,
            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);
/* Of the ranks up to this one; of those before it. */
NARTHEX_MPI(int, Scan, const void *send, void *receive, int count, MPI_Datatype datatype, MPI_Op op,
            MPI_Comm comm);
NARTHEX_MPI(int, Iscan, const void *send, void *receive, int count, MPI_Datatype datatype,
            MPI_Op op, MPI_Comm comm, MPI_Request *request);
NARTHEX_MPI(int, Exscan, const void *send, void *receive, int count, MPI_Datatype datatype,
            MPI_Op op, MPI_Comm comm);
NARTHEX_MPI(int, Iexscan, const void *send, void *receive, int count, MPI_Datatype datatype,
            MPI_Op op, MPI_Comm comm, MPI_Request *request);

/* One-sided communication */

/* A window of this rank's memory; displacements in it are multiples of `unit` bytes. */
NARTHEX_MPI(int, Win_create, void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm,
            MPI_Win *window);
/* The same of new memory, whose address goes to where `base` points. */
NARTHEX_MPI(int, Win_allocate, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base,
            MPI_Win *window);
/* Memory; its address goes to where `base` points. */
NARTHEX_MPI(int, Alloc_mem, MPI_Aint bytes, MPI_Info info, void *base);
NARTHEX_MPI(int, Free_mem, void *base);
NARTHEX_MPI(int, Win_free, MPI_Win *window);
NARTHEX_MPI(int, Win_get_group, MPI_Win window, MPI_Group *group);
/* Returns when all that the ranks have begun is done, at origins and targets. */
NARTHEX_MPI(int, Win_fence, int assertions, MPI_Win window);
/* Begin and end of access to one rank's window, or to all. */
NARTHEX_MPI(int, Win_lock, int type, int rank, int assertions, MPI_Win window);
NARTHEX_MPI(int, Win_unlock, int rank, MPI_Win window);
NARTHEX_MPI(int, Win_lock_all, int assertions, MPI_Win window);
NARTHEX_MPI(int, Win_unlock_all, MPI_Win window);
/* Return when what this rank has begun there is done, both here and there. */
NARTHEX_MPI(int, Win_flush, int rank, MPI_Win window);
NARTHEX_MPI(int, Win_flush_all, MPI_Win window);
NARTHEX_MPI(int, Win_flush_local, int rank, MPI_Win window);
NARTHEX_MPI(int, Win_flush_local_all, MPI_Win window);
NARTHEX_MPI(int, Win_sync, MPI_Win window);
/* An epoch of some ranks: a target lets a group reach for its window from Win_post to Win_wait, an
 * origin reaches for those of a group from Win_start to Win_complete. */
NARTHEX_MPI(int, Win_post, MPI_Group group, int assertions, MPI_Win window);
NARTHEX_MPI(int, Win_start, MPI_Group group, int assertions, MPI_Win window);
NARTHEX_MPI(int, Win_complete, MPI_Win window);
NARTHEX_MPI(int, Win_wait, MPI_Win window);
NARTHEX_MPI(int, Win_test, MPI_Win window, int *flag);
NARTHEX_MPI(int, Put, const void *origin, int origin_count, MPI_Datatype origin_type, int rank,
            MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Win window);
NARTHEX_MPI(int, Get, void *origin, int origin_count, MPI_Datatype origin_type, int rank,
            MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Win window);
/* Combine elements of one basic type; the two that fetch return what was there before. */
NARTHEX_MPI(int, Accumulate, const void *origin, int origin_count, MPI_Datatype origin_type,
            int rank, MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
            MPI_Win window);
NARTHEX_MPI(int, Get_accumulate, const void *origin, int origin_count, MPI_Datatype origin_type,
            void *result, int result_count, MPI_Datatype result_type, int rank,
            MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
            MPI_Win window);
NARTHEX_MPI(int, Fetch_and_op, const void *origin, void *result, MPI_Datatype datatype, int rank,
            MPI_Aint displacement, MPI_Op op, MPI_Win window);
NARTHEX_MPI(int, Compare_and_swap, const void *origin, const void *compare, void *result,
            MPI_Datatype datatype, int rank, MPI_Aint displacement, MPI_Win window);

/* The same with requests, to be waited for at the origin. */
NARTHEX_MPI(int, Rput, const void *origin, int origin_count, MPI_Datatype origin_type, int rank,
            MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Win window,
            MPI_Request *request);
NARTHEX_MPI(int, Rget, void *origin, int origin_count, MPI_Datatype origin_type, int rank,
            MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Win window,
            MPI_Request *request);
NARTHEX_MPI(int, Raccumulate, const void *origin, int origin_count, MPI_Datatype origin_type,
            int rank, MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
            MPI_Win window, MPI_Request *request);
NARTHEX_MPI(int, Rget_accumulate, const void *origin, int origin_count, MPI_Datatype origin_type,
            void *result, int result_count, MPI_Datatype result_type, int rank,
            MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
            MPI_Win window, MPI_Request *request);

/* Topologies */

/* A communicator of the first ranks, on a grid of these sizes, numbered with the last dimension
 * first; MPI_COMM_NULL at others. */
NARTHEX_MPI(int, Cart_create, MPI_Comm comm, int dimensions, const int sizes[], const int periods[],
            int reorder, MPI_Comm *newcomm);
/* Chooses the sizes that are 0, as even as can be. */
NARTHEX_MPI(int, Dims_create, int nodes, int dimensions, int sizes[]);
NARTHEX_MPI(int, Cartdim_get, MPI_Comm comm, int *dimensions);
NARTHEX_MPI(int, Cart_get, MPI_Comm comm, int most_dimensions, int sizes[], int periods[],
            int coordinates[]);
NARTHEX_MPI(int, Cart_rank, MPI_Comm comm, const int coordinates[], int *rank);
NARTHEX_MPI(int, Cart_coords, MPI_Comm comm, int rank, int most_dimensions, int coordinates[]);
/* The neighbours to receive from and to send to; MPI_PROC_NULL beyond an end. */
NARTHEX_MPI(int, Cart_shift, MPI_Comm comm, int direction, int distance, int *source,
            int *destination);
/* A communicator of those with the same coordinates in the other dimensions. */
NARTHEX_MPI(int, Cart_sub, MPI_Comm comm, const int remain[], MPI_Comm *newcomm);
/* MPI_CART or MPI_UNDEFINED. */
NARTHEX_MPI(int, Topo_test, MPI_Comm comm, int *status);

/* Attributes of communicators */

NARTHEX_MPI(int, Comm_create_keyval, MPI_Comm_copy_attr_function *copy,
            MPI_Comm_delete_attr_function *remove, int *keyval, void *extra_state);
NARTHEX_MPI(int, Comm_free_keyval, int *keyval);
NARTHEX_MPI(int, Comm_set_attr, MPI_Comm comm, int keyval, void *value);
NARTHEX_MPI(int, Comm_get_attr, MPI_Comm comm, int keyval, void *value, int *flag);
NARTHEX_MPI(int, Comm_delete_attr, MPI_Comm comm, int keyval);
/* The same by the names before MPI 2. */
NARTHEX_MPI(int, Keyval_create, MPI_Copy_function *copy, MPI_Delete_function *remove, int *keyval,
            void *extra_state);
NARTHEX_MPI(int, Keyval_free, int *keyval);
NARTHEX_MPI(int, Attr_put, MPI_Comm comm, int keyval, void *value);
NARTHEX_MPI(int, Attr_get, MPI_Comm comm, int keyval, void *value, int *flag);
NARTHEX_MPI(int, Attr_delete, MPI_Comm comm, int keyval);

/* Errors */

NARTHEX_MPI(int, Comm_create_errhandler, MPI_Comm_errhandler_function *function,
            MPI_Errhandler *errhandler);
NARTHEX_MPI(int, Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler errhandler);
NARTHEX_MPI(int, Comm_get_errhandler, MPI_Comm comm, MPI_Errhandler *errhandler);
NARTHEX_MPI(int, Comm_call_errhandler, MPI_Comm comm, int errorcode);
NARTHEX_MPI(int, Errhandler_free, MPI_Errhandler *errhandler);
/* An error's class (they are the same here), and its words. */
NARTHEX_MPI(int, Error_class, int errorcode, int *errorclass);
NARTHEX_MPI(int, Error_string, int errorcode, char *string, int *length);

#ifdef __cplusplus
}
#endif

#endif
