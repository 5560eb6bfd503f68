"""Section 5.3: the learning rate."""


def learning_rate(step: int, *, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Equation (3): factor · d_model^-½ · min(step^-½, step · warmup_steps^-1½).

    `step` counts optimizer updates from 1; `factor` is 1 in the paper. Raises ValueError for a step below 1.
    """
    if step < 1:
        raise ValueError(f"steps count from 1, not {step}")
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def cooling(step: int, *, max_steps: int, share: float) -> float:
    """What the rate of a step is multiplied by: over the last `share` of all steps it falls in a line to nothing.

    The paper has no cooldown (0: 1 throughout). A short training ends lower with one: what a high rate still
    shakes about settles (Zhai et al. 2022, "Scaling Vision Transformers").
    """
    return max(0.0, min(1.0, (max_steps + 1 - step) / (share * max_steps + 1)))
