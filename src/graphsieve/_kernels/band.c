/* Sums over a graph whose edges join near places of an order: each place is linked with the next few after it.

   The places are walked in turn. A row of X is fetched once, put on the common scale, and kept in a small ring until nobody after it
   needs it: its edges find it in a near cache, wherever in memory it came from. Each column has a sum of its own that grows edge by edge,
   by increasing first and then second place, as a list of the same edges would have it.

   On the way, groups of places next to each other leave their weighted means, and the scatter around these. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#define KEPT 64    /* rows in the ring, a power of two */
#define GROUP 32   /* places whose mean is taken together, while they are in the ring … */
#define NEAR 31    /* … with those that they are linked with; partners still farther ahead are read in passing */
#define TOGETHER 8 /* numbers of a row in the ring are a multiple of it, with zeros at the end: loops without a remainder */

#define ROOM ((KEPT + 1) * STRIP * sizeof(double)) /* for the ring, and for a row in passing */

#define IN_RING(at) (ring + ((at) & (KEPT - 1)) * wide)

typedef struct {
    const int64_t *order;  /* whose each place is */
    const int64_t *begin;  /* of the edges of each place with those after it */
    const double *weights; /* of the edges */
    Py_ssize_t count;      /* of places */
    Py_ssize_t from, to;   /* the places whose edges are wanted */
    const double *degree;  /* the weight of each place in the mean of its group, or none: no means are wanted */
    const double *mass;    /* of each group */
    double *means;         /* (n_groups, width), to be filled */
} band;

/* The terms of a few edges of one row, one after another: a sum is fetched and put back once for all of them. */
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

/* A number of edges that is known to the compiler makes loops straight. */
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
        ask_for_row(from, along->order[at + AHEAD], begin, width, stored);
    }
    const char *row = place(from, along->order[at], begin, stored);
    for (Py_ssize_t c = 0; c < width; c++) {
        values[c] = number(row, c, scale, shift, stored);
    }
}

/* Adds the weighted rows, `wide` apart, relative to `origin`; with a center, the squares of their distances from it. */
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

/* The mean of a group, relative to its first member of any weight, so that values that are all equal leave exact zeros; and the scatter
   around it. The rows of a group stand side by side in the ring, since it holds whole groups. */
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

/* Adds to the sums over edges and, where means are wanted, to the scatter in the next row of `total`. */
INLINED void add_band(
    const table *from, const band *along, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored, double *ring)
{
    double sum[STRIP] = {0.0}, scatter[STRIP] = {0.0}, mean[STRIP], *passing = ring + KEPT * STRIP;
    const double *others[NEAR];
    const Py_ssize_t wide = (width + TOGETHER - 1) / TOGETHER * TOGETHER;
    Py_ssize_t fetched = along->from; /* the first place whose row is not in the ring */
    memset(ring, 0, ROOM);
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

/* ---- The same, for whatever is stored and with the instructions at hand ---- */

typedef struct {
    const table *from;
    const band *along;
    Py_ssize_t start, stop; /* the columns that are wanted */
    double *result;
    double *ring;
} task;

INLINED void do_all(const task *asked, enum storage stored)
{
    for (Py_ssize_t begin = asked->start; begin < asked->stop; begin += STRIP) {
        Py_ssize_t left = asked->stop - begin, width = left < STRIP ? left : STRIP;
        add_band(asked->from, asked->along, begin, width, asked->result + begin, stored, asked->ring);
    }
}

#include "by_storage.h"

/* ---- Arguments ---- */

/* Whether the edges of the wanted places are there and join places. */
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

/* Whether the places that the edges join, and those asked for ahead, are of rows that are there. */
static int rows_are_there(const band *along, Py_ssize_t n_rows)
{
    Py_ssize_t last = along->to;
    for (Py_ssize_t i = along->from; i < along->to; i++) {
        Py_ssize_t reached = i + 1 + (Py_ssize_t)(along->begin[i + 1] - along->begin[i]);
        last = reached > last ? reached : last;
    }
    last = last + AHEAD < along->count ? last + AHEAD : along->count;
    return all_below(along->order + along->from, last - along->from, n_rows);
}

static int places_are_there(Py_ssize_t count, Py_ssize_t from, Py_ssize_t to)
{
    if (from < 0 || from > to || to > count) {
        PyErr_Format(PyExc_ValueError, "there are no places %zd to %zd", from, to);
        return 0;
    }
    return 1;
}

/* Degree, mass and means, or None for all of them. How many views are to be released, or −1. */
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

/* A group is in one part of the places, so that nobody else writes its mean. */
static int groups_are_whole(const band *along)
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
               && has_length(&views[3], 1, from.width, names[3]) && has_columns(&from, start, stop) && places_are_there(count, first, last);
        if (good) {
            char *room = malloc(ROOM + LINE); /* too much for the stack of some threads */
            Py_BEGIN_ALLOW_THREADS
            good = room != NULL && groups_are_whole(&along) && fits(&along, views[2].shape[0]) && rows_are_there(&along, from.n_rows);
            if (good) {
                double *ring = (double *)(room + (LINE - (uintptr_t)room % LINE) % LINE);
                doer_for(stored)(&(task){&from, &along, start, stop, views[3].buf, ring});
            }
            Py_END_ALLOW_THREADS
            if (room == NULL) {
                PyErr_NoMemory();
            }
            free(room);
        }
        release_arrays(of_moments, n_moments > 0 ? n_moments : 0);
        release_arrays(views, 4);
    }
    release_arrays(units, n_units > 0 ? n_units : 0);
    PyBuffer_Release(&view);
    return answer(good, "edges must join places, and places be of rows, that are there, and groups be whole");
}

/* What a place gets from those before it is there when it is reached. */
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
    return answer(good, "edges must join places that are there");
}

PyMethodDef band_functions[] = {
    {"band_sums", band_sums, METH_VARARGS,
     "band_sums(rows, scale, shift, order, begin, weights, degree, mass, means, first, last, start, stop, total): adds to total"},
    {"band_degree", band_degree, METH_VARARGS, "band_degree(begin, weights, degree): adds to degree"},
    {NULL, NULL, 0, NULL},
};
