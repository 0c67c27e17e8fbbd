/* Which entries of a tile of products are among the nearest so far; included once for each kind of REAL.

   The distance of row i and column j is row_norms[i] + column_norms[j] − 2 products[i][j], in this order of rounding.
   Every row (and, if wanted, every column) has a list of its nearest so far, sorted, the earlier of equals first. Few entries
   of a tile get into a list, so 64 are compared at a time with the last of their lists, and only where one is below it, one by one. */

typedef struct {
    const REAL *products, *row_norms, *column_norms;
    Py_ssize_t n_rows, n_columns;
    REAL *row_values, *column_values; /* column_values is NULL where columns have no lists */
    int32_t *row_indices, *column_indices;
    Py_ssize_t n_kept;
    int32_t row_start, column_start; /* the index of the first row and column */
    int upper;                       /* only entries to the right of the diagonal */
    REAL *column_reach;              /* the last value of every column's list */
} NAMED(Tile);

INLINED void NAMED(insert)(REAL *values, int32_t *indices, Py_ssize_t n_kept, REAL value, int32_t index)
{
    Py_ssize_t at = n_kept - 1;
    while (at > 0 && values[at - 1] > value) {
        values[at] = values[at - 1];
        indices[at] = indices[at - 1];
        at--;
    }
    values[at] = value;
    indices[at] = index;
}

INLINED int NAMED(any_below)(
    const REAL *products, const REAL *norms, const REAL *reach, REAL row_norm, REAL row_reach, int width)
{
    int count = 0;
    for (int c = 0; c < width; c++) {
        REAL distance = (row_norm + norms[c]) - 2 * products[c];
        REAL limit = row_reach > reach[c] ? row_reach : reach[c];
        count += distance < limit;
    }
    return count;
}

static void NAMED(insert_each)(NAMED(Tile) *tile, Py_ssize_t row, Py_ssize_t begin, Py_ssize_t end)
{
    const REAL *products = tile->products + row * tile->n_columns;
    Py_ssize_t n_kept = tile->n_kept;
    REAL *values = tile->row_values + row * n_kept;
    REAL row_norm = tile->row_norms[row];
    for (Py_ssize_t c = begin; c < end; c++) {
        REAL distance = (row_norm + tile->column_norms[c]) - 2 * products[c];
        if (distance < values[n_kept - 1]) {
            NAMED(insert)(values, tile->row_indices + row * n_kept, n_kept, distance, tile->column_start + (int32_t)c);
        }
        if (distance < tile->column_reach[c]) {
            REAL *others = tile->column_values + c * n_kept;
            NAMED(insert)(others, tile->column_indices + c * n_kept, n_kept, distance, tile->row_start + (int32_t)row);
            tile->column_reach[c] = others[n_kept - 1];
        }
    }
}

#define AT_ONCE 64
#define NARROW 16

INLINED void NAMED(sweep)(NAMED(Tile) *tile)
{
    for (Py_ssize_t row = 0; row < tile->n_rows; row++) {
        const REAL *products = tile->products + row * tile->n_columns;
        const REAL *reach = &tile->row_values[row * tile->n_kept + tile->n_kept - 1];
        REAL norm = tile->row_norms[row];
        Py_ssize_t begin = tile->upper ? row + 1 : 0;
        for (; begin + AT_ONCE <= tile->n_columns; begin += AT_ONCE) {
            const REAL *norms = tile->column_norms + begin, *others = tile->column_reach + begin;
            if (!NAMED(any_below)(products + begin, norms, others, norm, *reach, AT_ONCE)) {
                continue;
            }
            for (int part = 0; part < AT_ONCE; part += NARROW) {
                if (NAMED(any_below)(products + begin + part, norms + part, others + part, norm, *reach, NARROW)) {
                    NAMED(insert_each)(tile, row, begin + part, begin + part + NARROW);
                }
            }
        }
        NAMED(insert_each)(tile, row, begin, tile->n_columns);
    }
}

#undef AT_ONCE
#undef NARROW

#if HAVE_AVX2_CHOICE
WITH_AVX2 static void NAMED(sweep_avx2)(NAMED(Tile) *tile)
{
    NAMED(sweep)(tile);
}
#endif

static void NAMED(sweep_plain)(NAMED(Tile) *tile)
{
    NAMED(sweep)(tile);
}

static int NAMED(keep_nearest)(NAMED(Tile) *tile)
{
    tile->column_reach = malloc(sizeof(REAL) * (size_t)(tile->n_columns ? tile->n_columns : 1));
    if (tile->column_reach == NULL) {
        return 0;
    }
    for (Py_ssize_t c = 0; c < tile->n_columns; c++) {
        tile->column_reach[c] = tile->column_values ? tile->column_values[c * tile->n_kept + tile->n_kept - 1] : -(REAL)INFINITY;
    }
#if HAVE_AVX2_CHOICE
    if (has_avx2()) {
        NAMED(sweep_avx2)(tile);
    } else {
        NAMED(sweep_plain)(tile);
    }
#else
    NAMED(sweep_plain)(tile);
#endif
    free(tile->column_reach);
    return 1;
}
