"""How sure a model is of each word of a translation."""

import math
from collections.abc import Sequence

import torch

from mt.data.batch import make_batch
from mt.model.decoder_only import AnyTransformer


@torch.inference_mode()
def token_log_probabilities(
    models: Sequence[AnyTransformer], sources: list[list[int]], outputs: list[list[int]]
) -> list[list[float]]:
    """Return the log-probability of each token of each output given its source and the tokens before it.

    Several models decide by the mean of their probabilities, as in a search with them. EOS is left out.
    """
    batch = make_batch(sources, outputs).to(next(models[0].parameters()).device)
    hidden = [model.hidden(batch.source, batch.target_input) for model in models]
    found = []
    for row, output in enumerate(outputs):  # one by one: the logits of a whole batch would fill the memory
        logits = [
            model.output_embedding.logits(each[row, : len(output)]).float()
            for model, each in zip(models, hidden, strict=True)
        ]
        mean = torch.stack([each.log_softmax(dim=-1) for each in logits]).logsumexp(dim=0) - math.log(len(models))
        found.append(mean.gather(1, batch.target_output[row, : len(output), None]).flatten().tolist())
    return found


def word_probabilities(log_probabilities: Sequence[float], words: Sequence[int]) -> list[float]:
    """Return the probability of each word, that of its subwords multiplied; `words` holds the word of each subword."""
    sums = [0.0] * (max(words, default=-1) + 1)
    for value, word in zip(log_probabilities, words, strict=False):  # a blank text has no words
        sums[word] += value
    return [math.exp(value) for value in sums]
