/* Sums over weighted samples for many columns together, and the extremes of the columns.

   The sum of each column and weighting adds the samples in order. The result is therefore bitwise
   independent of the other columns and of the number of threads. */
#include "rows.h"

#include <math.h>
#include <string.h>

#define TOGETHER 4 /* samples added in one step */

/* ---- Σ_i w_i (f_i − origin), or Σ_i w_i ((f_i − origin) − center)², for each of several weightings ---- */

typedef struct {
    const int64_t *begin, *weighting; /* the weightings of each sample; both NULL if each sample is in all weightings */
    const double *weights;            /* the weight of each sample in each of its weightings */
    const double *origin, *center;    /* (n_weightings, width) each, or one origin for all; without a center, no squares */
    Py_ssize_t count, n_weightings;
    int one_origin;
} weighted;

INLINED double relative(double value, const double *origin, Py_ssize_t c) { return origin == NULL ? value : value - origin[c]; }

INLINED double term(double weight, double distance, const double *center, Py_ssize_t c)
{
    if (center == NULL) {
        return weight * distance;
    }
    distance -= center[c];
    return weight * (distance * distance);
}

/* Adds the terms of four rows in order. Each sum is loaded and stored only once. */
INLINED void add_four(
    const double values[TOGETHER][STRIP], const double *weight, const double *restrict origin, const double *restrict center, Py_ssize_t width,
    double *restrict sum)
{
    const double first = weight[0], second = weight[1], third = weight[2], fourth = weight[3];
    for (Py_ssize_t c = 0; c < width; c++) {
        double total = sum[c];
        total += term(first, relative(values[0][c], origin, c), center, c);
        total += term(second, relative(values[1][c], origin, c), center, c);
        total += term(third, relative(values[2][c], origin, c), center, c);
        total += term(fourth, relative(values[3][c], origin, c), center, c);
        sum[c] = total;
    }
}

/* For samples that are all in all weightings. */
INLINED void add_to_all(
    const table *from, const weighted *by, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored, int one_origin, int centered)
{
    const double *scale = stored == PREPARED ? NULL : from->scale + begin, *shift = stored == PREPARED ? NULL : from->shift + begin;
    const double *shared = one_origin ? by->origin + begin : NULL;
    double values[TOGETHER][STRIP], weight[TOGETHER];
    for (Py_ssize_t i = 0; i < from->n_rows; i += TOGETHER) {
        Py_ssize_t left = from->n_rows - i;
        int count = left < TOGETHER ? (int)left : TOGETHER;
        for (int r = 0; r < count; r++) {
            if (i + r + AHEAD < from->n_rows) {
                prefetch_row(from, i + r + AHEAD, begin, width, stored);
            }
            const char *row = place(from, i + r, begin, stored);
            for (Py_ssize_t c = 0; c < width; c++) {
                values[r][c] = relative(number(row, c, scale, shift, stored), shared, c);
            }
        }
        for (Py_ssize_t which = 0; which < by->n_weightings; which++) {
            Py_ssize_t at = which * from->width + begin;
            const double *origin = one_origin ? NULL : by->origin + at, *center = centered ? by->center + at : NULL;
            for (int r = 0; r < count; r++) {
                weight[r] = by->weights[(i + r) * by->n_weightings + which];
            }
            if (count == TOGETHER) {
                add_four((const double(*)[STRIP])values, weight, origin, center, width, total + at);
                continue;
            }
            for (int r = 0; r < count; r++) {
                for (Py_ssize_t c = 0; c < width; c++) {
                    total[at + c] += term(weight[r], relative(values[r][c], origin, c), center, c);
                }
            }
        }
    }
}

INLINED void add_row(
    const char *row, double weight, const double *restrict scale, const double *restrict shift, const double *restrict origin,
    const double *restrict center, Py_ssize_t width, double *restrict sum, enum storage stored)
{
    for (Py_ssize_t c = 0; c < width; c++) {
        sum[c] += term(weight, relative(number(row, c, scale, shift, stored), origin, c), center, c);
    }
}

/* For samples with lists of weightings. Most samples are in one only, that of their class. */
INLINED void add_to_listed(
    const table *from, const weighted *by, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored, int one_origin, int centered)
{
    const double *scale = stored == PREPARED ? NULL : from->scale + begin, *shift = stored == PREPARED ? NULL : from->shift + begin;
    for (Py_ssize_t i = 0; i < from->n_rows; i++) {
        if (i + AHEAD < from->n_rows && by->begin[i + AHEAD] < by->begin[i + AHEAD + 1]) {
            prefetch_row(from, i + AHEAD, begin, width, stored);
        }
        for (int64_t entry = by->begin[i]; entry < by->begin[i + 1]; entry++) {
            Py_ssize_t at = (Py_ssize_t)by->weighting[entry] * from->width + begin;
            const double *origin = by->origin + (one_origin ? begin : at), *center = centered ? by->center + at : NULL;
            add_row(place(from, i, begin, stored), by->weights[entry], scale, shift, origin, center, width, total + at, stored);
        }
    }
}

/* Constant arguments allow the compiler to specialize the loops. */
INLINED void add_samples(const table *from, const weighted *by, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored)
{
    if (by->begin != NULL && by->center == NULL) {
        add_to_listed(from, by, begin, width, total, stored, by->one_origin, 0);
    } else if (by->begin != NULL) {
        add_to_listed(from, by, begin, width, total, stored, by->one_origin, 1);
    } else if (by->one_origin && by->center == NULL) {
        add_to_all(from, by, begin, width, total, stored, 1, 0);
    } else if (by->one_origin) {
        add_to_all(from, by, begin, width, total, stored, 1, 1);
    } else if (by->center == NULL) {
        add_to_all(from, by, begin, width, total, stored, 0, 0);
    } else {
        add_to_all(from, by, begin, width, total, stored, 0, 1);
    }
}

/* ---- The smallest, the largest and the first value of least magnitude of every column, or NaN if the column contains NaN ---- */

#define EXTREMES(NAME, TYPE, MAGNITUDE)                                                                                                 \
    INLINED void NAME(const table *from, Py_ssize_t begin, Py_ssize_t width, double *found)                                             \
    {                                                                                                                                   \
        TYPE low[STRIP], high[STRIP], least[STRIP], missing[STRIP] = {0};                                                               \
        const TYPE *row = (const TYPE *)from->start + begin;                                                                            \
        memcpy(low, row, (size_t)width * sizeof(TYPE));                                                                                 \
        memcpy(high, row, (size_t)width * sizeof(TYPE));                                                                                \
        memcpy(least, row, (size_t)width * sizeof(TYPE));                                                                               \
        for (Py_ssize_t i = 0; i < from->n_rows; i++) {                                                                                 \
            row = (const TYPE *)(from->start + i * from->stride) + begin;                                                               \
            if (i + AHEAD < from->n_rows) {                                                                                             \
                prefetch_row(from, i + AHEAD, begin, width, sizeof(TYPE) == sizeof(float) ? SINGLE : DOUBLE);                            \
            }                                                                                                                           \
            for (Py_ssize_t c = 0; c < width; c++) {                                                                                    \
                TYPE x = row[c];                                                                                                        \
                low[c] = x < low[c] ? x : low[c];                                                                                       \
                high[c] = x > high[c] ? x : high[c];                                                                                    \
                least[c] = MAGNITUDE(x) < MAGNITUDE(least[c]) ? x : least[c];                                                           \
                missing[c] = x == x ? missing[c] : x;                                                                                   \
            }                                                                                                                           \
        }                                                                                                                               \
        for (Py_ssize_t c = 0; c < width; c++) {                                                                                        \
            found[begin + c] = missing[c] == 0 ? (double)low[c] : NAN;                                                                  \
            found[from->width + begin + c] = missing[c] == 0 ? (double)high[c] : NAN;                                                   \
            found[2 * from->width + begin + c] = missing[c] == 0 ? (double)least[c] : NAN;                                              \
        }                                                                                                                               \
    }
EXTREMES(single_extremes, float, fabsf)
EXTREMES(double_extremes, double, fabs)

/* ---- Versions for each kind of storage, with and without AVX2 ---- */

typedef struct {
    const table *from;
    const weighted *samples; /* NULL for the extremes */
    Py_ssize_t start, stop;  /* range of columns */
    double *result;
} task;

INLINED void do_all(const task *todo, enum storage stored)
{
    for (Py_ssize_t begin = todo->start; begin < todo->stop; begin += STRIP) {
        Py_ssize_t left = todo->stop - begin, width = left < STRIP ? left : STRIP;
        if (todo->samples != NULL) {
            add_samples(todo->from, todo->samples, begin, width, todo->result, stored);
        } else if (stored == SINGLE) {
            single_extremes(todo->from, begin, width, todo->result);
        } else {
            double_extremes(todo->from, begin, width, todo->result);
        }
    }
}

#include "by_storage.h"

/* ---- Arguments ---- */

static int all_ascending(const int64_t *begin, Py_ssize_t count, int64_t last)
{
    int good = begin[0] == 0 && begin[count] == last;
    for (Py_ssize_t i = 0; i < count; i++) {
        good &= begin[i] <= begin[i + 1];
    }
    return good;
}

/* Reads the weightings of each sample. Both arguments are None if each sample is in all of them. */
static int read_entries(PyObject *begin, PyObject *which, Py_buffer *views, weighted *by, Py_ssize_t n_rows)
{
    if (begin == Py_None && which == Py_None) {
        by->begin = by->weighting = NULL;
        return by->count == n_rows * by->n_weightings ? 0 : -1;
    }
    if (!read_array(begin, &views[0], "begin", 'l', 1, READ_ONLY)) {
        return -1;
    }
    if (!read_array(which, &views[1], "weighting", 'l', 1, READ_ONLY)) {
        release_arrays(views, 1);
        return -1;
    }
    if (!has_length(&views[0], 0, n_rows + 1, "begin") || !has_length(&views[1], 0, by->count, "weighting")) {
        release_arrays(views, 2);
        return -1;
    }
    by->begin = views[0].buf;
    by->weighting = views[1].buf;
    return 2;
}

static int entries_fit(const weighted *by, Py_ssize_t n_rows)
{
    return by->begin == NULL || (all_ascending(by->begin, n_rows, by->count) && all_below(by->weighting, by->count, by->n_weightings));
}

static PyObject *weighted_sums(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *rows, *scale, *shift, *begin, *which, *center, *objects[3];
    Py_buffer view, units[2], views[3], entries[2], of_center;
    table from;
    enum storage stored;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(
            args, "OOOOOOOOnnO", &rows, &scale, &shift, &begin, &which, &objects[0], &objects[1], &center, &start, &stop, &objects[2])
        || !read_table(rows, &view, &from, &stored)) {
        return NULL;
    }
    int n_units = read_units(scale, shift, units, &from, &stored);
    static const char *const names[3] = {"weights", "origin", "total"};
    static const int dimensions[3] = {1, 2, 2};
    int good = n_units >= 0 && read_arrays(objects, views, names, "ddd", dimensions, 3);
    if (good) {
        Py_ssize_t n_weightings = views[2].shape[0];
        int one_origin = views[1].shape[0] == 1;
        weighted by = {NULL, NULL, views[0].buf, views[1].buf, NULL, views[0].shape[0], n_weightings, one_origin};
        int n_entries = read_entries(begin, which, entries, &by, from.n_rows);
        int centered = center != Py_None && read_array(center, &of_center, "center", 'd', 2, READ_ONLY);
        by.center = centered ? of_center.buf : NULL;
        good = n_entries >= 0 && (centered || center == Py_None) && has_columns(&from, start, stop)
               && has_length(&views[1], 1, from.width, names[1]) && (one_origin || has_length(&views[1], 0, n_weightings, names[1]))
               && has_length(&views[2], 1, from.width, names[2])
               && (!centered || (has_length(&of_center, 0, n_weightings, "center") && has_length(&of_center, 1, from.width, "center")));
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            good = entries_fit(&by, from.n_rows);
            if (good) {
                function_for(stored)(&(task){&from, &by, start, stop, views[2].buf});
            }
            Py_END_ALLOW_THREADS
        }
        if (centered) {
            PyBuffer_Release(&of_center);
        }
        release_arrays(entries, n_entries > 0 ? n_entries : 0);
        release_arrays(views, 3);
    }
    release_arrays(units, n_units > 0 ? n_units : 0);
    PyBuffer_Release(&view);
    return none_or_error(good, "samples must refer to existing weightings");
}

static PyObject *column_extremes(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *rows, *object;
    Py_buffer view, result;
    table from;
    enum storage stored;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(args, "OnnO", &rows, &start, &stop, &object) || !read_table(rows, &view, &from, &stored)) {
        return NULL;
    }
    int good = read_array(object, &result, "found", 'd', 2, WRITABLE);
    if (good) {
        good = has_columns(&from, start, stop) && has_length(&result, 0, 3, "found") && has_length(&result, 1, from.width, "found");
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            function_for(stored)(&(task){&from, NULL, start, stop, result.buf});
            Py_END_ALLOW_THREADS
        }
        PyBuffer_Release(&result);
    }
    PyBuffer_Release(&view);
    return none_or_error(good, "");
}

PyMethodDef sample_functions[] = {
    {"weighted_sums", weighted_sums, METH_VARARGS,
     "weighted_sums(rows, scale, shift, begin, weighting, weights, origin, center, start, stop, total): adds to total"},
    {"column_extremes", column_extremes, METH_VARARGS,
     "column_extremes(rows, start, stop, found): the smallest, the largest and the one of least magnitude, or NaN"},
    {NULL, NULL, 0, NULL},
};
