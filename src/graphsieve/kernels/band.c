/* Sums over a graph whose edges join near places of an order: each place is linked with the next few after it.

   The places are walked in turn. A row of X is fetched once, put on the common scale, and kept in a small ring until nobody after it
   needs it: its edges find it in the innermost cache, wherever in memory it came from. Each column has a sum of its own that grows edge
   by edge, by increasing first and then second place, as a list of the same edges would have it. */
#include "rows.h"

#include <string.h>

#define MOST_KEPT 32 /* rows in the ring; those still farther ahead are read in passing */
#define TOGETHER 8   /* numbers of a row in the ring are a multiple of it, with zeros at the end: loops without a remainder */

typedef struct {
    const int64_t *order;  /* whose each place is */
    const int64_t *begin;  /* of the edges of each place with those after it */
    const double *weights; /* of the edges */
    Py_ssize_t count;      /* of places */
    Py_ssize_t from, to;   /* the places whose edges are wanted */
    Py_ssize_t kept;       /* rows in the ring, a power of two */
} band;

/* The terms of a few edges of one row, one after another: a sum is fetched and put back once for all of them. */
INLINED void add_edges_of_row(const double *restrict own, const double *const *others, const double *weights, int count, Py_ssize_t width, double *restrict sum)
{
    for (Py_ssize_t c = 0; c < width / TOGETHER * TOGETHER; c++) {
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

INLINED void fetch_row(const table *from, const band *along, Py_ssize_t at, Py_ssize_t begin, Py_ssize_t width, double *values, enum storage stored)
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

INLINED void add_band(const table *from, const band *along, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored)
{
    _Alignas(LINE) double ring[(MOST_KEPT + 1) * STRIP] = {0.0};
    _Alignas(LINE) double sum[STRIP] = {0.0};
    double *passing = ring + MOST_KEPT * STRIP;
    const double *others[MOST_KEPT];
    const Py_ssize_t mask = along->kept - 1, wide = (width + TOGETHER - 1) / TOGETHER * TOGETHER;
    Py_ssize_t fetched = along->from; /* the first place whose row is not in the ring */
    memcpy(sum, total, (size_t)width * sizeof(double));
    for (Py_ssize_t i = along->from; i < along->to; i++) {
        const double *weights = along->weights + along->begin[i], *own = ring + (i & mask) * wide;
        Py_ssize_t count = along->begin[i + 1] - along->begin[i], near = count < mask ? count : mask;
        for (; fetched <= i + near; fetched++) {
            fetch_row(from, along, fetched, begin, width, ring + (fetched & mask) * wide, stored);
        }
        for (Py_ssize_t s = 0; s < near; s++) {
            others[s] = ring + ((i + 1 + s) & mask) * wide;
        }
        add_near(own, others, weights, near, wide, sum);
        for (Py_ssize_t s = near; s < count; s++) {
            fetch_row(from, along, i + 1 + s, begin, width, passing, stored);
            others[0] = passing;
            add_near(own, others, weights + s, 1, wide, sum);
        }
    }
    memcpy(total, sum, (size_t)width * sizeof(double));
}

/* ---- The same, for whatever is stored and with the instructions at hand ---- */

typedef struct {
    const table *from;
    const band *along;
    Py_ssize_t start, stop; /* the columns that are wanted */
    double *result;
} task;

INLINED void do_all(const task *asked, enum storage stored)
{
    for (Py_ssize_t begin = asked->start; begin < asked->stop; begin += STRIP) {
        Py_ssize_t left = asked->stop - begin, width = left < STRIP ? left : STRIP;
        add_band(asked->from, asked->along, begin, width, asked->result + begin, stored);
    }
}

#include "by_storage.h"

/* ---- Arguments ---- */

/* Whether the edges of the wanted places are there and join places; and how many rows are to be kept for them. */
static int fits(band *along, Py_ssize_t n_weights)
{
    const int64_t *begin = along->begin;
    int64_t most = 0;
    if (begin[along->from] < 0 || begin[along->to] > n_weights) {
        return 0;
    }
    int good = 1;
    for (Py_ssize_t i = along->from; i < along->to; i++) {
        int64_t count = begin[i + 1] - begin[i];
        good &= count >= 0 && count < along->count - i;
        most = count > most ? count : most;
    }
    for (along->kept = 2; along->kept <= most && along->kept < MOST_KEPT; along->kept *= 2) {
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

static PyObject *band_sums(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *rows, *scale, *shift, *objects[4];
    Py_buffer view, units[2], views[4];
    table from;
    enum storage stored;
    Py_ssize_t first, last, start, stop;
    if (!PyArg_ParseTuple(
            args, "OOOOOOnnnnO", &rows, &scale, &shift, &objects[0], &objects[1], &objects[2], &first, &last, &start, &stop, &objects[3])
        || !read_table(rows, &view, &from, &stored)) {
        return NULL;
    }
    int n_units = read_units(scale, shift, units, &from, &stored);
    static const char *const names[4] = {"order", "begin", "weights", "total"};
    static const int dimensions[4] = {1, 1, 1, 1};
    int good = n_units >= 0 && read_arrays(objects, views, names, "lldd", dimensions, 4);
    if (good) {
        Py_ssize_t count = views[0].shape[0];
        band along = {views[0].buf, views[1].buf, views[2].buf, count, first, last, 0};
        good = has_length(&views[1], 0, count + 1, names[1]) && has_length(&views[3], 0, from.width, names[3])
               && has_columns(&from, start, stop) && places_are_there(count, first, last);
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            good = fits(&along, views[2].shape[0]) && rows_are_there(&along, from.n_rows);
            if (good) {
                doer_for(stored)(&(task){&from, &along, start, stop, views[3].buf});
            }
            Py_END_ALLOW_THREADS
        }
        release_arrays(views, 4);
    }
    release_arrays(units, n_units > 0 ? n_units : 0);
    PyBuffer_Release(&view);
    return answer(good, "edges must join places, and places be of rows, that are there");
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
        band along = {NULL, views[0].buf, views[1].buf, count, 0, count, 0};
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
     "band_sums(rows, scale, shift, order, begin, weights, first, last, start, stop, total): adds to total"},
    {"band_degree", band_degree, METH_VARARGS, "band_degree(begin, weights, degree): adds to degree"},
    {NULL, NULL, 0, NULL},
};
