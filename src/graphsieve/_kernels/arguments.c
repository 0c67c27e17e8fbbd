#include "arguments.h"

#include <stdint.h>
#include <string.h>

static int same_kind(const char *format, Py_ssize_t itemsize, char kind)
{
    while (*format == '@' || *format == '=' || *format == '<') {
        format++;
    }
    if (strlen(format) != 1) {
        return 0;
    }
    switch (kind) {
    case 'b':
        return *format == 'B' && itemsize == 1;
    case 'h':
        return *format == 'h' && itemsize == 2;
    case 'f':
        return *format == 'f' && itemsize == 4;
    case 'd':
        return *format == 'd' && itemsize == 8;
    case 'i': /* The format letter for an integer of a given size depends on the platform. */
        return strchr("ilq", *format) != NULL && itemsize == 4;
    case 'l':
        return strchr("ilq", *format) != NULL && itemsize == 8;
    default:
        return 0;
    }
}

int read_array(PyObject *object, Py_buffer *view, const char *name, char kind, int n_dimensions, int writable)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags) != 0) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s must be a%s C-contiguous array", name, writable ? " writable" : "");
        return 0;
    }
    if (view->ndim != n_dimensions || view->format == NULL || !same_kind(view->format, view->itemsize, kind)) {
        PyErr_Format(PyExc_ValueError, "%s must have %d dimension(s) and numbers of kind '%c'", name, n_dimensions, kind);
        PyBuffer_Release(view);
        return 0;
    }
    if (view->len > 0 && (uintptr_t)view->buf % (uintptr_t)view->itemsize != 0) {
        PyErr_Format(PyExc_ValueError, "%s must be aligned", name);
        PyBuffer_Release(view);
        return 0;
    }
    return 1;
}

int has_length(const Py_buffer *view, int dimension, Py_ssize_t length, const char *name)
{
    if (view->shape[dimension] != length) {
        PyErr_Format(PyExc_ValueError, "%s has length %zd in dimension %d, not %zd", name, view->shape[dimension], dimension, length);
        return 0;
    }
    return 1;
}

void release_arrays(Py_buffer *views, int count)
{
    for (int i = 0; i < count; i++) {
        PyBuffer_Release(&views[i]);
    }
}

int all_below(const int64_t *indices, Py_ssize_t count, int64_t limit)
{
    int good = 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        good &= (uint64_t)indices[i] < (uint64_t)limit;
    }
    return good;
}

int has_avx2(void)
{
#if HAVE_AVX2_CHOICE
    static int known = -1;
    if (known < 0) {
        __builtin_cpu_init();
        known = __builtin_cpu_supports("avx2") ? 1 : 0;
    }
    return known;
#else
    return 0;
#endif
}
