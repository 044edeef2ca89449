"""Summaries of draws: mean, standard deviation and limits."""

import numpy as np


def check_level(level: float) -> None:
    """Raise a ``ValueError`` if a level is not between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level={level!r}: give a number between 0 and 1, such as 0.95")


def summarise_draws(
    estimate: np.ndarray, drawn: np.ndarray | None, level: float
) -> dict[str, np.ndarray]:
    """Return estimate, mean, sd and equal-tailed limits by Weibull's rule.

    With Weibull's rule the limits of n draws cover at the stated level for any n.

    Arguments:
        estimate: the point estimate.
        drawn: draws along the first axis; None for a point estimate, whose sd and
            limits are not-a-number.
        level: level of the interval.
    """
    if drawn is None:
        missing = np.full(np.shape(estimate), np.nan)
        known = {"estimate": estimate, "mean": estimate}
        return {**known, "sd": missing, "lower": missing, "upper": missing}
    tail = (1 - level) / 2
    lower, upper = np.quantile(drawn, [tail, 1 - tail], axis=0, method="weibull")
    mean, sd = drawn.mean(axis=0), drawn.std(axis=0, ddof=1)
    return {"estimate": estimate, "mean": mean, "sd": sd, "lower": lower, "upper": upper}
