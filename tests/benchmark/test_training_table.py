"""The rows of the training contest: what is counted, by what it is divided, and who is missing."""

from mt.benchmark.contest import Outcome
from mt.benchmark.training_table import PEAK, precision_gain, projection, training_table


def answer(seconds: float, **more: float) -> dict[str, float]:
    return {"seconds": seconds, "source_tokens": 400, "target_tokens": 600, "places": 1250, **more}


OUTCOME = Outcome(
    {
        f"{PEAK} fp32": [{"flop_per_second": 4e9}, {"flop_per_second": 2e9}, {"flop_per_second": 4e9}],
        "ours fp32": [answer(1.0, peak_bytes=2**30), answer(2.0, peak_bytes=2**31), answer(1.0, peak_bytes=2**30)],
        "ours bf16": [answer(0.5), answer(1.0), answer(0.5)],
        "torch fp32": [answer(2.0), answer(4.0), answer(2.0)],
    },
    {"marian_compiled fp32": "marian_compiled: no C++ compiler | none"},
)


def test_figures_are_of_real_tokens_and_ratios_of_the_same_round() -> None:
    shown = training_table(
        OUTCOME,
        systems=["ours", "torch", "marian_compiled", "x"],
        precisions=["fp32"],
        flop=1e9,
        absent={"x": "no"},
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.split("\n")]
    assert rows[2][:6] == ["ours", "fp32", "1,000 (500–1,000)", "600", "80.0%", "25.0 (25.0–25.0) %"]
    assert rows[2][6:] == ["2.00", "1.00 (1.00–1.00)"]
    assert rows[3] == ["torch", "fp32", "500 (250–500)", "300", "80.0%", "12.5 (12.5–12.5) %", "–", "2.00 (2.00–2.00)"]
    assert rows[4] == ["marian, compiled", "fp32", *["–"] * 5, "marian_compiled: no C++ compiler / none"]
    assert rows[5][-1] == "no"
    assert {len(row) for row in rows} == {8}


def test_precisions_are_compared_and_a_training_is_projected() -> None:
    assert precision_gain(OUTCOME) == "Ours in bf16 over ours in fp32: 2.00 (2.00–2.00)."
    assert projection(OUTCOME, ["fp32", "bf16"], steps_per_round=10, max_steps=72_000) == (
        "Projected, not run: 72,000 such steps of ours take 2.00 h in fp32, 1.00 h in bf16."
    )
