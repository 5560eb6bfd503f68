/* x Wᵀ + b in the tiles of a processor with AMX, in one of two ways:

   - each factor is the sum of `parts` bf16 numbers; the products of the first with all parts, of the second with all
     but the last, and so on, are added up in fp32. One part rounds factors to bf16, two leave errors of about 2^-16 of
     the largest, three have the 24 bits of fp32 and its errors;
   - with `scales`, int8 factors and whole sums: each row of x is scaled to -127 to 127 by its largest number, each row
     of W was so by a scale of its own.

   A tile has 16 lines of 64 bytes. Those of x are 16 rows by as many inner numbers as fill them; those of W are 16
   columns by four bytes, two places of bf16 numbers or four of int8. Tiles lie as they are needed: for 16 rows or
   columns the parts of the first inner numbers, the parts of the next, ... `columns` and the bytes of `inner` numbers
   are multiples of 32 and 64. */

#include "kernels.h"

#if defined(__AMX_INT8__) && defined(__AMX_BF16__)
#include <immintrin.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILE 16  /* lines of a tile, and columns of sums */
#define LINE 64  /* bytes of a line of a tile */
#define BYTES (TILE * LINE)
#define BLOCK (2 * TILE)
#define ROWS 128         /* at most are multiplied with W at once, */
#define CHUNK (3 << 17)  /* in bf16 tiles of so many bytes at most, which stay in the cache while W passes by */

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

/* A row as the sum of bf16 numbers, each the nearest to what those before it leave; `to` is its first line. Of
   infinity, or what bf16 rounds to it, comes what is not a number. */
static void split_row(const void *x, int is_bf16, long start, long inner, long parts, char *to) {
    for (long i = 0; i < inner; i += LANES) {
        floats left = load(x, is_bf16, start + i);
        char *line = to + i / (2 * LANES) * parts * BYTES + i % (2 * LANES) * sizeof(bf16);
        for (long part = 0; part < parts; part++, line += BYTES) {
            store_bf16((bf16 *)line, left);
            left -= load_bf16((bf16 *)line);
        }
    }
}

/* A row as whole numbers from -127 to 127, and what each of them counts. */
static float quantised_row(const void *x, int is_bf16, long start, long inner, char *to) {
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
        *(bytes *)(to + i / LINE * BYTES + i % LINE) =
            __builtin_convertvector(__builtin_convertvector(whole, ints), bytes);
    }
    return scale;
}

#define LOAD_ROWS(PART)                                                                                               \
    _tile_loadd(4, rows + (PART) * BYTES, LINE);                                                                      \
    if (two) _tile_loadd(5, rows + (PART) * BYTES + next_rows, LINE);
#define LOAD_COLUMNS(PART)                                                                                            \
    _tile_loadd(6, weight + (PART) * BYTES, LINE);                                                                    \
    _tile_loadd(7, weight + (PART) * BYTES + next_columns, LINE);
#define MULTIPLY(OPERATION)                                                                                           \
    OPERATION(0, 4, 6);                                                                                               \
    OPERATION(1, 4, 7);                                                                                               \
    if (two) {                                                                                                        \
        OPERATION(2, 5, 6);                                                                                           \
        OPERATION(3, 5, 7);                                                                                           \
    }
#define FOUR(OPERATION)                                                                                               \
    OPERATION(0, sums, line);                                                                                         \
    OPERATION(1, (char *)sums + TILE * sizeof(float), line);                                                          \
    if (two) {                                                                                                        \
        OPERATION(2, (char *)sums + TILE * line, line);                                                               \
        OPERATION(3, (char *)sums + TILE * line + TILE * sizeof(float), line);                                        \
    }
#define ZERO(TILE_, FROM, STRIDE) _tile_zero(TILE_)

/* Some inner numbers of some rows times all columns; the sums of several such are kept until the last of them. */
struct stretch {
    const char *rows;
    long start, length, count; /* of the inner numbers, in bytes of the tiles for 16 rows or columns; of the rows */
    float *kept;
    int first, last;
};

/* The sums of a block of 32 rows (or 16) by 32 columns; `next_columns` is the bytes from 16 columns to the next. Beside
   them W is fetched for the columns after these, at `ahead`: a line of each tile, by the blocks of rows in turn, after
   which the processor fetches the others by itself; all lines where there is one block, as memory sets the pace. */
static inline __attribute__((always_inline)) void block(const struct stretch *part, long row, const char *weight,
                                                        const char *ahead, long next_columns, int parts, int whole,
                                                        float *sums) {
    const long line = BLOCK * sizeof(float), next_rows = part->length, blocks = (part->count + BLOCK - 1) / BLOCK;
    const long apart = blocks > 1 ? blocks * BYTES : LINE;
    const int two = part->count - row > TILE;
    const char *rows = part->rows + row / TILE * next_rows;
    if (part->first) {
        FOUR(ZERO)
    } else {
        FOUR(_tile_loadd)
    }
    for (long k = 0; k < part->length; k += parts * BYTES, rows += parts * BYTES, weight += parts * BYTES) {
        for (long at = k + row / BLOCK * BYTES; ahead && at < k + parts * BYTES; at += apart) {
            _mm_prefetch(ahead + at, _MM_HINT_T0);
            _mm_prefetch(ahead + next_columns + at, _MM_HINT_T0);
        }
        if (parts > 2) {
            LOAD_ROWS(2)
            LOAD_COLUMNS(0)
            MULTIPLY(_tile_dpbf16ps)
            LOAD_ROWS(1)
            MULTIPLY(_tile_dpbf16ps)
            LOAD_COLUMNS(1)
            MULTIPLY(_tile_dpbf16ps)
            LOAD_ROWS(0)
            MULTIPLY(_tile_dpbf16ps)
            LOAD_COLUMNS(2)
            MULTIPLY(_tile_dpbf16ps)
            LOAD_COLUMNS(0)
            MULTIPLY(_tile_dpbf16ps)
            continue;
        }
        if (parts > 1) {
            LOAD_ROWS(1)
            LOAD_COLUMNS(0)
            MULTIPLY(_tile_dpbf16ps)
            LOAD_ROWS(0)
            MULTIPLY(_tile_dpbf16ps)
            LOAD_COLUMNS(1)
            MULTIPLY(_tile_dpbf16ps)
            continue;
        }
        LOAD_ROWS(0)
        LOAD_COLUMNS(0)
        if (whole) {
            MULTIPLY(_tile_dpbssd)
        } else {
            MULTIPLY(_tile_dpbf16ps)
        }
    }
    FOUR(_tile_stored)
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

static void multiply(const struct stretch *part, const struct linear *by, long next_columns, const float *row_scales,
                     int relu, char *out, int out_is_bf16) {
    float once[BLOCK * BLOCK] __attribute__((aligned(LINE))), *sums = part->kept ? part->kept : once;
    const long line = by->columns * (out_is_bf16 ? sizeof(bf16) : sizeof(float));
    for (long column = 0; column < by->columns; column += BLOCK) {
        const char *weight = (const char *)by->weight + column / TILE * next_columns + part->start;
        const char *ahead = column + BLOCK < by->columns ? weight + 2 * next_columns : 0;
        for (long row = 0; row < part->count; row += BLOCK, sums += part->kept ? BLOCK * BLOCK : 0) {
            if (by->scales) block(part, row, weight, ahead, next_columns, 1, 1, sums);
            else if (by->parts == 1) block(part, row, weight, ahead, next_columns, 1, 0, sums);
            else if (by->parts == 2) block(part, row, weight, ahead, next_columns, 2, 0, sums);
            else block(part, row, weight, ahead, next_columns, 3, 0, sums);
            if (!part->last) continue;
            const long filled = part->count - row < BLOCK ? part->count - row : BLOCK;
            finish(sums, row_scales + row, by, column, relu, filled, out + row * line, out_is_bf16);
        }
    }
}

static inline long at_most(long x, long most) { return x < most ? x : most; }
static inline long rounded_up(long x, long to) { return (x + to - 1) / to * to; }

/* Whether there was memory for it. */
int linear_in_tiles(const void *x, int x_is_bf16, long rows, const struct linear *by, int relu, void *out,
                    int out_is_bf16) {
    if (!rows) return 1;
    const long depth = by->scales ? LINE : LINE / sizeof(bf16); /* inner numbers of a tile, */
    const long step = by->parts * BYTES;                         /* for which 16 rows or columns take so many bytes */
    const long next_columns = by->inner / depth * step;
    const long at_once = rounded_up((rows - 1) / ((rows + ROWS - 1) / ROWS) + 1, TILE), tiles_high = at_once / TILE;
    const long numbers = by->scales ? by->inner : at_most(by->inner, CHUNK / (tiles_high * step) * depth);
    const long tiles = tiles_high * (numbers / depth) * step, scales = rounded_up(at_once * sizeof(float), LINE);
    const long kept = numbers < by->inner ? rounded_up(at_once, BLOCK) * by->columns * sizeof(float) : 0;
    char *memory = aligned_alloc(LINE, tiles + scales + kept);
    if (!memory) return 0;
    float *row_scales = (float *)(memory + tiles);
    set_tile_shapes();
    for (long row = 0; row < rows; row += at_once)
        for (long inner = 0; inner < by->inner; inner += numbers) {
            const long count = at_most(rows - row, at_once), some = at_most(by->inner - inner, numbers);
            const struct stretch part = {.rows = memory, .start = inner / depth * step, .length = some / depth * step,
                                         .count = count, .kept = kept ? (float *)(memory + tiles + scales) : 0,
                                         .first = !inner, .last = inner + some == by->inner};
            for (long i = 0; i < rounded_up(count, TILE); i++) {
                const long start = (row + at_most(i, count - 1)) * by->inner + inner; /* any row fills up a tile */
                char *to = memory + i / TILE * part.length + i % TILE * LINE;
                if (by->scales) row_scales[i] = quantised_row(x, x_is_bf16, start, some, to);
                else split_row(x, x_is_bf16, start, some, by->parts, to);
            }
            __asm__ volatile("" ::: "memory"); /* the compiler does not know that tiles are loaded from there */
            multiply(&part, by, next_columns, row_scales, relu,
                     (char *)out + row * by->columns * (out_is_bf16 ? sizeof(bf16) : sizeof(float)), out_is_bf16);
        }
    _tile_release();
    free(memory);
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
