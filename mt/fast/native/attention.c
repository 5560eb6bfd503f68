/* Attention of few rows, each to its own cells of a cache. */

#include "kernels.h"

#define MOST 16 /* vectors in a head: d_k is 256 at most */

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
