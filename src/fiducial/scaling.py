"""Sizes of outputs, from what was observed of them."""

from collections.abc import Mapping

import numpy as np

from .problem import Problem


def output_scaling(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offset and size of each output from the direct observations of it."""
    assert isinstance(problem.outputs, Mapping)
    offsets, scales, positives = [], [], []
    for name, output in problem.outputs.items():
        seen = [g.y for g in problem.groups if g.output == name]
        y = np.concatenate(seen) if seen else np.zeros(1)
        middle = 0.5 * float(y.min() + y.max())
        spread = 0.5 * float(y.max() - y.min())
        size = float(np.abs(y).max())
        # values that hardly differ say nothing about how much the field varies: use their size
        if spread < 1e-6 * size or output.positive:
            middle, spread = 0.0, size
        offsets.append(middle)
        scales.append(output.scale or spread or 1.0)
        positives.append(output.positive)
    return np.array(offsets), np.array(scales), np.array(positives)
