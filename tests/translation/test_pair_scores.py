"""The scores of a pair classifier."""

import numpy as np
import pytest

from mt.translation.pair_scores import roc_auc


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_the_share_of_pairs_in_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    true, faulty = random.integers(2, 9, 30) / 9, random.integers(0, 7, 20) / 9  # with ties
    ordered = [(one > other) + 0.5 * (one == other) for one in true for other in faulty]
    assert roc_auc(true, faulty) == pytest.approx(np.mean(ordered))
    assert roc_auc(faulty, true) == pytest.approx(1 - np.mean(ordered))
