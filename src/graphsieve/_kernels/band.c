/* Sums over a band graph: in a given order of the samples, each place is linked with the next few.

   The places are visited in order. Each row of X is read once, scaled, and kept in a small ring
   buffer until no later edge needs it. Its edges therefore find it in a fast cache, wherever it is
   in memory. The sum of each column adds the edges by increasing first and then second place, as
   for a sorted list of the same edges.

   The same pass computes the weighted means of groups of consecutive places, and the scatter around
   these means. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#define KEPT 64    /* rows in the ring; a power of two */
#define GROUP 32   /* places per group mean; all of them are in the ring together */
#define NEAR 31    /* neighbours per place that the ring holds; rows farther ahead are read separately */
#define TOGETHER 8 /* The rows in the ring are padded with zeros to a multiple of this, so that loops have no remainder. */

#define RING_BYTES ((KEPT + 1) * STRIP * sizeof(double)) /* the ring, and one row outside it */

#define IN_RING(at) (ring + ((at) & (KEPT - 1)) * wide)

typedef struct {
    const int64_t *order;  /* the sample at each place */
    const int64_t *begin;  /* the first edge of each place to later places */
    const double *weights; /* edge weights */
    Py_ssize_t count;      /* number of places */
    Py_ssize_t from, to;   /* range of places to process */
    const double *degree;  /* the weight of each place in its group mean, or NULL if no means are needed */
    const double *mass;    /* the total weight of each group */
    double *means;         /* output, (n_groups, width) */
} band;

/* Adds the terms of a few edges of one row in order. Each sum is loaded and stored only once. */
INLINED void add_edges_of_row(
    const double *restrict own, const double *const *others, const double *weights, int count, Py_ssize_t width, double *restrict sum)
{
    width = width / TOGETHER * TOGETHER;
    for (Py_ssize_t c = 0; c < width; c++) {
        double total = sum[c], value = own[c];
        for (int e = 0; e < count; e++) {
            double difference = value - others[e][c];
            total += weights[e] * (difference * difference);
        }
        sum[c] = total;
    }
}

/* With a constant number of edges, the compiler can unroll the loops. */
INLINED void add_near(const double *own, const double *const *others, const double *weights, Py_ssize_t count, Py_ssize_t width, double *sum)
{
    for (; count > 4; count -= 4, others += 4, weights += 4) {
        add_edges_of_row(own, others, weights, 4, width, sum);
    }
    switch (count) {
    case 4:
        add_edges_of_row(own, others, weights, 4, width, sum);
        break;
    case 3:
        add_edges_of_row(own, others, weights, 3, width, sum);
        break;
    case 2:
        add_edges_of_row(own, others, weights, 2, width, sum);
        break;
    case 1:
        add_edges_of_row(own, others, weights, 1, width, sum);
        break;
    default:
        break;
    }
}

INLINED void fetch_row(
    const table *from, const band *along, Py_ssize_t at, Py_ssize_t begin, Py_ssize_t width, double *values, enum storage stored)
{
    const double *scale = stored == PREPARED ? NULL : from->scale + begin, *shift = stored == PREPARED ? NULL : from->shift + begin;
    if (at + AHEAD < along->count) {
        prefetch_row(from, along->order[at + AHEAD], begin, width, stored);
    }
    const char *row = place(from, along->order[at], begin, stored);
    for (Py_ssize_t c = 0; c < width; c++) {
        values[c] = number(row, c, scale, shift, stored);
    }
}

/* Adds weighted rows relative to `origin`. The rows are `wide` numbers apart. With a center, adds
   the squared distances from it. */
INLINED void add_some_rows(
    const double *restrict rows, Py_ssize_t wide, const double *weights, int count, const double *restrict origin,
    const double *restrict center, double *restrict sum)
{
    wide = wide / TOGETHER * TOGETHER;
    for (Py_ssize_t c = 0; c < wide; c++) {
        double total = sum[c];
        for (int r = 0; r < count; r++) {
            double distance = rows[r * wide + c] - origin[c];
            if (center != NULL) {
                distance -= center[c];
                distance *= distance;
            }
            total += weights[r] * distance;
        }
        sum[c] = total;
    }
}

INLINED void add_rows(
    const double *rows, Py_ssize_t wide, const double *weights, Py_ssize_t count, const double *origin, const double *center, double *sum)
{
    for (; count >= 4; count -= 4, rows += 4 * wide, weights += 4) {
        add_some_rows(rows, wide, weights, 4, origin, center, sum);
    }
    for (; count > 0; count--, rows += wide, weights++) {
        add_some_rows(rows, wide, weights, 1, origin, center, sum);
    }
}

/* Computes the mean of a group and the scatter around it. The mean is computed relative to the first
   member with a nonzero weight, so that equal values give a scatter of exactly zero. The rows of a
   group are adjacent in the ring, because the ring holds a whole number of groups. */
INLINED void close_group(
    const double *ring, Py_ssize_t wide, const band *along, Py_ssize_t first, Py_ssize_t stop, double *mean, double *scatter)
{
    const double mass = along->mass[first / GROUP];
    memset(mean, 0, (size_t)wide * sizeof(double));
    while (first < stop && along->degree[first] == 0) {
        first++;
    }
    if (first == stop) {
        return;
    }
    const double *rows = IN_RING(first), *weights = along->degree + first;
    add_rows(rows, wide, weights, stop - first, rows, NULL, mean);
    for (Py_ssize_t c = 0; c < wide; c++) {
        mean[c] /= mass;
    }
    add_rows(rows, wide, weights, stop - first, rows, mean, scatter);
    for (Py_ssize_t c = 0; c < wide; c++) {
        mean[c] += rows[c];
    }
}

/* Adds to the sums over edges. If means are needed, also adds to the scatter in the next row of
   `total`. */
INLINED void add_band(
    const table *from, const band *along, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored, double *ring)
{
    double sum[STRIP] = {0.0}, scatter[STRIP] = {0.0}, mean[STRIP], *passing = ring + KEPT * STRIP;
    const double *others[NEAR];
    const Py_ssize_t wide = (width + TOGETHER - 1) / TOGETHER * TOGETHER;
    Py_ssize_t fetched = along->from; /* the first place not yet in the ring */
    memset(ring, 0, RING_BYTES);
    memcpy(sum, total, (size_t)width * sizeof(double));
    for (Py_ssize_t i = along->from; i < along->to; i++) {
        const double *weights = along->weights + along->begin[i], *own = IN_RING(i);
        Py_ssize_t count = along->begin[i + 1] - along->begin[i], near = count < NEAR ? count : NEAR;
        for (; fetched <= i + near; fetched++) {
            fetch_row(from, along, fetched, begin, width, IN_RING(fetched), stored);
        }
        for (Py_ssize_t s = 0; s < near; s++) {
            others[s] = IN_RING(i + 1 + s);
        }
        add_near(own, others, weights, near, wide, sum);
        for (Py_ssize_t s = near; s < count; s++) {
            fetch_row(from, along, i + 1 + s, begin, width, passing, stored);
            others[0] = passing;
            add_near(own, others, weights + s, 1, wide, sum);
        }
        if (along->degree != NULL && (i % GROUP == GROUP - 1 || i + 1 == along->to)) {
            close_group(ring, wide, along, i - i % GROUP, i + 1, mean, scatter);
            memcpy(along->means + i / GROUP * from->width + begin, mean, (size_t)width * sizeof(double));
        }
    }
    memcpy(total, sum, (size_t)width * sizeof(double));
    for (Py_ssize_t c = 0; along->degree != NULL && c < width; c++) {
        total[from->width + c] += scatter[c];
    }
}

/* ---- Versions for each kind of storage, with and without AVX2 ---- */

typedef struct {
    const table *from;
    const band *along;
    Py_ssize_t start, stop; /* range of columns */
    double *result;
    double *ring;
} task;

INLINED void do_all(const task *todo, enum storage stored)
{
    for (Py_ssize_t begin = todo->start; begin < todo->stop; begin += STRIP) {
        Py_ssize_t left = todo->stop - begin, width = left < STRIP ? left : STRIP;
        add_band(todo->from, todo->along, begin, width, todo->result + begin, stored, todo->ring);
    }
}

#include "by_storage.h"

/* ---- Arguments ---- */

/* Whether the edges of the range of places exist and join existing places. */
static int fits(const band *along, Py_ssize_t n_weights)
{
    const int64_t *begin = along->begin;
    int good = begin[along->from] >= 0 && begin[along->to] <= n_weights;
    for (Py_ssize_t i = along->from; i < along->to; i++) {
        int64_t count = begin[i + 1] - begin[i];
        good &= count >= 0 && count < along->count - i;
    }
    return good;
}

/* Whether the places that the edges join, and those that are prefetched, refer to existing rows. */
static int rows_exist(const band *along, Py_ssize_t n_rows)
{
    Py_ssize_t last = along->to;
    for (Py_ssize_t i = along->from; i < along->to; i++) {
        Py_ssize_t reached = i + 1 + (Py_ssize_t)(along->begin[i + 1] - along->begin[i]);
        last = reached > last ? reached : last;
    }
    last = last + AHEAD < along->count ? last + AHEAD : along->count;
    return all_below(along->order + along->from, last - along->from, n_rows);
}

static int places_exist(Py_ssize_t count, Py_ssize_t from, Py_ssize_t to)
{
    if (from < 0 || from > to || to > count) {
        PyErr_Format(PyExc_ValueError, "there are no places %zd to %zd", from, to);
        return 0;
    }
    return 1;
}

/* Reads degree, mass and means, which may all be None. Returns the number of views to release, or
   −1 on failure. */
static int read_moments(PyObject **objects, Py_buffer *views, band *along, Py_ssize_t width)
{
    static const char *const names[3] = {"degree", "mass", "means"};
    static const int dimensions[3] = {1, 1, 2};
    if (objects[0] == Py_None && objects[1] == Py_None && objects[2] == Py_None) {
        return 0;
    }
    if (!read_arrays(objects, views, names, "ddd", dimensions, 3)) {
        return -1;
    }
    Py_ssize_t n_groups = (along->count + GROUP - 1) / GROUP;
    if (!has_length(&views[0], 0, along->count, names[0]) || !has_length(&views[1], 0, n_groups, names[1])
        || !has_length(&views[2], 0, n_groups, names[2]) || !has_length(&views[2], 1, width, names[2])) {
        release_arrays(views, 3);
        return -1;
    }
    along->degree = views[0].buf;
    along->mass = views[1].buf;
    along->means = views[2].buf;
    return 3;
}

/* Whether the range consists of complete groups, so that no other thread writes their means. */
static int groups_are_complete(const band *along)
{
    return along->degree == NULL || (along->from % GROUP == 0 && (along->to % GROUP == 0 || along->to == along->count));
}

static PyObject *band_sums(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *rows, *scale, *shift, *objects[4], *moments[3];
    Py_buffer view, units[2], views[4], of_moments[3];
    table from;
    enum storage stored;
    Py_ssize_t first, last, start, stop;
    if (!PyArg_ParseTuple(
            args, "OOOOOOOOOnnnnO", &rows, &scale, &shift, &objects[0], &objects[1], &objects[2], &moments[0], &moments[1], &moments[2],
            &first, &last, &start, &stop, &objects[3])
        || !read_table(rows, &view, &from, &stored)) {
        return NULL;
    }
    int n_units = read_units(scale, shift, units, &from, &stored);
    static const char *const names[4] = {"order", "begin", "weights", "total"};
    static const int dimensions[4] = {1, 1, 1, 2};
    int good = n_units >= 0 && read_arrays(objects, views, names, "lldd", dimensions, 4);
    if (good) {
        Py_ssize_t count = views[0].shape[0];
        band along = {views[0].buf, views[1].buf, views[2].buf, count, first, last, NULL, NULL, NULL};
        int n_moments = read_moments(moments, of_moments, &along, from.width);
        good = n_moments >= 0 && has_length(&views[1], 0, count + 1, names[1]) && has_length(&views[3], 0, n_moments > 0 ? 2 : 1, names[3])
               && has_length(&views[3], 1, from.width, names[3]) && has_columns(&from, start, stop) && places_exist(count, first, last);
        if (good) {
            char *memory = malloc(RING_BYTES + LINE); /* too large for the stack of some threads */
            Py_BEGIN_ALLOW_THREADS
            good = memory != NULL && groups_are_complete(&along) && fits(&along, views[2].shape[0]) && rows_exist(&along, from.n_rows);
            if (good) {
                double *ring = (double *)(memory + (LINE - (uintptr_t)memory % LINE) % LINE);
                function_for(stored)(&(task){&from, &along, start, stop, views[3].buf, ring});
            }
            Py_END_ALLOW_THREADS
            if (memory == NULL) {
                PyErr_NoMemory();
            }
            free(memory);
        }
        release_arrays(of_moments, n_moments > 0 ? n_moments : 0);
        release_arrays(views, 4);
    }
    release_arrays(units, n_units > 0 ? n_units : 0);
    PyBuffer_Release(&view);
    return none_or_error(good, "edges must join existing places, places must refer to existing rows, and groups must be complete");
}

/* When a place is reached, its degree already contains the weights of its edges to earlier places. */
static void add_degrees(const band *along, double *degree)
{
    for (Py_ssize_t i = 0; i < along->count; i++) {
        double to_later = 0.0;
        const double *weights = along->weights + along->begin[i];
        Py_ssize_t count = along->begin[i + 1] - along->begin[i];
        for (Py_ssize_t s = 0; s < count; s++) {
            to_later += weights[s];
            degree[i + 1 + s] += weights[s];
        }
        degree[i] += to_later;
    }
}

static PyObject *band_degree(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[3];
    Py_buffer views[3];
    static const char *const names[3] = {"begin", "weights", "degree"};
    static const int dimensions[3] = {1, 1, 1};
    if (!PyArg_ParseTuple(args, "OOO", &objects[0], &objects[1], &objects[2])
        || !read_arrays(objects, views, names, "ldd", dimensions, 3)) {
        return NULL;
    }
    Py_ssize_t count = views[2].shape[0];
    int good = has_length(&views[0], 0, count + 1, names[0]);
    if (good) {
        band along = {NULL, views[0].buf, views[1].buf, count, 0, count, NULL, NULL, NULL};
        Py_BEGIN_ALLOW_THREADS
        good = fits(&along, views[1].shape[0]);
        if (good) {
            add_degrees(&along, views[2].buf);
        }
        Py_END_ALLOW_THREADS
    }
    release_arrays(views, 3);
    return none_or_error(good, "edges must join existing places");
}

PyMethodDef band_functions[] = {
    {"band_sums", band_sums, METH_VARARGS,
     "band_sums(rows, scale, shift, order, begin, weights, degree, mass, means, first, last, start, stop, total): adds to total"},
    {"band_degree", band_degree, METH_VARARGS, "band_degree(begin, weights, degree): adds to degree"},
    {NULL, NULL, 0, NULL},
};
