/* x Wᵀ + b exact to the row's largest number, in int8 tiles, which processors multiply twice as fast as bf16.

   A row of x becomes whole numbers of up to 24 bits, the largest 8,355,000, and each of them three limbs of
   eight bits: d₀ 2¹⁶ + d₁ 2⁸ + d₂ with -128 <= d <= 127. Each row of W was split in the same way, with its own
   scale. Of the nine products of limbs all but that of the last two, 2⁻³² of the first, are added up as whole numbers,
   without errors, in one sum for each power of 2⁸: four sums. Only rounding to whole numbers loses anything: at most
   2⁻²⁴ of the largest number of the row of x or of W. Adding up in fp32 loses about as much, unless the largest numbers
   of x meet weights that are as much smaller than the others: 10⁶ times 10⁻⁶ beside ones is 3 % wrong here. Where the
   weights look so, they are left to others: see tiled_linear.py. (Ootomo, Ozaki and Yokota, 2024, split float64 so.) */

#include "tiles.h"

#ifdef HAS_TILES
#include <stdlib.h>

#define LIMBS 3
#define STEP (LIMBS * BYTES) /* bytes of 64 inner numbers of 16 rows or columns */
#define LEVELS 4
#define LARGEST 8355000.0f /* below 127 (2^16 + 2^8 + 1) even after rounding; tiled_linear.py takes the same for W */
#define STRETCH 512     /* inner numbers are added up at once and share a row's scale: their tiles of W stay cached */
#define APART (4 * LINE)

typedef int32_t level[TILE * TILE] __attribute__((aligned(LINE)));

/* Some numbers of a row in limbs, and the value of one unit of the last limb. */
static float limbs_of_row(const void *x, int is_bf16, long start, long inner, char *to) {
    floats peak = all(1e-30f), doubt = {0};
    for (long i = 0; i < inner; i += LANES) {
        floats given = load(x, is_bf16, start + i);
        peak = larger(peak, larger(given, -given));
        doubt += given * 0.0f;
    }
    const float limit = largest(peak), by = LARGEST / limit;
    for (long i = 0; i < inner; i += LANES) {
        char *line = to + i / LINE * STEP + i % LINE;
        ints whole = (ints)_mm512_cvtps_epi32((__m512)(load(x, is_bf16, start + i) * by));
        for (long limb = LIMBS - 1; limb >= 0; limb--) {
            __m128i last = _mm512_cvtepi32_epi8((__m512i)whole); /* the lowest eight bits, of which one is the sign's */
            *(bytes *)(line + limb * BYTES) = (bytes)last;
            whole = (whole - (ints)_mm512_cvtepi8_epi32(last)) >> 8;
        }
    }
    return limit / LARGEST + sum(doubt); /* NaN if one of them is */
}

/* Sums of 16 rows by 16 columns over a stretch of the inner numbers, and where their result goes. */
struct sums {
    level *levels;
    const float *row_scales, *scales, *bias;
    float *partial; /* the sum of earlier stretches */
    char *out;
    long count, columns;
    int first, last, relu, out_is_bf16;
};

static inline floats at_level(const struct sums *of, long level, long row) {
    return __builtin_convertvector(*(const ints *)(of->levels[level] + row * TILE), floats);
}

static inline void finish_row(const struct sums *of, long row) {
    const float limb = 1.0f / 256;
    floats y = at_level(of, 2, row) + at_level(of, 3, row) * limb;
    y = at_level(of, 0, row) + (at_level(of, 1, row) + y * limb) * limb;
    y *= (of->row_scales[row] * 65536.0f) * (load_float(of->scales) * 65536.0f); /* the first limbs' 2^32 */
    float *partial = of->partial + row * TILE;
    if (!of->first) y += load_float(partial);
    if (!of->last) {
        store_float(partial, y);
        return;
    }
    if (of->bias) y += load_float(of->bias);
    if (of->relu) y = larger(all(0.0f), y); /* in this order, so that NaN stays NaN */
    if (of->out_is_bf16) store_bf16((bf16 *)of->out + row * of->columns, y);
    else store_float((float *)of->out + row * of->columns, y);
}

/* Compiled once, so that a row's result does not depend on the position of its block. */
static __attribute__((noinline)) void finish(const struct sums *of, long from, long to) {
    for (long row = from; row < at_most(to, of->count); row++) finish_row(of, row);
}

/* The sums of limbs of 16 rows and of 16 columns; while the tiles are busy, the sums of the block before are finished,
   and some lines of W fetched for the columns after these, at `ahead`: those this block of `blocks` has to fetch. */
static inline void add_up(const char *rows, const char *weight, long length, const char *ahead, long turn, long blocks,
                          const struct sums *before, level *levels) {
    const long finished = (TILE * STEP + length - 1) / length;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (long k = 0, row = 0; k < length; k += STEP, row += finished, rows += STEP, weight += STEP) {
        for (long at = k + turn * APART; ahead && at < k + STEP; at += blocks * APART)
            _mm_prefetch(ahead + at, _MM_HINT_T0);
        _tile_loadd(4, rows, LINE);
        _tile_loadd(6, weight, LINE);
        _tile_dpbssd(0, 4, 6);
        _tile_loadd(5, rows + BYTES, LINE);
        _tile_dpbssd(1, 5, 6);
        _tile_loadd(7, weight + BYTES, LINE);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 7);
        _tile_loadd(6, weight + 2 * BYTES, LINE);
        _tile_dpbssd(2, 4, 6);
        _tile_dpbssd(3, 5, 6);
        _tile_loadd(4, rows + 2 * BYTES, LINE);
        _tile_dpbssd(3, 4, 7);
        _tile_loadd(6, weight, LINE);
        _tile_dpbssd(2, 4, 6);
        finish(before, row, row + finished);
    }
    _tile_stored(0, levels[0], LINE);
    _tile_stored(1, levels[1], LINE);
    _tile_stored(2, levels[2], LINE);
    _tile_stored(3, levels[3], LINE);
}

/* Rows in limbs, and memory for their results. */
struct rows {
    const char *limbs;
    float *scales, *partial;
    long count, at_once;
};

static void multiply(const struct rows *rows, const struct linear *by, int relu, char *out, int out_is_bf16) {
    const long next = by->inner / LINE * STEP, blocks = (rows->count + TILE - 1) / TILE;
    level levels[2][LEVELS];
    struct sums before = {0};
    int turn = 0;
    for (long column = 0; column < by->columns; column += TILE)
        for (long inner = 0; inner < by->inner; inner += STRETCH) {
            const long start = inner / LINE * STEP, length = at_most(by->inner - inner, STRETCH) / LINE * STEP;
            const char *weight = (const char *)by->weight + column / TILE * next + start;
            const int last = inner + STRETCH >= by->inner;
            const char *ahead = last && column + TILE >= by->columns ? 0 : weight + length;
            for (long block = 0; block < blocks; block++, turn = !turn) {
                const char *limbs = rows->limbs + block * next + start;
                add_up(limbs, weight, length, ahead, block, blocks, &before, levels[turn]);
                before = (struct sums){
                    .levels = levels[turn], .partial = rows->partial + block * TILE * TILE,
                    .row_scales = rows->scales + inner / STRETCH * rows->at_once + block * TILE,
                    .scales = by->scales + column, .bias = by->bias ? by->bias + column : 0,
                    .out = out + (block * TILE * by->columns + column) * (out_is_bf16 ? sizeof(bf16) : sizeof(float)),
                    .count = rows->count - block * TILE, .columns = by->columns,
                    .first = !inner, .last = last, .relu = relu, .out_is_bf16 = out_is_bf16,
                };
                before.count = at_most(before.count, TILE);
            }
        }
    finish(&before, 0, TILE);
}

/* Whether there was memory for it. */
int linear_in_limbs(const void *x, int x_is_bf16, long rows, const struct linear *by, int relu, void *out,
                     int out_is_bf16) {
    const long at_once = rows_at_once(rows), stretches = (by->inner + STRETCH - 1) / STRETCH;
    const long next = by->inner / LINE * STEP, tiles = at_once / TILE * next;
    char *memory = aligned_alloc(LINE, tiles + (stretches + TILE) * at_once * sizeof(float));
    if (!memory) return 0;
    struct rows some = {.limbs = memory, .scales = (float *)(memory + tiles), .at_once = at_once};
    some.partial = some.scales + stretches * at_once;
    set_tile_shapes();
    for (long row = 0; row < rows; row += at_once) {
        some.count = at_most(rows - row, at_once);
        for (long i = 0; i < rounded_up(some.count, TILE); i++)
            for (long inner = 0; inner < by->inner; inner += STRETCH) {
                const long start = (row + at_most(i, some.count - 1)) * by->inner + inner; /* any row fills up a tile */
                char *to = memory + i / TILE * next + inner / LINE * STEP + i % TILE * LINE;
                some.scales[inner / STRETCH * at_once + i] =
                    limbs_of_row(x, x_is_bf16, start, at_most(by->inner - inner, STRETCH), to);
            }
        __asm__ volatile("" ::: "memory"); /* the compiler does not know that tiles are loaded from there */
        multiply(&some, by, relu, (char *)out + row * by->columns * (out_is_bf16 ? sizeof(bf16) : sizeof(float)),
                 out_is_bf16);
    }
    _tile_release();
    free(memory);
    return 1;
}
#endif
