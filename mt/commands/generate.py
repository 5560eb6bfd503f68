"""mt-generate: a language model continues a text; a masked one fills [MASK] in it."""

from dataclasses import replace
from pathlib import Path

import torch

from mt import build
from mt.api import load_tokenizers, trained_model
from mt.config.schema import GenerateConfig, TextData, TrainConfig
from mt.data.tokenizer import BOS, EOS, MASK, UNKNOWN, Tokenizer
from mt.errors import UserError
from mt.model.decoder_only import AnyTransformer
from mt.runs.folder import load_run
from mt.runtime import choose_device

_BETWEEN = 15 * "-"
_FILLINGS = 5  # of each mask, unless a number is given


def generate(config: GenerateConfig) -> None:
    """Print the prompt with what the model adds, for each sample; of a masked language model, the best fillings.

    Raises UserError for a run that translates and for a prompt that the vocabulary cannot spell.
    """
    run_dir = Path(config.run_dir)
    run = load_run(run_dir)
    if not isinstance(run.data, TextData):
        raise UserError(f"run_dir: {run_dir} is not a language model; mt-generate needs a run of data=text")
    tokenizer, _ = load_tokenizers(run, run_dir)
    masked = run.model.family == "encoder"
    prompt = _masked(tokenizer, config.prompt, run) if masked else tokenizer.encode(config.prompt)
    if UNKNOWN in prompt:
        raise UserError("prompt: the run's vocabulary cannot spell it; leave out what the text does not have")
    model = trained_model(run_dir, choose_device(config.device)).eval()
    if masked:
        _fill(model, tokenizer, prompt, config.num_samples or _FILLINGS)
        return
    # A text has no EOS, so that an output is as long as it may be.
    decoding = replace(
        config.decoding,
        max_extra_tokens=config.max_new_tokens,
        max_output_tokens=None,
        min_output_tokens=len(prompt) + config.max_new_tokens,
    )
    search = build.search(decoding, byte_fallback=True, num_hypotheses=config.num_samples or 1)
    seed = 0 if decoding.sampling is None else decoding.sampling.seed
    with torch.inference_mode():
        [found] = search.run(
            build.continuation(model, rows=search.rows_per_sentence, block_tokens=run.data.block_tokens),
            source_tokens=[len(prompt)],
            prefixes=[prompt],
            seeds=[seed],
        )
    print(f"\n{_BETWEEN}\n".join(tokenizer.decode_lines(each.tokens) for each in found), flush=True)


def _masked(tokenizer: Tokenizer, prompt: str, run: TrainConfig) -> list[int]:
    """The prompt as a row with the mask for each [MASK], which takes the space before it too where a subword does."""
    assert isinstance(run.data, TextData)
    *parts, last = prompt.split(MASK)
    if not parts:
        raise UserError(f'prompt: a masked language model fills {MASK}; give one, as in prompt="a man {MASK} a horse"')
    space = "" if run.tokenizer.model_type == "char" else " "
    ids = [token for part in parts for token in (*tokenizer.encode(part.removesuffix(space)), tokenizer.mask)]
    ids += tokenizer.encode(last)
    if len(ids) > run.data.block_tokens:
        raise UserError(
            f"prompt: its {len(ids)} tokens are more than the run's data.block_tokens = {run.data.block_tokens}"
        )
    return [BOS, *ids, EOS]


@torch.inference_mode()
def _fill(model: AnyTransformer, tokenizer: Tokenizer, row: list[int], count: int) -> None:
    """Print for each mask of a row its most probable tokens with their probabilities, the other masks unfilled."""
    device = next(model.parameters()).device
    positions = [position for position, token in enumerate(row) if token == tokenizer.mask]
    logits = model(torch.tensor([row], device=device), torch.tensor([positions], device=device))[0]
    tables = []
    for probabilities in logits.float().softmax(-1):
        best = probabilities.topk(min(count, len(probabilities)))
        texts = ((tokenizer.decode_lines([token]) for token in best.indices.tolist()), best.values.tolist())
        lines = [f"{probability:.4f}  {text.strip() or repr(text)}" for text, probability in zip(*texts, strict=True)]
        tables.append("\n".join(lines))
    print(f"\n{_BETWEEN}\n".join(tables), flush=True)
