/* Checking calls by the names of their codes. Nothing that every program links calls this: the
 * names would be in all of them. */
#include "messaging/narthex.h"
#include "via/endpoint.h"

static const char *const NAMES[] = {
    "VIP_SUCCESS",
    "VIP_NOT_DONE",
    "VIP_INVALID_PARAMETER",
    "VIP_ERROR_RESOURCE",
    "VIP_TIMEOUT",
    "VIP_REJECT",
    "VIP_INVALID_RELIABILITY_LEVEL",
    "VIP_INVALID_MTU",
    "VIP_INVALID_QOS",
    "VIP_INVALID_PTAG",
    "VIP_INVALID_RDMAREAD",
    "VIP_DESCRIPTOR_ERROR",
    "VIP_INVALID_STATE",
    "VIP_ERROR_NAMESERVICE",
    "VIP_NO_MATCH",
    "VIP_NOT_REACHABLE",
    "VIP_ERROR_NOT_SUPPORTED",
};
_Static_assert(sizeof NAMES / sizeof NAMES[0] == VIP_ERROR_NOT_SUPPORTED + 1, "each code has one");

void via_check(VIP_RETURN result, const char *call) {
    narthex_check(result == VIP_SUCCESS, "node %d: %s returns %s", narthex_node(), call,
                  NAMES[result]);
}
