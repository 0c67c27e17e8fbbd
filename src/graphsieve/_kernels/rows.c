#include "rows.h"

#include <string.h>

int read_table(PyObject *object, Py_buffer *view, table *read, enum storage *stored)
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
        PyErr_SetString(PyExc_ValueError, "there must be at least one row, and rows must be contiguous");
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

int read_arrays(PyObject **objects, Py_buffer *views, const char *const *names, const char *kinds, const int *dimensions, int count)
{
    for (int i = 0; i < count; i++) {
        if (!read_array(objects[i], &views[i], names[i], kinds[i], dimensions[i], i == count - 1)) {
            release_arrays(views, i);
            return 0;
        }
    }
    return 1;
}

int read_units(PyObject *scale, PyObject *shift, Py_buffer *views, table *read, enum storage *stored)
{
    if (scale == Py_None && shift == Py_None) {
        if (*stored != DOUBLE) {
            PyErr_SetString(PyExc_ValueError, "only numbers of kind 'd' can be used without a scale and a shift");
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

int has_columns(const table *from, Py_ssize_t start, Py_ssize_t stop)
{
    if (start < 0 || start > stop || stop > from->width) {
        PyErr_Format(PyExc_ValueError, "there are no columns %zd to %zd", start, stop);
        return 0;
    }
    return 1;
}

PyObject *none_or_error(int good, const char *message)
{
    if (good) {
        Py_RETURN_NONE;
    }
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, message);
    }
    return NULL;
}
