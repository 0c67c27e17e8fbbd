/* Kernels for one round of the iterative search. They update the distances after features changed,
   find the nearest neighbours and the links between them, and compute the sums for the scores.

   All results are rounded as in a plain double loop, in the order written here. They do not depend
   on the number of values per step. */
#include "arguments.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_AVX2_CHOICE
#include <immintrin.h>
#define INLINED_AVX2 static inline __attribute__((always_inline, target("avx2")))
#endif

#define AT_ONCE 64 /* pairs that are updated and compared together before they are examined one by one */
#define AHEAD 8    /* links to prefetch ahead */
#define LINE 8     /* numbers per cache line */
#define LANES 16   /* adjacent columns in a strip; their sums stay in registers */

/* Reads arrays of the given kinds and dimensions. Those from `n_read_only` on must be writable. */
static int read_all(
    PyObject **objects, Py_buffer *views, const char *const *names, const char *kinds, const int *dimensions, int count, int n_read_only)
{
    for (int i = 0; i < count; i++) {
        if (!read_array(objects[i], &views[i], names[i], kinds[i], dimensions[i], i >= n_read_only)) {
            release_arrays(views, i);
            return 0;
        }
    }
    return 1;
}

static PyObject *refuse(const char *message)
{
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, message);
    }
    return NULL;
}

/* ---- The nearest after a change ---- */

typedef struct {
    double *values;        /* (n, width): squared distances; only those above the diagonal are valid */
    const double *changed; /* (n_changed, width): the removed features, then the added ones */
    Py_ssize_t n, width;   /* The width is a multiple of LINE. The padding beyond n is updated, but never used. */
    Py_ssize_t n_changed, n_gone;
    int64_t *near;   /* (n, n_kept): previous neighbours on input (the last column is ignored), new ones on output */
    double *lengths; /* (n, n_kept): their squared distances, as in `values` */
    Py_ssize_t n_kept;
    double *limits;  /* (width,): samples beyond this distance cannot be among the nearest */
    uint64_t *known; /* (n, n_words): one bit per pair (lower index first): whether either was a neighbour of the other before */
    Py_ssize_t n_words;
} pairs;

/* A distance, minus the squared differences in the removed features, plus those in the added ones. */
INLINED double corrected(const pairs *of, double value, Py_ssize_t one, Py_ssize_t other)
{
    for (Py_ssize_t f = 0; f < of->n_changed; f++) {
        double difference = of->changed[f * of->width + one] - of->changed[f * of->width + other];
        value = f < of->n_gone ? value - difference * difference : value + difference * difference;
    }
    return value;
}

INLINED int comes_before(double value, int64_t index, double other_value, int64_t other_index)
{
    return value < other_value || (value == other_value && index < other_index);
}

/* Inserts into the list of a sample, ordered by value and ties by index. The last entry is dropped. */
INLINED void insert(const pairs *of, Py_ssize_t row, double value, int64_t index)
{
    double *values = of->lengths + row * of->n_kept;
    int64_t *indices = of->near + row * of->n_kept;
    Py_ssize_t at = of->n_kept - 1;
    if (!comes_before(value, index, values[at], indices[at])) {
        return;
    }
    for (; at > 0 && comes_before(value, index, values[at - 1], indices[at - 1]); at--) {
        values[at] = values[at - 1];
        indices[at] = indices[at - 1];
    }
    values[at] = value;
    indices[at] = index;
    double farthest = values[of->n_kept - 1]; /* No sample beyond this distance can enter the list any more. */
    of->limits[row] = farthest < of->limits[row] ? farthest : of->limits[row];
}

/* Updates and sorts the lists of the previous neighbours. The farthest previous neighbour bounds the
   distance of the new ones. */
static void renew_lists(const pairs *of)
{
    Py_ssize_t last = of->n_kept - 1;
    for (Py_ssize_t i = 0; i < of->n; i++) {
        double *values = of->lengths + i * of->n_kept;
        int64_t *indices = of->near + i * of->n_kept;
        for (Py_ssize_t m = 0; m < last; m++) {
            int64_t other = indices[m];
            double value = corrected(of, values[m], i, (Py_ssize_t)other);
            Py_ssize_t at = m;
            for (; at > 0 && comes_before(value, other, values[at - 1], indices[at - 1]); at--) {
                values[at] = values[at - 1];
                indices[at] = indices[at - 1];
            }
            values[at] = value;
            indices[at] = other;
        }
        of->limits[i] += values[last - 1];
        values[last] = INFINITY;
        indices[last] = of->n; /* no sample; sorts after all samples */
    }
}

INLINED int is_listed(const int64_t *list, Py_ssize_t count, int64_t wanted)
{
    int found = 0; /* All entries are compared, because an early exit would be mispredicted. */
    for (Py_ssize_t m = 0; m < count; m++) {
        found |= list[m] == wanted;
    }
    return found;
}

/* If i lists j, then i may now be near enough to enter the list of j. The sweep skips such known
   pairs, so they are handled here. */
static void enter_in_turn(const pairs *of, const int64_t *previous, const double *distances)
{
    Py_ssize_t count = of->n_kept - 1;
    for (Py_ssize_t i = 0; i < of->n; i++) {
        for (Py_ssize_t m = 0; m < count; m++) {
            Py_ssize_t other = (Py_ssize_t)previous[i * count + m];
            double value = distances[i * count + m];
            if (value <= of->limits[other] && !is_listed(previous + other * count, count, i)) {
                insert(of, other, value, i);
            }
        }
    }
}

INLINED void enter(const pairs *of, Py_ssize_t one, Py_ssize_t other, double value)
{
    if (value <= of->limits[one]) {
        insert(of, one, value, other);
    }
    if (value <= of->limits[other]) {
        insert(of, other, value, one);
    }
}

/* Updates `count` distances of a row (a multiple of LINE, and at most AT_ONCE). Returns one bit for
   each: whether it is within the limit of its row or its column. */
INLINED uint64_t correct(const pairs *of, Py_ssize_t row, Py_ssize_t begin, Py_ssize_t count, int one_left)
{
    (void)one_left;
    double *values = of->values + row * of->width + begin, limit = of->limits[row];
    for (Py_ssize_t f = 0; f < of->n_changed; f++) {
        const double *feature = of->changed + f * of->width;
        double own = feature[row], sign = f < of->n_gone ? -1.0 : 1.0;
        for (Py_ssize_t c = 0; c < count; c++) {
            double difference = own - feature[begin + c];
            values[c] += sign * (difference * difference);
        }
    }
    uint64_t bits = 0;
    for (Py_ssize_t c = 0; c < count; c++) {
        bits |= (uint64_t)(values[c] <= limit || values[c] <= of->limits[begin + c]) << c;
    }
    return bits;
}

/* The `known` bits of the next AT_ONCE pairs of a row. */
INLINED uint64_t known_from(const pairs *of, Py_ssize_t row, Py_ssize_t begin)
{
    const uint64_t *words = of->known + row * of->n_words + begin / 64;
    int shift = (int)(begin % 64);
    return shift == 0 ? words[0] : words[0] >> shift | words[1] << (64 - shift);
}

typedef uint64_t (*correction)(const pairs *, Py_ssize_t, Py_ssize_t, Py_ssize_t, int);

INLINED void sweep(const pairs *of, correction correct, int one_left)
{
    for (Py_ssize_t row = 0; row < of->n; row++) {
        Py_ssize_t own = row + 1;
        for (Py_ssize_t begin = own / LINE * LINE; begin < of->n; begin += AT_ONCE) {
            Py_ssize_t left = of->width - begin;
            uint64_t bits = correct(of, row, begin, left < AT_ONCE ? left : AT_ONCE, one_left);
            if (begin < own) {
                bits &= ~(uint64_t)0 << (own - begin);
            }
            if (of->n - begin < AT_ONCE) {
                bits &= ((uint64_t)1 << (of->n - begin)) - 1;
            }
            if (bits) {
                bits &= ~known_from(of, row, begin);
            }
            for (; bits; bits &= bits - 1) {
                Py_ssize_t other = begin + lowest_bit(bits);
                enter(of, row, other, of->values[row * of->width + other]);
            }
        }
    }
}

static void sweep_plain(const pairs *of)
{
    sweep(of, correct, 0);
}

#if HAVE_AVX2_CHOICE
/* Like `correct`, but in one pass over the values. In the most frequent case, one removed feature,
   there is no inner loop. */
INLINED_AVX2 uint64_t correct_avx2(const pairs *of, Py_ssize_t row, Py_ssize_t begin, Py_ssize_t count, int one_left)
{
    double *values = of->values + row * of->width + begin;
    __m256d limit = _mm256_set1_pd(of->limits[row]), gone = _mm256_set1_pd(one_left ? of->changed[row] : 0.0);
    uint64_t bits = 0;
    for (Py_ssize_t c = 0; c < count; c += 4) {
        __m256d value = _mm256_loadu_pd(values + c);
        if (one_left) {
            __m256d difference = _mm256_sub_pd(gone, _mm256_loadu_pd(of->changed + begin + c));
            value = _mm256_sub_pd(value, _mm256_mul_pd(difference, difference));
        } else {
            const double *feature = of->changed;
            for (Py_ssize_t f = 0; f < of->n_changed; f++, feature += of->width) {
                __m256d difference = _mm256_sub_pd(_mm256_broadcast_sd(feature + row), _mm256_loadu_pd(feature + begin + c));
                __m256d square = _mm256_mul_pd(difference, difference);
                value = f < of->n_gone ? _mm256_sub_pd(value, square) : _mm256_add_pd(value, square);
            }
        }
        _mm256_storeu_pd(values + c, value);
        __m256d larger = _mm256_max_pd(limit, _mm256_loadu_pd(of->limits + begin + c));
        bits |= (uint64_t)(unsigned)_mm256_movemask_pd(_mm256_cmp_pd(value, larger, _CMP_LE_OQ)) << c;
    }
    return bits;
}

WITH_AVX2 static void sweep_avx2(const pairs *of)
{
    if (of->n_changed == 1 && of->n_gone == 1) {
        sweep(of, correct_avx2, 1);
    } else {
        sweep(of, correct_avx2, 0);
    }
}
#endif

static void sweep_by_machine(const pairs *of)
{
#if HAVE_AVX2_CHOICE
    if (has_avx2()) {
        sweep_avx2(of);
        return;
    }
#endif
    sweep_plain(of);
}

/* Updates all distances and neighbour lists. The previous neighbours are updated separately and marked
   as known. The sweep over all pairs therefore finds only new neighbours, which are few, and is
   rarely interrupted. `previous` and `distances` hold n × (n_kept − 1) numbers each. */
static void follow(const pairs *of, int64_t *previous, double *distances)
{
    Py_ssize_t count = of->n_kept - 1;
    renew_lists(of);
    for (Py_ssize_t i = 0; i < of->n; i++) {
        for (Py_ssize_t m = 0; m < count; m++) {
            Py_ssize_t from = i * of->n_kept + m, to = i * count + m;
            previous[to] = of->near[from];
            distances[to] = of->lengths[from];
            Py_ssize_t other = (Py_ssize_t)previous[to], low = i < other ? i : other, high = i < other ? other : i;
            of->known[low * of->n_words + high / 64] |= (uint64_t)1 << high % 64;
        }
    }
    enter_in_turn(of, previous, distances);
    sweep_by_machine(of);
}

/* Whether each list contains only other existing rows. */
static int are_lists(const int64_t *near, Py_ssize_t n, Py_ssize_t n_kept)
{
    int good = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        for (Py_ssize_t m = 0; m + 1 < n_kept; m++) {
            int64_t other = near[i * n_kept + m];
            good &= (uint64_t)other < (uint64_t)n && other != i;
        }
    }
    return good;
}

static PyObject *follow_nearest(PyObject *module, PyObject *args)
{
    (void)module;
    enum { CHANGED, VALUES, LIMITS, NEAR, LENGTHS, N_ARRAYS };
    static const char *const names[N_ARRAYS] = {"changed", "values", "limits", "near", "lengths"};
    static const int dimensions[N_ARRAYS] = {2, 2, 1, 2, 2};
    PyObject *objects[N_ARRAYS];
    Py_buffer views[N_ARRAYS];
    Py_ssize_t n_gone;
    if (!PyArg_ParseTuple(args, "OnOOOO", &objects[0], &n_gone, &objects[1], &objects[2], &objects[3], &objects[4])
        || !read_all(objects, views, names, "dddld", dimensions, N_ARRAYS, VALUES)) {
        return NULL;
    }
    Py_ssize_t n = views[VALUES].shape[0], width = views[VALUES].shape[1], n_changed = views[CHANGED].shape[0];
    Py_ssize_t n_kept = views[NEAR].shape[1];
    int good = 0;
    if (n_gone < 0 || n_gone > n_changed || n_kept < 2) {
        PyErr_SetString(PyExc_ValueError, "lists must have a length of at least 2, and no more features can be removed than changed");
    } else if (width < n || width % LINE != 0) {
        PyErr_Format(PyExc_ValueError, "values must be square, with a width padded to a multiple of %d", LINE);
    } else if (
        has_length(&views[CHANGED], 1, width, "changed") && has_length(&views[LIMITS], 0, width, "limits")
        && has_length(&views[NEAR], 0, n, "near")
        && has_length(&views[LENGTHS], 0, n, "lengths") && has_length(&views[LENGTHS], 1, n_kept, "lengths")) {
        Py_ssize_t n_words = n / 64 + 2; /* one more than needed, because bits are read across two words */
        pairs of = {views[VALUES].buf, views[CHANGED].buf, n, width, n_changed, n_gone, views[NEAR].buf, views[LENGTHS].buf, n_kept,
                    views[LIMITS].buf, calloc((size_t)n * (size_t)n_words + 1, sizeof(uint64_t)), n_words};
        size_t size = (size_t)(n * (n_kept - 1)) + 1;
        int64_t *previous = malloc(size * sizeof(int64_t));
        double *distances = malloc(size * sizeof(double));
        if (previous == NULL || distances == NULL || of.known == NULL) {
            PyErr_NoMemory();
        } else {
            Py_BEGIN_ALLOW_THREADS
            good = are_lists(of.near, n, n_kept);
            if (good) {
                follow(&of, previous, distances);
            }
            Py_END_ALLOW_THREADS
        }
        free(of.known);
        free(previous);
        free(distances);
    }
    release_arrays(views, N_ARRAYS);
    if (!good) {
        return refuse("near must contain only other existing rows");
    }
    Py_RETURN_NONE;
}

/* ---- The links between neighbours, each once ---- */

/* Lists the links in the order of the rows. If two samples list each other, the link belongs to the
   one with the lower index. */
static Py_ssize_t collect_links(
    const int64_t *near, const double *lengths, Py_ssize_t n, Py_ssize_t n_kept, int64_t *first, int64_t *second, double *length)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        for (Py_ssize_t m = 0; m + 1 < n_kept; m++) {
            Py_ssize_t other = (Py_ssize_t)near[i * n_kept + m];
            first[count] = i; /* If this link is not counted, the next one overwrites it. */
            second[count] = other;
            length[count] = lengths[i * n_kept + m];
            count += (other > i) | !is_listed(near + other * n_kept, n_kept - 1, i);
        }
    }
    return count;
}

static PyObject *list_links(PyObject *module, PyObject *args)
{
    (void)module;
    enum { NEAR, LENGTHS, FIRST, SECOND, LENGTH, N_ARRAYS };
    static const char *const names[N_ARRAYS] = {"near", "lengths", "first", "second", "length"};
    static const int dimensions[N_ARRAYS] = {2, 2, 1, 1, 1};
    PyObject *objects[N_ARRAYS];
    Py_buffer views[N_ARRAYS];
    if (!PyArg_ParseTuple(args, "OOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4])
        || !read_all(objects, views, names, "ldlld", dimensions, N_ARRAYS, FIRST)) {
        return NULL;
    }
    Py_ssize_t n = views[NEAR].shape[0], n_kept = views[NEAR].shape[1], count = -1;
    int good = n_kept >= 2 && has_length(&views[LENGTHS], 0, n, names[LENGTHS]) && has_length(&views[LENGTHS], 1, n_kept, names[LENGTHS]);
    for (int i = FIRST; good && i <= LENGTH; i++) {
        good = has_length(&views[i], 0, n * (n_kept - 1), names[i]);
    }
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; good && i < n; i++) {
            good = all_below((const int64_t *)views[NEAR].buf + i * n_kept, n_kept - 1, n);
        }
        if (good) {
            count = collect_links(views[NEAR].buf, views[LENGTHS].buf, n, n_kept, views[FIRST].buf, views[SECOND].buf, views[LENGTH].buf);
        }
        Py_END_ALLOW_THREADS
    }
    release_arrays(views, N_ARRAYS);
    return good ? PyLong_FromSsize_t(count) : refuse("near must contain existing rows, at least one for each row");
}

/* ---- Sums for the scores ---- */

typedef struct {
    const double *strips, *centers; /* (n_strips, n, LANES) and (n_strips, LANES) */
    Py_ssize_t n_strips, n, n_links;
    const int64_t *first, *second;
    const double *weights;
    double *degree;                   /* (n,) */
    double *energy, *mean, *moment; /* (n_strips, LANES) each */
} scoring;

INLINED void sum_links(const scoring *of, const double *rows, double *result)
{
    double sum[LANES] = {0.0};
    for (Py_ssize_t e = 0; e < of->n_links; e++) {
        const double *one = rows + of->first[e] * LANES, *other = rows + of->second[e] * LANES;
        double weight = of->weights[e];
        for (int c = 0; c < LANES; c++) {
            double difference = one[c] - other[c];
            sum[c] += weight * (difference * difference);
        }
    }
    memcpy(result, sum, sizeof(sum));
}

INLINED void sum_samples(const scoring *of, const double *rows, const double *center, double *mean, double *moment)
{
    double once[LANES] = {0.0}, twice[LANES] = {0.0};
    for (Py_ssize_t i = 0; i < of->n; i++) {
        double weight = of->degree[i];
        for (int c = 0; c < LANES; c++) {
            double value = rows[i * LANES + c] - center[c];
            once[c] += weight * value;
            twice[c] += weight * (value * value);
        }
    }
    memcpy(mean, once, sizeof(once));
    memcpy(moment, twice, sizeof(twice));
}

typedef void (*link_sum)(const scoring *, const double *, double *);
typedef void (*sample_sum)(const scoring *, const double *, const double *, double *, double *);

INLINED void sum_strips(const scoring *of, link_sum links, sample_sum samples)
{
    for (Py_ssize_t s = 0; s < of->n_strips; s++) {
        const double *rows = of->strips + s * of->n * LANES;
        /* The samples come first: they are read sequentially, which brings them into the cache. The
           links then access them in random order. */
        samples(of, rows, of->centers + s * LANES, of->mean + s * LANES, of->moment + s * LANES);
        links(of, rows, of->energy + s * LANES);
    }
}

static void sum_plain(const scoring *of)
{
    sum_strips(of, sum_links, sum_samples);
}

#if HAVE_AVX2_CHOICE
/* Like sum_links. Written with intrinsics, because compilers do not keep the sums in registers. */
INLINED_AVX2 void sum_links_avx2(const scoring *of, const double *rows, double *result)
{
    __m256d sum[LANES / 4];
    for (int v = 0; v < LANES / 4; v++) {
        sum[v] = _mm256_setzero_pd();
    }
    for (Py_ssize_t e = 0; e < of->n_links; e++) {
        const double *one = rows + of->first[e] * LANES, *other = rows + of->second[e] * LANES;
        __m256d weight = _mm256_broadcast_sd(of->weights + e);
        if (e + AHEAD < of->n_links) {
            const double *later = rows + of->second[e + AHEAD] * LANES;
            __builtin_prefetch(later);
            __builtin_prefetch(later + LANES / 2);
        }
        for (int v = 0; v < LANES / 4; v++) {
            __m256d difference = _mm256_sub_pd(_mm256_loadu_pd(one + 4 * v), _mm256_loadu_pd(other + 4 * v));
            sum[v] = _mm256_add_pd(sum[v], _mm256_mul_pd(weight, _mm256_mul_pd(difference, difference)));
        }
    }
    for (int v = 0; v < LANES / 4; v++) {
        _mm256_storeu_pd(result + 4 * v, sum[v]);
    }
}

INLINED_AVX2 void sum_samples_avx2(const scoring *of, const double *rows, const double *center, double *mean, double *moment)
{
    __m256d once[LANES / 4], twice[LANES / 4];
    for (int v = 0; v < LANES / 4; v++) {
        once[v] = twice[v] = _mm256_setzero_pd();
    }
    for (Py_ssize_t i = 0; i < of->n; i++) {
        __m256d weight = _mm256_broadcast_sd(of->degree + i);
        for (int v = 0; v < LANES / 4; v++) {
            __m256d value = _mm256_sub_pd(_mm256_loadu_pd(rows + i * LANES + 4 * v), _mm256_loadu_pd(center + 4 * v));
            once[v] = _mm256_add_pd(once[v], _mm256_mul_pd(weight, value));
            twice[v] = _mm256_add_pd(twice[v], _mm256_mul_pd(weight, _mm256_mul_pd(value, value)));
        }
    }
    for (int v = 0; v < LANES / 4; v++) {
        _mm256_storeu_pd(mean + 4 * v, once[v]);
        _mm256_storeu_pd(moment + 4 * v, twice[v]);
    }
}

WITH_AVX2 static void sum_avx2(const scoring *of)
{
    sum_strips(of, sum_links_avx2, sum_samples_avx2);
}
#endif

static int sum_all(const scoring *of)
{
    if (!all_below(of->first, of->n_links, of->n) || !all_below(of->second, of->n_links, of->n)) {
        return 0;
    }
    memset(of->degree, 0, (size_t)of->n * sizeof(double));
    for (Py_ssize_t e = 0; e < of->n_links; e++) {
        of->degree[of->first[e]] += of->weights[e];
    }
    for (Py_ssize_t e = 0; e < of->n_links; e++) {
        of->degree[of->second[e]] += of->weights[e];
    }
#if HAVE_AVX2_CHOICE
    if (has_avx2()) {
        sum_avx2(of);
        return 1;
    }
#endif
    sum_plain(of);
    return 1;
}

static PyObject *graph_sums(PyObject *module, PyObject *args)
{
    (void)module;
    enum { STRIPS, CENTERS, FIRST, SECOND, WEIGHTS, DEGREE, SUMS, N_ARRAYS };
    static const char *const names[N_ARRAYS] = {"strips", "centers", "first", "second", "weights", "degree", "sums"};
    static const int dimensions[N_ARRAYS] = {3, 2, 1, 1, 1, 1, 3};
    PyObject *o[N_ARRAYS];
    Py_buffer views[N_ARRAYS];
    if (!PyArg_ParseTuple(args, "OOOOOOO", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6])
        || !read_all(o, views, names, "ddllddd", dimensions, N_ARRAYS, DEGREE)) {
        return NULL;
    }
    Py_ssize_t n_strips = views[STRIPS].shape[0], n = views[STRIPS].shape[1], n_links = views[FIRST].shape[0];
    int good = has_length(&views[STRIPS], 2, LANES, names[STRIPS]) && has_length(&views[CENTERS], 0, n_strips, names[CENTERS])
               && has_length(&views[CENTERS], 1, LANES, names[CENTERS]) && has_length(&views[SECOND], 0, n_links, names[SECOND])
               && has_length(&views[WEIGHTS], 0, n_links, names[WEIGHTS]) && has_length(&views[DEGREE], 0, n, names[DEGREE])
               && has_length(&views[SUMS], 0, 3, names[SUMS]) && has_length(&views[SUMS], 1, n_strips, names[SUMS])
               && has_length(&views[SUMS], 2, LANES, names[SUMS]);
    if (good) {
        double *sums = views[SUMS].buf;
        Py_ssize_t width = n_strips * LANES;
        scoring of = {views[STRIPS].buf, views[CENTERS].buf, n_strips, n, n_links, views[FIRST].buf, views[SECOND].buf,
                      views[WEIGHTS].buf, views[DEGREE].buf, sums, sums + width, sums + 2 * width};
        Py_BEGIN_ALLOW_THREADS
        good = sum_all(&of);
        Py_END_ALLOW_THREADS
    }
    release_arrays(views, N_ARRAYS);
    if (!good) {
        return refuse("links must join existing rows");
    }
    Py_RETURN_NONE;
}

/* Divides energies by spreads, and bounds the relative errors. The bound is infinite if the spread is
   not positive. */
static void divide_sums(
    const double *sums, Py_ssize_t width, const int64_t *lanes, Py_ssize_t count, const double *given, double *values, double *errors)
{
    const double *energy = sums, *mean = sums + width, *moment = sums + 2 * width;
    double total = given[0], of_all = given[1], of_spread = given[2];
    for (Py_ssize_t j = 0; j < count; j++) {
        int64_t c = lanes[j];
        double spread = moment[c] - mean[c] * mean[c] / total;
        values[j] = energy[c] / spread;
        errors[j] = spread > 0 ? of_all + of_spread * (moment[c] / spread) : INFINITY;
    }
}

static PyObject *sum_ratios(PyObject *module, PyObject *args)
{
    (void)module;
    enum { SUMS, LANE, VALUES, ERRORS, N_ARRAYS };
    static const char *const names[N_ARRAYS] = {"sums", "lanes", "values", "errors"};
    static const int dimensions[N_ARRAYS] = {2, 1, 1, 1};
    PyObject *o[N_ARRAYS];
    Py_buffer views[N_ARRAYS];
    double given[3];
    if (!PyArg_ParseTuple(args, "OOdddOO", &o[0], &o[1], &given[0], &given[1], &given[2], &o[2], &o[3])
        || !read_all(o, views, names, "dldd", dimensions, N_ARRAYS, VALUES)) {
        return NULL;
    }
    Py_ssize_t width = views[SUMS].shape[1], count = views[LANE].shape[0];
    int good = has_length(&views[SUMS], 0, 3, names[SUMS]) && has_length(&views[VALUES], 0, count, names[VALUES])
               && has_length(&views[ERRORS], 0, count, names[ERRORS]) && all_below(views[LANE].buf, count, width);
    if (good) {
        divide_sums(views[SUMS].buf, width, views[LANE].buf, count, given, views[VALUES].buf, views[ERRORS].buf);
    }
    release_arrays(views, N_ARRAYS);
    if (!good) {
        return refuse("lanes must be indices of existing columns");
    }
    Py_RETURN_NONE;
}

PyMethodDef round_functions[] = {
    {"follow_nearest", follow_nearest, METH_VARARGS, "follow_nearest(changed, n_gone, values, limits, near, lengths)"},
    {"list_links", list_links, METH_VARARGS, "list_links(near, lengths, first, second, length): returns the number of links"},
    {"sum_ratios", sum_ratios, METH_VARARGS, "sum_ratios(sums, lanes, total, of_all, of_spread, values, errors)"},
    {"graph_sums", graph_sums, METH_VARARGS, "graph_sums(strips, centers, first, second, weights, degree, sums)"},
    {NULL, NULL, 0, NULL},
};
