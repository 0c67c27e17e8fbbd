/* Pairs of samples on a line: two samples are a pair if their distance is within the reach of either.

   For each sample, the search goes to the right as far as the sample reaches, or as far as a sample
   there reaches back to it. Distances that tie only because of rounding may leave gaps between the
   pairs. */
#include "rows.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const double *values, *reach; /* sorted values, and the reach of each */
    const int64_t *order;         /* the sample of each value */
    int64_t *first, *second;
    double *squared;
    Py_ssize_t count, capacity;
} line;

/* The farthest place that place j reaches to the left. Rounded distances never decrease on the way,
   so all places in between are within reach and become pairs. */
static Py_ssize_t leftmost(const line *on, Py_ssize_t j)
{
    Py_ssize_t low = j;
    while (low > 0 && on->values[j] - on->values[low - 1] <= on->reach[j]) {
        low--;
    }
    return low;
}

/* For each place, finds the last place that reaches back to it or beyond. */
static void fill_last(const line *on, Py_ssize_t *last)
{
    for (Py_ssize_t j = 0; j < on->count; j++) {
        last[j] = j;
        last[leftmost(on, j)] = j;
    }
    for (Py_ssize_t i = 1; i < on->count; i++) {
        last[i] = last[i] > last[i - 1] ? last[i] : last[i - 1];
    }
}

/* Returns the number of pairs. Stores at most `capacity` of them. */
static Py_ssize_t list_pairs(const line *on, const Py_ssize_t *last)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < on->count; i++) {
        for (Py_ssize_t j = i + 1; j < on->count; j++) {
            double gap = on->values[j] - on->values[i];
            int near = gap <= on->reach[i];
            if (!near && j > last[i]) {
                break;
            }
            if (!near && !(gap <= on->reach[j])) {
                continue;
            }
            if (found < on->capacity) {
                on->first[found] = on->order[i];
                on->second[found] = on->order[j];
                on->squared[found] = gap * gap;
            }
            found++;
        }
    }
    return found;
}

static PyObject *line_pairs(PyObject *module, PyObject *args)
{
    (void)module;
    static const char *const names[6] = {"values", "reach", "order", "first", "second", "squared"};
    static const char kinds[6] = {'d', 'd', 'l', 'l', 'l', 'd'};
    PyObject *objects[6];
    Py_buffer views[6];
    if (!PyArg_ParseTuple(args, "OOOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4], &objects[5])) {
        return NULL;
    }
    for (int i = 0; i < 6; i++) {
        if (!read_array(objects[i], &views[i], names[i], kinds[i], 1, i > 2)) {
            release_arrays(views, i);
            return NULL;
        }
    }
    Py_ssize_t count = views[0].shape[0], capacity = views[3].shape[0], found = 0;
    int good = has_length(&views[1], 0, count, names[1]) && has_length(&views[2], 0, count, names[2])
               && has_length(&views[4], 0, capacity, names[4]) && has_length(&views[5], 0, capacity, names[5]);
    if (good) {
        line on = {views[0].buf, views[1].buf, views[2].buf, views[3].buf, views[4].buf, views[5].buf, count, capacity};
        Py_ssize_t *last = malloc((size_t)(count + 1) * sizeof(Py_ssize_t));
        good = last != NULL;
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            fill_last(&on, last);
            found = list_pairs(&on, last);
            Py_END_ALLOW_THREADS
        } else {
            PyErr_NoMemory();
        }
        free(last);
    }
    release_arrays(views, 6);
    return good ? PyLong_FromSsize_t(found) : NULL;
}

#define AT_ONCE 512 /* values per block; they stay in the level 1 cache during all steps */

/* A value and its k nearest neighbours form a window of consecutive values. Among all such windows,
   takes the one with the nearest farthest end. */
INLINED void fill_reach(const double *restrict values, Py_ssize_t count, Py_ssize_t k, double *restrict reach)
{
    for (Py_ssize_t start = 0; start < count; start += AT_ONCE) {
        Py_ssize_t stop = count - start < AT_ONCE ? count : start + AT_ONCE;
        for (Py_ssize_t i = start; i < stop; i++) {
            reach[i] = INFINITY;
        }
        for (Py_ssize_t before = 0; before <= k && k < count; before++) {
            Py_ssize_t low = start > before ? start : before, after = k - before, high = stop < count - after ? stop : count - after;
            for (Py_ssize_t i = low; i < high; i++) {
                double to_left = values[i] - values[i - before], to_right = values[i + after] - values[i];
                double farthest = to_left > to_right ? to_left : to_right;
                reach[i] = farthest < reach[i] ? farthest : reach[i];
            }
        }
    }
}

/* ---- Pairs without gaps: each value with the next few ---- */

/* Counts the pairs of each value with the next `k` values. Returns whether these are all pairs and
   have no gaps, which can fail only if distances tie because of rounding. A value that reaches
   farther also reaches place k + 1, so one additional step is a sufficient check. */
INLINED int fill_counts(const double *restrict values, const double *restrict reach, Py_ssize_t count, Py_ssize_t k, int64_t *restrict counts)
{
    int64_t before[AT_ONCE], odd = 0;
    for (Py_ssize_t start = 0; start < count; start += AT_ONCE) {
        Py_ssize_t here = count - start < AT_ONCE ? count - start : AT_ONCE;
        const double *value = values + start, *far = reach + start;
        for (Py_ssize_t i = 0; i < here; i++) {
            before[i] = 1;
            counts[start + i] = 0;
        }
        for (Py_ssize_t step = 1; step <= k + 1; step++) {
            Py_ssize_t stop = count - start - step < here ? count - start - step : here;
            for (Py_ssize_t i = 0; i < stop; i++) {
                double gap = value[i + step] - value[i];
                int64_t near = (gap <= far[i]) | (gap <= far[i + step]);
                odd |= near & ~before[i];
                before[i] = near;
                counts[start + i] += near;
            }
        }
        for (Py_ssize_t i = 0; i < here; i++) {
            odd |= counts[start + i] > k;
        }
    }
    return !odd;
}

static void do_reach(const double *values, Py_ssize_t count, Py_ssize_t k, double *reach) { fill_reach(values, count, k, reach); }
static int do_counts(const double *values, const double *reach, Py_ssize_t count, Py_ssize_t k, int64_t *counts)
{
    return fill_counts(values, reach, count, k, counts);
}
#if HAVE_AVX2_CHOICE
WITH_AVX2 static void do_reach_avx2(const double *values, Py_ssize_t count, Py_ssize_t k, double *reach) { fill_reach(values, count, k, reach); }
WITH_AVX2 static int do_counts_avx2(const double *values, const double *reach, Py_ssize_t count, Py_ssize_t k, int64_t *counts)
{
    return fill_counts(values, reach, count, k, counts);
}
#else
#define do_reach_avx2 do_reach
#define do_counts_avx2 do_counts
#endif

static PyObject *line_reach(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[2];
    Py_buffer views[2];
    Py_ssize_t k;
    if (!PyArg_ParseTuple(args, "OnO", &objects[0], &k, &objects[1]) || !read_array(objects[0], &views[0], "values", 'd', 1, READ_ONLY)) {
        return NULL;
    }
    if (!read_array(objects[1], &views[1], "reach", 'd', 1, WRITABLE)) {
        release_arrays(views, 1);
        return NULL;
    }
    Py_ssize_t count = views[0].shape[0];
    int good = has_length(&views[1], 0, count, "reach");
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        (has_avx2() ? do_reach_avx2 : do_reach)(views[0].buf, count, k, views[1].buf);
        Py_END_ALLOW_THREADS
    }
    release_arrays(views, 2);
    return none_or_error(good, "");
}

static PyObject *line_band(PyObject *module, PyObject *args)
{
    (void)module;
    static const char *const names[3] = {"values", "reach", "begin"};
    static const int dimensions[3] = {1, 1, 1};
    PyObject *objects[3];
    Py_buffer views[3];
    Py_ssize_t k;
    if (!PyArg_ParseTuple(args, "OOnO", &objects[0], &objects[1], &k, &objects[2])
        || !read_arrays(objects, views, names, "ddl", dimensions, 3)) {
        return NULL;
    }
    Py_ssize_t count = views[0].shape[0];
    int good = has_length(&views[1], 0, count, names[1]) && has_length(&views[2], 0, count + 1, names[2]), closed = 0;
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        int64_t *begin = views[2].buf;
        k = k < count ? k : count;
        begin[0] = 0;
        closed = (has_avx2() ? do_counts_avx2 : do_counts)(views[0].buf, views[1].buf, count, k, begin + 1);
        for (Py_ssize_t i = 0; i < count; i++) {
            begin[i + 1] += begin[i];
        }
        Py_END_ALLOW_THREADS
    }
    release_arrays(views, 3);
    return good ? PyBool_FromLong(closed) : NULL;
}

/* Whether each value is paired with existing values only, and the total number of pairs equals
   `capacity`. */
static int pairs_fit(const int64_t *begin, Py_ssize_t count, Py_ssize_t capacity)
{
    int good = begin[0] == 0 && begin[count] == capacity;
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t next = begin[i + 1] - begin[i];
        good &= next >= 0 && next < count - i;
    }
    return good;
}

static void fill_squares(const double *values, const int64_t *begin, Py_ssize_t count, double *squared)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t next = begin[i + 1] - begin[i];
        for (Py_ssize_t step = 1; step <= next; step++) {
            double gap = values[i + step] - values[i];
            *squared++ = gap * gap;
        }
    }
}

static PyObject *line_squares(PyObject *module, PyObject *args)
{
    (void)module;
    static const char *const names[3] = {"values", "begin", "squared"};
    static const int dimensions[3] = {1, 1, 1};
    PyObject *objects[3];
    Py_buffer views[3];
    if (!PyArg_ParseTuple(args, "OOO", &objects[0], &objects[1], &objects[2])
        || !read_arrays(objects, views, names, "dld", dimensions, 3)) {
        return NULL;
    }
    Py_ssize_t count = views[0].shape[0];
    int good = has_length(&views[1], 0, count + 1, names[1]);
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        good = pairs_fit(views[1].buf, count, views[2].shape[0]);
        if (good) {
            fill_squares(views[0].buf, views[1].buf, count, views[2].buf);
        }
        Py_END_ALLOW_THREADS
    }
    release_arrays(views, 3);
    return none_or_error(good, "pairs must exist, and their number must equal the length of squared");
}

PyMethodDef line_functions[] = {
    {"line_reach", line_reach, METH_VARARGS, "line_reach(values, k, reach): distance of each value to its k-th nearest"},
    {"line_band", line_band, METH_VARARGS,
     "line_band(values, reach, k, begin): pairs of each value with the next k; returns whether these are all, without gaps"},
    {"line_squares", line_squares, METH_VARARGS, "line_squares(values, begin, squared): the squared distances of these pairs"},
    {"line_pairs", line_pairs, METH_VARARGS, "line_pairs(values, reach, order, first, second, squared): returns the number of pairs"},
    {NULL, NULL, 0, NULL},
};
