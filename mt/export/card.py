"""The README.md of an exported folder: how to use it, what was proved, and what could not be exported."""

from mt.config.schema import Decoding, ExportConfig, TrainConfig

_HUGGINGFACE = """```python
from transformers import MarianMTModel, MarianTokenizer

model, tokenizer = MarianMTModel.from_pretrained("FOLDER"), MarianTokenizer.from_pretrained("FOLDER")
batch = tokenizer(["A sentence."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

(`transformers` 5 dropped the `translation` pipeline; before, `pipeline("translation", model="FOLDER")` works.)
The tokenizer reads `>>` at the start of a text as the beginning of a language code `>>xx<<`; put a space before it.
Where the decoder starts from `<s>`, which has an embedding of its own, converters that assume Marian's zero embedding
there, such as CTranslate2's, make a different model of this folder."""

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


def model_card(run: TrainConfig, config: ExportConfig, *, proof: str) -> str:
    """The card as Markdown. `proof` says what was equal."""
    library, usage = {
        "huggingface": ("transformers", _HUGGINGFACE),
        "ctranslate2": ("ctranslate2", _CTRANSLATE2),
    }[config.format]
    source, target = run.data.source_language, run.data.target_language
    return f"""---
language: [{source}, {target}]
library_name: {library}
pipeline_tag: translation
---

# {run.name}: {source} to {target}

A Transformer (Vaswani et al. 2017, post-norm, shared sinusoidal positions) for translation.

## Use

{usage}

## Proved equal

Before this folder got its name, it was loaded and compared in float32 with the model it came from, by greedy search:
{proof}.

## Search

{_search_notes(run.decoding)}
"""


def _search_notes(decoding: Decoding) -> str:
    """Where the other engine's search differs from the run's."""
    alpha = decoding.length_penalty
    notes = [f"The run searches with a beam of {decoding.beam_size}; so does this folder's configuration."]
    if decoding.beam_size > 1 and decoding.length_penalty_form == "gnmt" and alpha:
        notes.append(
            f"Its length penalty is ((5 + length) / 6)^{alpha:g} (Wu et al. 2016), which the engine does not have: the "
            f"configuration says length^{alpha:g}, a stronger penalty, so that some outputs of a beam search are "
            "longer. A length penalty of 0 means the same everywhere."
        )
    notes.append(
        f"The run ends an output at {decoding.max_extra_tokens} tokens more than its source has; the engine has one "
        "limit for all sentences."
    )
    return "\n".join(notes)
