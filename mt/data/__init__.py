"""From text to tensors: corpora, filters, tokenizers, encoded corpora and batches."""
