/* Updates lists of nearest neighbours from a tile of products. Included once for each type REAL.

   The distance between row i and column j is row_norms[i] + column_norms[j] − 2 products[i][j],
   evaluated in this order. Every row (and optionally every column) has a sorted list of its nearest
   so far. Of ties, the earlier one comes first.

   Few entries of a tile enter a list. Therefore 64 entries at a time are compared with the last
   values of their lists. They are examined one by one only if one of them is smaller.

   A list that is not full would accept every entry. Therefore a row with such a list first takes
   the minimum of each of GROUPS groups of columns. The n-th smallest minimum is a limit that at
   least n entries, and few more, do not exceed. */

typedef struct {
    const REAL *products, *row_norms, *column_norms;
    Py_ssize_t n_rows, n_columns;
    REAL *row_values, *column_values; /* column_values is NULL if the columns have no lists. */
    int32_t *row_indices, *column_indices;
    Py_ssize_t n_kept;
    int32_t row_start, column_start; /* index of the first row and of the first column */
    int diagonal;                    /* Rows and columns are the same samples. No sample enters its own list. */
    REAL *column_reach;              /* the last value in the list of every column */
} NAMED(Tile);

#define AT_ONCE 64
#define GROUPS 64

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

/* One bit for each of 64 entries: whether it is below the reach of its row or its column. */
INLINED uint64_t NAMED(below)(const REAL *products, const REAL *norms, const REAL *reach, REAL row_norm, REAL row_reach)
{
    int count = 0;
    for (int c = 0; c < AT_ONCE; c++) {
        REAL distance = (row_norm + norms[c]) - 2 * products[c];
        REAL limit = row_reach > reach[c] ? row_reach : reach[c];
        count += distance < limit;
    }
    uint64_t bits = 0;
    for (int c = 0; count && c < AT_ONCE; c++) {
        REAL distance = (row_norm + norms[c]) - 2 * products[c];
        bits |= (uint64_t)(distance < row_reach || distance < reach[c]) << c;
    }
    return bits;
}

/* A limit that at least n_kept entries of a row are below. It is infinite if it is not easy to find. */
INLINED REAL NAMED(first_limit)(const NAMED(Tile) *tile, Py_ssize_t row)
{
    Py_ssize_t wanted = tile->n_kept + tile->diagonal; /* On the diagonal, the row itself may be included. */
    if (wanted > GROUPS || tile->n_columns < 2 * GROUPS) {
        return (REAL)INFINITY;
    }
    const REAL *products = tile->products + row * tile->n_columns, *norms = tile->column_norms;
    REAL row_norm = tile->row_norms[row], least[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        least[g] = (row_norm + norms[g]) - 2 * products[g];
    }
    for (Py_ssize_t c = GROUPS; c + GROUPS <= tile->n_columns; c += GROUPS) {
        for (int g = 0; g < GROUPS; g++) {
            REAL distance = (row_norm + norms[c + g]) - 2 * products[c + g];
            least[g] = distance < least[g] ? distance : least[g];
        }
    }
    REAL smallest[GROUPS];
    for (Py_ssize_t i = 0; i < wanted; i++) {
        smallest[i] = (REAL)INFINITY;
    }
    for (int g = 0; g < GROUPS; g++) {
        Py_ssize_t at = wanted - 1;
        if (least[g] < smallest[at]) {
            for (; at > 0 && smallest[at - 1] > least[g]; at--) {
                smallest[at] = smallest[at - 1];
            }
            smallest[at] = least[g];
        }
    }
    return NAMED(next)(smallest[wanted - 1], (REAL)INFINITY);
}

typedef uint64_t NAMED(Below)(const REAL *, const REAL *, const REAL *, REAL, REAL);
typedef void NAMED(Insert)(REAL *, int32_t *, Py_ssize_t, REAL, int32_t);

/* Inserts an entry into the list of its row and of its column where it is near enough. */
INLINED void NAMED(enter)(NAMED(Tile) *tile, Py_ssize_t row, Py_ssize_t c, REAL first_limit, NAMED(Insert) *insert)
{
    Py_ssize_t n_kept = tile->n_kept;
    REAL *values = tile->row_values + row * n_kept;
    REAL distance = (tile->row_norms[row] + tile->column_norms[c]) - 2 * tile->products[row * tile->n_columns + c];
    if (distance < values[n_kept - 1] && distance < first_limit && !(tile->diagonal && c == row)) {
        insert(values, tile->row_indices + row * n_kept, n_kept, distance, tile->column_start + (int32_t)c);
    }
    if (distance < tile->column_reach[c]) {
        REAL *others = tile->column_values + c * n_kept;
        insert(others, tile->column_indices + c * n_kept, n_kept, distance, tile->row_start + (int32_t)row);
        tile->column_reach[c] = others[n_kept - 1];
    }
}

INLINED void NAMED(sweep)(NAMED(Tile) *tile, NAMED(Below) *below, NAMED(Insert) *insert)
{
    for (Py_ssize_t row = 0; row < tile->n_rows; row++) {
        const REAL *products = tile->products + row * tile->n_columns;
        const REAL *last = &tile->row_values[row * tile->n_kept + tile->n_kept - 1];
        REAL norm = tile->row_norms[row];
        REAL first_limit = *last == (REAL)INFINITY ? NAMED(first_limit)(tile, row) : (REAL)INFINITY;
        Py_ssize_t begin = 0;
        for (; begin + AT_ONCE <= tile->n_columns; begin += AT_ONCE) {
            REAL reach = *last < first_limit ? *last : first_limit;
            uint64_t bits = below(products + begin, tile->column_norms + begin, tile->column_reach + begin, norm, reach);
            for (; bits; bits &= bits - 1) {
                NAMED(enter)(tile, row, begin + lowest_bit(bits), first_limit, insert);
            }
        }
        for (; begin < tile->n_columns; begin++) {
            NAMED(enter)(tile, row, begin, first_limit, insert);
        }
    }
}

#undef AT_ONCE
#undef GROUPS

#if HAVE_AVX2_CHOICE
WITH_AVX2 static void NAMED(sweep_avx2)(NAMED(Tile) *tile)
{
    if (tile->n_kept % NAMED(avx2_step) == 0) {
        NAMED(sweep)(tile, NAMED(avx2_below), NAMED(avx2_insert));
    } else {
        NAMED(sweep)(tile, NAMED(avx2_below), NAMED(insert));
    }
}
#endif

static void NAMED(sweep_plain)(NAMED(Tile) *tile)
{
    NAMED(sweep)(tile, NAMED(below), NAMED(insert));
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
