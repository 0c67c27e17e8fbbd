/* The sums over edges and over weighted samples, for many columns side by side.

   A number enters as value = x * scale - shift, with a scale and a shift for each column, so that X itself is read and no copy of it
   is made. Each column has a sum of its own that grows edge by edge, or sample by sample, in the order given: its bits depend neither
   on the columns beside it nor on how many threads share them. */
#include "arguments.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STRIP 256          /* columns that are summed side by side: their sums, scales and shifts stay in the innermost cache */
#define NARROW_STRIP 32    /* columns of which all rows are copied, so that edges find their ends near each other … */
#define COPIED_BYTES (1 << 24) /* … where the copy is not larger than this: beyond, it would leave the cache as X itself does */
#define AHEAD 12           /* edges, or rows, whose numbers are asked for before they are needed */
#define TOGETHER 4         /* samples whose terms are added in one go */
#define LINE 64            /* bytes that memory delivers together */

#if defined(__GNUC__)
#define ASK_FOR(address) __builtin_prefetch(address)
#else
#define ASK_FOR(address) ((void)(address))
#endif

/* How the numbers of a table are stored, and whether they are taken as they are. */
enum storage { SINGLE, DOUBLE, PREPARED };

typedef struct {
    const char *start; /* of the first row */
    Py_ssize_t stride; /* from a row to the next, in bytes */
    Py_ssize_t n_rows, width;
    const double *scale, *shift;
} table;

INLINED const char *place(const table *from, int64_t row, Py_ssize_t column, enum storage stored)
{
    return from->start + row * from->stride + column * (stored == SINGLE ? (Py_ssize_t)sizeof(float) : (Py_ssize_t)sizeof(double));
}

INLINED double number(const char *row, Py_ssize_t column, const double *scale, const double *shift, enum storage stored)
{
    if (stored == PREPARED) {
        return ((const double *)row)[column];
    }
    double x = stored == SINGLE ? (double)((const float *)row)[column] : ((const double *)row)[column];
    return x * scale[column] - shift[column];
}

/* ---- Σ_e w_e |f_first − f_second|^power ---- */

typedef struct {
    const int64_t *first, *second;
    const double *weights;
    Py_ssize_t count;
    int power;
} edge_list;

INLINED void ask_for_row(const table *from, int64_t row, Py_ssize_t begin, Py_ssize_t width, enum storage stored)
{
    const char *start = place(from, row, begin, stored), *stop = place(from, row, begin + width, stored);
    for (const char *line = start; line < stop; line += LINE) {
        ASK_FOR(line);
    }
}

INLINED void add_edges(const table *from, const edge_list *edges, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored)
{
    const double *scale = stored == PREPARED ? NULL : from->scale + begin, *shift = stored == PREPARED ? NULL : from->shift + begin;
    double sum[STRIP];
    memcpy(sum, total, (size_t)width * sizeof(double));
    for (Py_ssize_t e = 0; e < edges->count; e++) {
        if (e + AHEAD < edges->count) { /* the first ends come in order, the second ones do not */
            ask_for_row(from, edges->second[e + AHEAD], begin, width, stored);
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

/* The same by way of a copy of a few columns of all rows, for which `copy` has room. */
INLINED void add_edges_of_copy(
    const table *from, const edge_list *edges, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored, double *copy)
{
    const double *scale = stored == PREPARED ? NULL : from->scale + begin, *shift = stored == PREPARED ? NULL : from->shift + begin;
    for (Py_ssize_t i = 0; i < from->n_rows; i++) {
        if (i + AHEAD < from->n_rows) {
            ask_for_row(from, i + AHEAD, begin, width, stored);
        }
        const char *row = place(from, i, begin, stored);
        double *values = copy + i * width;
        for (Py_ssize_t c = 0; c < width; c++) {
            values[c] = number(row, c, scale, shift, stored);
        }
    }
    table copied = {(const char *)copy, width * (Py_ssize_t)sizeof(double), from->n_rows, width, NULL, NULL};
    if (width == NARROW_STRIP) { /* a width known to the compiler makes short loops straight */
        add_edges(&copied, edges, 0, NARROW_STRIP, total, PREPARED);
    } else {
        add_edges(&copied, edges, 0, width, total, PREPARED);
    }
}

/* ---- Σ_i w_i (f_i − origin), or Σ_i w_i ((f_i − origin) − center)², for each of several weightings ---- */

typedef struct {
    const int64_t *begin, *weighting; /* for each sample, which weightings it is in; neither of both: it is in all of them */
    const double *weights;            /* … and by how much */
    const double *origin, *center; /* (n_weightings, width) each; no center: no square */
    Py_ssize_t count, n_weightings;
} weighted;

INLINED Py_ssize_t first_entry(const weighted *by, Py_ssize_t row)
{
    return by->begin == NULL ? row * by->n_weightings : (Py_ssize_t)by->begin[row];
}

/* Whether this row and those after it, TOGETHER in all, are in the same weightings. */
INLINED int are_alike(const weighted *by, Py_ssize_t row, Py_ssize_t n_rows)
{
    if (row + TOGETHER > n_rows || by->begin == NULL) {
        return row + TOGETHER <= n_rows;
    }
    const int64_t *begin = by->begin + row;
    size_t size = (size_t)(begin[1] - begin[0]) * sizeof(int64_t);
    for (int r = 1; r < TOGETHER; r++) {
        if (begin[r + 1] - begin[r] != begin[1] - begin[0] || memcmp(by->weighting + begin[0], by->weighting + begin[r], size) != 0) {
            return 0;
        }
    }
    return 1;
}

/* One term for each of `count` rows, one after another: a sum is fetched and put back once for all of them. */
INLINED void add_terms(
    double values[][STRIP], const double *weight, int count, const double *origin, const double *center, Py_ssize_t width, double *sum)
{
    for (Py_ssize_t c = 0; c < width; c++) {
        double total = sum[c], from_origin = origin[c], from_center = center != NULL ? center[c] : 0.0;
        for (int r = 0; r < count; r++) {
            double distance = values[r][c] - from_origin;
            if (center != NULL) {
                distance -= from_center;
                distance *= distance;
            }
            total += weight[r] * distance;
        }
        sum[c] = total;
    }
}

INLINED void add_samples(const table *from, const weighted *by, Py_ssize_t begin, Py_ssize_t width, double *total, enum storage stored)
{
    const double *scale = stored == PREPARED ? NULL : from->scale + begin, *shift = stored == PREPARED ? NULL : from->shift + begin;
    double values[TOGETHER][STRIP], weight[TOGETHER];
    int count = 1;
    for (Py_ssize_t i = 0; i < from->n_rows; i += count) {
        Py_ssize_t n_entries = first_entry(by, i + 1) - first_entry(by, i);
        count = are_alike(by, i, from->n_rows) ? TOGETHER : 1;
        for (int r = 0; r < count && n_entries > 0; r++) {
            if (i + r + AHEAD < from->n_rows) {
                ask_for_row(from, i + r + AHEAD, begin, width, stored);
            }
            const char *row = place(from, i + r, begin, stored);
            for (Py_ssize_t c = 0; c < width; c++) {
                values[r][c] = number(row, c, scale, shift, stored);
            }
        }
        for (Py_ssize_t entry = 0; entry < n_entries; entry++) {
            for (int r = 0; r < count; r++) {
                weight[r] = by->weights[first_entry(by, i + r) + entry];
            }
            Py_ssize_t which = by->weighting == NULL ? entry : (Py_ssize_t)by->weighting[first_entry(by, i) + entry];
            Py_ssize_t at = which * from->width + begin;
            const double *center = by->center == NULL ? NULL : by->center + at;
            if (count == TOGETHER && center == NULL) { /* what is known to the compiler makes loops straight */
                add_terms(values, weight, TOGETHER, by->origin + at, NULL, width, total + at);
            } else if (count == TOGETHER) {
                add_terms(values, weight, TOGETHER, by->origin + at, center, width, total + at);
            } else if (center == NULL) {
                add_terms(values, weight, 1, by->origin + at, NULL, width, total + at);
            } else {
                add_terms(values, weight, 1, by->origin + at, center, width, total + at);
            }
        }
    }
}

/* ---- The smallest, the largest and the first value of least magnitude of every column ---- */

#define EXTREMES(NAME, TYPE, MAGNITUDE)                                                                                                             \
    INLINED void NAME(const table *from, Py_ssize_t begin, Py_ssize_t width, double *found)                                              \
    {                                                                                                                                    \
        TYPE low[STRIP], high[STRIP], least[STRIP];                                                                                      \
        const TYPE *row = (const TYPE *)from->start + begin;                                                                             \
        memcpy(low, row, (size_t)width * sizeof(TYPE));                                                                                  \
        memcpy(high, row, (size_t)width * sizeof(TYPE));                                                                                 \
        memcpy(least, row, (size_t)width * sizeof(TYPE));                                                                                \
        for (Py_ssize_t i = 1; i < from->n_rows; i++) {                                                                                  \
            row = (const TYPE *)(from->start + i * from->stride) + begin;                                                                \
            if (i + AHEAD < from->n_rows) {                                                                                              \
                ask_for_row(from, i + AHEAD, begin, width, sizeof(TYPE) == sizeof(float) ? SINGLE : DOUBLE);                             \
            }                                                                                                                            \
            for (Py_ssize_t c = 0; c < width; c++) {                                                                                     \
                TYPE x = row[c];                             \
                low[c] = x < low[c] ? x : low[c];                                                                                        \
                high[c] = x > high[c] ? x : high[c];                                                                                     \
                least[c] = MAGNITUDE(x) < MAGNITUDE(least[c]) ? x : least[c];                                                                          \
            }                                                                                                                            \
        }                                                                                                                                \
        for (Py_ssize_t c = 0; c < width; c++) {                                                                                         \
            found[begin + c] = (double)low[c];                                                                                           \
            found[from->width + begin + c] = (double)high[c];                                                                            \
            found[2 * from->width + begin + c] = (double)least[c];                                                                       \
        }                                                                                                                                \
    }
EXTREMES(single_extremes, float, fabsf)
EXTREMES(double_extremes, double, fabs)

/* ---- The same, for whatever is stored and with the instructions at hand ---- */

typedef struct {
    const table *from;
    const edge_list *edges; /* one of the two, or neither: extremes */
    const weighted *samples;
    Py_ssize_t start, stop; /* the columns that are wanted */
    double *result;
    double *copy; /* room for a few columns of all rows, or none */
} task;

INLINED void do_strip(const task *asked, Py_ssize_t begin, Py_ssize_t width, enum storage stored)
{
    if (asked->copy != NULL) {
        add_edges_of_copy(asked->from, asked->edges, begin, width, asked->result + begin, stored, asked->copy);
    } else if (asked->edges != NULL) {
        add_edges(asked->from, asked->edges, begin, width, asked->result + begin, stored);
    } else if (asked->samples != NULL) {
        add_samples(asked->from, asked->samples, begin, width, asked->result, stored);
    } else if (stored == SINGLE) {
        single_extremes(asked->from, begin, width, asked->result);
    } else {
        double_extremes(asked->from, begin, width, asked->result);
    }
}

INLINED void do_all(const task *asked, enum storage stored)
{
    Py_ssize_t step = asked->copy != NULL ? NARROW_STRIP : STRIP;
    for (Py_ssize_t begin = asked->start; begin < asked->stop; begin += step) {
        Py_ssize_t left = asked->stop - begin;
        do_strip(asked, begin, left < step ? left : step, stored);
    }
}

typedef void (*doer)(const task *);
static void do_single(const task *asked) { do_all(asked, SINGLE); }
static void do_double(const task *asked) { do_all(asked, DOUBLE); }
static void do_prepared(const task *asked) { do_all(asked, PREPARED); }
#if HAVE_AVX2_CHOICE
WITH_AVX2 static void do_single_avx2(const task *asked) { do_all(asked, SINGLE); }
WITH_AVX2 static void do_double_avx2(const task *asked) { do_all(asked, DOUBLE); }
WITH_AVX2 static void do_prepared_avx2(const task *asked) { do_all(asked, PREPARED); }
#endif

/* Worth it where a row has several edges, and the copied columns stay in the cache; without room it goes without. */
static double *room_for_copy(const table *from, const edge_list *edges, Py_ssize_t start, Py_ssize_t stop)
{
    Py_ssize_t width = stop - start < NARROW_STRIP ? stop - start : NARROW_STRIP;
    int near = from->stride <= NARROW_STRIP * (Py_ssize_t)sizeof(double); /* rows so short that their copy would be no shorter */
    if (width < 1 || near || edges->count < from->n_rows || from->n_rows > COPIED_BYTES / (width * (Py_ssize_t)sizeof(double))) {
        return NULL;
    }
    return malloc((size_t)(from->n_rows * width) * sizeof(double));
}

static doer doer_for(enum storage stored)
{
#if HAVE_AVX2_CHOICE
    if (has_avx2()) {
        return stored == SINGLE ? do_single_avx2 : stored == DOUBLE ? do_double_avx2 : do_prepared_avx2;
    }
#endif
    return stored == SINGLE ? do_single : stored == DOUBLE ? do_double : do_prepared;
}

/* ---- Arguments ---- */

/* A table whose rows are contiguous, at any distance from each other: a slice of columns will do. */
static int read_table(PyObject *object, Py_buffer *view, table *read, enum storage *stored)
{
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "rows must be an array");
        return 0;
    }
    int kind = view->format != NULL && view->ndim == 2 ? view->format[strspn(view->format, "@=<")] : 0;
    int plain = kind != 0 && view->format[strspn(view->format, "@=<") + 1] == 0;
    if (!plain || !((kind == 'f' && view->itemsize == 4) || (kind == 'd' && view->itemsize == 8))) {
        PyErr_SetString(PyExc_ValueError, "rows must have 2 dimensions and numbers of kind 'f' or 'd'");
    } else if (view->shape[0] < 1 || (view->shape[1] > 1 && view->strides[1] != view->itemsize)) {
        PyErr_SetString(PyExc_ValueError, "rows must be at least one, each contiguous");
    } else if (((uintptr_t)view->buf | (uintptr_t)view->strides[0]) % (uintptr_t)view->itemsize != 0) {
        PyErr_SetString(PyExc_ValueError, "rows must be aligned");
    } else {
        *read = (table){view->buf, view->strides[0], view->shape[0], view->shape[1], NULL, NULL};
        *stored = kind == 'f' ? SINGLE : DOUBLE;
        return 1;
    }
    PyBuffer_Release(view);
    return 0;
}

/* Arrays of the given kinds and dimensions; the last is written to. */
static int read_arrays(PyObject **objects, Py_buffer *views, const char *const *names, const char *kinds, const int *dimensions, int count)
{
    for (int i = 0; i < count; i++) {
        if (!read_array(objects[i], &views[i], names[i], kinds[i], dimensions[i], i == count - 1)) {
            release_arrays(views, i);
            return 0;
        }
    }
    return 1;
}

/* Both None: the numbers are taken as they are, which only float64 can be. */
static int read_units(PyObject *scale, PyObject *shift, Py_buffer *views, table *read, enum storage *stored)
{
    if (scale == Py_None && shift == Py_None) {
        if (*stored != DOUBLE) {
            PyErr_SetString(PyExc_ValueError, "only numbers of kind 'd' can be taken without a scale and a shift");
            return -1;
        }
        *stored = PREPARED;
        return 0;
    }
    static const char *const names[2] = {"scale", "shift"};
    PyObject *objects[2] = {scale, shift};
    for (int i = 0; i < 2; i++) {
        if (!read_array(objects[i], &views[i], names[i], 'd', 1, READ_ONLY)) {
            release_arrays(views, i);
            return -1;
        }
    }
    if (!has_length(&views[0], 0, read->width, names[0]) || !has_length(&views[1], 0, read->width, names[1])) {
        release_arrays(views, 2);
        return -1;
    }
    read->scale = views[0].buf;
    read->shift = views[1].buf;
    return 2;
}

static int has_columns(const table *from, Py_ssize_t start, Py_ssize_t stop)
{
    if (start < 0 || start > stop || stop > from->width) {
        PyErr_Format(PyExc_ValueError, "there are no columns %zd to %zd", start, stop);
        return 0;
    }
    return 1;
}

static int all_below(const int64_t *indices, Py_ssize_t count, int64_t limit)
{
    int good = 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        good &= (uint64_t)indices[i] < (uint64_t)limit;
    }
    return good;
}

static int all_ascending(const int64_t *begin, Py_ssize_t count, int64_t last)
{
    int good = begin[0] == 0 && begin[count] == last;
    for (Py_ssize_t i = 0; i < count; i++) {
        good &= begin[i] <= begin[i + 1];
    }
    return good;
}

static PyObject *answer(int good, const char *complaint)
{
    if (good) {
        Py_RETURN_NONE;
    }
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, complaint);
    }
    return NULL;
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
                double *copy = room_for_copy(&from, &edges, start, stop);
                doer_for(stored)(&(task){&from, &edges, NULL, start, stop, views[3].buf, copy});
                free(copy);
            }
            Py_END_ALLOW_THREADS
        }
        release_arrays(views, 4);
    }
    release_arrays(units, n_units > 0 ? n_units : 0);
    PyBuffer_Release(&view);
    return answer(good, "edges must join rows that are there, and the power be 1 or 2");
}

/* The weightings of each sample, or None twice where each is in all of them. */
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
        Py_ssize_t n_weightings = views[1].shape[0];
        weighted by = {NULL, NULL, views[0].buf, views[1].buf, NULL, views[0].shape[0], n_weightings};
        int n_entries = read_entries(begin, which, entries, &by, from.n_rows);
        int centered = center != Py_None && read_array(center, &of_center, "center", 'd', 2, READ_ONLY);
        by.center = centered ? of_center.buf : NULL;
        good = n_entries >= 0 && (centered || center == Py_None) && has_columns(&from, start, stop)
               && has_length(&views[1], 1, from.width, names[1]) && has_length(&views[2], 0, n_weightings, names[2])
               && has_length(&views[2], 1, from.width, names[2])
               && (!centered || (has_length(&of_center, 0, n_weightings, "center") && has_length(&of_center, 1, from.width, "center")));
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            good = entries_fit(&by, from.n_rows);
            if (good) {
                doer_for(stored)(&(task){&from, NULL, &by, start, stop, views[2].buf, NULL});
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
    return answer(good, "each sample must be in weightings that are there");
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
            doer_for(stored)(&(task){&from, NULL, NULL, start, stop, result.buf, NULL});
            Py_END_ALLOW_THREADS
        }
        PyBuffer_Release(&result);
    }
    PyBuffer_Release(&view);
    return answer(good, "");
}

PyMethodDef edge_functions[] = {
    {"edge_sums", edge_sums, METH_VARARGS, "edge_sums(rows, scale, shift, first, second, weights, power, start, stop, total): adds to total"},
    {"weighted_sums", weighted_sums, METH_VARARGS,
     "weighted_sums(rows, scale, shift, begin, weighting, weights, origin, center, start, stop, total): adds to total"},
    {"column_extremes", column_extremes, METH_VARARGS, "column_extremes(rows, start, stop, found): smallest, largest, of least magnitude"},
    {NULL, NULL, 0, NULL},
};
