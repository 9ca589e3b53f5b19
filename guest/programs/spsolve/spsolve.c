/* Solves sparse lower triangular systems by active messages along the edges of a graph.
 *
 *     spsolve [ELEMENTS [ITERATIONS]]        by default 3720 elements, 10 iterations
 *
 * Algorithm. L is an incomplete factor of a stiffness matrix (matrix.h), S half of its diagonal.
 * Each iteration solves L x' = b + S x and so comes nearer to the solution of (L - S) x = b. An
 * element of the solution is known as soon as all elements that its row names are: x(i) =
 * (right-hand side - sum of l(i,j) x(j)) / l(i,i).
 *
 * Distribution. The elements are shuffled, then dealt out to the nodes one by one.
 *
 * Messages. A node that has computed x(j) sends the term -l(i,j) x(j) to the owner of each i that
 * waits for it: 12 bytes, the term and the number of i. There the handler adds the term to the sum
 * of i; if it was the last one, x(i) is computed and its own terms leave, all in the handler:
 *
 *     x(j) known --term--> sum of i, one term less to come --none to come--> x(i) known --term-->
 * ...
 *
 * Between iterations stands a barrier.
 *
 * Checks. The solution against one that node 0 computes element by element, its residual, and its
 * distance from the known solution of (L - S) x = b, which every iteration must shorten. */
#include <math.h>
#include <stdlib.h>

#include "../arguments.h"
#include "../exact.h"
#include "../measure.h"
#include "../random_numbers.h"
#include "matrix.h"
#include "narthex.h"

enum { HANDLER_TERM = 1, HANDLER_SOLUTION };

static const uint64_t SEED = 3720;
static const double SHIFT = 0.5;       /* S, in diagonals of L */
static const double CONTRACTION = 0.7; /* of the error by an iteration, see README.md */
static const double TOLERANCE = 1e-12; /* for sums in another order */

/* Where a solved element's value goes. */
struct edge {
    double coefficient; /* -l(i,j) */
    int node;           /* of i */
    uint32_t element;   /* i, among the elements of its node */
};

struct element {
    double sum;      /* right-hand side with the terms that have come */
    int missing;     /* terms still to come */
    int terms;       /* to come in each iteration */
    double solution; /* of the last iteration */
    double diagonal;
    double source; /* of b */
    struct edge *edges, *edges_end;
};

/* A message: what is sent is 12 bytes, without the padding. */
struct term {
    double value;
    uint32_t element;
};
enum { TERM_BYTES = 12 };

static struct element *elements; /* of this node */
static long element_count, solved;
static struct element **ready; /* a stack: elements with all terms, to be solved at once */
static long ready_count;

static double *gathered; /* on node 0: the solution, in the shuffled order, to be checked */
static int parts;        /* of it that have come, one from each node */

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count ? count : 1, bytes);
    narthex_check(memory, "node %d has no memory left for its elements", narthex_node());
    return memory;
}

/* The main part */

static inline void add_term(uint32_t element, double term) {
    struct element *target = &elements[element];
    target->sum += term;
    target->missing -= 1;
    if (target->missing == 0)
        ready[ready_count++] = target;
}

/* Sends a solved element's terms; those for this node need no message. */
static void send_terms(const struct element *element) {
    int node = narthex_node();
    for (const struct edge *edge = element->edges; edge != element->edges_end; edge++) {
        struct term term = {edge->coefficient * element->solution, edge->element};
        if (edge->node == node)
            add_term(term.element, term.value);
        else
            narthex_send(edge->node, HANDLER_TERM, &term, TERM_BYTES);
    }
}

/* Starts the element's sum for the next iteration. */
static void start_sum(struct element *element) {
    element->sum = element->source + SHIFT * element->diagonal * element->solution;
    element->missing = element->terms;
}

/* A loop and no recursion, so that the stack does not grow with the length of a path. */
static void solve_ready(void) {
    while (ready_count > 0) {
        struct element *element = ready[--ready_count];
        element->solution = element->sum / element->diagonal;
        start_sum(element);
        solved += 1;
        send_terms(element);
    }
}

static void on_term(int source, const void *payload, size_t bytes) {
    const struct term *term = payload;
    (void)source, (void)bytes;
    add_term(term->element, term->value);
    solve_ready();
}

/* Elements without terms start an iteration. */
static void solve_sources(void) {
    for (struct element *element = elements; element != elements + element_count; element++) {
        if (element->terms > 0)
            continue;
        ready[ready_count++] = element;
        solve_ready();
        narthex_poll();
    }
}

/* Until all nodes are done: a term must not meet a sum of the iteration before. */
static void iterate(long iterations) {
    for (long iteration = 1; iteration <= iterations; iteration++) {
        solve_sources();
        while (solved < iteration * element_count)
            narthex_poll();
        narthex_barrier();
    }
}

/* Preparing */

/* For each element of the matrix its place in a shuffled order. */
static int *shuffle(int count) {
    int *places = allocate((size_t)count, sizeof *places);
    uint64_t state = random_start(SEED, 0);
    for (int element = 0; element < count; element++) {
        int other = (int)(random_next(&state) % (uint64_t)(element + 1));
        places[element] = places[other];
        places[other] = element;
    }
    return places;
}

static int owner(int place) {
    return place % narthex_nodes();
}

static struct element *own_element(int place) {
    return &elements[place / narthex_nodes()];
}

/* Gives each own element its edges, in ascending order of their ends. */
static void connect(const struct matrix *matrix, const int *places) {
    int entries = matrix->start[matrix->elements];
    struct edge *edges = allocate((size_t)entries, sizeof *edges);
    int *edge_count = allocate((size_t)matrix->elements, sizeof *edge_count);
    for (int entry = 0; entry < entries; entry++)
        edge_count[matrix->column[entry]] += 1;
    for (int from = 0; from < matrix->elements; from++) {
        if (owner(places[from]) != narthex_node())
            continue;
        struct element *element = own_element(places[from]);
        element->edges = element->edges_end = edges;
        edges += edge_count[from];
    }
    free(edge_count);
    for (int to = 0; to < matrix->elements; to++)
        for (int entry = matrix->start[to]; entry < matrix->start[to + 1]; entry++) {
            int place = places[matrix->column[entry]];
            if (owner(place) == narthex_node())
                *own_element(place)->edges_end++ =
                    (struct edge){-matrix->value[entry], owner(places[to]),
                                  (uint32_t)(places[to] / narthex_nodes())};
        }
}

static void prepare(const struct matrix *matrix, const int *places, const double *b) {
    int nodes = narthex_nodes();
    element_count = (matrix->elements - narthex_node() + nodes - 1) / nodes;
    elements = allocate((size_t)element_count, sizeof *elements);
    ready = allocate((size_t)element_count, sizeof *ready);
    for (int index = 0; index < matrix->elements; index++) {
        if (owner(places[index]) != narthex_node())
            continue;
        struct element *element = own_element(places[index]);
        element->diagonal = matrix->diagonal[index];
        element->source = b[index];
        element->terms = matrix->start[index + 1] - matrix->start[index];
        start_sum(element);
    }
    connect(matrix, places);
    gathered = allocate((size_t)matrix->elements, sizeof *gathered);
}

/* L x, less S y. */
static void multiply_shifted(const struct matrix *matrix, double *product, const double *x,
                             const double *y) {
    matrix_multiply(matrix, product, x);
    for (int element = 0; element < matrix->elements; element++)
        product[element] -= SHIFT * matrix->diagonal[element] * y[element];
}

static double *make_known_solution(int count) {
    double *known = allocate((size_t)count, sizeof *known);
    uint64_t state = random_start(SEED, 1);
    for (int element = 0; element < count; element++)
        known[element] = random_uniform(&state);
    return known;
}

/* Checking */

/* Of a node's elements, in their order there. */
static void on_solution(int source, const void *payload, size_t bytes) {
    const double *values = payload;
    for (size_t index = 0; index < bytes / sizeof *values; index++)
        gathered[index * (size_t)narthex_nodes() + (size_t)source] = values[index];
    parts += 1;
}

/* Sends this node's part of the solution to node 0. */
static void send_solution(void) {
    double *values = allocate((size_t)element_count, sizeof *values);
    for (long index = 0; index < element_count; index++)
        values[index] = elements[index].solution;
    size_t bytes = (size_t)element_count * sizeof *values;
    if (narthex_node() == 0)
        on_solution(0, values, bytes); /* a send would wait while others fill its queue */
    else
        narthex_send(0, HANDLER_SOLUTION, values, bytes);
    free(values);
}

/* The whole solution, on node 0. */
static double *await_solution(int count, const int *places) {
    while (parts < narthex_nodes())
        narthex_poll();
    double *solution = allocate((size_t)count, sizeof *solution);
    for (int element = 0; element < count; element++)
        solution[element] = gathered[places[element]];
    return solution;
}

static double largest_difference(const double *one, const double *other, int count) {
    double largest = 0;
    for (int element = 0; element < count; element++)
        largest = fmax(largest, fabs(one[element] - other[element]));
    return largest;
}

/* The iterations again, one element after the other: what they end with, and what they had before
 * the last of them in `before`. */
static double *solve_alone(const struct matrix *matrix, const double *b, long iterations,
                           double *before) {
    size_t count = (size_t)matrix->elements;
    double *solution = allocate(count, sizeof *solution);
    double *right_hand_side = allocate(count, sizeof *right_hand_side);
    for (long iteration = 0; iteration < iterations; iteration++) {
        for (size_t element = 0; element < count; element++) {
            before[element] = solution[element];
            right_hand_side[element] =
                b[element] + SHIFT * matrix->diagonal[element] * solution[element];
        }
        matrix_solve(matrix, solution, right_hand_side);
    }
    free(right_hand_side);
    return solution;
}

static void check(const struct matrix *matrix, const double *solution, const double *b,
                  const double *known, long iterations) {
    int count = matrix->elements;
    double *before = allocate((size_t)count, sizeof *before);
    double *product = allocate((size_t)count, sizeof *product);
    double *alone = solve_alone(matrix, b, iterations, before);
    double difference = largest_difference(solution, alone, count);
    narthex_check(difference <= TOLERANCE, "spsolve: an element is %g off the solution by one node",
                  difference);
    multiply_shifted(matrix, product, solution, before);
    double residual = largest_difference(product, b, count);
    narthex_check(residual <= 10 * TOLERANCE, "spsolve: the residual of L x is %g", residual);
    double error = largest_difference(solution, known, count);
    double bound = pow(CONTRACTION, (double)iterations) + TOLERANCE;
    narthex_check(error <= bound, "spsolve: after %ld iterations the error is %g, above %g",
                  iterations, error, bound);
    double square = 0;
    for (int element = 0; element < count; element++)
        square += solution[element] * solution[element];
    narthex_report("solution, squared", square, "");
    narthex_report("error", error, "");
}

int main(int count, char **values) {
    int size = (int)argument(count, values, 1, "elements", 1, 1000000, 3720);
    long iterations = argument(count, values, 2, "iterations", 1, 1000000, 10);
    struct matrix matrix = matrix_make(size);
    int *places = shuffle(size);
    double *known = make_known_solution(size);
    double *b = allocate((size_t)size, sizeof *b);
    multiply_shifted(&matrix, b, known, known);
    prepare(&matrix, places, b);
    narthex_register_handler(HANDLER_TERM, on_term);
    narthex_register_handler(HANDLER_SOLUTION, on_solution);
    measure_begin();
    iterate(iterations);
    measure_end();
    send_solution();
    if (narthex_node() == 0)
        check(&matrix, await_solution(size, places), b, known, iterations);
    return 0;
}
