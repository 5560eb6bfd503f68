/* Attention of few rows, each to the KV cache entries that are indexed for it. */

#include "kernels.h"

#define MAX_VECTORS (256 / LANES) /* in a head: d_k is at most 256 */

/* Scores become weights that add up to 1; the array is filled up to a multiple of LANES. */
static inline void softmax(float *scores, long count) {
    long padded = (count + LANES - 1) / LANES * LANES;
    for (long i = count; i < padded; i++) scores[i] = -INFINITY;
    floats peak = load_float(scores), total = {0};
    for (long i = LANES; i < padded; i += LANES) peak = larger(peak, load_float(scores + i));
    floats top = all(largest(peak));
    for (long i = 0; i < padded; i += LANES) {
        floats weights = exponential(load_float(scores + i) - top);
        store_float(scores + i, weights);
        total += weights;
    }
    floats share = all(1.0f / sum(total));
    for (long i = 0; i < padded; i += LANES) store_float(scores + i, load_float(scores + i) * share);
}

/* Equation (1) for `rows` queries in each of `slots`, in every head: `out` is contiguous, slots x rows x heads * d_k.

   Row r of slot s attends to the `counts[s]` entries of the KV cache that `indices` names for it, or without `indices`
   to the first `counts[s]`. An entry of a head is d_k contiguous numbers; the strides, in numbers, lead from slot to
   slot, head to head, entry to entry. With `newest`, each row's own key and value, which follow its query at d_model
   and 2 d_model, are first copied to the last of its entries. */
#define DEFINE_ATTEND(NAME, TYPE, LOAD, STORE)                                                                        \
    static inline __attribute__((always_inline)) void NAME##_row(                                                     \
        const TYPE *query, const TYPE *keys, const TYPE *values, long entry_stride, const int32_t *indices, long count,\
        TYPE *out, const int vectors, float *scores) {                                                                \
        floats q[MAX_VECTORS], mixed[MAX_VECTORS];                                                                    \
        float scale = 1.0f / sqrtf((float)(vectors * LANES));                                                         \
        for (int v = 0; v < vectors; v++) q[v] = LOAD(query + v * LANES) * scale, mixed[v] = all(0.0f);               \
        for (long i = 0; i < count; i++) {                                                                            \
            const TYPE *key = keys + (indices ? indices[i] : i) * entry_stride;                                       \
            floats product = q[0] * LOAD(key);                                                                        \
            for (int v = 1; v < vectors; v++) product += q[v] * LOAD(key + v * LANES);                                \
            scores[i] = sum(product);                                                                                 \
        }                                                                                                             \
        if (count) softmax(scores, count);                                                                            \
        for (long i = 0; i < count; i++) {                                                                            \
            const TYPE *value = values + (indices ? indices[i] : i) * entry_stride;                                   \
            for (int v = 0; v < vectors; v++) mixed[v] += scores[i] * LOAD(value + v * LANES);                        \
        }                                                                                                             \
        for (int v = 0; v < vectors; v++) STORE(out + v * LANES, mixed[v]);                                           \
    }                                                                                                                 \
    void NAME(const TYPE *query, long query_stride, TYPE *keys, TYPE *values, long slot_stride, long head_stride,     \
              long entry_stride, const int32_t *indices, long indices_of_slot, long indices_of_row,                   \
              const int32_t *counts, long newest, TYPE *out, long slots, long rows, long heads, long d_k) {           \
        long d_model = heads * d_k;                                                                                   \
        for (long slot = 0; slot < slots; slot++) {                                                                   \
            long count = counts[slot];                                                                                \
            float scores[count + LANES];                                                                              \
            TYPE *own_keys = keys + slot * slot_stride, *own_values = values + slot * slot_stride;                    \
            for (long row = 0; newest && count && row < rows; row++) {                                                \
                const TYPE *made = query + (slot * rows + row) * query_stride;                                        \
                long entry = indices[slot * indices_of_slot + row * indices_of_row + count - 1];                      \
                memcpy(own_keys + entry * entry_stride, made + d_model, d_model * sizeof(TYPE));                      \
                memcpy(own_values + entry * entry_stride, made + 2 * d_model, d_model * sizeof(TYPE));                \
            }                                                                                                         \
            for (long row = 0; row < rows; row++)                                                                     \
                for (long head = 0; head < heads; head++) {                                                           \
                    const TYPE *asking = query + (slot * rows + row) * query_stride + head * d_k;                     \
                    const TYPE *key = own_keys + head * head_stride, *value = own_values + head * head_stride;        \
                    const int32_t *own_indices = indices ? indices + slot * indices_of_slot + row * indices_of_row : 0;\
                    TYPE *to = out + ((slot * rows + row) * heads + head) * d_k;                                      \
                    if (d_k == 64)                                                                                    \
                        NAME##_row(asking, key, value, entry_stride, own_indices, count, to, 64 / LANES, scores);     \
                    else                                                                                              \
                        NAME##_row(asking, key, value, entry_stride, own_indices, count, to, d_k / LANES, scores);    \
                }                                                                                                     \
        }                                                                                                             \
    }

DEFINE_ATTEND(attend_float, float, load_float, store_float)
DEFINE_ATTEND(attend_bf16, bf16, load_bf16, store_bf16)
