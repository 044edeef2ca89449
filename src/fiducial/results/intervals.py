"""Mean, standard deviation and limits of draws."""

import numpy as np


def spread(estimate: np.ndarray, drawn: np.ndarray | None, level: float) -> dict[str, np.ndarray]:
    """Estimate, mean, sd and equal-tailed limits (Weibull's rule, which is unbiased
    for coverage).
    """
    if drawn is None:
        missing = np.full(np.shape(estimate), np.nan)
        return {
            "estimate": estimate,
            "mean": estimate,
            "sd": missing,
            "lower": missing,
            "upper": missing,
        }
    tail = (1 - level) / 2
    lower, upper = np.quantile(drawn, [tail, 1 - tail], axis=0, method="weibull")
    return {
        "estimate": estimate,
        "mean": drawn.mean(axis=0),
        "sd": drawn.std(axis=0, ddof=1),
        "lower": lower,
        "upper": upper,
    }
