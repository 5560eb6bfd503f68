/* x Wᵀ + b in the tiles of a processor with AMX, in one of three ways:

   - bf16 factors, fp32 sums;
   - with `rest`, each factor is the sum of a high and a low bf16 number, and the products high high, high low and low
     high are added, which leaves errors of about 2^-16 of the largest;
   - with `scales`, int8 factors and whole sums: each row of x is scaled to -127 to 127 by its largest number, each row
     of W was so by a scale of its own.

   W lies in columns/16 x inner/(numbers of a row of a tile) tiles, each of 16 times 16 columns of four bytes: two places
   of bf16 numbers or four of int8 ones. `columns` and the bytes of `inner` numbers are multiples of 32 and 64. */

#include "kernels.h"

#ifdef __AMX_INT8__
#include <immintrin.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILE 16  /* rows of a tile, and columns of sums */
#define LINE 64  /* bytes of a row of a tile */
#define BLOCK (2 * TILE)

typedef int8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));

int tiles_permitted(void) { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; } /* ARCH_REQ_XCOMP_PERM, tile data */

static void set_tile_shapes(void) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shapes = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) shapes.bytes[tile] = LINE, shapes.rows[tile] = TILE;
    __asm__ volatile("" ::"r"(&shapes) : "memory"); /* some compilers do not know that all of it is read */
    _tile_loadconfig(&shapes);
}

static inline floats load(const void *x, int is_bf16, long at) {
    return is_bf16 ? load_bf16((const bf16 *)x + at) : load_float((const float *)x + at);
}

/* A row as bf16 numbers; `low` is what they leave of fp32. */
static void split_row(const void *x, int is_bf16, long start, long inner, bf16 *high, bf16 *low) {
    for (long i = 0; i < inner; i += LANES) {
        floats whole = load(x, is_bf16, start + i);
        store_bf16(high + i, whole);
        if (low) store_bf16(low + i, whole - load_bf16(high + i));
    }
}

/* A row as whole numbers from -127 to 127, and what each of them counts. */
static float quantised_row(const void *x, int is_bf16, long start, long inner, int8_t *to) {
    const floats shift = all(12582912.0f);
    floats most = all(1e-30f), doubt = {0};
    for (long i = 0; i < inner; i += LANES) {
        floats given = load(x, is_bf16, start + i);
        most = larger(most, larger(given, -given));
        doubt += given * 0.0f;
    }
    float scale = largest(most) / 127.0f + sum(doubt); /* not a number, if one of them is none */
    for (long i = 0; i < inner; i += LANES) {
        floats whole = (load(x, is_bf16, start + i) * (1.0f / scale) + shift) - shift;
        *(bytes *)(to + i) = __builtin_convertvector(__builtin_convertvector(whole, ints), bytes);
    }
    return scale;
}

#define LOAD_ROWS(FROM)                                                                                               \
    _tile_loadd(4, (FROM) + k, stride);                                                                               \
    if (two) _tile_loadd(5, (FROM) + k + TILE * stride, stride);
#define LOAD_COLUMNS(FROM)                                                                                            \
    _tile_loadd(6, (FROM) + k * TILE, LINE);                                                                          \
    _tile_loadd(7, (FROM) + (k + stride) * TILE, LINE);
#define MULTIPLY(OPERATION)                                                                                           \
    OPERATION(0, 4, 6);                                                                                               \
    OPERATION(1, 4, 7);                                                                                               \
    if (two) {                                                                                                        \
        OPERATION(2, 5, 6);                                                                                           \
        OPERATION(3, 5, 7);                                                                                           \
    }

/* The sums of a block of 32 rows (or 16) by 32 columns; `stride` is the bytes of a row of x. */
static inline void block(const char *high, const char *low, long stride, int two, int whole, const char *weight,
                         const char *rest, void *sums) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (long k = 0; k < stride; k += LINE) {
        LOAD_ROWS(high)
        LOAD_COLUMNS(weight)
        if (whole) {
            MULTIPLY(_tile_dpbssd)
            continue;
        }
        MULTIPLY(_tile_dpbf16ps)
        if (rest) {
            LOAD_COLUMNS(rest)
            MULTIPLY(_tile_dpbf16ps)
            LOAD_ROWS(low)
            LOAD_COLUMNS(weight)
            MULTIPLY(_tile_dpbf16ps)
        }
    }
    const long line = BLOCK * sizeof(float);
    _tile_stored(0, sums, line);
    _tile_stored(1, (char *)sums + TILE * sizeof(float), line);
    if (two) {
        _tile_stored(2, (char *)sums + TILE * line, line);
        _tile_stored(3, (char *)sums + TILE * line + TILE * sizeof(float), line);
    }
}

/* What the sums of a block become: scaled, with the bias, cut off below zero. */
static inline void finish(const float *sums, const float *row_scales, const struct linear *by, long column, int relu,
                          long rows, void *out, int out_is_bf16) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < BLOCK; j += LANES) {
            floats y = load_float(sums + i * BLOCK + j);
            if (by->scales) {
                y = __builtin_convertvector(*(const ints *)(sums + i * BLOCK + j), floats);
                y *= row_scales[i] * load_float(by->scales + column + j);
            }
            if (by->bias) y += load_float(by->bias + column + j);
            if (relu) y = larger(all(0.0f), y); /* in this order, so that what is not a number stays so */
            const long at = i * by->columns + column + j;
            if (out_is_bf16) store_bf16((bf16 *)out + at, y);
            else store_float((float *)out + at, y);
        }
}

/* Whether there was memory for it. */
int linear_in_tiles(const void *x, int x_is_bf16, long rows, const struct linear *by, int relu, void *out,
                    int out_is_bf16) {
    if (!rows) return 1;
    const long padded = (rows + TILE - 1) / TILE * TILE, stride = by->inner * (by->scales ? 1 : sizeof(bf16));
    char *high = aligned_alloc(LINE, padded * stride * (by->rest ? 2 : 1));
    float *row_scales = malloc(padded * sizeof(float));
    if (!high || !row_scales) {
        free(high), free(row_scales);
        return 0;
    }
    char *low = by->rest ? high + padded * stride : 0;
    for (long row = 0; row < rows; row++) {
        const long start = row * by->inner;
        if (by->scales)
            row_scales[row] = quantised_row(x, x_is_bf16, start, by->inner, (int8_t *)high + row * stride);
        else
            split_row(x, x_is_bf16, start, by->inner, (bf16 *)(high + row * stride),
                      low ? (bf16 *)(low + row * stride) : 0);
    }
    memset(high + rows * stride, 0, (padded - rows) * stride);
    if (low) memset(low + rows * stride, 0, (padded - rows) * stride);
    __asm__ volatile("" ::: "memory"); /* the compiler does not know that tiles are loaded from there */
    set_tile_shapes();
    float sums[BLOCK * BLOCK] __attribute__((aligned(64)));
    const long line = by->columns * (out_is_bf16 ? sizeof(bf16) : sizeof(float));
    for (long column = 0; column < by->columns; column += BLOCK) {
        const char *weight = (const char *)by->weight + column * stride;
        const char *rest = by->rest ? (const char *)by->rest + column * stride : 0;
        for (long row = 0; row < rows; row += BLOCK) {
            block(high + row * stride, low ? low + row * stride : 0, stride, padded - row > TILE, by->scales != 0,
                  weight, rest, sums);
            const long filled = rows - row < BLOCK ? rows - row : BLOCK;
            finish(sums, row_scales + row, by, column, relu, filled, (char *)out + row * line, out_is_bf16);
        }
    }
    _tile_release();
    free(high), free(row_scales);
    return 1;
}
#else
int tiles_permitted(void) { return 0; }
int linear_in_tiles(const void *x, int x_is_bf16, long rows, const struct linear *by, int relu, void *out,
                    int out_is_bf16) {
    (void)x, (void)x_is_bf16, (void)rows, (void)by, (void)relu, (void)out, (void)out_is_bf16;
    return 0;
}
#endif
