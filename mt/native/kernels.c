/* Attention of the few rows of a beam, and the choice of their best extensions.

   Every function has a twin of torch operations in mt/engine or mt/search, which is taken where no C compiler is, and
   a test that holds the two together. Vectors of 16 floats are those of GCC and Clang; a processor with shorter ones
   gets several instructions for each. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 16
#define CHUNK (8 * LANES)
#define MOST 16 /* vectors in a head: d_k is 256 at most */

typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t halves __attribute__((vector_size(32), aligned(2), may_alias));
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
static inline void store_bf16(bf16 *to, floats x) { /* to the nearest, of two the even one */
    words bits = (words)x;
    *(halves *)to = __builtin_convertvector((bits + 0x7fff + ((bits >> 16) & 1)) >> 16, halves);
}

static inline float sum(floats x) {
    floats8 low, high;
    memcpy(&low, &x, 32), memcpy(&high, (char *)&x + 32, 32);
    low += high;
    floats4 first, second;
    memcpy(&first, &low, 16), memcpy(&second, (char *)&low + 16, 16);
    first += second;
    return (first[0] + first[2]) + (first[1] + first[3]);
}

static inline float largest(floats x) {
    floats8 low, high;
    memcpy(&low, &x, 32), memcpy(&high, (char *)&x + 32, 32);
    low = LARGER(low, high, ints8);
    floats4 first, second;
    memcpy(&first, &low, 16), memcpy(&second, (char *)&low + 16, 16);
    first = LARGER(first, second, ints4);
    float one = first[0] > first[2] ? first[0] : first[2], other = first[1] > first[3] ? first[1] : first[3];
    return one > other ? one : other;
}

/* e^x for x <= 0: 2^n e^r with |r| <= ln 2 / 2, and Taylor's series to the seventh power for e^r. */
static inline floats exponential(floats x) {
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    x = larger(all(-87.0f), x); /* in this order, so that what is not a number stays so */
    floats n = (x * 1.44269504f + shift) - shift;
    floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
    floats series = all(1.0f / 5040);
    series = series * r + 1.0f / 720, series = series * r + 1.0f / 120, series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6, series = series * r + 0.5f, series = series * r + 1.0f, series = series * r + 1.0f;
    return (floats)((ints)series + (__builtin_convertvector(n, ints) << 23));
}

/* Scores become weights that add up to 1; the array is filled up to a multiple of LANES. */
static inline void softmax(float *scores, long count) {
    long padded = (count + LANES - 1) / LANES * LANES;
    for (long i = count; i < padded; i++) scores[i] = -INFINITY;
    floats most = load_float(scores), total = {0};
    for (long i = LANES; i < padded; i += LANES) most = larger(most, load_float(scores + i));
    floats top = all(largest(most));
    for (long i = 0; i < padded; i += LANES) {
        floats weights = exponential(load_float(scores + i) - top);
        store_float(scores + i, weights);
        total += weights;
    }
    floats share = all(1.0f / sum(total));
    for (long i = 0; i < padded; i += LANES) store_float(scores + i, load_float(scores + i) * share);
}

/* Bring memory near that is read soon: a place's keys and values are far apart, and nothing else foretells them. */
static inline void fetch(const void *start, long bytes) {
    for (long at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)start + at);
}

/* Equation (1) for `rows` queries in each of `places`, in every head: `out` is contiguous, places x rows x heads * d_k.

   Row r of place p attends to the `counts[p]` cells that `cells` lists for it, or without `cells` to the first so many.
   A cell of a head is d_k numbers in a row; the strides, in numbers, lead from place to place, head to head, cell to
   cell. With `newest`, each row's own key and value, which stand there d_model and 2 d_model behind its query, are
   first copied to the last of its cells. */
#define DEFINE_ATTEND(NAME, TYPE, LOAD, STORE)                                                                        \
    static inline __attribute__((always_inline)) void NAME##_row(                                                     \
        const TYPE *query, const TYPE *keys, const TYPE *values, long cell_stride, const int32_t *cells, long count,  \
        TYPE *out, const int vectors, float *scores) {                                                                     \
        floats q[MOST], mixed[MOST];                                                                                  \
        float scale = 1.0f / sqrtf((float)(vectors * LANES));                                                         \
        for (int v = 0; v < vectors; v++) q[v] = LOAD(query + v * LANES) * scale, mixed[v] = all(0.0f);              \
        for (long i = 0; i < count; i++) {                                                                            \
            const TYPE *key = keys + (cells ? cells[i] : i) * cell_stride;                                            \
            floats product = q[0] * LOAD(key);                                                                        \
            for (int v = 1; v < vectors; v++) product += q[v] * LOAD(key + v * LANES);                               \
            scores[i] = sum(product);                                                                                 \
        }                                                                                                             \
        if (count) softmax(scores, count);                                                                            \
        for (long i = 0; i < count; i++) {                                                                            \
            const TYPE *value = values + (cells ? cells[i] : i) * cell_stride;                                        \
            for (int v = 0; v < vectors; v++) mixed[v] += scores[i] * LOAD(value + v * LANES);                       \
        }                                                                                                             \
        for (int v = 0; v < vectors; v++) STORE(out + v * LANES, mixed[v]);                                          \
    }                                                                                                                 \
    void NAME(const TYPE *query, long query_stride, TYPE *keys, TYPE *values, long place_stride, long head_stride,    \
              long cell_stride, const int32_t *cells, long cells_of_place, long cells_of_row, const int32_t *counts,  \
              long newest, TYPE *out, long places, long rows, long heads, long d_k) {                                 \
        long d_model = heads * d_k;                                                                                   \
        for (long place = 0; place < places; place++) {                                                               \
            long count = counts[place];                                                                               \
            float scores[count + LANES];                                                                              \
            TYPE *own_keys = keys + place * place_stride, *own_values = values + place * place_stride;                \
            for (long row = 0; newest && count && row < rows; row++) {                                                \
                const TYPE *made = query + (place * rows + row) * query_stride;                                       \
                long cell = cells[place * cells_of_place + row * cells_of_row + count - 1];                           \
                memcpy(own_keys + cell * cell_stride, made + d_model, d_model * sizeof(TYPE));                        \
                memcpy(own_values + cell * cell_stride, made + 2 * d_model, d_model * sizeof(TYPE));                  \
            }                                                                                                         \
            long next = place + 1 < places ? counts[place + 1] : 0;                                                   \
            for (long i = 0; i < next; i++) { /* the first row's; mostly they are the others' too */                  \
                long cell = cells ? cells[(place + 1) * cells_of_place + i] : i;                                      \
                for (long head = 0; head < heads; head++) {                                                           \
                    long start = (place + 1) * place_stride + head * head_stride + cell * cell_stride;                \
                    fetch(keys + start, d_k * sizeof(TYPE)), fetch(values + start, d_k * sizeof(TYPE));               \
                }                                                                                                     \
            }                                                                                                         \
            for (long row = 0; row < rows; row++)                                                                     \
                for (long head = 0; head < heads; head++) {                                                           \
                    const TYPE *asking = query + (place * rows + row) * query_stride + head * d_k;                    \
                    const TYPE *key = own_keys + head * head_stride, *value = own_values + head * head_stride;        \
                    const int32_t *listed = cells ? cells + place * cells_of_place + row * cells_of_row : 0;          \
                    TYPE *to = out + ((place * rows + row) * heads + head) * d_k;                                     \
                    if (d_k == 64)                                                                                    \
                        NAME##_row(asking, key, value, cell_stride, listed, count, to, 4, scores);                    \
                    else                                                                                              \
                        NAME##_row(asking, key, value, cell_stride, listed, count, to, d_k / LANES, scores);          \
                }                                                                                                     \
        }                                                                                                             \
    }

DEFINE_ATTEND(attend_float, float, load_float, store_float)
DEFINE_ATTEND(attend_bf16, bf16, load_bf16, store_bf16)

/* LayerNorm of the sum of two rows, for each of `rows` of them; gains and biases are fp32. */
#define DEFINE_NORM(NAME, TYPE, LOAD, STORE)                                                                          \
    void NAME(const TYPE *residual, const TYPE *added, const float *gain, const float *bias, float epsilon,           \
              TYPE *out, long rows, long d_model) {                                                                   \
        float kept[d_model];                                                                                          \
        for (long row = 0; row < rows; row++, residual += d_model, added += d_model, out += d_model) {                \
            floats total = {0}, squares = {0};                                                                        \
            for (long i = 0; i < d_model; i += LANES) {                                                               \
                floats x = LOAD(residual + i) + LOAD(added + i);                                                      \
                store_float(kept + i, x);                                                                             \
                total += x;                                                                                           \
            }                                                                                                         \
            floats mean = all(sum(total) / d_model);                                                                  \
            for (long i = 0; i < d_model; i += LANES) {                                                               \
                floats x = load_float(kept + i) - mean;                                                               \
                squares += x * x;                                                                                     \
            }                                                                                                         \
            floats scale = all(1.0f / sqrtf(sum(squares) / d_model + epsilon));                                       \
            for (long i = 0; i < d_model; i += LANES)                                                                 \
                STORE(out + i, (load_float(kept + i) - mean) * scale * load_float(gain + i) + load_float(bias + i));  \
        }                                                                                                             \
    }

DEFINE_NORM(norm_of_sum_float, float, load_float, store_float)
DEFINE_NORM(norm_of_sum_bf16, bf16, load_bf16, store_bf16)

/* The normaliser of a row's log-probabilities, log sum e^x as a largest x and a logarithm behind it; and the largest
   of every CHUNK scores. */
static float normaliser(const float *scores, long vocabulary, float *chunk_best, float *top) {
    long whole = vocabulary / CHUNK * CHUNK;
    float best = -INFINITY;
    for (long start = 0; start < whole; start += CHUNK) {
        floats most = load_float(scores + start);
        for (long i = LANES; i < CHUNK; i += LANES) most = larger(most, load_float(scores + start + i));
        float found = largest(most);
        chunk_best[start / CHUNK] = found;
        best = found > best ? found : best;
    }
    if (whole < vocabulary) {
        float found = -INFINITY;
        for (long i = whole; i < vocabulary; i++) found = scores[i] > found ? scores[i] : found;
        chunk_best[whole / CHUNK] = found;
        best = found > best ? found : best;
    }
    floats totals = {0};
    long vectors = vocabulary / LANES * LANES;
    for (long i = 0; i < vectors; i += LANES) totals += exponential(load_float(scores + i) - best);
    double total = sum(totals);
    for (long i = vectors; i < vocabulary; i++) total += expf(scores[i] - best);
    *top = best;
    return (float)log(total);
}

/* For each sentence the `count` best of its slots' extensions by a token, best first; of equals the lower slot, then
   the lower token. What is excluded keeps its share of the probability: `forbidden` tokens, and in the rows of
   `end_only` (if there are any) all but `eos`. Where there are too few, minus infinity and extension 0 stand. */
void best_extensions(const float *logits, const float *totals, long sentences, long slots, long vocabulary,
                     const int64_t *forbidden, long num_forbidden, long eos, const uint8_t *end_only, long count,
                     float *values, int64_t *extensions) {
    float chunk_best[vocabulary / CHUNK + 1];
    for (long sentence = 0; sentence < sentences; sentence++) {
        float *best = values + sentence * count;
        int64_t *which = extensions + sentence * count;
        for (long i = 0; i < count; i++) best[i] = -INFINITY, which[i] = 0;
        for (long slot = 0; slot < slots; slot++) {
            long row = sentence * slots + slot;
            const float *scores = logits + row * vocabulary;
            float top, so_far = totals[row];
            if (!(so_far > -INFINITY)) continue;
            float rest = normaliser(scores, vocabulary, chunk_best, &top);
            int ends = end_only && end_only[row];
            for (long start = 0; start < vocabulary; start += CHUNK) {
                if (!(((chunk_best[start / CHUNK] - top) - rest) + so_far > best[count - 1])) continue;
                long end = start + CHUNK < vocabulary ? start + CHUNK : vocabulary;
                for (long token = start; token < end; token++) {
                    float value = ((scores[token] - top) - rest) + so_far;
                    if (!(value > best[count - 1]) || (ends && token != eos)) continue;
                    int excluded = 0;
                    for (long i = 0; i < num_forbidden; i++) excluded |= forbidden[i] == token;
                    if (excluded) continue;
                    long at = count - 1;
                    for (; at > 0 && value > best[at - 1]; at--) best[at] = best[at - 1], which[at] = which[at - 1];
                    best[at] = value, which[at] = slot * vocabulary + token;
                }
            }
        }
    }
}

/* x Wᵀ + b in the tiles of a processor with AMX: bf16 factors, fp32 sums. In `exact` mode each factor is the sum of a
   high and a low bf16 number, and the products high high, high low and low high are added, which leaves errors of
   about 2^-16 of the largest. */
#ifdef __AMX_BF16__
#include <immintrin.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILE 16       /* rows of a tile, and columns of sums */
#define DEEP 32       /* bf16 numbers of a row of a tile */
#define BLOCK (2 * TILE)

int tiles_permitted(void) { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; } /* ARCH_REQ_XCOMP_PERM, tile data */

static void set_tile_shapes(void) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shapes = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) shapes.bytes[tile] = 64, shapes.rows[tile] = TILE;
    _tile_loadconfig(&shapes);
}

/* Rows as tiles take them: bf16, the last ones filled up with zeros; `low` is what bf16 leaves of fp32. */
static void split(const void *x, int is_bf16, long rows, long padded, long inner, bf16 *high, bf16 *low) {
    for (long row = 0; row < padded; row++, high += inner, low = low ? low + inner : low) {
        if (row >= rows) {
            memset(high, 0, inner * sizeof(bf16));
            if (low) memset(low, 0, inner * sizeof(bf16));
        } else if (is_bf16) {
            memcpy(high, (const bf16 *)x + row * inner, inner * sizeof(bf16));
        } else {
            for (long i = 0; i < inner; i += LANES) {
                floats whole = load_float((const float *)x + row * inner + i);
                store_bf16(high + i, whole);
                if (low) store_bf16(low + i, whole - load_bf16(high + i));
            }
        }
    }
}

#define MULTIPLY(TWO)                                                                                                 \
    _tile_dpbf16ps(0, 4, 6);                                                                                          \
    _tile_dpbf16ps(1, 4, 7);                                                                                          \
    if (TWO) {                                                                                                        \
        _tile_dpbf16ps(2, 5, 6);                                                                                      \
        _tile_dpbf16ps(3, 5, 7);                                                                                      \
    }
#define LOAD_ROWS(FROM)                                                                                               \
    _tile_loadd(4, (FROM) + k, stride);                                                                               \
    if (two) _tile_loadd(5, (FROM) + k + TILE * inner, stride);
#define LOAD_COLUMNS(FROM)                                                                                            \
    _tile_loadd(6, FROM, 64);                                                                                         \
    _tile_loadd(7, (FROM) + next, 64);

/* The sums of a block of 32 rows (or 16) by 32 columns. */
static inline void block(const bf16 *high, const bf16 *low, long inner, int two, const bf16 *weight,
                         const bf16 *rest, float *sums) {
    const long stride = inner * sizeof(bf16), next = inner * TILE, line = BLOCK * sizeof(float);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (long k = 0; k < inner; k += DEEP, weight += TILE * DEEP) {
        LOAD_ROWS(high)
        LOAD_COLUMNS(weight)
        MULTIPLY(two)
        if (rest) {
            LOAD_COLUMNS(rest)
            MULTIPLY(two)
            LOAD_ROWS(low)
            LOAD_COLUMNS(weight)
            MULTIPLY(two)
            rest += TILE * DEEP;
        }
    }
    _tile_stored(0, sums, line);
    _tile_stored(1, sums + TILE, line);
    if (two) {
        _tile_stored(2, sums + TILE * BLOCK, line);
        _tile_stored(3, sums + TILE * BLOCK + TILE, line);
    }
}

/* `weight` and `rest` (or none) hold columns/16 x inner/32 tiles of 16 pairs of places x 16 columns x 2 places;
   `inner` and `columns` are multiples of 32. Whether there was memory for it. */
int linear_in_tiles(const void *x, int x_is_bf16, long rows, long inner, const bf16 *weight, const bf16 *rest,
                    const float *bias, int relu, void *out, int out_is_bf16, long columns) {
    const long padded = (rows + TILE - 1) / TILE * TILE;
    bf16 *high = aligned_alloc(64, padded * inner * sizeof(bf16) * (rest ? 2 : 1));
    if (!high) return 0;
    bf16 *low = rest ? high + padded * inner : 0;
    split(x, x_is_bf16, rows, padded, inner, high, low);
    __asm__ volatile("" ::: "memory"); /* the compiler does not know that tiles are loaded from there */
    set_tile_shapes();
    float sums[BLOCK * BLOCK] __attribute__((aligned(64)));
    for (long column = 0; column < columns; column += BLOCK) {
        const long start = column * inner;
        for (long row = 0; row < rows; row += BLOCK) {
            const int two = padded - row > TILE;
            block(high + row * inner, low ? low + row * inner : 0, inner, two, weight + start, rest ? rest + start : 0, sums);
            const long filled = rows - row < BLOCK ? rows - row : BLOCK;
            for (long i = 0; i < filled; i++)
                for (long j = 0; j < BLOCK; j += LANES) {
                    floats y = load_float(sums + i * BLOCK + j);
                    if (bias) y += load_float(bias + column + j);
                    if (relu) y = larger(y, all(0.0f));
                    const long at = (row + i) * columns + column + j;
                    if (out_is_bf16) store_bf16((bf16 *)out + at, y);
                    else store_float((float *)out + at, y);
                }
        }
    }
    _tile_release();
    free(high);
    return 1;
}

/* The decoder's layers of figure 1 for the newest token of every row, as the functions above compute them one by one:
   one call in place of eleven for each layer, which counts where few rows are computed. */
struct linear { const bf16 *weight, *rest; const float *bias; long inner, columns; };
struct norm { const float *gain, *bias; double epsilon; };
struct layer { struct linear projection, output, cross_query, cross_output, wide, narrow; struct norm own, cross, last; };
struct cache { char *start; long of_layer, to_values, of_place, of_head, of_cell; const int32_t *counts; };

static int multiply(const void *x, const struct linear *by, int is_bf16, int relu, long rows, void *out) {
    return linear_in_tiles(x, is_bf16, rows, by->inner, by->weight, by->rest, by->bias, relu, out, is_bf16, by->columns);
}

static void add_and_norm(void *x, const void *added, const struct norm *norm, int is_bf16, long rows, long d_model) {
    if (is_bf16) norm_of_sum_bf16(x, added, norm->gain, norm->bias, norm->epsilon, x, rows, d_model);
    else norm_of_sum_float(x, added, norm->gain, norm->bias, norm->epsilon, x, rows, d_model);
}

static void attend(const void *query, long stride, const struct cache *to, long layer, const int32_t *cells,
                   long cells_of_place, long cells_of_row, int is_bf16, void *out, long places, long rows, long heads,
                   long d_k) {
    char *keys = to->start + layer * to->of_layer, *values = keys + to->to_values;
    if (is_bf16)
        attend_bf16(query, stride, (bf16 *)keys, (bf16 *)values, to->of_place, to->of_head, to->of_cell, cells,
                    cells_of_place, cells_of_row, to->counts, cells != 0, out, places, rows, heads, d_k);
    else
        attend_float(query, stride, (float *)keys, (float *)values, to->of_place, to->of_head, to->of_cell, cells,
                     cells_of_place, cells_of_row, to->counts, cells != 0, out, places, rows, heads, d_k);
}

/* `x`, places x rows x d_model, becomes what the last layer makes of it. Whether there was memory for it. */
int decoder_layers(void *x, int is_bf16, const struct layer *layers, long num_layers, const struct cache *target,
                   const int32_t *cells, long cells_of_place, long cells_of_row, const struct cache *source,
                   long places, long rows, long heads, long d_k) {
    const long all_rows = places * rows, d_model = heads * d_k, size = is_bf16 ? sizeof(bf16) : sizeof(float);
    long widest = 3 * d_model;
    for (long i = 0; i < num_layers; i++) widest = layers[i].wide.columns > widest ? layers[i].wide.columns : widest;
    char *wide = aligned_alloc(64, (all_rows * (widest + 2 * d_model) * size + 63) / 64 * 64);
    if (!wide) return 0;
    char *one = wide + all_rows * widest * size, *other = one + all_rows * d_model * size;
    int done = 1;
    for (long i = 0; i < num_layers && done; i++) {
        const struct layer *layer = layers + i;
        done &= multiply(x, &layer->projection, is_bf16, 0, all_rows, wide);
        attend(wide, 3 * d_model, target, i, cells, cells_of_place, cells_of_row, is_bf16, one, places, rows, heads, d_k);
        done &= multiply(one, &layer->output, is_bf16, 0, all_rows, other);
        add_and_norm(x, other, &layer->own, is_bf16, all_rows, d_model);
        done &= multiply(x, &layer->cross_query, is_bf16, 0, all_rows, one);
        attend(one, d_model, source, i, 0, 0, 0, is_bf16, other, places, rows, heads, d_k);
        done &= multiply(other, &layer->cross_output, is_bf16, 0, all_rows, one);
        add_and_norm(x, one, &layer->cross, is_bf16, all_rows, d_model);
        done &= multiply(x, &layer->wide, is_bf16, 1, all_rows, wide);
        done &= multiply(wide, &layer->narrow, is_bf16, 0, all_rows, one);
        add_and_norm(x, one, &layer->last, is_bf16, all_rows, d_model);
    }
    free(wide);
    return done;
}
#else
int tiles_permitted(void) { return 0; }
int linear_in_tiles(void) { return 0; }
int decoder_layers(void) { return 0; }
#endif
