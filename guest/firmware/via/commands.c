/* The kernel agent knows which process has which VI, memory handle and completion queue, and has
 * refused what is another's. The firmware keeps the state of each. */
#include "firmware/via/commands.h"

#include "firmware/via/completion.h"
#include "firmware/via/connections.h"
#include "firmware/via/memory.h"
#include "firmware/via/postponed.h"
#include "firmware/via/regions.h"

struct vi vis[VIS];

/* A command, as interfaces/src/via/registers.rs lists what its doublewords are. */
struct command {
    uint64_t request, process, sequence;
    uint64_t words[VIA_COMMAND_WORDS - 2];
};

static struct command load_command(void) {
    struct command command;
    uint64_t first = via_load(REGISTER_VIA_COMMAND);
    command.request = (uint32_t)first;
    command.process = first >> 32;
    command.sequence = via_load(REGISTER_VIA_COMMAND);
    for (unsigned each = 0; each < VIA_COMMAND_WORDS - 2; each++)
        command.words[each] = via_load(REGISTER_VIA_COMMAND);
    return command;
}

static void reply(const struct command *command, VIP_RETURN status) {
    answer(command->process, command->sequence, status, 0, 0);
}

/* Processes */

static VIP_RETURN open(const struct command *command) {
    struct process *process = &processes[command->process];
    *process = (struct process){.page = command->words[0]};
    if (!machine.has_window)
        return VIP_SUCCESS;
    uint64_t window = memory_take(VIA_WINDOW_BYTES);
    process->window =
        (struct region){.length = VIA_WINDOW_BYTES, .way = BY_STORE, .memory = window};
    via_store(REGISTER_VIA_WINDOW_SELECT, command->process);
    via_store(REGISTER_VIA_WINDOW_ADDRESS, window);
    return window != 0 ? VIP_SUCCESS : VIP_ERROR_RESOURCE;
}

/* VIs */

static void free_vi(struct vi *vi) {
    memory_give((uint64_t)vi->receives);
    memory_give((uint64_t)vi->reading);
    *vi = (struct vi){.state = VI_NONE};
}

/* The completion queue with this number; NULL for 0, and for one that could not be made. */
static struct cq *cq_of(uint64_t number) {
    struct cq *cq = number < QUEUES ? &cqs[number] : NULL;
    return cq && cq->is_used ? cq : NULL;
}

static VIP_RETURN create_vi(const struct command *command) {
    const uint64_t *words = command->words;
    uint64_t number = words[0];
    struct vi *vi = &vis[number % VIS];
    uint64_t receives = memory_take(VIA_DESCRIPTORS_LIMIT * sizeof *vi->receives);
    uint64_t reading = memory_take(sizeof *vi->reading + VIA_DESCRIPTORS_LIMIT * sizeof *vi->held);
    if (number >= VIS || receives == 0 || reading == 0) {
        memory_give(receives);
        memory_give(reading);
        return VIP_ERROR_RESOURCE;
    }
    *vi = (struct vi){
        .doorbells = command->process << 32 | number << 1,
        .ptag = (uint32_t)words[1],
        .state = VI_IDLE,
        .attributes = (uint32_t)words[2],
        .largest = words[3],
        .number = (uint16_t)number,
        .process = (uint16_t)command->process,
        .receives = (struct work *)receives,
        .reading = (struct work *)reading,
        .held = (uint64_t *)(reading + sizeof *vi->reading),
        .send_cq = cq_of(words[4]),
        .receive_cq = cq_of(words[5]),
    };
    return VIP_SUCCESS;
}

static VIP_RETURN destroy_vi(struct vi *vi) {
    break_connection(vi, VIP_ERROR_CONN_LOST);
    while (has_reply())
        send_reply();
    free_vi(vi);
    return VIP_SUCCESS;
}

/* Memory */

static void register_memory(const struct command *command) {
    const uint64_t *words = command->words;
    struct region *region = &regions[words[0] % REGIONS];
    if (words[0] >= REGIONS || !region_enter(region, words[1], words[2], words[3]))
        return reply(command, VIP_ERROR_RESOURCE);
    region->attributes = (uint32_t)words[5];
    region->process = (uint32_t)command->process;
    region->ptag = (uint32_t)words[4];
    answer_registration(region, command->process, command->sequence);
}

static void drop(struct region *region) {
    forget_postponed(region);
    region_drop(region);
}

static VIP_RETURN deregister(uint64_t handle) {
    if (handle < REGIONS && regions[handle].ptag != 0)
        drop(&regions[handle]);
    return VIP_SUCCESS;
}

/* Completion queues */

static VIP_RETURN create_cq(const struct command *command) {
    const uint64_t *words = command->words;
    struct cq *cq = &cqs[words[0] % QUEUES];
    if (words[0] >= QUEUES || !region_enter(&cq->region, words[1], words[2], words[3]))
        return VIP_ERROR_RESOURCE;
    region_give_copy(&cq->region);
    cq->region.process = (uint32_t)command->process;
    cq->entries = words[4];
    cq->entered = cq->taken = cq->index = 0;
    cq->sense = 1;
    cq->number = words[0];
    cq->is_used = true;
    return VIP_SUCCESS;
}

static VIP_RETURN destroy_cq(struct cq *cq) {
    if (cq->is_used)
        region_drop(&cq->region);
    cq->is_used = false;
    return VIP_SUCCESS;
}

/* Everything of a process goes. */
static void close(uint64_t number) {
    struct process *process = &processes[number];
    forget_connections(number);
    for (struct vi *vi = vis; vi < vis + VIS; vi++)
        if (vi->state != VI_NONE && vi->process == number)
            destroy_vi(vi);
    for (struct cq *cq = cqs; cq < cqs + QUEUES; cq++)
        if (cq->is_used && cq->region.process == number)
            destroy_cq(cq);
    for (struct region *region = regions; region < regions + REGIONS; region++)
        if (region->ptag != 0 && region->process == number)
            drop(region);
    memory_give(process->window.memory);
}

static VIP_RETURN finish(const struct command *command) {
    switch (command->request) {
    case VIA_OPEN:
        return open(command);
    case VIA_CLOSE:
        close(command->process);
        return VIP_SUCCESS;
    case VIA_DEREGISTER:
        return deregister(command->words[0]);
    case VIA_CREATE_VI:
        return create_vi(command);
    case VIA_DESTROY_VI:
        return destroy_vi(&vis[command->words[0] % VIS]);
    case VIA_CREATE_CQ:
        return create_cq(command);
    case VIA_DESTROY_CQ:
        return destroy_cq(&cqs[command->words[0] % QUEUES]);
    default:
        return VIP_ERROR_NOT_SUPPORTED;
    }
}

void carry_out_command(void) {
    struct command command = load_command();
    const uint64_t *words = command.words;
    switch (command.request) {
    case VIA_REGISTER:
        return register_memory(&command);
    case VIA_CONNECT_WAIT:
        return connect_wait(command.process, command.sequence, words[0]);
    case VIA_CONNECT_REQUEST:
        return connect_request(command.sequence, &vis[words[0] % VIS], words[1], words[2]);
    case VIA_CONNECT_ACCEPT:
        return connect_accept(command.process, command.sequence, words[0], &vis[words[1] % VIS]);
    case VIA_CONNECT_REJECT:
        return connect_reject(command.process, command.sequence, words[0]);
    case VIA_DISCONNECT:
        return disconnect(command.sequence, &vis[words[0] % VIS]);
    case VIA_CANCEL:
        return cancel(command.process, command.sequence, words[0]);
    default:
        reply(&command, finish(&command));
        if (command.request == VIA_CLOSE)
            processes[command.process].page = 0;
        try_postponed();
    }
}
