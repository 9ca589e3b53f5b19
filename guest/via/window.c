/* Programmed I/O: the processor moves descriptors and data to and from the process's window into
 * the interface's memory, by uncached stores and loads of doublewords.
 *
 *     window:  | descriptor, with one data segment | data, or room for it | next one ...
 *
 * Addresses in a descriptor there are offsets in the window. */
#include <string.h>

#include "via/provider.h"

enum { COPY_BYTES = sizeof(VIP_DESCRIPTOR), STATUS_AT = 24, IMMEDIATE_AT = 16 };

static volatile uint64_t *word_of(const struct via_nic *nic, uint32_t offset) {
    return (volatile uint64_t *)(uintptr_t)(nic->machine->via_window + offset);
}

/* Room */

static bool is_free(const struct via_nic *nic, uint32_t unit, uint32_t count) {
    for (uint32_t each = 0; each < count; each++)
        if (nic->unit_is_used[unit + each])
            return false;
    return true;
}

static bool take_units(struct via_nic *nic, uint32_t count, uint32_t *unit) {
    for (uint32_t tried = 0; tried < VIA_WINDOW_UNITS; tried++) {
        uint32_t first = (nic->next_unit + tried) % VIA_WINDOW_UNITS;
        if (first + count <= VIA_WINDOW_UNITS && is_free(nic, first, count)) {
            memset(nic->unit_is_used + first, true, count);
            nic->next_unit = (first + count) % VIA_WINDOW_UNITS;
            *unit = first;
            return true;
        }
    }
    return false;
}

/* Copies */

static void copy_to_window(volatile uint64_t *to, const char *from, size_t bytes) {
    for (; bytes >= sizeof *to; bytes -= sizeof *to, from += sizeof *to) {
        uint64_t value;
        memcpy(&value, from, sizeof value);
        *to++ = value;
    }
    if (bytes > 0) {
        uint64_t value = 0;
        memcpy(&value, from, bytes);
        *to = value;
    }
}

static void copy_from_window(char *to, volatile uint64_t *from, size_t bytes) {
    for (; bytes > 0; from++) {
        uint64_t value = *from;
        size_t part = bytes < sizeof value ? bytes : sizeof value;
        memcpy(to, &value, part);
        to += part;
        bytes -= part;
    }
}

/* The data of a descriptor's segments, joined. A segment whose length is no multiple of eight bytes
 * is followed by nothing: its neighbour would begin inside a doubleword. */
static bool can_join(const VIP_DESCRIPTOR *descriptor) {
    for (int each = 0; each + 1 < descriptor->CS.SegCount; each++)
        if (descriptor->DS[each].Local.Length % sizeof(uint64_t) != 0)
            return false;
    return true;
}

static size_t bytes_of(const VIP_DESCRIPTOR *descriptor) {
    size_t bytes = 0;
    for (int each = 0; each < descriptor->CS.SegCount; each++)
        bytes += descriptor->DS[each].Local.Length;
    return bytes;
}

static bool may_use(const struct via_vi *vi, VIP_MEM_HANDLE handle, const void *memory,
                    size_t bytes) {
    if (handle >= VIA_HANDLES_LIMIT)
        return false;
    const struct via_registration *registration = &vi->nic->registrations[handle];
    size_t offset = (size_t)((const char *)memory - registration->start);
    return registration->ptag == vi->attributes.Ptag && offset <= registration->bytes &&
           bytes <= registration->bytes - offset;
}

static bool may_use_all(const struct via_vi *vi, const VIP_DESCRIPTOR *descriptor,
                        VIP_MEM_HANDLE handle) {
    for (int each = 0; each < descriptor->CS.SegCount; each++) {
        const VIP_DATA_SEGMENT *segment = &descriptor->DS[each].Local;
        if (!may_use(vi, segment->Handle, segment->Data.Address, segment->Length))
            return false;
    }
    return may_use(vi, handle, descriptor, sizeof descriptor->CS);
}

bool via_window_post(struct via_vi *vi, struct via_queue *queue, uint32_t place,
                     const VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle, bool sends) {
    struct via_nic *nic = vi->nic;
    size_t bytes = bytes_of(descriptor);
    uint32_t count = (uint32_t)((COPY_BYTES + bytes + VIA_WINDOW_UNIT - 1) / VIA_WINDOW_UNIT), unit;
    if (descriptor->CS.SegCount > VIA_SEGMENTS_LIMIT || bytes > VIA_WINDOW_BYTES ||
        !can_join(descriptor) || !take_units(nic, count, &unit))
        return false;
    uint32_t offset = unit * VIA_WINDOW_UNIT, data = offset + COPY_BYTES;
    VIP_DESCRIPTOR copied = {.CS = descriptor->CS};
    copied.CS.SegCount = 1;
    bool is_right = may_use_all(vi, descriptor, handle);
    copied.DS[0].Local =
        (VIP_DATA_SEGMENT){{data}, is_right ? VIA_WINDOW_HANDLE : 0, (VIP_UINT32)bytes};
    copy_to_window(word_of(nic, offset), (const char *)&copied,
                   sizeof copied.CS + sizeof copied.DS[0]);
    for (int each = 0; sends && is_right && each < descriptor->CS.SegCount; each++) {
        const VIP_DATA_SEGMENT *segment = &descriptor->DS[each].Local;
        copy_to_window(word_of(nic, data), segment->Data.Address, segment->Length);
        data += segment->Length;
    }
    queue->in_window[place] = offset;
    queue->units[place] = count;
    return true;
}

/* Gives the program's descriptor and memory what came. */
static void take(struct via_nic *nic, uint32_t offset, VIP_DESCRIPTOR *descriptor, uint64_t status,
                 bool receives) {
    if (receives && status >> 32 & VIP_STATUS_IMMEDIATE)
        descriptor->CS.ImmediateData = (VIP_UINT32)(*word_of(nic, offset + IMMEDIATE_AT) >> 32);
    size_t left = receives ? (uint32_t)status : 0;
    uint32_t data = offset + COPY_BYTES;
    for (int each = 0; left > 0 && each < descriptor->CS.SegCount; each++) {
        const VIP_DATA_SEGMENT *segment = &descriptor->DS[each].Local;
        size_t part = left < segment->Length ? left : segment->Length;
        copy_from_window(segment->Data.Address, word_of(nic, data), part);
        data += segment->Length;
        left -= part;
    }
    descriptor->CS.Length = (VIP_UINT32)status;
    descriptor->CS.Status = (VIP_UINT32)(status >> 32);
}

bool via_window_done(struct via_vi *vi, struct via_queue *queue, uint32_t place, bool receives) {
    struct via_nic *nic = vi->nic;
    uint32_t offset = queue->in_window[place];
    uint64_t status = *word_of(nic, offset + STATUS_AT);
    if (!(status >> 32 & VIP_STATUS_DONE))
        return false;
    take(nic, offset, queue->posted[place], status, receives);
    memset(nic->unit_is_used + offset / VIA_WINDOW_UNIT, false, queue->units[place]);
    return true;
}
