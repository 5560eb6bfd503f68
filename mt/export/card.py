"""The README.md of an exported folder: how to use it, what was proved, and what could not be exported."""

from mt.export.proof import Proof

_HUGGINGFACE = """```python
from transformers import MarianMTModel, MarianTokenizer

model, tokenizer = MarianMTModel.from_pretrained("FOLDER"), MarianTokenizer.from_pretrained("FOLDER")
batch = tokenizer(["A sentence."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

(`transformers` 5 dropped the `translation` pipeline; before, `pipeline("translation", model="FOLDER")` works.)
The tokenizer reads `>>` at the start of a text as the beginning of a language code `>>xx<<`; put a space before it."""

_OWN_START = """ The
decoder starts from `<s>`, which has an embedding of its own: converters that assume Marian's zero embedding there, such
as CTranslate2's, make a different model of this folder."""

_CTRANSLATE2 = """```python
import json
import ctranslate2, sentencepiece

source = sentencepiece.SentencePieceProcessor(model_file="FOLDER/source.spm")
target = sentencepiece.SentencePieceProcessor(model_file="FOLDER/target.spm")
translator = ctranslate2.Translator("FOLDER")
with open("FOLDER/translate_batch.json") as file:
    options = json.load(file)
results = translator.translate_batch([source.encode("A sentence.", out_type=str)], **options)
print(target.decode(results[0].hypotheses[0]))
```

The options in `translate_batch.json` are needed: the engine's defaults cut the input at 1,024 and the output at 256
tokens and do not forbid `<pad>` and `<s>`. Do not append `</s>` to the input; the engine does."""


def model_card(
    *,
    name: str,
    format: str,  # noqa: A002  the option's name
    languages: tuple[str, str],
    quantization: str,
    own_start: bool,
    proof: Proof,
    same_as_float32: float | None,
    search: str,
) -> str:
    """The card as Markdown. `same_as_float32` is the share of sentences that quantised weights leave unchanged.

    `own_start`: the decoder does not start from Marian's zero embedding; `search`: what differs in the search.
    """
    usage = _HUGGINGFACE + (_OWN_START if own_start else "") if format == "huggingface" else _CTRANSLATE2
    library = "transformers" if format == "huggingface" else "ctranslate2"
    head = f"---\nlanguage: [{languages[0]}, {languages[1]}]\nlibrary_name: {library}\npipeline_tag: translation\n---"
    return "\n\n".join(
        [
            f"{head}\n\n# {name}: {languages[0]} to {languages[1]}",
            "A Transformer (Vaswani et al. 2017, post-norm, shared sinusoidal positions) for translation.",
            f"## Use\n\n{usage}",
            f"## Proved equal\n\n{_proved(proof, quantization, same_as_float32)}",
            f"## Search\n\n{search}\n",
        ]
    )


def _proved(proof: Proof, quantization: str, same_as_float32: float | None) -> str:
    lines = [
        "Before this folder was written, a process of its own loaded it and compared it with the model it came from"
        + (" (in float32)." if quantization != "float32" else ".")
    ]
    lines += [
        f"- logits of {proof.sentences_with_logits} sentences: largest difference {proof.largest_logit_difference:.1e}",
        f"- greedy search on {proof.sentences:,} sentences: the same tokens in {proof.same_tokens:.2%}",
    ]
    if proof.same_subwords is not None:
        lines.append(f"- the tokenizer: the same subwords in {proof.same_subwords:.2%}")
    if proof.same_text is not None:
        lines.append(f"- the text of the outputs: the same in {proof.same_text:.2%}")
    if same_as_float32 is not None:
        lines.append(f"- with the weights in {quantization}: the same tokens as in float32 in {same_as_float32:.2%}")
    return "\n".join(lines)
