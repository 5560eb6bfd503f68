/* The tiles of AMX in plain C, as Intel's manual describes them: with `cc -include` of this file, the kernels for AMX
   run on every processor. What a processor refuses ends the process: tiles without shapes, shapes that do not fit. */

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#else /* for which the tests make an empty immintrin.h */
typedef float __m512 __attribute__((vector_size(64)));
typedef int32_t __m512i __attribute__((vector_size(64)));
typedef int8_t __m128i __attribute__((vector_size(16)));
#define _mm_prefetch(...)
#endif

#define LANES 16
#define __AMX_INT8__ 1
#define __AMX_BF16__ 1
#define syscall(...) 0L /* the system permits it */

#ifndef __AVX512F__
#define __AVX512F__ 1
typedef int32_t emulated_ints __attribute__((vector_size(64)));
typedef int8_t emulated_bytes __attribute__((vector_size(16)));
#undef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32(X) nearest(X)
#define _mm512_cvtepi32_epi8(X) ((__m128i)__builtin_convertvector((emulated_ints)(X), emulated_bytes))
#define _mm512_cvtepi8_epi32(X) __builtin_convertvector((emulated_bytes)(X), emulated_ints)
static inline emulated_ints nearest(__m512 x) {
    emulated_ints whole;
    for (int i = 0; i < LANES; i++) whole[i] = (int32_t)lrintf(x[i]);
    return whole;
}
#endif

static _Thread_local struct {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shapes;
    char lines[8][16][64];
} amx;

#define REFUSED(WHEN) \
    if (WHEN) __builtin_trap()
#define UNUSED __attribute__((unused)) static

UNUSED void emulated_loadconfig(const void *from) {
    memcpy(&amx.shapes, from, 64), memset(amx.lines, 0, sizeof amx.lines);
    for (int i = 0; i < 8; i++) REFUSED(amx.shapes.bytes[i] > 64 || amx.shapes.rows[i] > 16);
}
UNUSED void emulated_release(void) { memset(&amx, 0, sizeof amx); }
UNUSED void emulated_zero(int tile) { memset(amx.lines[tile], 0, sizeof amx.lines[tile]); }
UNUSED void emulated_loadd(int tile, const void *from, long stride) {
    REFUSED(amx.shapes.palette != 1);
    emulated_zero(tile);
    for (int row = 0; row < amx.shapes.rows[tile]; row++)
        memcpy(amx.lines[tile][row], (const char *)from + row * stride, amx.shapes.bytes[tile]);
}
UNUSED void emulated_stored(int tile, void *to, long stride) {
    REFUSED(amx.shapes.palette != 1);
    for (int row = 0; row < amx.shapes.rows[tile]; row++)
        memcpy((char *)to + row * stride, amx.lines[tile][row], amx.shapes.bytes[tile]);
}

/* sums[m][n] += sum over k of a[m][k] b[k][n], where a line of b holds as many k for a column as four bytes do. */
#define DEFINE_PRODUCT(NAME, TYPE, SUM, VALUE)                                                                        \
    UNUSED void NAME(int sums, int a, int b) {                                                                        \
        enum { GROUP = 4 / sizeof(TYPE) };                                                                            \
        const int rows = amx.shapes.rows[sums], columns = amx.shapes.bytes[sums] / 4, depth = amx.shapes.rows[b];     \
        REFUSED(amx.shapes.palette != 1 || amx.shapes.rows[a] != rows || amx.shapes.bytes[a] != 4 * depth);           \
        REFUSED(amx.shapes.bytes[b] != 4 * columns || sums == a || sums == b || a == b);                              \
        TYPE left[16][16 * GROUP], right[16][16 * GROUP];                                                             \
        SUM sum[16][16], values[GROUP][16][16] = {0};                                                                 \
        memcpy(left, amx.lines[a], 1024), memcpy(right, amx.lines[b], 1024), memcpy(sum, amx.lines[sums], 1024);      \
        for (int k = 0; k < depth; k++)                                                                               \
            for (int n = 0; n < columns; n++)                                                                         \
                for (int i = 0; i < GROUP; i++) values[i][k][n] = VALUE(right[k][n * GROUP + i]);                     \
        for (int m = 0; m < rows; m++)                                                                                \
            for (int k = 0; k < depth; k++)                                                                           \
                for (int i = 0; i < GROUP; i++) {                                                                     \
                    const SUM x = VALUE(left[m][k * GROUP + i]);                                                      \
                    for (int n = 0; n < 16; n++) sum[m][n] += x * values[i][k][n];                                    \
                }                                                                                                     \
        memcpy(amx.lines[sums], sum, 1024);                                                                           \
    }
static inline float float_of_bf16(uint16_t bits) {
    uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, 4);
    return value;
}
DEFINE_PRODUCT(emulated_dpbssd, int8_t, int32_t, (int32_t))
DEFINE_PRODUCT(emulated_dpbf16ps, uint16_t, float, float_of_bf16)

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#undef _tile_dpbf16ps
#define _tile_loadconfig emulated_loadconfig
#define _tile_release emulated_release
#define _tile_zero emulated_zero
#define _tile_loadd emulated_loadd
#define _tile_stored emulated_stored
#define _tile_dpbssd emulated_dpbssd
#define _tile_dpbf16ps emulated_dpbf16ps
