"""The folder that a command works in."""

from collections.abc import Sequence
from pathlib import Path

from .app import fail

_MOST = 1000
"""Largest number in the name of a default folder."""


def choose_folder(
    out: Path | None, default: str, resume: bool, begun: Sequence[str] = ("checkpoint/*",)
) -> Path:
    """Return the folder to work in, which is new or empty, or holds the run to resume.

    Arguments:
        out: the folder that the user gave, or None.
        default: the folder without that; numbers are added while it exists.
        resume: whether a run is to go on.
        begun: patterns of files of which a run that has begun leaves at least one.
    """
    if out is None:
        names = [Path(default), *(Path(f"{default}-{i}") for i in range(2, _MOST))]
        taken = [p for p in names if p.exists()]
        out = taken[-1] if resume and taken else next(p for p in names if not p.exists())
    if resume:
        # a run killed before its first file has nothing to go on from, and nothing to lose
        empty = out.is_dir() and not any(p.is_file() for p in out.rglob("*"))
        if not any(True for pattern in begun for _ in out.glob(pattern)) and not empty:
            fail(f"{out} holds no run to go on with; leave out --resume to begin one")
    elif (out / "summary.json").is_file():
        fail(
            f"{out} holds a finished run, which `fiducial show {out}` prints; give a new folder"
            " with --out"
        )
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        fail(
            f"{out} is not empty; give a new folder with --out, or --resume to go on with the run"
            " in it"
        )
    return out
