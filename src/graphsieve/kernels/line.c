/* The pairs of samples along a line of which either is within reach of the other.

   Each sample looks to its right as far as it reaches, or as somebody there reaches back over it. Distances that tie only because they
   are rounded may leave gaps between. */
#include "rows.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const double *values, *reach; /* increasing; and how far each looks */
    const int64_t *order;         /* whose they are */
    int64_t *first, *second;
    double *squared;
    Py_ssize_t count, room;
} line;

/* The farthest whom somebody reaches to the left: rounded distances never shrink on the way, and all on it become pairs. */
static Py_ssize_t leftmost(const line *on, Py_ssize_t j)
{
    Py_ssize_t low = j;
    while (low > 0 && on->values[j] - on->values[low - 1] <= on->reach[j]) {
        low--;
    }
    return low;
}

/* For each the last who reaches back to it or beyond. */
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

/* How many pairs there are; as many as there is room for are written down. */
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
            if (found < on->room) {
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
    Py_ssize_t count = views[0].shape[0], room = views[3].shape[0], found = 0;
    int good = has_length(&views[1], 0, count, names[1]) && has_length(&views[2], 0, count, names[2])
               && has_length(&views[4], 0, room, names[4]) && has_length(&views[5], 0, room, names[5]);
    if (good) {
        line on = {views[0].buf, views[1].buf, views[2].buf, views[3].buf, views[4].buf, views[5].buf, count, room};
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

/* The k nearest stand around each value, and the farthest of them was the last to be taken. */
static void fill_reach(const double *values, Py_ssize_t count, Py_ssize_t k, double *reach)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t left = i - 1, right = i + 1;
        double farthest = 0.0;
        for (Py_ssize_t taken = 0; taken < k; taken++) {
            double to_left = left >= 0 ? values[i] - values[left] : INFINITY;
            double to_right = right < count ? values[right] - values[i] : INFINITY;
            int is_left = to_left <= to_right;
            farthest = is_left ? to_left : to_right;
            left -= is_left;
            right += !is_left;
        }
        reach[i] = farthest;
    }
}

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
        fill_reach(views[0].buf, count, k, views[1].buf);
        Py_END_ALLOW_THREADS
    }
    release_arrays(views, 2);
    return answer(good, "");
}

PyMethodDef line_functions[] = {
    {"line_reach", line_reach, METH_VARARGS, "line_reach(values, k, reach): how far the k-th nearest of each is"},
    {"line_pairs", line_pairs, METH_VARARGS, "line_pairs(values, reach, order, first, second, squared): how many pairs there are"},
    {NULL, NULL, 0, NULL},
};
