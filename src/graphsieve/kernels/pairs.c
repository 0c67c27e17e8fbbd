/* Squared distances of pairs of rows, each summed from the first feature on: the bits do not depend on how many come at a time. */
#include "arguments.h"

#include <stdint.h>

#define TOGETHER 8 /* sums that advance side by side, because one addition must wait for the one before it */

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

static int all_below(const int64_t *indices, Py_ssize_t count, Py_ssize_t limit)
{
    int good = 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        good &= (uint64_t)indices[i] < (uint64_t)limit;
    }
    return good;
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
            PyErr_SetString(PyExc_ValueError, "there is no row of that index");
        }
    }
    release_arrays(views, 4);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef pair_functions[] = {
    {"dense_pair_distances", dense_pair_distances, METH_VARARGS, "dense_pair_distances(rows, first, second, result)"},
    {NULL, NULL, 0, NULL},
};
