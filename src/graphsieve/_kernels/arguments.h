/* Array arguments of the kernels. They are read through the buffer protocol and checked before use. */
#ifndef GRAPHSIEVE_ARGUMENTS_H
#define GRAPHSIEVE_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define HAVE_AVX2_CHOICE 1
#define WITH_AVX2 __attribute__((target("avx2")))
#else
#define HAVE_AVX2_CHOICE 0
#define WITH_AVX2
#endif
#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define INLINED static __forceinline
#else
#define INLINED static inline
#endif

#define WRITABLE 1
#define READ_ONLY 0
#define ANY_LENGTH (-1)

/* Reads a C-contiguous buffer with `n_dimensions` dimensions and numbers of the given kind: 'b'
   uint8, 'h' int16, 'i' int32, 'l' int64, 'f' float32, 'd' float64. On failure, sets a ValueError
   and returns 0. The buffer need not be released then. */
int read_array(PyObject *object, Py_buffer *view, const char *name, char kind, int n_dimensions, int writable);

/* Whether a dimension has the required length. Otherwise sets a ValueError. */
int has_length(const Py_buffer *view, int dimension, Py_ssize_t length, const char *name);

/* Releases the first `count` views. */
void release_arrays(Py_buffer *views, int count);

/* Whether all indices are at least 0 and below the limit. */
int all_below(const int64_t *indices, Py_ssize_t count, int64_t limit);

/* Whether this processor has AVX2. The result is cached. */
int has_avx2(void);

/* The position of the lowest set bit. At least one bit must be set. */
INLINED int lowest_bit(uint64_t bits)
{
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int place = 0;
    while (!(bits >> place & 1)) {
        place++;
    }
    return place;
#endif
}

#endif
