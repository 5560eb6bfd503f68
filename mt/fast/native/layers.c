#include "kernels.h"
#include <stdlib.h>

/* The decoder layers of figure 1 as the kernels compute them one by one, for the newest token of every row. One call
   replaces many, which matters where few rows are computed. */
struct norm { const float *gain, *bias; double epsilon; };
struct decoder_layer {
    struct linear projection, output, cross_query, cross_output, wide, narrow;
    struct norm own, cross, last;
};
struct cache {
    char *start;
    long layer_stride, value_stride, slot_stride, head_stride, entry_stride;
    const int32_t *counts;
};

const int lanes = LANES; /* numbers in a vector, as it was compiled */

/* Whether the structures that Python fills have these sizes in bytes. */
int structures_have_sizes(const long *sizes) {
    return sizes[0] == sizeof(struct linear) && sizes[1] == sizeof(struct norm) && sizes[2] == sizeof(struct cache) &&
           sizes[3] == sizeof(struct decoder_layer);
}

static int multiply(const void *x, const struct linear *by, int is_bf16, int relu, long rows, void *out) {
    return linear_in_tiles(x, is_bf16, rows, by, relu, out, is_bf16);
}

static void add_and_norm(void *x, const void *added, const struct norm *norm, int is_bf16, long rows, long d_model) {
    if (is_bf16) norm_of_sum_bf16(x, added, norm->gain, norm->bias, norm->epsilon, x, rows, d_model);
    else norm_of_sum_float(x, added, norm->gain, norm->bias, norm->epsilon, x, rows, d_model);
}

static void attend(const void *query, long stride, const struct cache *to, long layer, const int32_t *indices,
                   long indices_of_slot, long indices_of_row, int is_bf16, void *out, long slots, long rows, long heads,
                   long d_k) {
    char *keys = to->start + layer * to->layer_stride, *values = keys + to->value_stride;
    if (is_bf16)
        attend_bf16(query, stride, (bf16 *)keys, (bf16 *)values, to->slot_stride, to->head_stride, to->entry_stride,
                    indices, indices_of_slot, indices_of_row, to->counts, indices != 0, out, slots, rows, heads, d_k);
    else
        attend_float(query, stride, (float *)keys, (float *)values, to->slot_stride, to->head_stride, to->entry_stride,
                     indices, indices_of_slot, indices_of_row, to->counts, indices != 0, out, slots, rows, heads, d_k);
}

/* Memory for the results of a layer for all rows: its widest product, and two more as wide as x. */
struct room { char *wide, *one, *other; };

static struct room room_for(long rows, long widest, long d_model, int is_bf16) {
    const long size = is_bf16 ? sizeof(bf16) : sizeof(float), most = widest > 3 * d_model ? widest : 3 * d_model;
    char *wide = aligned_alloc(64, (rows * (most + 2 * d_model) * size + 63) / 64 * 64);
    char *one = wide ? wide + rows * most * size : 0;
    return (struct room){.wide = wide, .one = one, .other = one ? one + rows * d_model * size : 0};
}

/* Equation (2) with its residual sum and norm. Whether there was memory for it. */
static int feed_forward(void *x, const struct linear *wide, const struct linear *narrow, const struct norm *norm,
                        int is_bf16, long rows, long d_model, const struct room *room) {
    int done = multiply(x, wide, is_bf16, 1, rows, room->wide);
    done &= multiply(room->wide, narrow, is_bf16, 0, rows, room->one);
    add_and_norm(x, room->one, norm, is_bf16, rows, d_model);
    return done;
}

/* `x`, slots x rows x d_model, becomes the output of the last layer. Whether there was memory for it. */
int decoder_layers(void *x, int is_bf16, const struct decoder_layer *layers, long num_layers,
                   const struct cache *target, const int32_t *indices, long indices_of_slot, long indices_of_row,
                   const struct cache *source, long slots, long rows, long heads, long d_k) {
    const long all_rows = slots * rows, d_model = heads * d_k;
    if (!all_rows) return 1;
    const struct room room = room_for(all_rows, layers->wide.columns, d_model, is_bf16); /* as in every layer */
    if (!room.wide) return 0;
    int done = 1;
    for (long i = 0; i < num_layers && done; i++) {
        const struct decoder_layer *layer = layers + i;
        done &= multiply(x, &layer->projection, is_bf16, 0, all_rows, room.wide);
        attend(room.wide, 3 * d_model, target, i, indices, indices_of_slot, indices_of_row, is_bf16, room.one, slots,
               rows, heads, d_k);
        done &= multiply(room.one, &layer->output, is_bf16, 0, all_rows, room.other);
        add_and_norm(x, room.other, &layer->own, is_bf16, all_rows, d_model);
        done &= multiply(x, &layer->cross_query, is_bf16, 0, all_rows, room.one);
        attend(room.one, d_model, source, i, 0, 0, 0, is_bf16, room.other, slots, rows, heads, d_k);
        done &= multiply(room.other, &layer->cross_output, is_bf16, 0, all_rows, room.one);
        add_and_norm(x, room.one, &layer->cross, is_bf16, all_rows, d_model);
        done &= feed_forward(x, &layer->wide, &layer->narrow, &layer->last, is_bf16, all_rows, d_model, &room);
    }
    free(room.wide);
    return done;
}
