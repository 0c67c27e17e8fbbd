/* Sums over edges for many columns together.

   The sum of each column adds the edges in the given order. The result is therefore bitwise
   independent of the other columns and of the number of threads. */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns to copy for all rows, so that the ends of the edges are close to each other in memory. */
#define NARROW_STRIP 32
#define COPIED_BYTES (1 << 24) /* maximum size of the copy; a larger one would not fit into the cache */

typedef struct {
    const int64_t *first, *second;
    const double *weights;
    Py_ssize_t count;
    int power;
} edge_list;

INLINED void add_edges(const table *from, const edge_list *edges, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored)
{
    const double *scale = stored == PREPARED ? NULL : from->scale + begin, *shift = stored == PREPARED ? NULL : from->shift + begin;
    double sum[STRIP];
    memcpy(sum, total, (size_t)width * sizeof(double));
    for (Py_ssize_t e = 0; e < edges->count; e++) {
        if (e + AHEAD < edges->count) { /* The first ends are in order, the second ones are not. */
            prefetch_row(from, edges->second[e + AHEAD], begin, width, stored);
        }
        const char *one = place(from, edges->first[e], begin, stored), *other = place(from, edges->second[e], begin, stored);
        double weight = edges->weights[e];
        if (edges->power == 1) {
            for (Py_ssize_t c = 0; c < width; c++) {
                double difference = number(one, c, scale, shift, stored) - number(other, c, scale, shift, stored);
                sum[c] += weight * fabs(difference);
            }
        } else {
            for (Py_ssize_t c = 0; c < width; c++) {
                double difference = number(one, c, scale, shift, stored) - number(other, c, scale, shift, stored);
                sum[c] += weight * (difference * difference);
            }
        }
    }
    memcpy(total, sum, (size_t)width * sizeof(double));
}

/* Like add_edges, but first copies a few columns of all rows to `copy`. */
INLINED void add_edges_of_copy(
    const table *from, const edge_list *edges, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored, double *copy)
{
    const double *scale = stored == PREPARED ? NULL : from->scale + begin, *shift = stored == PREPARED ? NULL : from->shift + begin;
    for (Py_ssize_t i = 0; i < from->n_rows; i++) {
        if (i + AHEAD < from->n_rows) {
            prefetch_row(from, i + AHEAD, begin, width, stored);
        }
        const char *row = place(from, i, begin, stored);
        double *values = copy + i * width;
        for (Py_ssize_t c = 0; c < width; c++) {
            values[c] = number(row, c, scale, shift, stored);
        }
    }
    table copied = {(const char *)copy, width * (Py_ssize_t)sizeof(double), from->n_rows, width, NULL, NULL};
    if (width == NARROW_STRIP) { /* With a constant width, the compiler can unroll short loops. */
        add_edges(&copied, edges, 0, NARROW_STRIP, total, PREPARED);
    } else {
        add_edges(&copied, edges, 0, width, total, PREPARED);
    }
}

/* ---- Versions for each kind of storage, with and without AVX2 ---- */

typedef struct {
    const table *from;
    const edge_list *edges;
    Py_ssize_t start, stop; /* range of columns */
    double *result;
    double *copy; /* memory for a few columns of all rows, or NULL */
} task;

INLINED void do_all(const task *todo, enum storage stored)
{
    Py_ssize_t step = todo->copy != NULL ? NARROW_STRIP : STRIP;
    for (Py_ssize_t begin = todo->start; begin < todo->stop; begin += step) {
        Py_ssize_t left = todo->stop - begin, width = left < step ? left : step;
        if (todo->copy != NULL) {
            add_edges_of_copy(todo->from, todo->edges, begin, width, todo->result + begin, stored, todo->copy);
        } else {
            add_edges(todo->from, todo->edges, begin, width, todo->result + begin, stored);
        }
    }
}

#include "by_storage.h"

/* Allocates memory for the copy if it is worthwhile: there is at least one edge per row on average,
   and the copied columns fit into the cache. Otherwise, or if memory is short, returns NULL, and
   the sums are computed without a copy. */
static double *allocate_copy(const table *from, const edge_list *edges, Py_ssize_t start, Py_ssize_t stop)
{
    Py_ssize_t width = stop - start < NARROW_STRIP ? stop - start : NARROW_STRIP;
    int near = from->stride <= NARROW_STRIP * (Py_ssize_t)sizeof(double); /* The copied rows would not be shorter. */
    if (width < 1 || near || edges->count < from->n_rows || from->n_rows > COPIED_BYTES / (width * (Py_ssize_t)sizeof(double))) {
        return NULL;
    }
    return malloc((size_t)(from->n_rows * width) * sizeof(double));
}

static PyObject *edge_sums(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *rows, *scale, *shift, *objects[4];
    Py_buffer view, units[2], views[4];
    table from;
    enum storage stored;
    int power;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(
            args, "OOOOOOinnO", &rows, &scale, &shift, &objects[0], &objects[1], &objects[2], &power, &start, &stop, &objects[3])
        || !read_table(rows, &view, &from, &stored)) {
        return NULL;
    }
    int n_units = read_units(scale, shift, units, &from, &stored);
    static const char *const names[4] = {"first", "second", "weights", "total"};
    static const int dimensions[4] = {1, 1, 1, 1};
    int good = n_units >= 0 && read_arrays(objects, views, names, "lldd", dimensions, 4);
    if (good) {
        Py_ssize_t count = views[0].shape[0];
        edge_list edges = {views[0].buf, views[1].buf, views[2].buf, count, power};
        good = has_length(&views[1], 0, count, names[1]) && has_length(&views[2], 0, count, names[2])
               && has_length(&views[3], 0, from.width, names[3]) && has_columns(&from, start, stop);
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            good = (power == 1 || power == 2) && all_below(edges.first, count, from.n_rows) && all_below(edges.second, count, from.n_rows);
            if (good) {
                double *copy = allocate_copy(&from, &edges, start, stop);
                function_for(stored)(&(task){&from, &edges, start, stop, views[3].buf, copy});
                free(copy);
            }
            Py_END_ALLOW_THREADS
        }
        release_arrays(views, 4);
    }
    release_arrays(units, n_units > 0 ? n_units : 0);
    PyBuffer_Release(&view);
    return none_or_error(good, "edges must join existing rows, and the power must be 1 or 2");
}

PyMethodDef edge_functions[] = {
    {"edge_sums", edge_sums, METH_VARARGS, "edge_sums(rows, scale, shift, first, second, weights, power, start, stop, total): adds to total"},
    {NULL, NULL, 0, NULL},
};
