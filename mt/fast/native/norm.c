#include "kernels.h"

/* LayerNorm of the sum of two rows, for each of `rows` of them; gains and biases are fp32. */
#define DEFINE_NORM(NAME, TYPE, LOAD, STORE)                                                                          \
    void NAME(const TYPE *residual, const TYPE *added, const float *gain, const float *bias, float epsilon,           \
              TYPE *out, long rows, long d_model) {                                                                   \
        float summed[d_model];                                                                                        \
        for (long row = 0; row < rows; row++, residual += d_model, added += d_model, out += d_model) {                \
            floats total = {0}, squares = {0};                                                                        \
            for (long i = 0; i < d_model; i += LANES) {                                                               \
                floats x = LOAD(residual + i) + LOAD(added + i);                                                      \
                store_float(summed + i, x);                                                                           \
                total += x;                                                                                           \
            }                                                                                                         \
            floats mean = all(sum(total) / d_model);                                                                  \
            for (long i = 0; i < d_model; i += LANES) {                                                               \
                floats x = load_float(summed + i) - mean;                                                             \
                squares += x * x;                                                                                     \
            }                                                                                                         \
            floats scale = all(1.0f / sqrtf(sum(squares) / d_model + epsilon));                                       \
            for (long i = 0; i < d_model; i += LANES)                                                                 \
                STORE(out + i, (load_float(summed + i) - mean) * scale * load_float(gain + i) + load_float(bias + i));\
        }                                                                                                             \
    }

DEFINE_NORM(norm_of_sum_float, float, load_float, store_float)
DEFINE_NORM(norm_of_sum_bf16, bf16, load_bf16, store_bf16)
