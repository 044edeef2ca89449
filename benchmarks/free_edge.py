"""Black-Scholes as the paper has it, nothing known about the price at the highest share
price: what becomes of the band.

python benchmarks/free_edge.py [data sets] [folder]

Made for a GPU. With a folder the study is kept there, and one that is there already is
read again."""

import platform
import sys
from pathlib import Path

import jax
import numpy as np

import fiducial as fd

_NO_WIDTH = 1e-6
_SHARES = np.linspace(0, 2, 41)
_MONEY = 20
"""Where S = 1 at t = 0."""


def report(lower: np.ndarray, upper: np.ndarray, estimate: np.ndarray, truth: np.ndarray) -> str:
    """Of bands at the points, one row a data set."""
    inside, width = (lower <= truth) & (truth <= upper), (upper - lower)[:, _MONEY]
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
    replicates, folder = int(given[0]) if given else 100, Path(given[1]) if given[1:] else None
    print(f"machine: {jax.devices()[0].device_kind}, {platform.machine()}, jax {jax.__version__}")
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
