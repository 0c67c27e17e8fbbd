/* Two steps of keep_nearest.h for which compilers do not generate good instructions: 64 comparisons,
   and an insertion into a sorted list.

   A branch on the position of the insertion would be mispredicted half of the time. Therefore the
   whole list is shifted, one vector at a time and from its end. Each entry greater than the new
   value is replaced by the larger of the new value and the previous entry. */
#include <immintrin.h>

#define INLINED_AVX2 static inline __attribute__((always_inline, target("avx2")))

INLINED_AVX2 uint64_t avx2_below_float(const float *products, const float *norms, const float *reach, float row_norm, float row_reach)
{
    __m256 norm = _mm256_set1_ps(row_norm), limit = _mm256_set1_ps(row_reach);
    uint64_t bits = 0;
    for (int c = 0; c < 64; c += 8) {
        __m256 product = _mm256_loadu_ps(products + c), sum = _mm256_add_ps(norm, _mm256_loadu_ps(norms + c));
        __m256 distance = _mm256_sub_ps(sum, _mm256_add_ps(product, product));
        __m256 less = _mm256_cmp_ps(distance, _mm256_max_ps(limit, _mm256_loadu_ps(reach + c)), _CMP_LT_OQ);
        bits |= (uint64_t)(unsigned)_mm256_movemask_ps(less) << c;
    }
    return bits;
}

INLINED_AVX2 uint64_t
avx2_below_double(const double *products, const double *norms, const double *reach, double row_norm, double row_reach)
{
    __m256d norm = _mm256_set1_pd(row_norm), limit = _mm256_set1_pd(row_reach);
    uint64_t bits = 0;
    for (int c = 0; c < 64; c += 4) {
        __m256d product = _mm256_loadu_pd(products + c), sum = _mm256_add_pd(norm, _mm256_loadu_pd(norms + c));
        __m256d distance = _mm256_sub_pd(sum, _mm256_add_pd(product, product));
        __m256d less = _mm256_cmp_pd(distance, _mm256_max_pd(limit, _mm256_loadu_pd(reach + c)), _CMP_LT_OQ);
        bits |= (uint64_t)(unsigned)_mm256_movemask_pd(less) << c;
    }
    return bits;
}

enum { avx2_step_float = 8, avx2_step_double = 1 };

INLINED_AVX2 void avx2_insert_float(float *values, int32_t *indices, Py_ssize_t n_kept, float value, int32_t index)
{
    const __m256i one_back = _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6);
    const __m256 new_value = _mm256_set1_ps(value), new_index = _mm256_castsi256_ps(_mm256_set1_epi32(index));
    for (Py_ssize_t at = n_kept - 8; at >= 0; at -= 8) {
        __m256 here = _mm256_loadu_ps(values + at), index_here = _mm256_loadu_ps((const float *)(indices + at)), before, index_before;
        if (at) {
            before = _mm256_loadu_ps(values + at - 1);
            index_before = _mm256_loadu_ps((const float *)(indices + at - 1));
        } else { /* The first entry has no previous one. */
            before = _mm256_blend_ps(_mm256_permutevar8x32_ps(here, one_back), _mm256_set1_ps(-INFINITY), 1);
            index_before = _mm256_permutevar8x32_ps(index_here, one_back);
        }
        __m256 moves = _mm256_cmp_ps(here, new_value, _CMP_GT_OQ), takes = _mm256_cmp_ps(before, new_value, _CMP_GT_OQ);
        here = _mm256_blendv_ps(here, _mm256_blendv_ps(new_value, before, takes), moves);
        index_here = _mm256_blendv_ps(index_here, _mm256_blendv_ps(new_index, index_before, takes), moves);
        _mm256_storeu_ps(values + at, here);
        _mm256_storeu_ps((float *)(indices + at), index_here);
    }
}

#define avx2_insert_double insert_double /* Rarely needed, so the plain version is enough. */
