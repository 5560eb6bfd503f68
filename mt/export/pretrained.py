"""Whether an imported language model is the one that transformers makes of its folder: tokens, texts and logits."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.data.tokenizer import BOS, EOS, Tokenizer
from mt.export.pretrained_folder import Numbering
from mt.export.proof import Proof, share
from mt.model.decoder_only import AnyTransformer
from mt.model.encoder_only import EncoderOnly

_TEXTS_WITH_LOGITS = 32
_ODD_TEXTS = (
    "  two  spaces ", "tab\there\r\nline\n\n\n  indented", "don't I'LL", "漢字かな 한국어 ไทย हिन्दी",
    "😀 \u200b\ufeff\u0301", "ﬁ ½ Ａ ß İ", "<|endoftext|> [CLS] [MASK]</s><pad>",
    "\x00\x07 \u2028 \U0010ffff", "1234567890,5 %", "",
)  # fmt: skip


def prove_pretrained(
    model: AnyTransformer,
    tokenizer: Tokenizer,
    theirs: tuple[Any, Any],
    *,
    numbering: Numbering,
    longest: int,
    texts: Sequence[str],
) -> Proof:
    """Compare on these texts and on odd ones; `theirs` are model and tokenizer of transformers. Raises UserError.

    Logits differ by a share of the largest one, where that is above 1. Special tokens that are typed are text in both.
    """
    their_model, their_tokenizer = theirs
    texts = [*_ODD_TEXTS, *texts]
    encoded = tokenizer.encode_many(texts)
    given = [their_tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True) for text in texts]
    decoded = [
        their_tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False) for ids in given
    ]
    same = {
        "tokens": share([[numbering.rows[token] for token in ids] for ids in encoded], given),
        "texts": share([tokenizer.decode_lines(ids) for ids in encoded], decoded),
    }
    rows = sorted((ids for ids in encoded if ids), key=len)
    rows = [rows[int(i)] for i in torch.linspace(0, len(rows) - 1, _TEXTS_WITH_LOGITS)]
    rows.append([token for ids in encoded for token in ids])  # as long as the model can read
    return Proof(len(texts), same, max(_difference(model, their_model, ids, numbering, longest) for ids in rows))


@torch.inference_mode()
def _difference(
    model: AnyTransformer, their_model: Any, ids: Sequence[int], numbering: Numbering, longest: int
) -> float:
    """How much the logits of one text, for an encoder alone of its halves, differ at most, over all common tokens."""
    row, segments = [BOS, *ids][:longest], {}
    if isinstance(model, EncoderOnly):
        half = len(ids[: longest - 3]) // 2
        row = [BOS, *ids[:half], EOS, *ids[half : longest - 3], EOS]
        segments["token_type_ids"] = torch.tensor([[0] * (half + 2) + [1] * (len(row) - half - 2)])
    ours: Int[Tensor, "1 length"] = torch.tensor([row])
    inputs = torch.tensor([[numbering.rows[token] for token in row]])
    common = [token for token in range(len(numbering.rows)) if token not in numbering.never]
    rows = [numbering.rows[token] for token in common]
    given = (ours, torch.arange(len(row))[None]) if isinstance(model, EncoderOnly) else (ours[:, :0], ours)
    found: Float[Tensor, "length tokens"] = model(*given)[0][:, common]
    theirs: Float[Tensor, "length tokens"] = their_model(inputs, **segments).logits[0][:, rows]
    return float((found - theirs).abs().max() / theirs.abs().max().clamp(min=1.0))
