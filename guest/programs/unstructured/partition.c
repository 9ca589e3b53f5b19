/* Recursive coordinate bisection (Berger and Bokhari, 1987): cut the points in two halves across
 * their longest extent, then each half again, until there are as many pieces as parts:
 *
 *     +-------------+      +------+------+      +------+------+
 *     |             |      |      |      |      |  0   |  2   |
 *     |             |  ->  |      |      |  ->  +------+------+
 *     |             |      |      |      |      |  1   |  3   |
 *     +-------------+      +------+------+      +------+------+
 *
 * An odd number of parts is cut into unequal halves, with points in proportion. */
#include "partition.h"

#include <stdbool.h>
#include <stdlib.h>

#include "narthex.h"

static const vector *points;
static int *order; /* the points, those of a piece together */

/* Whether point a comes before b along the axis; their numbers settle a tie. */
static bool is_before(int a, int b, int axis) {
    double difference = points[a][axis] - points[b][axis];
    return difference < 0 || (difference == 0 && a < b);
}

static void swap(int a, int b) {
    int point = order[a];
    order[a] = order[b];
    order[b] = point;
}

/* Orders begin .. end - 1 around the point in their middle; returns that point's place. */
static int split(int begin, int end, int axis) {
    swap(begin + (end - begin) / 2, end - 1);
    int pivot = order[end - 1], place = begin;
    for (int index = begin; index < end - 1; index++)
        if (is_before(order[index], pivot, axis))
            swap(index, place++);
    swap(place, end - 1);
    return place;
}

/* Brings the points that come first along the axis to begin .. middle - 1 (quickselect). */
static void select_first(int begin, int middle, int end, int axis) {
    while (end - begin > 1) {
        int place = split(begin, end, axis);
        if (place == middle)
            return;
        if (place < middle)
            begin = place + 1;
        else
            end = place;
    }
}

static int longest_axis(int begin, int end) {
    int longest = 0;
    double most = -1;
    for (int axis = 0; axis < 3; axis++) {
        double low = 0, high = 0;
        for (int index = begin; index < end; index++) {
            double at = points[order[index]][axis];
            low = index == begin || at < low ? at : low;
            high = index == begin || at > high ? at : high;
        }
        if (high - low > most) {
            most = high - low;
            longest = axis;
        }
    }
    return longest;
}

static void bisect(int begin, int end, int first_part, int parts, int *owner) {
    if (parts == 1) {
        for (int index = begin; index < end; index++)
            owner[order[index]] = first_part;
        return;
    }
    int left_parts = parts / 2;
    int middle = begin + (int)((long)(end - begin) * left_parts / parts);
    select_first(begin, middle, end, longest_axis(begin, end));
    bisect(begin, middle, first_part, left_parts, owner);
    bisect(middle, end, first_part + left_parts, parts - left_parts, owner);
}

void partition(const vector *all, int count, int parts, int *owner) {
    points = all;
    order = malloc((size_t)count * sizeof *order);
    narthex_check(order, "node %d has no memory to divide %d points", narthex_node(), count);
    for (int index = 0; index < count; index++)
        order[index] = index;
    bisect(0, count, 0, parts, owner);
    free(order);
}
