/* The best extensions of a beam. */

#include "kernels.h"

#define CHUNK (8 * LANES)

/* The normaliser of a row's log-probabilities, log sum e^x as the largest x and the logarithm of the rest; and the
   largest of every CHUNK scores. */
static float normaliser(const float *scores, long vocabulary, float *chunk_best, float *top) {
    long whole = vocabulary / CHUNK * CHUNK;
    float best = -INFINITY;
    for (long start = 0; start < whole; start += CHUNK) {
        floats peak = load_float(scores + start);
        for (long i = LANES; i < CHUNK; i += LANES) peak = larger(peak, load_float(scores + start + i));
        float found = largest(peak);
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

/* For each sentence the `count` best extensions of its `beam` hypotheses by a token, best first; of equals the lower
   rank, then the lower token. What is excluded keeps its share of the probability: `forbidden` tokens, and in the rows
   of `end_only` (if there are any) all but `eos`. Where there are too few, minus infinity and extension 0 remain.
   `stride` numbers lead from a row of logits to the next. */
void best_extensions(const float *logits, long stride, const float *totals, long sentences, long beam, long vocabulary,
                     const int64_t *forbidden, long num_forbidden, long eos, const uint8_t *end_only, long count,
                     float *values, int64_t *extensions) {
    float chunk_best[vocabulary / CHUNK + 1];
    for (long sentence = 0; sentence < sentences; sentence++) {
        float *best = values + sentence * count;
        int64_t *which = extensions + sentence * count;
        for (long i = 0; i < count; i++) best[i] = -INFINITY, which[i] = 0;
        for (long rank = 0; rank < beam; rank++) {
            long row = sentence * beam + rank;
            const float *scores = logits + row * stride;
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
                    best[at] = value, which[at] = rank * vocabulary + token;
                }
            }
        }
    }
}
