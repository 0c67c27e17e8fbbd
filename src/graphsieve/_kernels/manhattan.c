/* The nearest by sums of absolute differences. Bytes rule out nearly everybody, words of 16 bits nearly all others, and float64 decides.

   Columns have a range of 1, so that each number is a byte in units of 1/255, but for an error that is known, and with it the sum of
   the errors of a row. Sums of differences of bytes are whole numbers, 32 terms to an instruction. For rows i and j, in these units,

       |distance − bytes_ij| ≤ error_i + error_j .

   Words of 16 bits are the same with smaller errors, and take four times as long. Those who may be among the k nearest by bytes are
   met by words; only those of whom words cannot tell are measured. Distances are summed from the first column on, and compared as
   multiples of `grid`, ties by place: as the plain twin does. */
#include "arguments.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_STEPS 255.0
#define WORD_STEPS 32767.0
#define WORDS_AT_ONCE 32768 /* whose differences can be summed in 32 bits */
#define ASKING 2            /* queries … */
#define ASKED 4             /* … and others whose sums of bytes grow together */
#define MEASURED 8          /* distances that grow side by side, because one addition must wait for the one before it */
#define GROUPS 64           /* of others, see first_limit */
#define AT_ONCE 64          /* sums that are compared before anyone is looked at by itself */
#define TILE_BYTES (1 << 18) /* rows of bytes that stay in a core's cache while all queries meet them */

/* One who may be near: the bounds on the distance less and with the own error, in units of words, without the query's error. */
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
    Py_ssize_t start, n_queries, begin, n_others; /* who asks, and who may be near: ranges of rows */
    double grid;
    Py_ssize_t n_kept;
    int32_t *near;
    float *sums; /* of bytes: a row for each query, with some room, `stride` from one to the next */
    Py_ssize_t stride;
    candidate *candidates; /* of one query */
    Py_ssize_t n_candidates;
    double *keys;    /* room for as many numbers as there are others */
    double *nearest; /* the least distances of those who were measured, in steps of the grid … */
    int32_t *whose;  /* … and their places */
} search;

/* ---- Sums of bytes ---- */

/* Two queries and four others, so that six rows are read for eight sums. Where fewer are left, the last is met several times, and
   what is not wanted is written over by what is: sums have room for that. */
INLINED const uint8_t *row_of_bytes(const search *s, Py_ssize_t first, Py_ssize_t number, Py_ssize_t count)
{
    return s->bytes + (first + (number < count ? number : count - 1)) * s->byte_width;
}

INLINED void meet(const search *s, Py_ssize_t query, Py_ssize_t other)
{
    const uint8_t *mine[ASKING], *theirs[ASKED];
    for (int i = 0; i < ASKING; i++) {
        mine[i] = row_of_bytes(s, s->start, query + i, s->n_queries);
    }
    for (int j = 0; j < ASKED; j++) {
        theirs[j] = row_of_bytes(s, s->begin, other + j, s->n_others);
    }
    for (int i = 0; i < ASKING; i++) {
        for (int j = 0; j < ASKED; j++) {
            uint32_t sum = 0;
            for (Py_ssize_t f = 0; f < s->byte_width; f++) {
                int difference = (int)mine[i][f] - (int)theirs[j][f];
                sum += (uint32_t)(difference < 0 ? -difference : difference);
            }
            s->sums[(query + i) * s->stride + other + j] = (float)sum;
        }
    }
}

#if HAVE_AVX2_CHOICE
#include <immintrin.h>

/* The totals of four vectors, each of which has four parts of less than 2**32. */
INLINED WITH_AVX2 __m128 totals_avx2(const __m256i *sums)
{
    __m256i low = _mm256_or_si256(sums[0], _mm256_slli_epi64(sums[1], 32));
    __m256i high = _mm256_or_si256(sums[2], _mm256_slli_epi64(sums[3], 32));
    __m256i both = _mm256_add_epi32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    return _mm_cvtepi32_ps(_mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
}

INLINED WITH_AVX2 void meet_avx2(const search *s, Py_ssize_t query, Py_ssize_t other)
{
    const uint8_t *mine[ASKING], *theirs[ASKED];
    __m256i sums[ASKING][ASKED];
    for (int i = 0; i < ASKING; i++) {
        mine[i] = row_of_bytes(s, s->start, query + i, s->n_queries);
        for (int j = 0; j < ASKED; j++) {
            theirs[j] = row_of_bytes(s, s->begin, other + j, s->n_others);
            sums[i][j] = _mm256_setzero_si256();
        }
    }
    for (Py_ssize_t f = 0; f < s->byte_width; f += 32) {
        __m256i me[ASKING];
        for (int i = 0; i < ASKING; i++) {
            me[i] = _mm256_loadu_si256((const __m256i *)(mine[i] + f));
        }
        for (int j = 0; j < ASKED; j++) {
            __m256i them = _mm256_loadu_si256((const __m256i *)(theirs[j] + f));
            for (int i = 0; i < ASKING; i++) {
                sums[i][j] = _mm256_add_epi64(sums[i][j], _mm256_sad_epu8(me[i], them));
            }
        }
    }
    for (int i = 0; i < ASKING; i++) {
        _mm_storeu_ps(s->sums + (query + i) * s->stride + other, totals_avx2(sums[i]));
    }
}
#endif

#define MEET_ALL(meet)                                                                        \
    do {                                                                                      \
        Py_ssize_t tile = (TILE_BYTES / s->byte_width / ASKED + 1) * ASKED;                   \
        for (Py_ssize_t from = 0; from < s->n_others; from += tile) {                         \
            Py_ssize_t to = from + tile < s->n_others ? from + tile : s->n_others;            \
            for (Py_ssize_t query = 0; query < s->n_queries; query += ASKING) {               \
                for (Py_ssize_t other = from; other < to; other += ASKED) {                   \
                    meet(s, query, other);                                                    \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
    } while (0)

/* ---- Sums of words ---- */

typedef int32_t WordSum(const int16_t *, const int16_t *, Py_ssize_t);

INLINED int32_t word_sum(const int16_t *mine, const int16_t *theirs, Py_ssize_t width)
{
    int32_t sum = 0;
    for (Py_ssize_t f = 0; f < width; f++) {
        int difference = (int)mine[f] - (int)theirs[f];
        sum += difference < 0 ? -difference : difference;
    }
    return sum;
}

#if HAVE_AVX2_CHOICE
INLINED WITH_AVX2 int32_t word_sum_avx2(const int16_t *mine, const int16_t *theirs, Py_ssize_t width)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum = _mm256_setzero_si256();
    for (Py_ssize_t f = 0; f < width; f += 16) {
        __m256i me = _mm256_loadu_si256((const __m256i *)(mine + f)), them = _mm256_loadu_si256((const __m256i *)(theirs + f));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_abs_epi16(_mm256_sub_epi16(me, them)), ones));
    }
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
}
#endif

INLINED double words_apart(const search *s, Py_ssize_t query, Py_ssize_t other, WordSum *sum)
{
    const int16_t *mine = s->words + query * s->word_width, *theirs = s->words + other * s->word_width;
    double total = 0.0;
    for (Py_ssize_t from = 0; from < s->word_width; from += WORDS_AT_ONCE) {
        Py_ssize_t left = s->word_width - from;
        total += (double)sum(mine + from, theirs + from, left < WORDS_AT_ONCE ? left : WORDS_AT_ONCE);
    }
    return total;
}

/* ---- Distances ---- */

INLINED void measure_some(const search *s, Py_ssize_t query, const int32_t *places, int count, double *distances, int at_once)
{
    const double *mine = s->rows + query * s->width, *theirs[MEASURED];
    for (int i = 0; i < at_once; i++) {
        theirs[i] = s->rows + places[i < count ? i : 0] * s->width;
    }
    double sum[MEASURED] = {0.0};
    for (Py_ssize_t f = 0; f < s->width; f++) {
        for (int i = 0; i < at_once; i++) {
            sum[i] += fabs(mine[f] - theirs[i][f]);
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

/* Measures up to MEASURED and keeps them if they are among the `wanted` nearest, by distance, then by place. */
INLINED void settle(search *s, Py_ssize_t query, const int32_t *places, int count, Py_ssize_t wanted)
{
    double distances[MEASURED], *values = s->nearest;
    int32_t *whose = s->whose;
    measure(s, query, places, count, distances);
    for (int i = 0; i < count; i++) {
        Py_ssize_t at = wanted - 1;
        if (!(distances[i] < values[at] || (distances[i] == values[at] && places[i] < whose[at]))) {
            continue;
        }
        for (; at > 0 && (values[at - 1] > distances[i] || (values[at - 1] == distances[i] && whose[at - 1] > places[i])); at--) {
            values[at] = values[at - 1];
            whose[at] = whose[at - 1];
        }
        values[at] = distances[i];
        whose[at] = places[i];
    }
}

/* ---- One query ---- */

/* The value that is at `place`, from 0, when the values are sorted; they change their order. */
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

/* A limit that at least n_kept of bytes + error do not exceed, and few more: the least of each of GROUPS groups is taken, and of
   these the n_kept-th smallest; where they are too few, of all. */
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

/* Adds those whose sums of bytes, with or less the error, do not exceed the limit, and whose words are not too far apart; they are not
   looked at again. */
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

/* Those who are among the nearest whatever the errors are become `near`; the others are measured, and the nearest of them follow. */
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
    if (wanted > open) { /* there is nobody else */
        wanted = open;
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        s->nearest[i] = INFINITY;
        s->whose[i] = INT32_MAX;
    }
    for (Py_ssize_t i = 0; wanted && i < open; i += MEASURED) {
        int32_t places[MEASURED];
        int count = open - i < MEASURED ? (int)(open - i) : MEASURED;
        for (int c = 0; c < count; c++) {
            places[c] = s->candidates[i + c].place;
        }
        settle(s, query, places, count, wanted);
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        near[found++] = s->whose[i];
    }
    while (found < s->n_kept) {
        near[found++] = -1;
    }
}

/* By place, −1 last. */
static int by_place(const void *one, const void *other)
{
    uint32_t a = (uint32_t) * (const int32_t *)one, b = (uint32_t) * (const int32_t *)other;
    return (a > b) - (a < b);
}

INLINED void answer_query(search *s, Py_ssize_t number, WordSum *word_sum)
{
    float *sums = s->sums + number * s->stride;
    Py_ssize_t query = s->start + number;
    int is_among = query >= s->begin && query < s->begin + s->n_others;
    if (is_among) {
        sums[query - s->begin] = INFINITY; /* nobody is near to himself */
    }
    double width = (double)s->width, word_error = (double)s->word_errors[query];
    double unsure = 2.0 * s->grid + width * ((width + 8.0) * 0x1p-52 + 0x1p-40); /* a step of the grid, and rounding in float64 */
    double vague = BYTE_STEPS * width * 0x1p-20;                                 /* rounding in float32 */
    double margin = 2.0 * word_error + WORD_STEPS * unsure;
    s->n_candidates = 0;
    if (s->n_others - is_among > s->n_kept) {
        double limit = byte_limit(s, sums, s->byte_errors + s->begin);
        add_candidates(s, query, sums, 1.0f, (float)(limit + vague), INFINITY, word_sum);
        double reach = high_at(s, s->n_kept - 1);
        double in_bytes = BYTE_STEPS * ((reach + word_error) / WORD_STEPS + unsure) + (double)s->byte_errors[query] + vague;
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
    MEET_ALL(meet);
    for (Py_ssize_t number = 0; number < s->n_queries; number++) {
        answer_query(s, number, word_sum);
    }
}

#if HAVE_AVX2_CHOICE
WITH_AVX2 static void search_avx2(search *s)
{
    MEET_ALL(meet_avx2);
    for (Py_ssize_t number = 0; number < s->n_queries; number++) {
        answer_query(s, number, word_sum_avx2);
    }
}
#endif

static int run(search *s)
{
    size_t n_kept = (size_t)s->n_kept, n_others = (size_t)s->n_others + GROUPS;
    s->stride = s->n_others + ASKED;
    s->sums = malloc(sizeof(float) * (size_t)((s->n_queries + ASKING) * s->stride));
    s->candidates = malloc(sizeof(candidate) * n_others);
    s->keys = malloc(sizeof(double) * n_others);
    s->nearest = malloc(sizeof(double) * n_kept);
    s->whose = malloc(sizeof(int32_t) * n_kept);
    int good = s->sums != NULL && s->candidates != NULL && s->keys != NULL && s->nearest != NULL && s->whose != NULL;
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
    free(s->whose);
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
    const char *complaint = NULL;
    if (s->byte_width % 32 != 0 || s->byte_width < 32 || s->byte_width < s->width || s->word_width != s->byte_width) {
        complaint = "bytes and words must be as many as the columns, and a multiple of 32 in a row";
    } else if (s->start < 0 || s->start > stop || stop > n_rows || s->begin < 0 || s->begin > end || end > n_rows) {
        complaint = "there are no such rows";
    } else if (n_rows > INT32_MAX || s->n_kept < 1 || !(s->grid > 0.0)) {
        complaint = "near must have room for at least one, and the grid be positive";
    }
    if (complaint != NULL) {
        PyErr_SetString(PyExc_ValueError, complaint);
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

/* ---- Rows as bytes and words, from `low` on, and the sums of what each row loses by that, rounded up ---- */

INLINED double whole_steps(double exact, double steps)
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
            double byte = whole_steps(exact * BYTE_STEPS, BYTE_STEPS), word = whole_steps(exact * WORD_STEPS, WORD_STEPS);
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
            PyErr_SetString(PyExc_ValueError, "bytes must be as many as the columns");
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
