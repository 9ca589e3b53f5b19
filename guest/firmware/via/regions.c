#include "firmware/via/regions.h"

#include "firmware/via/dma.h"
#include "firmware/via/memory.h"

/* Memory that no copy takes: for VIs, and the frames of further regions. */
enum { RESERVED_BYTES = 512 * 1024 };

struct region regions[REGIONS];

/* A tag (Figure 4): host memory from SHA to EHA, and where its copy begins. The valid ones are the
 * first of the table, in the order of their host addresses; the rest have the numbers of the
 * device's tags that are free. */
struct tag {
    uint64_t start, end, copy, number;
};
static struct tag *tags;
static uint64_t tags_valid;

void regions_start(void) {
    tags = (struct tag *)memory_take(machine.tags * sizeof *tags);
    if (!tags)
        machine.tags = 0;
    for (uint64_t each = 0; each < machine.tags; each++)
        tags[each] = (struct tag){.number = each};
}

/* The last valid tag that begins at an address of the node or before it; the first one if none
 * does. */
static struct tag *find_tag(uint64_t host) {
    struct tag *first = tags;
    uint64_t count = tags_valid;
    while (count > 1) {
        uint64_t half = count / 2;
        if (first[half].start <= host)
            first += half;
        count -= half;
    }
    return first;
}

uint64_t look_up_tag(uint64_t host) {
    const struct tag *tag = find_tag(host);
    return tag->copy + (host - tag->start);
}

uint64_t contiguous_bytes(const struct region *region, uint64_t address, uint64_t bytes) {
    uint64_t page = (address >> PAGE_SHIFT) - (region->base >> PAGE_SHIFT);
    uint64_t run = VIA_PAGE_BYTES - (address & (VIA_PAGE_BYTES - 1));
    const uint64_t *frame = region->frames + page;
    for (; run < bytes && frame[1] == frame[0] + VIA_PAGE_BYTES; frame++)
        run += VIA_PAGE_BYTES;
    return run < bytes ? run : bytes;
}

/* Whether no tag covers any of these blocks: a block has one copy. */
static bool is_uncovered(uint64_t start, uint64_t end) {
    const struct tag *before = find_tag(end - 1);
    return tags_valid == 0 || before->start >= end || before->end <= start;
}

static void set_tag(uint64_t start, uint64_t end, uint64_t copy) {
    uint64_t number = tags[tags_valid].number;
    struct tag *place = tags + tags_valid;
    for (; place > tags && place[-1].start > start; place--)
        *place = place[-1];
    *place = (struct tag){start, end, copy, number};
    tags_valid += 1;
    via_store(REGISTER_VIA_TAG_SELECT, number);
    via_store(REGISTER_VIA_TAG_HOST_START, start);
    via_store(REGISTER_VIA_TAG_HOST_END, end);
    via_store(REGISTER_VIA_TAG_NI_START, copy);
    via_store(REGISTER_VIA_TAG_NI_END, copy + (end - start));
    via_store(REGISTER_VIA_TAG_CONTROL, 1);
    via_wait_for(VIA_INITIALISED);
}

static void clear_tag(uint64_t start) {
    struct tag *place = find_tag(start);
    uint64_t number = place->number;
    tags_valid -= 1;
    for (; place < tags + tags_valid; place++)
        *place = place[1];
    place->number = number;
    via_store(REGISTER_VIA_TAG_SELECT, number);
    via_store(REGISTER_VIA_TAG_CONTROL, 0);
    via_wait_for(VIA_INITIALISED);
}

/* Memory of the blocks that a region touches and that follow each other in the node. */
struct run {
    uint64_t at, host, bytes;
};

static inline uint64_t first_block(const struct region *region) {
    return region->base & ~(machine.block_bytes - 1);
}

/* Goes on to the run behind `run`, the first one after a `run` of nothing at the first block;
 * whether there is one. */
static bool next_run(const struct region *region, struct run *run) {
    uint64_t block = machine.block_bytes;
    uint64_t end = (region->base + region->length + block - 1) & ~(block - 1);
    run->at += run->bytes;
    if (run->at == end)
        return false;
    run->bytes = contiguous_bytes(region, run->at, end - run->at);
    run->host = host_address(region, run->at);
    return true;
}

/* Its runs, each of which takes a tag; none if one of their blocks has a copy already. */
static uint64_t count_runs(const struct region *region) {
    uint64_t count = 0;
    for (struct run run = {.at = first_block(region)}; next_run(region, &run); count++)
        if (!is_uncovered(run.host, run.host + run.bytes))
            return 0;
    return count;
}

bool region_give_copy(struct region *region) {
    uint64_t runs = machine.is_eager ? count_runs(region) : 0;
    if (runs == 0)
        return true;
    uint64_t start = first_block(region);
    uint64_t block = machine.block_bytes;
    uint64_t bytes = (region->base + region->length - start + block - 1) & ~(block - 1);
    if (runs > machine.tags - tags_valid || memory_left() < bytes + RESERVED_BYTES)
        return false;
    region->memory = memory_take(bytes);
    if (region->memory == 0)
        return false;
    region->way = BY_UPDATE;
    for (struct run run = {.at = start}; next_run(region, &run);)
        set_tag(run.host, run.host + run.bytes, region->memory + (run.at - start));
    return true;
}

bool regions_have_copies(void) {
    return tags_valid > 0;
}

bool region_enter(struct region *region, uint64_t address, uint64_t length, uint64_t list) {
    uint64_t pages = ((address & (VIA_PAGE_BYTES - 1)) + length + VIA_PAGE_BYTES - 1) >> PAGE_SHIFT;
    /* One more than there are, which follows none: contiguous_bytes looks at it. */
    uint64_t *frames = (uint64_t *)memory_take((pages + 1) * sizeof *frames);
    if (!frames)
        return false;
    dma_in(list, frames, pages * sizeof *frames);
    frames[pages] = 0;
    *region = (struct region){.base = address, .length = length, .frames = frames, .way = BY_DMA};
    return true;
}

/* Forgets the region in one posted descriptor; whether it named it. */
static bool forget(struct work *work, const struct region *region) {
    bool is_named = false;
    if (work->region == region)
        work->status_place = NOT_AT_ALL;
    for (uint64_t each = 0; each < work->count; each++)
        if (work->pieces[each].region == region) {
            work->pieces[each].region = NULL;
            is_named = true;
        }
    return is_named;
}

static void forget_in_vi(struct vi *vi, const struct region *region) {
    for (uint16_t each = vi->completed; each != vi->posted; each++)
        if (forget(&vi->receives[each % VIA_DESCRIPTORS_LIMIT], region))
            disarm(vi, each);
    if (vi->state == VI_READING)
        forget(vi->reading, region);
}

void region_drop(struct region *region) {
    for (struct vi *vi = vis; vi < vis + VIS; vi++)
        if (vi->state != VI_NONE && vi->ptag == region->ptag)
            forget_in_vi(vi, region);
    if (has_copy(region))
        for (struct run run = {.at = first_block(region)}; next_run(region, &run);)
            clear_tag(run.host);
    memory_give((uint64_t)region->frames);
    memory_give(region->memory);
    *region = (struct region){.ptag = 0};
}
