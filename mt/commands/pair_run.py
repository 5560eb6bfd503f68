"""What the run of a pair classifier does otherwise than that of other classifiers: its scores, its use."""

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from mt.commands.classifier_run import classifier_of_run, scored_split
from mt.config.checks import classifies_pairs
from mt.config.schema import Data, TrainConfig
from mt.data.filters import LearnedScore, Pair
from mt.data.pair_faults import TRAINED, TRUE, UNSEEN, faulty, read_pairs
from mt.data.text_cache import SIDES
from mt.errors import UserError
from mt.runs.folder import MODEL, held_out_text, load_run
from mt.translation.classifier import roc_auc
from mt.translation.scoring import save_scores

_SCORED_PAIRS = 2000  # for each kind of fault
_THRESHOLD = 0.5  # of the printed shares; a filter has its own


def score_faults(config: TrainConfig, run_dir: Path) -> None:
    """Save and print how well the delivered model tells true pairs from faulty ones, by the kind of fault.

    The pairs are those of the test split, or of validation where there is none. Raises DiskError.
    """
    split = scored_split(run_dir)
    if split is None:
        return
    paths = [held_out_text(run_dir, split, side) for side in SIDES]
    pairs, scorer = read_pairs(*paths, most=_SCORED_PAIRS), _scorer(run_dir, config.device)
    true, faults = scorer(pairs), {}
    for name, fault in {**TRAINED, **UNSEEN}.items():
        scores = scorer(faulty(pairs, fault, seed=name))
        if len(scores):
            faults[name] = {"trained": name in TRAINED, "auc": roc_auc(true, scores), "below": _below(scores)}
    found = {"split": split, "pairs": len(pairs), "threshold": _THRESHOLD, "true_below": _below(true)}
    head = f"{len(pairs):,} pairs of {split}"
    lines = [f"{head:<36} {'ROC AUC':>8}   scored below {_THRESHOLD}"]
    lines += [f"{'true pairs':<36} {'':>8} {100 * _below(true):>8.1f} %"]
    for name, scored in faults.items():
        kind = name if scored["trained"] else f"{name} (not trained on)"
        lines.append(f"{kind:<36} {scored['auc']:>8.4f} {100 * scored['below']:>8.1f} %")
    save_scores(run_dir, found | {"faults": faults}, "\n".join(lines))


def _below(scores: Float[np.ndarray, " pairs"]) -> float:
    return float((scores < _THRESHOLD).mean()) if len(scores) else 0.0


def learned_score(data: Data) -> LearnedScore | None:
    """The filter by a pair classifier that the data asks for. Raises UserError where it is not one, or of others."""
    filters = data.filters
    if filters.min_pair_score is None or filters.pair_scorer is None:
        return None
    run_dir = Path(filters.pair_scorer)
    run, key = load_run(run_dir), "data.filters.pair_scorer"
    if not classifies_pairs(run):
        raise UserError(f"{key}: {run_dir} is not a pair classifier; train one with experiment=pair_classifier")
    own, wanted = ((each.source_language, each.target_language) for each in (run.data, data))
    if own != wanted:
        raise UserError(f"{key}: {run_dir} knows pairs of {' and '.join(own)}, not of {' and '.join(wanted)}")
    scorer = functools.cache(lambda: _scorer(run_dir))  # not needed where the filtered text is in the cache

    def score(pairs: Sequence[Pair]) -> Sequence[float]:
        return scorer()(pairs).tolist()

    checksum = hashlib.sha256((run_dir / MODEL).read_bytes()).hexdigest()
    return LearnedScore(score=score, minimum=filters.min_pair_score, fingerprint=checksum)


def _scorer(run_dir: Path, device: str = "auto") -> Callable[[Sequence[Pair]], Float[np.ndarray, " pairs"]]:
    classifier = classifier_of_run(run_dir, device)
    return lambda pairs: classifier(pairs)[:, TRUE]
