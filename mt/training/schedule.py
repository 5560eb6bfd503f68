"""Section 5.3: the learning rate."""


def learning_rate(step: float, *, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Equation (3): factor · d_model^-½ · min(step^-½, step · warmup_steps^-1½).

    `step` counts optimizer updates from 1, or is a `position`; `factor` is 1 in the paper. The peak is at step
    `warmup_steps`.
    """
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def decay(step: float, *, max_steps: int, fraction: float) -> float:
    """The factor on the rate of a step: 1, then falling linearly to zero over the last `fraction` of all steps.

    The paper does not decay to zero (0: a factor of 1 throughout). A short training reaches a lower loss with it
    (Zhai et al. 2022, "Scaling Vision Transformers").
    """
    return max(0.0, min(1.0, (max_steps + 1 - step) / (fraction * max_steps + 1)))


def end_of_warmup(step: int, progress: float, *, warmup_steps: int, max_steps: int) -> int:
    """The last step of the warm-up; in a schedule by time estimated from the `progress` that a step has reached."""
    return max(1, round(step / progress * warmup_steps / max_steps)) if progress else warmup_steps


def position(progress: float, *, max_steps: int) -> float:
    """The step at which a schedule by time is: from 1 at the start to max_steps + 1, where a decay is zero, at the end.

    With the speed for which `max_steps` was chosen it is the number of the step; a slower machine makes fewer steps
    over the same rates.
    """
    return 1 + progress * max_steps
