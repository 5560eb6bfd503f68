/* What the ways to multiply prepacked matrices share.

   A tile has 16 lines of 64 bytes. Those of x are 16 rows by as many inner numbers as fill them; those of W are 16
   columns by four bytes: one fp32 number, two bf16 ones or four int8 ones. A processor with AMX multiplies whole tiles,
   others a line of W by four bytes of x. Tiles follow each other as they are needed: for 16
   rows or columns the limbs of the first inner numbers, the limbs of the next, ... `columns` and the bytes of `inner`
   numbers are multiples of 32 and 64. */

#ifndef TILES_H
#define TILES_H

#include "kernels.h"

#if defined(__AMX_INT8__) && defined(__AMX_BF16__) && defined(__AVX512F__)
#define HAS_TILES
#endif
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define TILE 16  /* lines of a tile, and columns of sums */
#define LINE 64  /* bytes of a line of a tile */
#define BYTES (TILE * LINE)
#define ROWS 128 /* at most are multiplied with W at once */

typedef int8_t bytes __attribute__((vector_size(LANES), aligned(1), may_alias));

#ifdef HAS_TILES
static inline void set_tile_shapes(void) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shapes = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) shapes.bytes[tile] = LINE, shapes.rows[tile] = TILE;
    __asm__ volatile("" ::"r"(&shapes) : "memory"); /* some compilers do not know that all of it is read */
    _tile_loadconfig(&shapes);
}
#endif

static inline floats load(const void *x, int is_bf16, long at) {
    return is_bf16 ? load_bf16((const bf16 *)x + at) : load_float((const float *)x + at);
}

static inline long at_most(long x, long most) { return x < most ? x : most; }
static inline long rounded_up(long x, long to) { return (x + to - 1) / to * to; }

/* Rows at a time, so that every time there are about as many. */
static inline long rows_at_once(long rows) { return rounded_up((rows - 1) / ((rows + ROWS - 1) / ROWS) + 1, TILE); }

int linear_in_limbs(const void *x, int x_is_bf16, long rows, const struct linear *by, int relu, void *out,
                     int out_is_bf16);
#endif
