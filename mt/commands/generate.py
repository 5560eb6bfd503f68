"""mt-generate: a language model continues a text."""

from dataclasses import replace
from pathlib import Path

import torch

from mt import build
from mt.api import load_tokenizers, trained_model
from mt.config.schema import GenerateConfig, TextData
from mt.data.tokenizer import UNKNOWN
from mt.errors import UserError
from mt.runs.folder import load_run
from mt.runtime import choose_device

_BETWEEN = 15 * "-"


def generate(config: GenerateConfig) -> None:
    """Print the prompt with what the model adds, for each sample.

    Raises UserError for a run that translates and for a prompt that the vocabulary cannot spell.
    """
    run_dir = Path(config.run_dir)
    run = load_run(run_dir)
    if not isinstance(run.data, TextData):
        raise UserError(f"run_dir: {run_dir} is not a language model; mt-generate needs a run of data=text")
    tokenizer, _ = load_tokenizers(run, run_dir)
    prompt = tokenizer.encode(config.prompt)
    if UNKNOWN in prompt:
        raise UserError("prompt: the run's vocabulary cannot spell it; leave out what the text does not have")
    model = trained_model(run_dir, choose_device(config.device)).eval()
    # A text has no EOS, so that an output is as long as it may be.
    decoding = replace(
        config.decoding,
        max_extra_tokens=config.max_new_tokens,
        max_output_tokens=None,
        min_output_tokens=len(prompt) + config.max_new_tokens,
    )
    search = build.search(decoding, byte_fallback=True, num_hypotheses=config.num_samples)
    seed = 0 if decoding.sampling is None else decoding.sampling.seed
    with torch.inference_mode():
        [found] = search.run(
            build.continuation(model, rows=search.rows_per_sentence, block_tokens=run.data.block_tokens),
            source_tokens=[len(prompt)],
            prefixes=[prompt],
            seeds=[seed],
        )
    print(f"\n{_BETWEEN}\n".join(tokenizer.decode_lines(each.tokens) for each in found), flush=True)
