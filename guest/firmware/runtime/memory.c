/* What compilers call without being asked: there is no C library below firmware. */
#include <stddef.h>

/* Compilers recognise these loops as calls of the functions that they are. */
#if defined(__GNUC__) && !defined(__clang__)
#define AS_WRITTEN __attribute__((optimize("no-tree-loop-distribute-patterns")))
#else
#define AS_WRITTEN
#endif

AS_WRITTEN void *memcpy(void *restrict target, const void *restrict source, size_t bytes) {
    char *to = target;
    const char *from = source;
    while (bytes-- > 0)
        *to++ = *from++;
    return target;
}

AS_WRITTEN void *memmove(void *target, const void *source, size_t bytes) {
    char *to = target;
    const char *from = source;
    if (to < from)
        return memcpy(target, source, bytes);
    while (bytes-- > 0)
        to[bytes] = from[bytes];
    return target;
}

AS_WRITTEN void *memset(void *target, int value, size_t bytes) {
    char *to = target;
    while (bytes-- > 0)
        *to++ = (char)value;
    return target;
}

int memcmp(const void *one, const void *other, size_t bytes) {
    const unsigned char *left = one, *right = other;
    for (; bytes > 0; left++, right++, bytes--)
        if (*left != *right)
            return *left - *right;
    return 0;
}
