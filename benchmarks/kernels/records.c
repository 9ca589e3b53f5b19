/* Records, strings and branches, as programs of systems have them (and Dhrystone): assignments of
 * records through pointers, comparisons of short strings, small procedures.
 *
 *     records TURNS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FIRST, SECOND, THIRD };

struct record {
    struct record *next;
    enum kind kind;
    int number;
    char text[32];
};

static struct record records[2] = {{&records[1], FIRST, 0, "a record that names the first"},
                                   {&records[0], SECOND, 0, "a record that names the second"}};
static int table[64], square[16][16];
static char letter = 'A';

__attribute__((noinline)) static enum kind after(enum kind kind, int number) {
    switch (kind) {
    case FIRST:
        return number > 100 ? SECOND : THIRD;
    case SECOND:
        return number > 10 ? FIRST : SECOND;
    default:
        return FIRST;
    }
}

__attribute__((noinline)) static void pass_on(struct record *record, int number) {
    struct record copy = *record;
    copy.number = number;
    copy.kind = after(record->kind, number);
    copy.next = record->next;
    *record->next = copy;
    record->next->next = record;
}

__attribute__((noinline)) static int is_before(const char *one, const char *other) {
    if (one[2] == other[3])
        letter = one[2] == 'A' ? 'B' : 'A';
    return strcmp(one, other) < 0;
}

__attribute__((noinline)) static int fill(int from, int number) {
    int at = from & 31;
    table[at] = number;
    table[at + 1] = table[at];
    table[at + 30] = at;
    for (int column = at & 7; column < (at & 7) + 2; column++)
        square[at & 15][column] = at;
    square[at & 15][(at & 7) + 3] += 1;
    return table[at + 1] + square[at & 15][at & 7];
}

int main(int count, char **values) {
    long turns = count > 1 ? atol(values[1]) : 1;
    char text[32] = "a record that names the second";
    long sum = 0;
    for (long turn = 0; turn < turns; turn++) {
        struct record *record = &records[turn & 1];
        int number = (int)(turn % 127) * 3;
        pass_on(record, number);
        text[30] = letter;
        sum += is_before(record->text, text) ? number / 7 : fill(number, (int)sum);
        sum += fill((int)turn, record->number) + record->kind;
    }
    printf("%ld\n", sum);
    return 0;
}
