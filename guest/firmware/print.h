/* Printing for firmware, which has no C library: what it writes appears as a program's output does,
 * marked with its node and "firmware".
 *
 * What is written appears at once. The call takes no simulated time; the instructions that make the
 * text do, as a program's printf. All is in this header, so that firmware that does not print stays
 * as it is to the byte. */
#ifndef NARTHEX_FIRMWARE_PRINT_H
#define NARTHEX_FIRMWARE_PRINT_H

#include <stdarg.h>

#include "firmware/firmware.h"

/* Of a call of firmware_printf; the text is cut there. */
enum { FIRMWARE_PRINT_LIMIT_BYTES = 256 };

/* A text while it is made. */
struct firmware_text {
    char bytes[FIRMWARE_PRINT_LIMIT_BYTES];
    size_t count;
};

/* How a value is to be shown. */
struct firmware_conversion {
    char kind;
    char fill;
    int width;
    bool is_long;
};

static inline void firmware_text_add(struct firmware_text *text, char byte) {
    if (text->count < sizeof text->bytes)
        text->bytes[text->count++] = byte;
}

static inline void firmware_text_add_number(struct firmware_text *text, uint64_t value,
                                            bool is_negative,
                                            const struct firmware_conversion *shown) {
    char digits[24];
    int count = 0, base = shown->kind == 'x' || shown->kind == 'p' ? 16 : 10;
    do {
        int digit = (int)(value % (uint64_t)base);
        digits[count++] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
        value /= (uint64_t)base;
    } while (value > 0);
    int filled = shown->width - count - is_negative;
    if (is_negative && shown->fill == '0')
        firmware_text_add(text, '-');
    for (; filled > 0; filled--)
        firmware_text_add(text, shown->fill);
    if (is_negative && shown->fill != '0')
        firmware_text_add(text, '-');
    while (count > 0)
        firmware_text_add(text, digits[--count]);
}

/* Reads what follows a '%', up to its letter: the place behind it. */
static inline const char *firmware_read_conversion(const char *format,
                                                   struct firmware_conversion *read) {
    *read = (struct firmware_conversion){.fill = ' '};
    if (*format == '0') {
        read->fill = '0';
        format++;
    }
    for (; *format >= '0' && *format <= '9'; format++)
        read->width = read->width * 10 + (*format - '0');
    for (; *format == 'l' || *format == 'z'; format++)
        read->is_long = true;
    read->kind = *format ? *format : '%'; /* the text ends with it */
    return *format ? format + 1 : format;
}

static inline void firmware_text_add_signed(struct firmware_text *text, long value,
                                            const struct firmware_conversion *shown) {
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    firmware_text_add_number(text, size, value < 0, shown);
}

static inline void firmware_text_add_string(struct firmware_text *text, const char *string) {
    while (*string)
        firmware_text_add(text, *string++);
}

/* As C's printf, with %d %u %x %p %c %s %%, a width, a leading 0 and the lengths l, ll and z. Of a
 * conversion that it does not know it writes the letter. It writes 256 bytes at most. */
__attribute__((format(printf, 1, 2), unused)) static void firmware_printf(const char *format, ...) {
    struct firmware_text text = {.count = 0};
    struct firmware_conversion shown;
    va_list values;
    va_start(values, format);
    while (*format) {
        char byte = *format++;
        if (byte != '%') {
            firmware_text_add(&text, byte);
            continue;
        }
        format = firmware_read_conversion(format, &shown);
        switch (shown.kind) {
        case 'd':
            firmware_text_add_signed(
                &text, shown.is_long ? va_arg(values, long) : va_arg(values, int), &shown);
            break;
        case 'u':
        case 'x':
            firmware_text_add_number(
                &text, shown.is_long ? va_arg(values, unsigned long) : va_arg(values, unsigned),
                false, &shown);
            break;
        case 'p':
            firmware_text_add_number(&text, (uintptr_t)va_arg(values, void *), false, &shown);
            break;
        case 'c':
            firmware_text_add(&text, (char)va_arg(values, int));
            break;
        case 's':
            firmware_text_add_string(&text, va_arg(values, const char *));
            break;
        default:
            firmware_text_add(&text, shown.kind);
        }
    }
    va_end(values);
    firmware_write(text.bytes, text.count);
}

#endif
