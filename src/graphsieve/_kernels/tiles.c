/* Tiles of inner products. This file computes sparse products and finds the nearest neighbours in a
   tile. BLAS computes dense products. */
#include "arguments.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_AVX2_CHOICE
#include "avx2.h"
#endif

#define REAL float
#define NAMED(name) name##_float
#define next_float nextafterf
#include "keep_nearest.h"
#undef REAL
#undef NAMED
#define REAL double
#define NAMED(name) name##_double
#define next_double nextafter
#include "keep_nearest.h"
#undef REAL
#undef NAMED

enum { PRODUCTS, ROW_NORMS, COLUMN_NORMS, ROW_VALUES, ROW_INDICES, COLUMN_VALUES, COLUMN_INDICES, N_TILE_ARRAYS };

static const char *const tile_names[N_TILE_ARRAYS] = {
    "products", "row_norms", "column_norms", "row_values", "row_indices", "column_values", "column_indices"};

static int tile_fits(const Py_buffer *views, int n_views, int diagonal)
{
    Py_ssize_t n_rows = views[PRODUCTS].shape[0], n_columns = views[PRODUCTS].shape[1], n_kept = views[ROW_VALUES].shape[1];
    if (n_kept < 1) {
        PyErr_SetString(PyExc_ValueError, "lists must have a length of at least 1");
        return 0;
    }
    for (int i = ROW_VALUES; i < n_views; i++) {
        int of_rows = i == ROW_VALUES || i == ROW_INDICES;
        if (!has_length(&views[i], 0, of_rows ? n_rows : n_columns, tile_names[i]) || !has_length(&views[i], 1, n_kept, tile_names[i])) {
            return 0;
        }
    }
    if (diagonal && (n_rows != n_columns || n_views == N_TILE_ARRAYS)) {
        PyErr_SetString(PyExc_ValueError, "a tile on the diagonal must be square and have no column lists");
        return 0;
    }
    return has_length(&views[ROW_NORMS], 0, n_rows, "row_norms") && has_length(&views[COLUMN_NORMS], 0, n_columns, "column_norms");
}

#define FILL(tile)                                                                    \
    do {                                                                              \
        (tile).products = views[PRODUCTS].buf;                                        \
        (tile).row_norms = views[ROW_NORMS].buf;                                      \
        (tile).column_norms = views[COLUMN_NORMS].buf;                                \
        (tile).n_rows = views[PRODUCTS].shape[0];                                     \
        (tile).n_columns = views[PRODUCTS].shape[1];                                  \
        (tile).row_values = views[ROW_VALUES].buf;                                    \
        (tile).row_indices = views[ROW_INDICES].buf;                                  \
        (tile).column_values = n_views == N_TILE_ARRAYS ? views[COLUMN_VALUES].buf : NULL;   \
        (tile).column_indices = n_views == N_TILE_ARRAYS ? views[COLUMN_INDICES].buf : NULL; \
        (tile).n_kept = views[ROW_VALUES].shape[1];                                   \
        (tile).row_start = row_start;                                                 \
        (tile).column_start = column_start;                                           \
        (tile).diagonal = diagonal;                                                         \
    } while (0)

static PyObject *keep_nearest(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[N_TILE_ARRAYS];
    Py_buffer views[N_TILE_ARRAYS];
    int row_start, column_start, diagonal, is_float, n_read = 0, done = 0;
    if (!PyArg_ParseTuple(
            args, "OOOOOOOiip", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4], &objects[5], &objects[6], &row_start,
            &column_start, &diagonal)) {
        return NULL;
    }
    int n_views = objects[COLUMN_VALUES] == Py_None && objects[COLUMN_INDICES] == Py_None ? COLUMN_VALUES : N_TILE_ARRAYS;
    is_float = read_array(objects[PRODUCTS], &views[PRODUCTS], tile_names[PRODUCTS], 'f', 2, READ_ONLY);
    if (!is_float) {
        PyErr_Clear();
        if (!read_array(objects[PRODUCTS], &views[PRODUCTS], tile_names[PRODUCTS], 'd', 2, READ_ONLY)) {
            return NULL;
        }
    }
    for (n_read = 1; n_read < n_views; n_read++) {
        char kind = n_read == ROW_INDICES || n_read == COLUMN_INDICES ? 'i' : (is_float ? 'f' : 'd');
        int lists = n_read >= ROW_VALUES;
        if (!read_array(objects[n_read], &views[n_read], tile_names[n_read], kind, lists ? 2 : 1, lists)) {
            break;
        }
    }
    if (n_read == n_views && tile_fits(views, n_views, diagonal)) {
        Py_BEGIN_ALLOW_THREADS
        if (is_float) {
            Tile_float tile;
            FILL(tile);
            done = keep_nearest_float(&tile);
        } else {
            Tile_double tile;
            FILL(tile);
            done = keep_nearest_double(&tile);
        }
        Py_END_ALLOW_THREADS
        if (!done) {
            PyErr_NoMemory();
        }
    }
    release_arrays(views, n_read);
    if (!done) {
        return NULL;
    }
    Py_RETURN_NONE;
}

enum { LEFT_BEGIN, LEFT_FEATURES, LEFT_VALUES, RIGHT_BEGIN, RIGHT_ROWS, RIGHT_VALUES, N_SPARSE_ARRAYS };

static const char *const sparse_names[N_SPARSE_ARRAYS] = {
    "left begin", "left features", "left values", "right begin", "right rows", "right values"};

/* Whether `begin` is increasing and within bounds, and all places are below the limit. */
static int sparse_fits(const Py_buffer *begin, const Py_buffer *places, const Py_buffer *values, Py_ssize_t limit)
{
    const int64_t *at = begin->buf;
    const int32_t *place = places->buf;
    Py_ssize_t n = begin->shape[0] - 1, stored = places->shape[0];
    int good = n >= 0 && values->shape[0] == stored && at[0] >= 0 && at[n] <= stored;
    for (Py_ssize_t i = 0; i < n; i++) {
        good &= at[i] <= at[i + 1];
    }
    uint32_t largest = 0; /* A negative place becomes larger than any valid one. */
    for (Py_ssize_t i = 0; i < stored; i++) {
        largest = largest > (uint32_t)place[i] ? largest : (uint32_t)place[i];
    }
    return good && (stored == 0 || (int64_t)largest < (int64_t)limit);
}

/* products[i][j] = Σ_f left[i][f] right[j][f]. The entries of the right rows are stored by feature. */
static void multiply_sparse(const Py_buffer *views, double *products, Py_ssize_t n_rows, Py_ssize_t n_columns)
{
    const int64_t *left_begin = views[LEFT_BEGIN].buf, *right_begin = views[RIGHT_BEGIN].buf;
    const int32_t *features = views[LEFT_FEATURES].buf, *rows = views[RIGHT_ROWS].buf;
    const double *left = views[LEFT_VALUES].buf, *right = views[RIGHT_VALUES].buf;
    memset(products, 0, sizeof(double) * (size_t)n_rows * (size_t)n_columns);
    for (Py_ssize_t i = 0; i < n_rows; i++) {
        double *sums = products + i * n_columns;
        for (int64_t entry = left_begin[i]; entry < left_begin[i + 1]; entry++) {
            double value = left[entry];
            int64_t end = right_begin[features[entry] + 1];
            for (int64_t other = right_begin[features[entry]]; other < end; other++) {
                sums[rows[other]] += value * right[other];
            }
        }
    }
}

static PyObject *sparse_products(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[N_SPARSE_ARRAYS + 1];
    Py_buffer views[N_SPARSE_ARRAYS + 1];
    int n_read = 0, good = 0;
    if (!PyArg_ParseTuple(
            args, "OOOOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4], &objects[5], &objects[6])) {
        return NULL;
    }
    static const char kinds[N_SPARSE_ARRAYS] = {'l', 'i', 'd', 'l', 'i', 'd'};
    while (n_read < N_SPARSE_ARRAYS && read_array(objects[n_read], &views[n_read], sparse_names[n_read], kinds[n_read], 1, READ_ONLY)) {
        n_read++;
    }
    if (n_read == N_SPARSE_ARRAYS && read_array(objects[n_read], &views[n_read], "products", 'd', 2, WRITABLE)) {
        n_read++;
        Py_ssize_t n_rows = views[N_SPARSE_ARRAYS].shape[0], n_columns = views[N_SPARSE_ARRAYS].shape[1];
        Py_ssize_t n_features = views[RIGHT_BEGIN].shape[0] - 1;
        if (has_length(&views[LEFT_BEGIN], 0, n_rows + 1, sparse_names[LEFT_BEGIN])) {
            Py_BEGIN_ALLOW_THREADS
            good = sparse_fits(&views[LEFT_BEGIN], &views[LEFT_FEATURES], &views[LEFT_VALUES], n_features)
                && sparse_fits(&views[RIGHT_BEGIN], &views[RIGHT_ROWS], &views[RIGHT_VALUES], n_columns);
            if (good) {
                multiply_sparse(views, views[N_SPARSE_ARRAYS].buf, n_rows, n_columns);
            }
            Py_END_ALLOW_THREADS
            if (!good) {
                PyErr_SetString(PyExc_ValueError, "the sparse rows are not consistent");
            }
        }
    }
    release_arrays(views, n_read);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Sorts by value, and ties by index. An insertion sort is fast, because the lists are short or
   nearly sorted. */
static void sort_list(double *values, int64_t *indices, Py_ssize_t length)
{
    for (Py_ssize_t i = 1; i < length; i++) {
        double value = values[i];
        int64_t index = indices[i];
        Py_ssize_t at = i;
        while (at > 0 && (values[at - 1] > value || (values[at - 1] == value && indices[at - 1] > index))) {
            values[at] = values[at - 1];
            indices[at] = indices[at - 1];
            at--;
        }
        values[at] = value;
        indices[at] = index;
    }
}

static PyObject *sort_lists(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[2];
    Py_buffer views[2];
    int good = 0;
    if (!PyArg_ParseTuple(args, "OO", &objects[0], &objects[1]) || !read_array(objects[0], &views[0], "values", 'd', 2, WRITABLE)) {
        return NULL;
    }
    if (!read_array(objects[1], &views[1], "indices", 'l', 2, WRITABLE)) {
        release_arrays(views, 1);
        return NULL;
    }
    Py_ssize_t n_rows = views[0].shape[0], length = views[0].shape[1];
    if (has_length(&views[1], 0, n_rows, "indices") && has_length(&views[1], 1, length, "indices")) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < n_rows; i++) {
            sort_list((double *)views[0].buf + i * length, (int64_t *)views[1].buf + i * length, length);
        }
        Py_END_ALLOW_THREADS
        good = 1;
    }
    release_arrays(views, 2);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef tile_functions[] = {
    {"sort_lists", sort_lists, METH_VARARGS, "sort_lists(values, indices)"},
    {"keep_nearest", keep_nearest, METH_VARARGS,
     "keep_nearest(products, row_norms, column_norms, row_values, row_indices, column_values, column_indices, "
     "row_start, column_start, diagonal)"},
    {"sparse_products", sparse_products, METH_VARARGS,
     "sparse_products(left_begin, left_features, left_values, right_begin, right_rows, right_values, products)"},
    {NULL, NULL, 0, NULL},
};
