#include "mpi/type_building.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"

struct building begin_type(void) {
    struct datatype *type = mpi_allocate(sizeof *type);
    *type = (struct datatype){.mark = DATATYPE_MARK, .alignment = 1, .references = 1};
    return (struct building){.type = type};
}

static void push(struct building *building, struct run run) {
    struct datatype *type = building->type;
    if (type->runs == building->room) {
        building->room = building->room ? 2 * building->room : 4;
        type->run = realloc(type->run, building->room * sizeof run);
        narthex_check(type->run, "rank %d has no memory left for a datatype of %zu runs",
                      narthex_node(), type->runs);
    }
    type->run[type->runs++] = run;
}

/* Whether the run goes on where the last one ends, in its steps. */
static bool continues(const struct run *last, const struct run *run) {
    intptr_t stride = last->repeats > 1 ? last->stride : run->displacement - last->displacement;
    bool is_next = run->displacement == last->displacement + (intptr_t)last->repeats * stride;
    return last->bytes == run->bytes && is_next && (run->repeats == 1 || run->stride == stride);
}

static void add_run(struct building *building, struct run run) {
    struct datatype *type = building->type;
    struct run *last = type->runs > 0 ? &type->run[type->runs - 1] : NULL;
    bool is_block = run.repeats == 1 && last && last->repeats == 1;
    if (is_block && last->displacement + (intptr_t)last->bytes == run.displacement) {
        last->bytes += run.bytes;
    } else if (last && continues(last, &run)) {
        if (last->repeats == 1)
            last->stride = run.displacement - last->displacement;
        last->repeats += run.repeats;
    } else {
        push(building, run);
    }
    type->size += run.bytes * run.repeats;
}

static void widen(struct building *building, intptr_t lower, intptr_t upper) {
    bool is_first = !building->has_bounds;
    if (is_first || lower < building->lower)
        building->lower = lower;
    if (is_first || upper > building->upper)
        building->upper = upper;
    building->has_bounds = true;
}

void add_elements(struct building *building, const struct datatype *old, size_t count,
                  intptr_t displacement) {
    if (count == 0)
        return;
    intptr_t last = displacement + (intptr_t)(count - 1) * old->extent;
    widen(building, displacement + old->lower_bound, displacement + old->lower_bound + old->extent);
    widen(building, last + old->lower_bound, last + old->lower_bound + old->extent);
    if (old->alignment > building->type->alignment)
        building->type->alignment = old->alignment;
    if (old->is_contiguous && old->size > 0) {
        add_run(building, (struct run){displacement, count * old->size, 1, 0});
        return;
    }
    for (; count > 0; count--, displacement += old->extent)
        for (size_t index = 0; index < old->runs; index++) {
            struct run run = old->run[index];
            run.displacement += displacement;
            add_run(building, run);
        }
}

/* From the first byte of the runs to behind the last. */
static void find_true_bounds(struct datatype *type) {
    intptr_t lower = INTPTR_MAX, upper = INTPTR_MIN;
    for (size_t index = 0; index < type->runs; index++) {
        struct run run = type->run[index];
        intptr_t last = run.displacement + (intptr_t)(run.repeats - 1) * run.stride;
        intptr_t first = run.displacement < last ? run.displacement : last;
        intptr_t end = (run.displacement < last ? last : run.displacement) + (intptr_t)run.bytes;
        lower = first < lower ? first : lower;
        upper = end > upper ? end : upper;
    }
    type->true_lower_bound = type->runs > 0 ? lower : 0;
    type->true_extent = type->runs > 0 ? upper - lower : 0;
}

void set_bounds(struct datatype *type, intptr_t lower_bound, intptr_t extent) {
    type->lower_bound = lower_bound;
    type->extent = extent;
    bool is_block = type->runs == 1 && type->run->repeats == 1 && type->run->displacement == 0;
    type->is_contiguous = is_block && (size_t)extent == type->size;
}

MPI_Datatype finish_type(struct building *building) {
    struct datatype *type = building->type;
    intptr_t extent = building->upper - building->lower, alignment = type->alignment;
    if (building->is_structure)
        extent = (extent + alignment - 1) / alignment * alignment;
    find_true_bounds(type);
    set_bounds(type, building->lower, extent);
    return (MPI_Datatype)type;
}
