/* Squared distances between pairs of rows. Each is summed in the order of the features, so the
   result is bitwise independent of the number of pairs per call. */
#include "arguments.h"

#include <stdint.h>

#define TOGETHER 8 /* sums computed in parallel, because each addition must wait for the previous one */

static void one_pair(const double *one, const double *other, Py_ssize_t width, double *result)
{
    double sum = 0.0;
    for (Py_ssize_t k = 0; k < width; k++) {
        double difference = one[k] - other[k];
        sum += difference * difference;
    }
    *result = sum;
}

static void several_pairs(const double *const *one, const double *const *other, Py_ssize_t width, double *result)
{
    double sum[TOGETHER] = {0.0};
    for (Py_ssize_t k = 0; k < width; k++) {
        for (int i = 0; i < TOGETHER; i++) {
            double difference = one[i][k] - other[i][k];
            sum[i] += difference * difference;
        }
    }
    for (int i = 0; i < TOGETHER; i++) {
        result[i] = sum[i];
    }
}

static void all_pairs(
    const double *rows, Py_ssize_t width, const int64_t *first, const int64_t *second, Py_ssize_t n_pairs, double *result)
{
    Py_ssize_t at = 0;
    for (; at + TOGETHER <= n_pairs; at += TOGETHER) {
        const double *one[TOGETHER], *other[TOGETHER];
        for (int i = 0; i < TOGETHER; i++) {
            one[i] = rows + first[at + i] * width;
            other[i] = rows + second[at + i] * width;
        }
        several_pairs(one, other, width, result + at);
    }
    for (; at < n_pairs; at++) {
        one_pair(rows + first[at] * width, rows + second[at] * width, width, result + at);
    }
}

static PyObject *dense_pair_distances(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[4];
    Py_buffer views[4];
    if (!PyArg_ParseTuple(args, "OOOO", &objects[0], &objects[1], &objects[2], &objects[3])) {
        return NULL;
    }
    static const char *const names[4] = {"rows", "first", "second", "result"};
    static const char kinds[4] = {'d', 'l', 'l', 'd'};
    int n_read = 0;
    while (n_read < 4 && read_array(objects[n_read], &views[n_read], names[n_read], kinds[n_read], n_read ? 1 : 2, n_read == 3)) {
        n_read++;
    }
    if (n_read < 4) {
        release_arrays(views, n_read);
        return NULL;
    }
    Py_ssize_t n_rows = views[0].shape[0], width = views[0].shape[1], n_pairs = views[1].shape[0];
    int good = has_length(&views[2], 0, n_pairs, names[2]) && has_length(&views[3], 0, n_pairs, names[3]);
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        good = all_below(views[1].buf, n_pairs, n_rows) && all_below(views[2].buf, n_pairs, n_rows);
        if (good) {
            all_pairs(views[0].buf, width, views[1].buf, views[2].buf, n_pairs, views[3].buf);
        }
        Py_END_ALLOW_THREADS
        if (!good) {
            PyErr_SetString(PyExc_ValueError, "there is no row with that index");
        }
    }
    release_arrays(views, 4);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

enum { BEGIN, FEATURES, VALUES, FIRST, SECOND, RESULT, N_SPARSE_PAIR_ARRAYS };

/* Merges both rows by increasing feature. A feature stored in only one row is zero in the other. */
static double sparse_distance(const int32_t *features, const double *values, int64_t one, int64_t one_end, int64_t other, int64_t other_end)
{
    double sum = 0.0;
    while (one < one_end || other < other_end) {
        double difference;
        if (other >= other_end || (one < one_end && features[one] < features[other])) {
            difference = values[one++];
        } else if (one >= one_end || features[other] < features[one]) {
            difference = values[other++];
        } else {
            difference = values[one++] - values[other++];
        }
        sum += difference * difference;
    }
    return sum;
}

static int increasing(const int64_t *begin, Py_ssize_t n_rows, Py_ssize_t n_stored)
{
    int good = begin[0] >= 0 && begin[n_rows] <= n_stored;
    for (Py_ssize_t i = 0; i < n_rows; i++) {
        good &= begin[i] <= begin[i + 1];
    }
    return good;
}

static int measure_sparse_pairs(const Py_buffer *views)
{
    const int64_t *begin = views[BEGIN].buf, *first = views[FIRST].buf, *second = views[SECOND].buf;
    double *result = views[RESULT].buf;
    Py_ssize_t n_rows = views[BEGIN].shape[0] - 1, n_pairs = views[FIRST].shape[0];
    if (!increasing(begin, n_rows, views[FEATURES].shape[0]) || !all_below(first, n_pairs, n_rows) || !all_below(second, n_pairs, n_rows)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < n_pairs; i++) {
        int64_t one = first[i], other = second[i];
        result[i] = sparse_distance(
            views[FEATURES].buf, views[VALUES].buf, begin[one], begin[one + 1], begin[other], begin[other + 1]);
    }
    return 1;
}

static PyObject *sparse_pair_distances(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[N_SPARSE_PAIR_ARRAYS];
    Py_buffer views[N_SPARSE_PAIR_ARRAYS];
    if (!PyArg_ParseTuple(args, "OOOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4], &objects[5])) {
        return NULL;
    }
    static const char *const names[N_SPARSE_PAIR_ARRAYS] = {"begin", "features", "values", "first", "second", "result"};
    static const char kinds[N_SPARSE_PAIR_ARRAYS] = {'l', 'i', 'd', 'l', 'l', 'd'};
    int n_read = 0, good = 0;
    while (n_read < N_SPARSE_PAIR_ARRAYS && read_array(objects[n_read], &views[n_read], names[n_read], kinds[n_read], 1, n_read == RESULT)) {
        n_read++;
    }
    if (n_read == N_SPARSE_PAIR_ARRAYS) {
        Py_ssize_t n_pairs = views[FIRST].shape[0];
        if (views[BEGIN].shape[0] < 1) {
            PyErr_SetString(PyExc_ValueError, "begin must have a length of at least 1");
        } else if (
            has_length(&views[VALUES], 0, views[FEATURES].shape[0], names[VALUES]) && has_length(&views[SECOND], 0, n_pairs, names[SECOND])
            && has_length(&views[RESULT], 0, n_pairs, names[RESULT])) {
            Py_BEGIN_ALLOW_THREADS
            good = measure_sparse_pairs(views);
            Py_END_ALLOW_THREADS
            if (!good) {
                PyErr_SetString(PyExc_ValueError, "there is no row with that index");
            }
        }
    }
    release_arrays(views, n_read);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef pair_functions[] = {
    {"sparse_pair_distances", sparse_pair_distances, METH_VARARGS,
     "sparse_pair_distances(begin, features, values, first, second, result)"},
    {"dense_pair_distances", dense_pair_distances, METH_VARARGS, "dense_pair_distances(rows, first, second, result)"},
    {NULL, NULL, 0, NULL},
};
