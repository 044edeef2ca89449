"""The band of `efi-direct` for the Black-Scholes problem with nothing known about the
price at S = 2, as in the paper.

    python benchmarks/free_edge.py [data sets] [folder]

Prints how often the band covers, and how often it has no width. With a folder the study
is kept there, and one that is already there is read again. A data set takes 1.1 s on one
H200; use a GPU.
"""

import sys
from pathlib import Path

import numpy as np
from machine import machine

import fiducial as fd

_NO_WIDTH = 1e-6
"""Width below which a band counts as one without width."""
_SHARES = np.linspace(0, 2, 41)
_MONEY = 20
"""Index of S = 1 at t = 0, where the strike is."""


def report(lower: np.ndarray, upper: np.ndarray, estimate: np.ndarray, truth: np.ndarray) -> str:
    """Return coverage and width of bands, one row per data set, as text."""
    inside = (lower <= truth) & (truth <= upper)
    width = (upper - lower)[:, _MONEY]
    wide = width > _NO_WIDTH
    each = inside.mean(axis=1)
    lines = [
        f"coverage {each.mean():.3f} ± {each.std(ddof=1) / np.sqrt(len(each)):.2g} over {len(each)}"
        " data sets"
    ]
    lines += [f"{np.sum(~wide)} of them have no width at S = 1, t = 0"]
    if wide.any():
        off = np.median(np.abs(estimate - truth)[wide, _MONEY])
        lines += [
            f"of the other {wide.sum()}, {inside[wide, _MONEY].sum()} cover there; width"
            f" {width[wide].mean():.3g}, median error of the fit {off:.2g}"
        ]
    return "\n".join(lines)


def main() -> None:
    given = sys.argv[1:]
    replicates = int(given[0]) if given else 100
    folder = Path(given[1]) if given[1:] else None
    print(f"machine: {machine()}")
    problem = fd.problem("black-scholes", unknown=None, edge="free")
    points = {"S": np.tile(_SHARES, 2), "t": np.repeat([0.0, 0.5], len(_SHARES))}
    resume = folder is not None and (folder / "study.json").exists()
    study = fd.study(
        problem,
        [fd.EFIDirect(draws=200)],
        replicates=replicates,
        seed=2026,
        points=points,
        folder=folder,
        resume=resume,
    )
    (cell,) = study.cells
    print(
        report(
            *(cell.arrays[f"V.{what}"] for what in ("lower", "upper", "estimate")),
            np.asarray(cell.truth["V"]),
        )
    )
    print(f"{study.rows[0]['seconds_per_dataset']:.3g} s a data set")


if __name__ == "__main__":
    main()
