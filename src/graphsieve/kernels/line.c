/* The pairs of samples along a line of which either is within reach of the other.

   Whoever stands between two such samples is linked with both, so that each sample looks to its right only until somebody is not. */
#include "rows.h"

typedef struct {
    const double *values, *reach; /* increasing; and how far each looks */
    const int64_t *order;         /* whose they are */
    int64_t *first, *second;
    double *squared;
    Py_ssize_t count, room;
} line;

/* How many pairs there are; as many as there is room for are written down. */
static Py_ssize_t list_pairs(const line *on)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < on->count; i++) {
        for (Py_ssize_t j = i + 1; j < on->count; j++) {
            double gap = on->values[j] - on->values[i];
            if (!(gap <= on->reach[i] || gap <= on->reach[j])) {
                break;
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
        Py_BEGIN_ALLOW_THREADS
        found = list_pairs(&on);
        Py_END_ALLOW_THREADS
    }
    release_arrays(views, 6);
    return good ? PyLong_FromSsize_t(found) : NULL;
}

PyMethodDef line_functions[] = {
    {"line_pairs", line_pairs, METH_VARARGS, "line_pairs(values, reach, order, first, second, squared): how many pairs there are"},
    {NULL, NULL, 0, NULL},
};
