/* Many columns side by side, as the sums read them.

   A number enters as value = x * scale - shift, with a scale and a shift for each column, so that X itself is read and no copy of it
   is made. */
#ifndef GRAPHSIEVE_ROWS_H
#define GRAPHSIEVE_ROWS_H

#include "arguments.h"

#include <stdint.h>

#define STRIP 256 /* columns that are summed side by side: their sums, scales and shifts stay in the innermost cache */
#define AHEAD 12  /* edges, or rows, whose numbers are asked for before they are needed */
#define LINE 64   /* bytes that memory delivers together */

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

INLINED void ask_for_row(const table *from, int64_t row, Py_ssize_t begin, Py_ssize_t width, enum storage stored)
{
    const char *start = place(from, row, begin, stored), *stop = place(from, row, begin + width, stored);
    for (const char *line = start; line < stop; line += LINE) {
        ASK_FOR(line);
    }
}

/* Whether the columns are there; otherwise a ValueError is set. */
int has_columns(const table *from, Py_ssize_t start, Py_ssize_t stop);

/* A table whose rows are contiguous, at any distance from each other: a slice of columns will do. */
int read_table(PyObject *object, Py_buffer *view, table *read, enum storage *stored);

/* The scale and the shift; both None: the numbers are taken as they are, which only float64 can be. How many views are to be released,
   or −1. */
int read_units(PyObject *scale, PyObject *shift, Py_buffer *views, table *read, enum storage *stored);

/* Arrays of the given kinds and dimensions; the last is written to. */
int read_arrays(PyObject **objects, Py_buffer *views, const char *const *names, const char *kinds, const int *dimensions, int count);

/* None, or the error that was set, or else the complaint. */
PyObject *answer(int good, const char *complaint);

#endif
