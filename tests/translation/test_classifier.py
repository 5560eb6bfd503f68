"""The scores of a classifier of pairs, and of one of texts."""

import numpy as np
import pytest

from mt.translation.classifier import label_scores, roc_auc


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_the_share_of_pairs_in_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    true, faulty = random.integers(2, 9, 30) / 9, random.integers(0, 7, 20) / 9  # with ties
    ordered = [(one > other) + 0.5 * (one == other) for one in true for other in faulty]
    assert roc_auc(true, faulty) == pytest.approx(np.mean(ordered))
    assert roc_auc(faulty, true) == pytest.approx(1 - np.mean(ordered))


@pytest.mark.parametrize("seed", range(5))
def test_f1_is_the_harmonic_mean_of_precision_and_recall_over_the_labels_that_occur(seed: int) -> None:
    random, labels = np.random.default_rng(seed), ["a", "b", "c", "never"]
    real, found = ([labels[index] for index in random.choice(3, 60, p=[0.6, 0.3, 0.1])] for _ in range(2))
    scores = label_scores(found, real, labels)
    expected = {}
    for label in labels[:3]:
        right = sum(one == other == label for one, other in zip(found, real, strict=True))
        precision, recall = right / max(1, found.count(label)), right / real.count(label)
        expected[label] = 100 * 2 * precision * recall / (precision + recall) if right else 0.0
    assert scores.f1 == pytest.approx(expected)
    assert scores.macro_f1 == pytest.approx(np.mean(list(expected.values())))
    assert scores.accuracy == pytest.approx(100 * np.mean(np.array(real) == np.array(found)))
    pairs = list(zip(real, found, strict=True))
    assert scores.confusion == [[pairs.count((row, column)) for column in labels] for row in labels]


@pytest.mark.parametrize(("right", "count"), [(9, 10), (95, 100), (0, 20), (20, 20)])
def test_the_interval_holds_every_share_that_the_count_does_not_refute(right: int, count: int) -> None:
    """Wilson 1927: the ends are the shares p with |right / count - p| = 1.96 standard deviations of p."""
    scores = label_scores(["a"] * count, ["a"] * right + ["b"] * (count - right), ["a", "b"])
    for end in (scores.accuracy_low / 100, scores.accuracy_high / 100):
        deviation = 1.959964 * np.sqrt(end * (1 - end) / count)
        assert abs(right / count - end) == pytest.approx(deviation, abs=1e-9)
