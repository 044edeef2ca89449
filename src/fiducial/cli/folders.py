"""The folder that a command works in."""

from pathlib import Path

from .app import fail


def choose_folder(
    out: Path | None, default: str, resume: bool, begun: str = "checkpoint/run.json"
) -> Path:
    """The folder to work in; never one that holds something, unless its run is to go
    on.
    """
    if out is None:
        used = [Path(default), *(Path(f"{default}-{i}") for i in range(2, 1000))]
        taken = [p for p in used if p.exists()]
        out = taken[-1] if resume and taken else next(p for p in used if not p.exists())
    if resume:
        # a run killed before its first file has nothing to go on from, and nothing to
        # lose
        if not (out / begun).is_file() and (
            not out.is_dir() or any(p.is_file() for p in out.rglob("*"))
        ):
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
