/* What the kernels share: vectors of floats, as long as the processor's (GCC splits longer ones badly), and the
   functions that files offer each other.

   Every function that Python calls has a counterpart of torch operations in mt/fast/engine or mt/search, which is used
   without a C compiler, and a test that compares the two. */

#ifndef KERNELS_H
#define KERNELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#ifndef LANES
#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif
#endif

typedef float floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef float floats8 __attribute__((vector_size(32)));
typedef float floats4 __attribute__((vector_size(16)));
typedef int32_t ints8 __attribute__((vector_size(32)));
typedef int32_t ints4 __attribute__((vector_size(16)));
typedef uint16_t bf16;

static inline floats all(float x) { return x - (floats){0}; }
#define LARGER(A, B, WHOLE) ((__typeof__(A))(((WHOLE)(A) & ((A) > (B))) | ((WHOLE)(B) & ~((A) > (B)))))
static inline floats larger(floats a, floats b) { return LARGER(a, b, ints); }

static inline floats load_float(const float *from) { return *(const floats *)from; }
static inline void store_float(float *to, floats x) { *(floats *)to = x; }
static inline floats load_bf16(const bf16 *from) {
    return (floats)(__builtin_convertvector(*(const halves *)from, words) << 16);
}
#if defined(__AVX512BF16__) && LANES == 16
static inline void store_bf16(bf16 *to, floats x) { *(halves *)to = (halves)_mm512_cvtneps_pbh((__m512)x); }
#else
static inline void store_bf16(bf16 *to, floats x) { /* to the nearest, ties to even */
    words bits = (words)x, none = (words)(x != x); /* rounding would turn NaN into 0 */
    words rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    *(halves *)to = __builtin_convertvector((rounded & ~none) | (none & 0x7fc0), halves);
}
#endif

/* The halves of a vector of 16, combined; 8 as they are. */
#if LANES == 16
#define EIGHT(X, COMBINE)                                                                                             \
    floats8 low, high;                                                                                                \
    memcpy(&low, &X, 32), memcpy(&high, (char *)&X + 32, 32);                                                         \
    low = COMBINE(low, high, ints8)
#else
#define EIGHT(X, COMBINE) floats8 low = (floats8)X
#endif
#define ADDED(A, B, WHOLE) ((A) + (B))

static inline float sum(floats x) {
    EIGHT(x, ADDED);
    floats4 first, second;
    memcpy(&first, &low, 16), memcpy(&second, (char *)&low + 16, 16);
    first += second;
    return (first[0] + first[2]) + (first[1] + first[3]);
}

static inline float largest(floats x) {
    EIGHT(x, LARGER);
    floats4 first, second;
    memcpy(&first, &low, 16), memcpy(&second, (char *)&low + 16, 16);
    first = LARGER(first, second, ints4);
    float one = first[0] > first[2] ? first[0] : first[2], other = first[1] > first[3] ? first[1] : first[3];
    return one > other ? one : other;
}

/* e^x for x <= 0: 2^n e^r with |r| <= ln 2 / 2, and Taylor's series to the seventh power for e^r. */
static inline floats exponential(floats x) {
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    x = larger(all(-87.0f), x); /* in this order, so that NaN stays NaN */
    floats n = (x * 1.44269504f + shift) - shift;
    floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
    floats series = all(1.0f / 5040);
    series = series * r + 1.0f / 720, series = series * r + 1.0f / 120, series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6, series = series * r + 0.5f, series = series * r + 1.0f, series = series * r + 1.0f;
    return (floats)((ints)series + (__builtin_convertvector(n, ints) << 23));
}

void attend_float(const float *query, long query_stride, float *keys, float *values, long slot_stride,
                  long head_stride, long entry_stride, const int32_t *indices, long indices_of_slot,
                  long indices_of_row, const int32_t *counts, long newest, float *out, long slots, long rows,
                  long heads, long d_k);
void attend_bf16(const bf16 *query, long query_stride, bf16 *keys, bf16 *values, long slot_stride, long head_stride,
                 long entry_stride, const int32_t *indices, long indices_of_slot, long indices_of_row,
                 const int32_t *counts, long newest, bf16 *out, long slots, long rows, long heads, long d_k);
void norm_of_sum_float(const float *residual, const float *added, const float *gain, const float *bias, float epsilon,
                       float *out, long rows, long d_model);
void norm_of_sum_bf16(const bf16 *residual, const bf16 *added, const float *gain, const float *bias, float epsilon,
                      bf16 *out, long rows, long d_model);

/* A prepacked matrix and its bias: see tiles.c. */
struct linear {
    const void *weight;
    const float *scales, *bias;
    const int32_t *sums; /* of the whole numbers of each column, where they have one limb */
    long inner, columns, limbs;
};
int linear_in_tiles(const void *x, int x_is_bf16, long rows, const struct linear *by, int relu, void *out,
                    int out_is_bf16);

#endif
