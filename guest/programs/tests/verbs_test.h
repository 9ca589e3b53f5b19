#ifndef NARTHEX_PROGRAMS_TESTS_VERBS_TEST_H
#define NARTHEX_PROGRAMS_TESTS_VERBS_TEST_H

/* What test programs of verbs share: checks, and queue pairs of this node that are joined. */

#include <errno.h>
#include <infiniband/verbs.h>
#include <narthex.h>
#include <stdbool.h>
#include <string.h>

/* Ends the program with the error of the call `what`, unless `condition` holds. */
static inline void check(bool condition, const char *what) {
    narthex_check(condition, "%s: %s", what, strerror(errno));
}

/* Takes a pair by all its states to ready to send, to the pair `peer` of this node. */
static inline void connect_with(struct ibv_qp *pair, uint32_t peer, struct ibv_qp_attr attr) {
    attr.ah_attr.dlid = (uint16_t)narthex_node();
    attr.dest_qp_num = peer;
    int masks[] = {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                   IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                   IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                       IBV_QP_MAX_QP_RD_ATOMIC};
    for (int each = 0; each < 3; each++) {
        attr.qp_state = IBV_QPS_INIT + each;
        errno = ibv_modify_qp(pair, &attr, IBV_QP_STATE | masks[each]);
        check(errno == 0, "ibv_modify_qp");
    }
}

#endif
