/* Devices, protection domains and memory regions. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "messaging/narthex.h"
#include "verbs/provider.h"

static struct ibv_device the_device = {"narthex_verbs0"};

int verbs_request(struct ibv_context *context, unsigned long request, uint64_t *words) {
    return ioctl(context->cmd_fd, (int)request, words) < 0 ? errno : 0;
}

int verbs_request_when_idle(struct ibv_context *context, unsigned long request, uint64_t number) {
    int error;
    do {
        uint64_t words[VERBS_REQUEST_WORDS] = {number};
        error = verbs_request(context, request, words);
    } while (error == EAGAIN);
    return error;
}

void *verbs_allocate(size_t bytes) {
    size_t whole = (bytes + QUEUE_ALIGNMENT - 1) / QUEUE_ALIGNMENT * QUEUE_ALIGNMENT;
    void *memory = aligned_alloc(QUEUE_ALIGNMENT, whole);
    if (memory)
        memset(memory, 0, whole);
    else
        errno = ENOMEM;
    return memory;
}

uint32_t verbs_logarithm(uint64_t count) {
    uint32_t logarithm = 0;
    while ((UINT64_C(1) << logarithm) < count)
        logarithm += 1;
    return logarithm;
}

struct ibv_device **ibv_get_device_list(int *num_devices) {
    const struct narthex_information *machine = narthex_information();
    bool is_there = narthex_is_simulated() && machine->send_driver == DRIVER_VERBS;
    struct ibv_device **list = calloc(2, sizeof *list);
    if (list && is_there)
        list[0] = &the_device;
    if (num_devices)
        *num_devices = is_there ? 1 : 0;
    return list;
}

void ibv_free_device_list(struct ibv_device **list) {
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device) {
    return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device) {
    struct device_context *own = calloc(1, sizeof *own);
    if (!own)
        return NULL;
    own->context = (struct ibv_context){.device = device, .cmd_fd = open("/dev/verbs", O_RDWR)};
    uint64_t words[VERBS_REQUEST_WORDS] = {0};
    if (own->context.cmd_fd < 0 || verbs_request(&own->context, VERBS_QUERY, words) != 0) {
        free(own);
        return NULL;
    }
    own->doorbell = (volatile uint64_t *)(uintptr_t)(narthex_information()->register_page +
                                                     REGISTER_VERBS_DOORBELL);
    own->blue_flame = (char *)(uintptr_t)words[0];
    own->most_inline = words[1];
    own->mtu = words[2];
    own->most_objects = words[3];
    own->most_entries = words[4];
    own->most_fetches = words[5];
    own->pairs = calloc(own->most_objects, sizeof *own->pairs);
    if (!own->pairs) {
        close(own->context.cmd_fd);
        free(own);
        return NULL;
    }
    return &own->context;
}

int ibv_close_device(struct ibv_context *context) {
    struct device_context *own = device_of(context);
    if (own->users > 0)
        return EBUSY;
    close(context->cmd_fd);
    free(own->pairs);
    free(own);
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr) {
    const struct device_context *own = device_of(context);
    int objects = (int)own->most_objects, entries = (int)own->most_entries;
    int fetches = (int)own->most_fetches;
    *device_attr = (struct ibv_device_attr){.max_qp = objects,
                                            .max_qp_wr = entries / SEGMENTS_OF_BLOCK,
                                            .max_sge = MOST_SEGMENTS,
                                            .max_cq = objects,
                                            .max_cqe = entries,
                                            .max_mr = objects,
                                            .max_pd = objects,
                                            .max_srq = objects,
                                            .max_srq_wr = entries,
                                            .max_srq_sge = MOST_SEGMENTS,
                                            .max_mr_size = UINT64_MAX,
                                            .max_qp_rd_atom = fetches,
                                            .max_qp_init_rd_atom = fetches,
                                            .atomic_cap = IBV_ATOMIC_HCA};
    return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *port_attr) {
    if (port_num != 1)
        return EINVAL;
    enum ibv_mtu mtu = (enum ibv_mtu)(verbs_logarithm(device_of(context)->mtu) - 7);
    *port_attr = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE,
                                        .max_mtu = mtu,
                                        .active_mtu = mtu,
                                        .max_msg_sz = UINT32_C(1) << 31,
                                        .lid = (uint16_t)narthex_node()};
    return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) {
    uint64_t words[VERBS_REQUEST_WORDS] = {0};
    struct ibv_pd *pd = malloc(sizeof *pd);
    int error = pd ? verbs_request(context, VERBS_CREATE_DOMAIN, words) : ENOMEM;
    if (error) {
        free(pd);
        errno = error;
        return NULL;
    }
    *pd = (struct ibv_pd){context, (uint32_t)words[0]};
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd) {
    uint64_t words[VERBS_REQUEST_WORDS] = {pd->handle};
    int error = verbs_request(pd->context, VERBS_DESTROY_DOMAIN, words);
    if (!error)
        free(pd);
    return error;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access) {
    uint64_t words[VERBS_REQUEST_WORDS] = {(uintptr_t)addr, length, (uint64_t)access, pd->handle};
    struct ibv_mr *mr = malloc(sizeof *mr);
    bool writes = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    bool is_sound = !writes || (access & IBV_ACCESS_LOCAL_WRITE);
    int error = !mr        ? ENOMEM
                : is_sound ? verbs_request(pd->context, VERBS_REGISTER, words)
                           : EINVAL;
    if (error) {
        free(mr);
        errno = error;
        return NULL;
    }
    uint32_t key = (uint32_t)words[4];
    *mr = (struct ibv_mr){pd->context, pd, addr, length, key, key, key};
    return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr) {
    int error = verbs_request_when_idle(mr->context, VERBS_DEREGISTER, mr->lkey);
    if (!error)
        free(mr);
    return error;
}
