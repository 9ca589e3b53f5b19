#include "firmware/via/regions.h"

#include "firmware/via/dma.h"
#include "firmware/via/memory.h"

/* Memory that no copy takes: for VIs, and the frames of further regions. */
enum { RESERVED_BYTES = 512 * 1024 };

struct region regions[REGIONS];

/* The tags that are used: which blocks of the node each covers. */
struct tag {
    uint64_t start, end;
};
static struct tag *tags;
static uint64_t tags_used; /* none from this one on */

void regions_start(void) {
    tags = (struct tag *)memory_take(machine.tags * sizeof *tags);
    if (tags)
        __builtin_memset(tags, 0, machine.tags * sizeof *tags);
    else
        machine.tags = 0;
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
    for (uint64_t each = 0; each < tags_used; each++)
        if (tags[each].start < end && start < tags[each].end)
            return false;
    return true;
}

static void set_tag(uint64_t number, uint64_t start, uint64_t end, uint64_t copy) {
    tags[number] = (struct tag){start, end};
    via_store(REGISTER_VIA_TAG_SELECT, number);
    via_store(REGISTER_VIA_TAG_HOST_START, start);
    via_store(REGISTER_VIA_TAG_HOST_END, end);
    via_store(REGISTER_VIA_TAG_NI_START, copy);
    via_store(REGISTER_VIA_TAG_NI_END, copy + (end - start));
    via_store(REGISTER_VIA_TAG_CONTROL, 1);
    via_wait_for(VIA_INITIALISED);
}

static void clear_tag(uint64_t number) {
    tags[number] = (struct tag){0, 0};
    via_store(REGISTER_VIA_TAG_SELECT, number);
    via_store(REGISTER_VIA_TAG_CONTROL, 0);
    via_wait_for(VIA_INITIALISED);
}

/* So many tags that follow each other, or all there are. */
static uint64_t find_tags(uint64_t count) {
    uint64_t first = 0;
    for (uint64_t each = 0; each < machine.tags && each - first < count; each++)
        if (tags[each].end != 0)
            first = each + 1;
    return first + count <= machine.tags ? first : machine.tags;
}

/* Calls set_tag for each run of frames of the blocks that the region touches; without a `copy` it
 * only counts them, or returns 0 if one of them is covered. */
static uint64_t for_each_run(const struct region *region, uint64_t first_tag, uint64_t copy) {
    uint64_t block = machine.block_bytes;
    uint64_t at = region->base & ~(block - 1), runs = 0;
    uint64_t end = (region->base + region->length + block - 1) & ~(block - 1);
    while (at < end) {
        uint64_t run = contiguous_bytes(region, at, end - at);
        uint64_t host = host_address(region, at);
        if (copy != 0)
            set_tag(first_tag + runs, host, host + run, copy);
        else if (!is_uncovered(host, host + run))
            return 0;
        copy += copy != 0 ? run : 0;
        at += run;
        runs += 1;
    }
    return runs;
}

/* Gives the region a copy. Without one its data go by DMA, as the study allows (Section 5). */
static void give_copy(struct region *region) {
    uint64_t block = machine.block_bytes;
    uint64_t start = region->base & ~(block - 1);
    uint64_t runs = for_each_run(region, 0, 0);
    uint64_t first = runs > 0 ? find_tags(runs) : machine.tags;
    if (first == machine.tags)
        return;
    uint64_t bytes = (region->base + region->length - start + block - 1) & ~(block - 1);
    uint64_t memory = memory_left() < bytes + RESERVED_BYTES ? 0 : memory_take(bytes);
    if (memory == 0)
        return;
    region->memory = memory;
    region->buffer = memory + (region->base - start);
    region->way = BY_UPDATE;
    region->first_tag = (uint16_t)first;
    region->tags = (uint16_t)runs;
    if (tags_used < first + runs)
        tags_used = first + runs;
    for_each_run(region, first, memory);
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
    if (machine.is_eager)
        give_copy(region);
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
    for (uint64_t each = 0; each < region->tags; each++)
        clear_tag(region->first_tag + each);
    memory_give((uint64_t)region->frames);
    memory_give(region->memory);
    *region = (struct region){.ptag = 0};
}
