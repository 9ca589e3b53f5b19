/* What small processors do (and CoreMark asks of them): a linked list that is searched, reversed
 * and sorted, products of small matrices of 16-bit numbers, a state machine that reads numbers, and
 * the checksum of all that.
 *
 *     embedded TURNS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 64, SIDE = 12 };

struct item {
    struct item *next;
    int16_t key, value;
};

static struct item items[ITEMS];
static int16_t a[SIDE][SIDE], b[SIDE][SIDE];
static int32_t product[SIDE][SIDE];

__attribute__((noinline)) static uint16_t checksum(uint16_t sum, uint32_t word) {
    for (int bit = 0; bit < 16; bit++, word >>= 1)
        sum = (uint16_t)((sum >> 1) ^ ((sum ^ word) & 1 ? 0xa001 : 0));
    return sum;
}

static struct item *merge(struct item *one, struct item *other) {
    struct item head, *last = &head;
    while (one && other) {
        struct item **least = one->key <= other->key ? &one : &other;
        last = last->next = *least;
        *least = (*least)->next;
    }
    last->next = one ? one : other;
    return head.next;
}

static struct item *sorted(struct item *list) {
    if (!list || !list->next)
        return list;
    struct item *half = list;
    for (struct item *end = list->next; end && end->next; end = end->next->next)
        half = half->next;
    struct item *rest = half->next;
    half->next = NULL;
    return merge(sorted(list), sorted(rest));
}

__attribute__((noinline)) static uint16_t lists(uint16_t sum, int turn) {
    struct item *list = NULL;
    for (int i = 0; i < ITEMS; i++) {
        items[i] = (struct item){list, (int16_t)((i * 37 + turn) % 101), (int16_t)i};
        list = &items[i];
    }
    for (int wanted = 0; wanted < 8; wanted++)
        for (struct item *each = list; each; each = each->next)
            if (each->key == wanted * 11) {
                sum = checksum(sum, (uint32_t)each->value);
                break;
            }
    struct item *reversed = NULL;
    while (list) {
        struct item *next = list->next;
        list->next = reversed;
        reversed = list;
        list = next;
    }
    for (struct item *each = sorted(reversed); each && each->key < 20; each = each->next)
        sum = checksum(sum, (uint32_t)each->key);
    return sum;
}

__attribute__((noinline)) static uint16_t matrices(uint16_t sum, int turn) {
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            a[row][column] = (int16_t)(row + turn);
            b[row][column] = (int16_t)(column - turn);
        }
    int32_t trace = 0;
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            int32_t cell = 0;
            for (int i = 0; i < SIDE; i++)
                cell += a[row][i] * b[i][column];
            product[row][column] = cell;
            trace += row == column ? cell : 0;
        }
    return checksum(sum, (uint32_t)trace);
}

enum state { START, SIGN, WHOLE, FRACTION, EXPONENT, WRONG, STATES };

__attribute__((noinline)) static uint16_t machine(uint16_t sum, const char *text) {
    unsigned seen[STATES] = {0};
    enum state state = START;
    for (; *text; text++) {
        char c = *text;
        int is_digit = c >= '0' && c <= '9';
        if (c == ',') {
            state = START;
        } else {
            switch (state) {
            case START:
                state = is_digit ? WHOLE : c == '+' || c == '-' ? SIGN : WRONG;
                break;
            case SIGN:
                state = is_digit ? WHOLE : WRONG;
                break;
            case WHOLE:
                state = is_digit ? WHOLE : c == '.' ? FRACTION : WRONG;
                break;
            case FRACTION:
                state = is_digit ? FRACTION : c == 'e' ? EXPONENT : WRONG;
                break;
            case EXPONENT:
                state = is_digit || c == '-' ? EXPONENT : WRONG;
                break;
            default:
                break;
            }
        }
        seen[state]++;
    }
    for (int each = 0; each < STATES; each++)
        sum = checksum(sum, seen[each]);
    return sum;
}

int main(int count, char **values) {
    long turns = count > 1 ? atol(values[1]) : 1;
    uint16_t sum = 0;
    for (long turn = 0; turn < turns; turn++) {
        sum = lists(sum, (int)turn);
        sum = matrices(sum, (int)(turn & 15));
        sum = machine(sum, "5012,+0.125,-7.5e-3,12a4,T7,.9,876.25e12,-,1e9,33333.0,+4,0");
    }
    printf("%u\n", sum);
    return 0;
}
