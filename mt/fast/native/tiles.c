/* x Wᵀ + b, in one of four ways:

   - with -1 for `limbs`, in fp32;
   - with none, both factors are rounded to bf16 and their products added up in fp32;
   - with one, they are rounded to int8 and added up as whole numbers: each row of x is scaled to -127 to 127 by its
     largest number, each row of W was scaled so before, or by its largest sum of two neighbours;
   - with three, see limbs.c. */

#include "tiles.h"
#include <stdlib.h>

#define BLOCK (2 * TILE)
#define PARTS (BLOCK / LANES) /* vectors of sums in a row of a block */
#define FP32 -1 /* in place of a number of limbs */
#if !defined(HAS_TILES) && defined(__AVX512VNNI__) && LANES == TILE
#define HAS_FOURS /* four whole products are added up at once, into 32 bits */
#elif !defined(HAS_TILES) && defined(__AVX2__) && LANES == TILE / 2
#define HAS_PAIRS /* two, into 16 bits, in which they must fit */
#endif
#if defined(HAS_FOURS) || defined(HAS_PAIRS)
#define OFFSET 128 /* to int8 numbers of x, as the processor wants one factor without a sign */
#else
#define OFFSET 0
#endif
#ifdef HAS_TILES
#define FILLED TILE /* there are rows for a multiple of this number */
#else
#define FILLED AT_ONCE
#endif
#if LANES == TILE
#define AT_ONCE 8 /* rows by 32 columns whose sums fit into registers */
#else
#define AT_ONCE 2
#endif
#define STRETCH (16 * BYTES)

/* A row as it is; `to` is its first line. */
static void plain_row(const void *x, int is_bf16, long start, long inner, char *to) {
    for (long i = 0; i < inner; i += LANES) store_float((float *)(to + i / TILE * BYTES) + i % TILE, load(x, is_bf16, start + i));
}

/* A row rounded to bf16. */
static void rounded_row(const void *x, int is_bf16, long start, long inner, char *to) {
    for (long i = 0; i < inner; i += LANES) {
        char *line = to + i / (2 * TILE) * BYTES + i % (2 * TILE) * sizeof(bf16);
        store_bf16((bf16 *)line, load(x, is_bf16, start + i));
    }
}

/* A row as whole numbers from -127 to 127, plus `OFFSET`, and the value of one unit. */
static float quantised_row(const void *x, int is_bf16, long start, long inner, char *to) {
    const floats shift = all(12582912.0f);
    floats peak = all(1e-30f), doubt = {0};
    for (long i = 0; i < inner; i += LANES) {
        floats given = load(x, is_bf16, start + i);
        peak = larger(peak, larger(given, -given));
        doubt += given * 0.0f;
    }
    float scale = largest(peak) / 127.0f + sum(doubt); /* NaN if one of them is */
    for (long i = 0; i < inner; i += LANES) {
        floats whole = (load(x, is_bf16, start + i) * (1.0f / scale) + shift) - shift;
        *(bytes *)(to + i / LINE * BYTES + i % LINE) =
            __builtin_convertvector(__builtin_convertvector(whole, ints) + OFFSET, bytes);
    }
    return scale;
}

/* Rows in tiles, with the value of one unit in each; `next` is the bytes from 16 rows or columns to the next. */
struct rows {
    const char *tiles;
    float *scales;
    long count, next;
};

#ifdef HAS_TILES
#include <sys/syscall.h>
#include <unistd.h>

int tiles_permitted(void) { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; } /* ARCH_REQ_XCOMP_PERM, tile data */
int types_multiplied(void) { return 0; }

#define FOUR(OPERATION)                                                                                               \
    OPERATION(0, sums, line);                                                                                         \
    OPERATION(1, sums + TILE, line);                                                                                  \
    if (two) {                                                                                                        \
        OPERATION(2, sums + TILE * BLOCK, line);                                                                      \
        OPERATION(3, sums + TILE * BLOCK + TILE, line);                                                               \
    }
#define ZERO(TILE_, FROM, STRIDE) _tile_zero(TILE_)
#define MULTIPLY(OPERATION)                                                                                           \
    OPERATION(0, 4, 6);                                                                                               \
    OPERATION(1, 4, 7);                                                                                               \
    if (two) {                                                                                                        \
        OPERATION(2, 5, 6);                                                                                           \
        OPERATION(3, 5, 7);                                                                                           \
    }

/* The sums of a block of 32 rows (or 16) by 32 columns. Meanwhile W is fetched for the columns after these,
   at `ahead`: a line of each tile, by the blocks of rows in turn, after which the processor fetches the others by
   itself; all lines where there is one block, as memory sets the pace. */
static inline __attribute__((always_inline)) void block(const struct rows *all_rows, long row, const char *weight,
                                                        const char *ahead, int whole, float *sums) {
    const long line = BLOCK * sizeof(float), next = all_rows->next, blocks = (all_rows->count + BLOCK - 1) / BLOCK;
    const long apart = blocks > 1 ? blocks * BYTES : LINE;
    const int two = all_rows->count - row > TILE;
    const char *rows = all_rows->tiles + row / TILE * next;
    FOUR(ZERO)
    for (long k = 0; k < next; k += BYTES) {
        for (long at = k + row / BLOCK * BYTES; ahead && at < k + BYTES; at += apart) {
            _mm_prefetch(ahead + at, _MM_HINT_T0);
            _mm_prefetch(ahead + next + at, _MM_HINT_T0);
        }
        _tile_loadd(4, rows + k, LINE);
        if (two) _tile_loadd(5, rows + next + k, LINE);
        _tile_loadd(6, weight + k, LINE);
        _tile_loadd(7, weight + next + k, LINE);
        if (whole) {
            MULTIPLY(_tile_dpbssd)
        } else {
            MULTIPLY(_tile_dpbf16ps)
        }
    }
    FOUR(_tile_stored)
}

#else
int tiles_permitted(void) { return 0; }

#if defined(__AVX512BF16__) && LANES == TILE
#define HAS_BF16_PRODUCTS
#endif

/* Of fp32, bf16 and int8, what is multiplied fast without tiles: bits 1, 2 and 4; 8 where int8 numbers of W have to be
   small enough that 255 times two neighbours of a column fit into 16 bits. */
int types_multiplied(void) {
    int types = 1;
#ifdef HAS_BF16_PRODUCTS
    types |= 2;
#endif
#if OFFSET
    types |= 4;
#endif
#ifdef HAS_PAIRS
    types |= 8;
#endif
    return types;
}

/* Four bytes of x times a line of W, or a part of it, added to as many sums. */
#ifdef __AVX2__
#define IN_REGISTER(X) __asm__("" : "+v"(X)) /* GCC would load W once for each row, and keep products in memory */
#else
#define IN_REGISTER(X)
#endif
static inline __attribute__((always_inline)) floats added(floats sums, const char *x, floats line, int limbs) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    const ints same = four - (ints){0};
#ifdef HAS_FOURS
    if (limbs == 1) return (floats)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)same, (__m512i)line);
#elif defined(HAS_PAIRS)
    if (limbs == 1) {
        const __m256i pairs = _mm256_maddubs_epi16((__m256i)same, (__m256i)line);
        sums = (floats)((ints)sums + (ints)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
        IN_REGISTER(sums);
        return sums;
    }
#endif
#ifdef HAS_BF16_PRODUCTS
    if (limbs == 0) return (floats)_mm512_dpbf16_ps((__m512)sums, (__m512bh)same, (__m512bh)line);
#endif
    if (limbs == FP32) sums += (floats)same * line;
    return sums;
}

/* Adds up `number` rows by 32 columns over a stretch of the inner numbers, which fits into registers. */
static inline __attribute__((always_inline)) void some_rows(const char *rows, const char *weight, long next,
                                                            long stretch, int limbs, const long number, float *sums) {
    floats made[AT_ONCE][PARTS];
    for (long i = 0; i < number; i++)
        for (long part = 0; part < PARTS; part++) made[i][part] = (floats){0};
    for (const char *end = weight + stretch; weight < end; weight += BYTES, rows += BYTES)
#pragma GCC unroll 16
        for (long line = 0; line < TILE; line++) {
            floats w[PARTS];
            for (long part = 0, column = 0; part < PARTS; part++, column += LANES) {
                w[part] = load_float((const float *)(weight + column / TILE * next + line * LINE + column % TILE * 4));
                IN_REGISTER(w[part]);
            }
            for (long i = 0; i < number; i++)
                for (long part = 0; part < PARTS; part++)
                    made[i][part] = added(made[i][part], rows + i * LINE + 4 * line, w[part], limbs);
        }
    for (long i = 0; i < number; i++)
        for (long part = 0; part < PARTS; part++) {
            float *to = sums + i * BLOCK + part * LANES;
            if (limbs == 1) *(ints *)to += (ints)made[i][part];
            else *(floats *)to += made[i][part];
        }
}

/* The sums of a block of up to 32 rows by 32 columns. Numbers are added up by the stretch, which keeps errors small. */
static inline __attribute__((always_inline)) void block(const struct rows *all_rows, long row, const char *weight,
                                                        const char *ahead, int limbs, float *sums) {
    (void)ahead;
    const long end = at_most(all_rows->count, row + BLOCK), next = all_rows->next;
    memset(sums, 0, rounded_up(end - row, AT_ONCE) * BLOCK * sizeof(float));
    for (long i = row; i < end; i += AT_ONCE, sums += AT_ONCE * BLOCK)
        for (long k = 0; k < next; k += STRETCH) {
            const char *rows = all_rows->tiles + i / TILE * next + i % TILE * LINE + k;
            const long stretch = at_most(next - k, STRETCH);
            if (end - i > AT_ONCE / 2) some_rows(rows, weight + k, next, stretch, limbs, AT_ONCE, sums);
            else some_rows(rows, weight + k, next, stretch, limbs, AT_ONCE / 2, sums);
        }
}
#endif

/* The result of a block's sums: scaled, with the bias, cut off below zero. */
static inline void finish(const float *sums, const float *row_scales, const struct linear *by, long column, int relu,
                          long rows, void *out, int out_is_bf16) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < BLOCK; j += LANES) {
            floats y = load_float(sums + i * BLOCK + j);
            if (by->limbs > 0) {
                ints whole = *(const ints *)(sums + i * BLOCK + j);
                if (OFFSET) whole -= OFFSET * *(const ints *)(by->sums + column + j);
                y = __builtin_convertvector(whole, floats);
                y *= row_scales[i] * load_float(by->scales + column + j);
            }
            if (by->bias) y += load_float(by->bias + column + j);
            if (relu) y = larger(all(0.0f), y); /* in this order, so that NaN stays NaN */
            const long at = i * by->columns + column + j;
            if (out_is_bf16) store_bf16((bf16 *)out + at, y);
            else store_float((float *)out + at, y);
        }
}

static void multiply(const struct rows *rows, const struct linear *by, int relu, char *out, int out_is_bf16) {
    float sums[BLOCK * BLOCK] __attribute__((aligned(LINE)));
    const long line = by->columns * (out_is_bf16 ? sizeof(bf16) : sizeof(float));
    for (long column = 0; column < by->columns; column += BLOCK) {
        const char *weight = (const char *)by->weight + column / TILE * rows->next;
        const char *ahead = column + BLOCK < by->columns ? weight + 2 * rows->next : 0;
        for (long row = 0; row < rows->count; row += BLOCK) {
            if (by->limbs == 1) block(rows, row, weight, ahead, 1, sums);
            else if (by->limbs == 0) block(rows, row, weight, ahead, 0, sums);
            else block(rows, row, weight, ahead, FP32, sums);
            finish(sums, rows->scales + row, by, column, relu, at_most(rows->count - row, BLOCK), out + row * line,
                   out_is_bf16);
        }
    }
}

/* Whether there was memory for it. */
int linear_in_tiles(const void *x, int x_is_bf16, long rows, const struct linear *by, int relu, void *out,
                    int out_is_bf16) {
    if (!rows) return 1;
#ifdef HAS_TILES
    if (by->limbs > 1) return linear_in_limbs(x, x_is_bf16, rows, by, relu, out, out_is_bf16);
#endif
    const long size = by->limbs == FP32 ? sizeof(float) : by->limbs ? 1 : sizeof(bf16);
    const long at_once = rows_at_once(rows), next = by->inner * size * TILE;
    char *memory = aligned_alloc(LINE, at_once / TILE * next + at_once * sizeof(float));
    if (!memory) return 0;
    struct rows some = {.tiles = memory, .scales = (float *)(memory + at_once / TILE * next), .next = next};
#ifdef HAS_TILES
    set_tile_shapes();
#endif
    for (long row = 0; row < rows; row += at_once) {
        some.count = at_most(rows - row, at_once);
        for (long i = 0; i < rounded_up(some.count, FILLED); i++) {
            const long start = (row + at_most(i, some.count - 1)) * by->inner; /* any row fills them up */
            char *to = memory + i / TILE * next + i % TILE * LINE;
            if (by->limbs == FP32) plain_row(x, x_is_bf16, start, by->inner, to);
            else if (by->limbs) some.scales[i] = quantised_row(x, x_is_bf16, start, by->inner, to);
            else rounded_row(x, x_is_bf16, start, by->inner, to);
        }
        __asm__ volatile("" ::: "memory"); /* the compiler does not know that tiles are loaded from there */
        multiply(&some, by, relu, (char *)out + row * by->columns * (out_is_bf16 ? sizeof(bf16) : sizeof(float)),
                 out_is_bf16);
    }
#ifdef HAS_TILES
    _tile_release();
#endif
    free(memory);
    return 1;
}
