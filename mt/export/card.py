"""The README.md of an exported folder: how to use it, what was proved, and what could not be exported."""

from pathlib import Path
from string import Template

from mt.config.schema import Decoding, ExportConfig, TrainConfig
from mt.runs.folder import CARD


def model_card(run: TrainConfig, config: ExportConfig, *, proof: str, run_dir: Path) -> str:
    """The card as Markdown, from the template of the format next to this file, then what the run's own card says.

    The metadata include the run's scores. `proof` says what was equal.
    """
    template = Template(Path(__file__).with_name(f"{config.format}.md").read_text(encoding="utf-8"))
    own = (run_dir / CARD).read_text(encoding="utf-8") if (run_dir / CARD).exists() else ""
    head, _, about = own.partition("\n## ")
    metadata = head.removeprefix("---\n").partition("---\n")[0] if head.startswith("---\n") else ""
    _, metrics, results = metadata.partition("metrics: ")
    described = template.substitute(
        name=run.name,
        source=run.data.source_language,
        target=run.data.target_language,
        results=metrics + results,
        proof=proof,
        search=_search_notes(run.decoding),
    )
    return f"{described}\n## {about}" if about else described


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
    around = {
        "reads capitals as the training text is written, keeps URLs, e-mail addresses and emoji, and translates a line "
        "again whose numbers were lost (decoding.as_typed)": decoding.as_typed,
        "reads typos as the words that were meant (decoding.spelling)": decoding.spelling,
        "splits long lines": True,
    }
    does = "; ".join(what for what, on in around.items() if on)
    notes.append(f"The run's translator also {does}. The engine does not.")
    return "\n".join(notes)
