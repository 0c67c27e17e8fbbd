/* Nearest neighbours by the sum of absolute differences (Manhattan distance).

   Bytes exclude nearly all rows, 16-bit words exclude nearly all others, and float64 decides.

   All columns have a range of 1. Each number is rounded to a byte in units of 1/255. The rounding
   errors are known, and so is their sum over a row. Sums of byte differences are exact integers, and
   one instruction adds 32 terms. For rows i and j, in these units,

       |distance − bytes_ij| ≤ error_i + error_j .

   16-bit words work in the same way. Their errors are smaller, but they take four times as long. The
   rows that may be among the k nearest according to the bytes are compared by words. Exact distances
   are computed only for rows that the words cannot decide. As in the numpy version, distances are
   summed in the order of the columns and compared as multiples of `grid`, and ties are ordered by
   place. */
#include "arguments.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_STEPS 255.0
#define WORD_STEPS 32767.0
#define WORDS_AT_ONCE 32768  /* The sum of this number of word differences fits into 32 bits. */
#define QUERIES_TOGETHER 2   /* queries per block of byte sums */
#define OTHERS_TOGETHER 4    /* other rows per block of byte sums */
#define MEASURED 8           /* distances computed in parallel, because each addition must wait for the previous one */
#define GROUPS 64            /* groups of other rows, see byte_limit */
#define AT_ONCE 64           /* sums that are compared together before they are examined one by one */
#define TILE_BYTES (1 << 18) /* size of a tile of byte rows; it stays in the cache of a core while all queries use it */

/* A row that may be near. The bounds on its distance are in units of words. They contain the rounding
   error of this row, but not that of the query. */
typedef struct {
    double low, high;
    int32_t place;
} candidate;

typedef struct {
    const uint8_t *bytes;
    const int16_t *words;
    const float *byte_errors, *word_errors;
    const double *rows;
    Py_ssize_t byte_width, word_width, width;
    Py_ssize_t start, n_queries, begin, n_others; /* ranges of rows: the queries, and the possible neighbours */
    double grid;
    Py_ssize_t n_kept;
    int32_t *near;
    float *sums; /* byte sums: one padded row per query, `stride` apart */
    Py_ssize_t stride;
    candidate *candidates; /* candidates of one query */
    Py_ssize_t n_candidates;
    double *keys;            /* temporary memory, one number per other row */
    double *nearest;         /* the smallest measured distances, in steps of the grid */
    int32_t *nearest_places; /* the rows with these distances */
} search;

/* ---- Sums of bytes ---- */

/* A block consists of two queries and four other rows, so that six rows are read for eight sums. If
   fewer rows are left, the last one is used several times. The surplus sums are overwritten later or
   go to the padding. */
INLINED const uint8_t *row_of_bytes(const search *s, Py_ssize_t first, Py_ssize_t number, Py_ssize_t count)
{
    return s->bytes + (first + (number < count ? number : count - 1)) * s->byte_width;
}

INLINED void sum_bytes(const search *s, Py_ssize_t query, Py_ssize_t other)
{
    const uint8_t *own_row[QUERIES_TOGETHER], *other_row[OTHERS_TOGETHER];
    for (int i = 0; i < QUERIES_TOGETHER; i++) {
        own_row[i] = row_of_bytes(s, s->start, query + i, s->n_queries);
    }
    for (int j = 0; j < OTHERS_TOGETHER; j++) {
        other_row[j] = row_of_bytes(s, s->begin, other + j, s->n_others);
    }
    for (int i = 0; i < QUERIES_TOGETHER; i++) {
        for (int j = 0; j < OTHERS_TOGETHER; j++) {
            uint32_t sum = 0;
            for (Py_ssize_t f = 0; f < s->byte_width; f++) {
                int difference = (int)own_row[i][f] - (int)other_row[j][f];
                sum += (uint32_t)(difference < 0 ? -difference : difference);
            }
            s->sums[(query + i) * s->stride + other + j] = (float)sum;
        }
    }
}

#if HAVE_AVX2_CHOICE
#include <immintrin.h>

/* The totals of four vectors. Each vector has four parts below 2**32. */
INLINED WITH_AVX2 __m128 totals_avx2(const __m256i *sums)
{
    __m256i low = _mm256_or_si256(sums[0], _mm256_slli_epi64(sums[1], 32));
    __m256i high = _mm256_or_si256(sums[2], _mm256_slli_epi64(sums[3], 32));
    __m256i both = _mm256_add_epi32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    return _mm_cvtepi32_ps(_mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
}

INLINED WITH_AVX2 void sum_bytes_avx2(const search *s, Py_ssize_t query, Py_ssize_t other)
{
    const uint8_t *own_row[QUERIES_TOGETHER], *other_row[OTHERS_TOGETHER];
    __m256i sums[QUERIES_TOGETHER][OTHERS_TOGETHER];
    for (int i = 0; i < QUERIES_TOGETHER; i++) {
        own_row[i] = row_of_bytes(s, s->start, query + i, s->n_queries);
        for (int j = 0; j < OTHERS_TOGETHER; j++) {
            other_row[j] = row_of_bytes(s, s->begin, other + j, s->n_others);
            sums[i][j] = _mm256_setzero_si256();
        }
    }
    for (Py_ssize_t f = 0; f < s->byte_width; f += 32) {
        __m256i own_values[QUERIES_TOGETHER];
        for (int i = 0; i < QUERIES_TOGETHER; i++) {
            own_values[i] = _mm256_loadu_si256((const __m256i *)(own_row[i] + f));
        }
        for (int j = 0; j < OTHERS_TOGETHER; j++) {
            __m256i other_values = _mm256_loadu_si256((const __m256i *)(other_row[j] + f));
            for (int i = 0; i < QUERIES_TOGETHER; i++) {
                sums[i][j] = _mm256_add_epi64(sums[i][j], _mm256_sad_epu8(own_values[i], other_values));
            }
        }
    }
    for (int i = 0; i < QUERIES_TOGETHER; i++) {
        _mm_storeu_ps(s->sums + (query + i) * s->stride + other, totals_avx2(sums[i]));
    }
}
#endif

#define SUM_ALL_BYTES(sum_bytes)                                                                \
    do {                                                                                        \
        Py_ssize_t tile = (TILE_BYTES / s->byte_width / OTHERS_TOGETHER + 1) * OTHERS_TOGETHER; \
        for (Py_ssize_t from = 0; from < s->n_others; from += tile) {                           \
            Py_ssize_t to = from + tile < s->n_others ? from + tile : s->n_others;              \
            for (Py_ssize_t query = 0; query < s->n_queries; query += QUERIES_TOGETHER) {       \
                for (Py_ssize_t other = from; other < to; other += OTHERS_TOGETHER) {           \
                    sum_bytes(s, query, other);                                                 \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
    } while (0)

/* ---- Sums of words ---- */

typedef int32_t WordSum(const int16_t *, const int16_t *, Py_ssize_t);

INLINED int32_t word_sum(const int16_t *own_row, const int16_t *other_row, Py_ssize_t width)
{
    int32_t sum = 0;
    for (Py_ssize_t f = 0; f < width; f++) {
        int difference = (int)own_row[f] - (int)other_row[f];
        sum += difference < 0 ? -difference : difference;
    }
    return sum;
}

#if HAVE_AVX2_CHOICE
INLINED WITH_AVX2 int32_t word_sum_avx2(const int16_t *own_row, const int16_t *other_row, Py_ssize_t width)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum = _mm256_setzero_si256();
    for (Py_ssize_t f = 0; f < width; f += 16) {
        __m256i own_values = _mm256_loadu_si256((const __m256i *)(own_row + f));
        __m256i other_values = _mm256_loadu_si256((const __m256i *)(other_row + f));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_abs_epi16(_mm256_sub_epi16(own_values, other_values)), ones));
    }
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
}
#endif

INLINED double words_apart(const search *s, Py_ssize_t query, Py_ssize_t other, WordSum *sum)
{
    const int16_t *own_row = s->words + query * s->word_width, *other_row = s->words + other * s->word_width;
    double total = 0.0;
    for (Py_ssize_t from = 0; from < s->word_width; from += WORDS_AT_ONCE) {
        Py_ssize_t left = s->word_width - from;
        total += (double)sum(own_row + from, other_row + from, left < WORDS_AT_ONCE ? left : WORDS_AT_ONCE);
    }
    return total;
}

/* ---- Distances ---- */

INLINED void measure_some(const search *s, Py_ssize_t query, const int32_t *places, int count, double *distances, int at_once)
{
    const double *own_row = s->rows + query * s->width, *other_row[MEASURED];
    for (int i = 0; i < at_once; i++) {
        other_row[i] = s->rows + places[i < count ? i : 0] * s->width;
    }
    double sum[MEASURED] = {0.0};
    for (Py_ssize_t f = 0; f < s->width; f++) {
        for (int i = 0; i < at_once; i++) {
            sum[i] += fabs(own_row[f] - other_row[i][f]);
        }
    }
    for (int i = 0; i < count; i++) {
        distances[i] = rint(sum[i] / s->grid);
    }
}

INLINED void measure(const search *s, Py_ssize_t query, const int32_t *places, int count, double *distances)
{
    if (2 * count > MEASURED) {
        measure_some(s, query, places, count, distances, MEASURED);
    } else {
        measure_some(s, query, places, count, distances, MEASURED / 2);
    }
}

/* Computes up to MEASURED distances, and keeps the rows that are among the `wanted` nearest, ordered
   by distance and then by place. */
INLINED void measure_and_keep(search *s, Py_ssize_t query, const int32_t *places, int count, Py_ssize_t wanted)
{
    double distances[MEASURED], *values = s->nearest;
    int32_t *nearest_places = s->nearest_places;
    measure(s, query, places, count, distances);
    for (int i = 0; i < count; i++) {
        Py_ssize_t at = wanted - 1;
        if (!(distances[i] < values[at] || (distances[i] == values[at] && places[i] < nearest_places[at]))) {
            continue;
        }
        for (; at > 0 && (values[at - 1] > distances[i] || (values[at - 1] == distances[i] && nearest_places[at - 1] > places[i])); at--) {
            values[at] = values[at - 1];
            nearest_places[at] = nearest_places[at - 1];
        }
        values[at] = distances[i];
        nearest_places[at] = places[i];
    }
}

/* ---- One query ---- */

/* The value at position `place` (from 0) in sorted order. Reorders the values (quickselect). */
static double value_at(double *values, Py_ssize_t count, Py_ssize_t place)
{
    Py_ssize_t first = 0, last = count - 1;
    while (first < last) {
        double middle = values[first + (last - first) / 2];
        Py_ssize_t i = first, j = last;
        while (i <= j) {
            while (values[i] < middle) {
                i++;
            }
            while (values[j] > middle) {
                j--;
            }
            if (i <= j) {
                double value = values[i];
                values[i++] = values[j];
                values[j--] = value;
            }
        }
        if (place <= j) {
            last = j;
        } else if (place >= i) {
            first = i;
        } else {
            break;
        }
    }
    return values[place];
}

/* A limit that at least n_kept of the values bytes + error, and few more, do not exceed. It is the
   n_kept-th smallest of the minima of GROUPS groups. If there are too few groups or rows, it is the
   n_kept-th smallest of all values. */
INLINED double byte_limit(const search *s, const float *sums, const float *errors)
{
    if (4 * s->n_kept > GROUPS || s->n_others < 2 * GROUPS) {
        for (Py_ssize_t j = 0; j < s->n_others; j++) {
            s->keys[j] = (double)(sums[j] + errors[j]);
        }
        return value_at(s->keys, s->n_others, s->n_kept - 1);
    }
    float least[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        least[g] = sums[g] + errors[g];
    }
    for (Py_ssize_t from = GROUPS; from + GROUPS <= s->n_others; from += GROUPS) {
        for (int g = 0; g < GROUPS; g++) {
            float value = sums[from + g] + errors[from + g];
            least[g] = value < least[g] ? value : least[g];
        }
    }
    for (int g = 0; g < GROUPS; g++) {
        s->keys[g] = (double)least[g];
    }
    return value_at(s->keys, GROUPS, s->n_kept - 1);
}

/* Adds the rows for which bytes ± error does not exceed the limit and the words are not too far
   apart. These byte sums become infinite, so that the rows are not examined again. */
INLINED void add_candidates(search *s, Py_ssize_t query, float *sums, float sign, float limit, double word_limit, WordSum *word_sum)
{
    const float *errors = s->byte_errors + s->begin;
    for (Py_ssize_t from = 0; from < s->n_others; from += AT_ONCE) {
        Py_ssize_t to = from + AT_ONCE < s->n_others ? from + AT_ONCE : s->n_others;
        int within = 0;
        for (Py_ssize_t j = from; j < to; j++) {
            within += sums[j] + sign * errors[j] <= limit;
        }
        for (Py_ssize_t j = from; within && j < to; j++) {
            if (!(sums[j] + sign * errors[j] <= limit)) {
                continue;
            }
            double words = words_apart(s, query, s->begin + j, word_sum), error = (double)s->word_errors[s->begin + j];
            sums[j] = INFINITY;
            if (words - error <= word_limit) {
                s->candidates[s->n_candidates++] = (candidate){words - error, words + error, (int32_t)(s->begin + j)};
            }
        }
    }
}

INLINED double high_at(const search *s, Py_ssize_t place)
{
    for (Py_ssize_t i = 0; i < s->n_candidates; i++) {
        s->keys[i] = s->candidates[i].high;
    }
    return value_at(s->keys, s->n_candidates, place);
}

/* Stores the candidates that are among the nearest for any rounding errors in `near`. The distances
   of the other candidates are computed, and the nearest of them follow. */
INLINED void decide(search *s, Py_ssize_t query, double margin, int32_t *near)
{
    for (Py_ssize_t i = 0; i < s->n_candidates; i++) {
        s->keys[i] = s->candidates[i].low;
    }
    double out = s->n_candidates > s->n_kept ? value_at(s->keys, s->n_candidates, s->n_kept) : INFINITY;
    Py_ssize_t found = 0, open = 0;
    for (Py_ssize_t i = 0; i < s->n_candidates; i++) {
        if (s->candidates[i].high + margin < out) {
            near[found++] = s->candidates[i].place;
        } else {
            s->candidates[open++] = s->candidates[i];
        }
    }
    Py_ssize_t wanted = s->n_kept - found;
    if (wanted > open) { /* There are no further rows. */
        wanted = open;
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        s->nearest[i] = INFINITY;
        s->nearest_places[i] = INT32_MAX;
    }
    for (Py_ssize_t i = 0; wanted && i < open; i += MEASURED) {
        int32_t places[MEASURED];
        int count = open - i < MEASURED ? (int)(open - i) : MEASURED;
        for (int c = 0; c < count; c++) {
            places[c] = s->candidates[i + c].place;
        }
        measure_and_keep(s, query, places, count, wanted);
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        near[found++] = s->nearest_places[i];
    }
    while (found < s->n_kept) {
        near[found++] = -1;
    }
}

/* Orders by place, with −1 last. */
static int by_place(const void *one, const void *other)
{
    uint32_t a = (uint32_t) * (const int32_t *)one, b = (uint32_t) * (const int32_t *)other;
    return (a > b) - (a < b);
}

INLINED void find_nearest(search *s, Py_ssize_t number, WordSum *word_sum)
{
    float *sums = s->sums + number * s->stride;
    Py_ssize_t query = s->start + number;
    int is_among = query >= s->begin && query < s->begin + s->n_others;
    if (is_among) {
        sums[query - s->begin] = INFINITY; /* A row is not its own neighbour. */
    }
    double width = (double)s->width, word_error = (double)s->word_errors[query];
    double distance_error = 2.0 * s->grid + width * ((width + 8.0) * 0x1p-52 + 0x1p-40); /* grid step and float64 rounding */
    double byte_rounding = BYTE_STEPS * width * 0x1p-20; /* float32 rounding */
    double margin = 2.0 * word_error + WORD_STEPS * distance_error;
    s->n_candidates = 0;
    if (s->n_others - is_among > s->n_kept) {
        double limit = byte_limit(s, sums, s->byte_errors + s->begin);
        add_candidates(s, query, sums, 1.0f, (float)(limit + byte_rounding), INFINITY, word_sum);
        double reach = high_at(s, s->n_kept - 1);
        double in_bytes = BYTE_STEPS * ((reach + word_error) / WORD_STEPS + distance_error) + (double)s->byte_errors[query] + byte_rounding;
        add_candidates(s, query, sums, -1.0f, (float)in_bytes, reach + margin, word_sum);
    } else {
        add_candidates(s, query, sums, -1.0f, FLT_MAX, INFINITY, word_sum);
    }
    int32_t *near = s->near + number * s->n_kept;
    decide(s, query, margin, near);
    qsort(near, (size_t)s->n_kept, sizeof(int32_t), by_place);
}

static void search_plain(search *s)
{
    SUM_ALL_BYTES(sum_bytes);
    for (Py_ssize_t number = 0; number < s->n_queries; number++) {
        find_nearest(s, number, word_sum);
    }
}

#if HAVE_AVX2_CHOICE
WITH_AVX2 static void search_avx2(search *s)
{
    SUM_ALL_BYTES(sum_bytes_avx2);
    for (Py_ssize_t number = 0; number < s->n_queries; number++) {
        find_nearest(s, number, word_sum_avx2);
    }
}
#endif

static int run(search *s)
{
    size_t n_kept = (size_t)s->n_kept, n_others = (size_t)s->n_others + GROUPS;
    s->stride = s->n_others + OTHERS_TOGETHER;
    s->sums = malloc(sizeof(float) * (size_t)((s->n_queries + QUERIES_TOGETHER) * s->stride));
    s->candidates = malloc(sizeof(candidate) * n_others);
    s->keys = malloc(sizeof(double) * n_others);
    s->nearest = malloc(sizeof(double) * n_kept);
    s->nearest_places = malloc(sizeof(int32_t) * n_kept);
    int good = s->sums != NULL && s->candidates != NULL && s->keys != NULL && s->nearest != NULL && s->nearest_places != NULL;
    if (good) {
#if HAVE_AVX2_CHOICE
        (has_avx2() ? search_avx2 : search_plain)(s);
#else
        search_plain(s);
#endif
    }
    free(s->sums);
    free(s->candidates);
    free(s->keys);
    free(s->nearest);
    free(s->nearest_places);
    return good;
}

/* ---- Arguments ---- */

enum { BYTES, WORDS, BYTE_ERRORS, WORD_ERRORS, ROWS, NEAR, N_ARRAYS };

static const char *const names[N_ARRAYS] = {"bytes", "words", "byte errors", "word errors", "rows", "near"};

static int search_fits(const search *s, const Py_buffer *views, Py_ssize_t stop, Py_ssize_t end)
{
    Py_ssize_t n_rows = views[ROWS].shape[0];
    for (int i = BYTES; i < ROWS; i++) {
        if (!has_length(&views[i], 0, n_rows, names[i])) {
            return 0;
        }
    }
    const char *message = NULL;
    if (s->byte_width % 32 != 0 || s->byte_width < 32 || s->byte_width < s->width || s->word_width != s->byte_width) {
        message = "rows of bytes and words must have one length, a multiple of 32 and at least the number of columns";
    } else if (s->start < 0 || s->start > stop || stop > n_rows || s->begin < 0 || s->begin > end || end > n_rows) {
        message = "the ranges of rows are out of bounds";
    } else if (n_rows > INT32_MAX || s->n_kept < 1 || !(s->grid > 0.0)) {
        message = "near must have at least one column, and the grid must be positive";
    }
    if (message != NULL) {
        PyErr_SetString(PyExc_ValueError, message);
        return 0;
    }
    return has_length(&views[NEAR], 0, s->n_queries, names[NEAR]);
}

static PyObject *nearest_absolute(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[N_ARRAYS];
    Py_buffer views[N_ARRAYS];
    search s = {0};
    Py_ssize_t stop, end;
    if (!PyArg_ParseTuple(
            args, "OOOOOnnnndO", &objects[BYTES], &objects[WORDS], &objects[BYTE_ERRORS], &objects[WORD_ERRORS], &objects[ROWS], &s.start,
            &stop, &s.begin, &end, &s.grid, &objects[NEAR])) {
        return NULL;
    }
    static const char kinds[N_ARRAYS] = {'b', 'h', 'f', 'f', 'd', 'i'};
    static const int dimensions[N_ARRAYS] = {2, 2, 1, 1, 2, 2};
    int n_read = 0, good = 0;
    while (n_read < N_ARRAYS
           && read_array(objects[n_read], &views[n_read], names[n_read], kinds[n_read], dimensions[n_read], n_read == NEAR)) {
        n_read++;
    }
    if (n_read == N_ARRAYS) {
        s.bytes = views[BYTES].buf;
        s.words = views[WORDS].buf;
        s.byte_errors = views[BYTE_ERRORS].buf;
        s.word_errors = views[WORD_ERRORS].buf;
        s.rows = views[ROWS].buf;
        s.near = views[NEAR].buf;
        s.byte_width = views[BYTES].shape[1];
        s.word_width = views[WORDS].shape[1];
        s.width = views[ROWS].shape[1];
        s.n_kept = views[NEAR].shape[1];
        s.n_queries = stop - s.start;
        s.n_others = end - s.begin;
        good = search_fits(&s, views, stop, end);
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            good = run(&s);
            Py_END_ALLOW_THREADS
            if (!good) {
                PyErr_NoMemory();
            }
        }
    }
    release_arrays(views, n_read);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- Rows as bytes and words, relative to `low`, and the sum of the rounding errors of each row, rounded up ---- */

INLINED double rounded_steps(double exact, double steps)
{
    double inside = exact < 0.0 ? 0.0 : exact > steps ? steps : exact;
    return (double)(int32_t)(inside + 0.5);
}

static void fill_small_rows(const Py_buffer *views)
{
    Py_ssize_t n_rows = views[0].shape[0], width = views[0].shape[1], small_width = views[2].shape[1];
    const double *low = views[1].buf;
    for (Py_ssize_t i = 0; i < n_rows; i++) {
        const double *row = (const double *)views[0].buf + i * width;
        uint8_t *bytes = (uint8_t *)views[2].buf + i * small_width;
        int16_t *words = (int16_t *)views[3].buf + i * small_width;
        double byte_error = 0.0, word_error = 0.0;
        memset(bytes, 0, (size_t)small_width);
        memset(words, 0, (size_t)small_width * sizeof(int16_t));
        for (Py_ssize_t f = 0; f < width; f++) {
            double exact = row[f] - low[f];
            double byte = rounded_steps(exact * BYTE_STEPS, BYTE_STEPS), word = rounded_steps(exact * WORD_STEPS, WORD_STEPS);
            bytes[f] = (uint8_t)(int32_t)byte;
            words[f] = (int16_t)(int32_t)word;
            byte_error += fabs(exact * BYTE_STEPS - byte);
            word_error += fabs(exact * WORD_STEPS - word);
        }
        ((float *)views[4].buf)[i] = (float)(byte_error * (1.0 + 0x1p-20));
        ((float *)views[5].buf)[i] = (float)(word_error * (1.0 + 0x1p-20));
    }
}

static PyObject *small_rows(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[6];
    Py_buffer views[6];
    if (!PyArg_ParseTuple(args, "OOOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4], &objects[5])) {
        return NULL;
    }
    static const char *const given[6] = {"rows", "low", "bytes", "words", "byte errors", "word errors"};
    static const char kinds[6] = {'d', 'd', 'b', 'h', 'f', 'f'};
    static const int dimensions[6] = {2, 1, 2, 2, 1, 1};
    int n_read = 0, good = 0;
    while (n_read < 6 && read_array(objects[n_read], &views[n_read], given[n_read], kinds[n_read], dimensions[n_read], n_read >= 2)) {
        n_read++;
    }
    if (n_read == 6) {
        Py_ssize_t n_rows = views[0].shape[0], width = views[0].shape[1], small_width = views[2].shape[1];
        good = has_length(&views[1], 0, width, given[1]) && has_length(&views[3], 1, small_width, given[3]);
        for (int i = 2; good && i < 6; i++) {
            good = has_length(&views[i], 0, n_rows, given[i]);
        }
        if (good && small_width < width) {
            PyErr_SetString(PyExc_ValueError, "rows of bytes must be at least as long as the number of columns");
            good = 0;
        }
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            fill_small_rows(views);
            Py_END_ALLOW_THREADS
        }
    }
    release_arrays(views, n_read);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef manhattan_functions[] = {
    {"nearest_absolute", nearest_absolute, METH_VARARGS,
     "nearest_absolute(bytes, words, byte_errors, word_errors, rows, start, stop, begin, end, grid, near): fills near with the rows "
     "begin:end that are nearest to each of start:stop"},
    {"small_rows", small_rows, METH_VARARGS, "small_rows(rows, low, bytes, words, byte_errors, word_errors): fills the last four"},
    {NULL, NULL, 0, NULL},
};
