/* Access to the rows of a table, for sums over many columns together.

   A number is used as value = x * scale - shift, with a scale and a shift for each column. The
   kernels apply them while they read X, so no scaled copy of X is needed. */
#ifndef GRAPHSIEVE_ROWS_H
#define GRAPHSIEVE_ROWS_H

#include "arguments.h"

#include <stdint.h>

#define STRIP 256 /* columns per strip; their sums, scales and shifts fit into the level 1 cache */
#define AHEAD 12  /* edges or rows to prefetch ahead */
#define LINE 64   /* bytes per cache line */

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

/* How the numbers of a table are stored. PREPARED means float64 without scale and shift. */
enum storage { SINGLE, DOUBLE, PREPARED };

typedef struct {
    const char *start; /* start of the first row */
    Py_ssize_t stride; /* bytes from one row to the next */
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

INLINED void prefetch_row(const table *from, int64_t row, Py_ssize_t begin, Py_ssize_t width, enum storage stored)
{
    const char *start = place(from, row, begin, stored), *stop = place(from, row, begin + width, stored);
    for (const char *line = start; line < stop; line += LINE) {
        PREFETCH(line);
    }
}

/* Whether the columns exist. Otherwise sets a ValueError. */
int has_columns(const table *from, Py_ssize_t start, Py_ssize_t stop);

/* Reads a table with contiguous rows and any stride between them, such as a slice of columns. */
int read_table(PyObject *object, Py_buffer *view, table *read, enum storage *stored);

/* Reads the scale and the shift. If both are None, the numbers are used unchanged and must be
   float64. Returns the number of views to release, or −1 on failure. */
int read_units(PyObject *scale, PyObject *shift, Py_buffer *views, table *read, enum storage *stored);

/* Reads arrays of the given kinds and dimensions. The last one must be writable. */
int read_arrays(PyObject **objects, Py_buffer *views, const char *const *names, const char *kinds, const int *dimensions, int count);

/* Returns None if all is good. Otherwise returns NULL, and sets a ValueError with the message
   unless an error is already set. */
PyObject *none_or_error(int good, const char *message);

#endif
