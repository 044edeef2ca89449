"""A folder from which a killed run goes on, at any moment and bit for bit.

After every chunk two files are written: what the chunk recorded, and the state it left.
Each is written under a temporary name and then renamed, so a file that has its name is
whole; zip checksums catch later damage. The last two states are kept.
"""

import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..atomic_files import DAMAGE, read_arrays, write_arrays, write_text

_KEPT_STATES = 2


class Checkpoint:
    """Reads and writes the checkpoint folder of one run.

    Arguments:
        folder: where the files go; made when first written to.
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)

    def exists(self) -> bool:
        """Whether a run has begun here."""
        return (self.folder / "run.json").is_file()

    def begin(self, identity: dict[str, Any]) -> None:
        """Note what is being run, so that another problem is not resumed by mistake."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / "run.json", json.dumps(identity, indent=1))

    def identity(self) -> dict[str, Any]:
        """What was noted at the beginning."""
        return json.loads((self.folder / "run.json").read_text())

    def save(self, number: int, position: dict[str, int], state: Any, records: Any) -> None:
        """Store chunk ``number``: its records, and the state after it."""
        meta = np.frombuffer(json.dumps(position).encode(), np.uint8)
        for kind, tree in (("records", records), ("state", state)):
            leaves = {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}
            write_arrays(self._file(kind, number), {"position": meta, **leaves})
        for old in self._numbers("state")[:-_KEPT_STATES]:
            self._file("state", old).unlink(missing_ok=True)

    def states(self) -> Iterator[tuple[int, dict[str, int], list[np.ndarray]]]:
        """Stored states that are whole, newest first, each with its number and
        position.
        """
        for number in reversed(self._numbers("state")):
            found = self._read("state", number)
            if found is not None:
                yield number, *found

    def records(self, number: int) -> list[tuple[dict[str, int], list[np.ndarray]]] | None:
        """What the chunks up to ``number`` recorded, or None when one of them is
        missing or damaged.
        """
        found = [self._read("records", k) for k in range(1, number + 1)]
        return None if any(f is None for f in found) else found  # type: ignore[return-value]

    def forget_after(self, number: int) -> None:
        """Delete chunks later than ``number``, which are about to be computed again."""
        for kind in ("state", "records"):
            for k in self._numbers(kind):
                if k > number:
                    self._file(kind, k).unlink()

    def _file(self, kind: str, number: int) -> Path:
        return self.folder / f"{kind}-{number:06d}.npz"

    def _numbers(self, kind: str) -> list[int]:
        found = (re.fullmatch(rf"{kind}-(\d+)\.npz", p.name) for p in self.folder.iterdir())
        return sorted(int(m.group(1)) for m in found if m)

    def _read(self, kind: str, number: int) -> tuple[dict[str, int], list[np.ndarray]] | None:
        path = self._file(kind, number)
        try:
            arrays = read_arrays(path)
            meta = arrays.pop("position")
            return json.loads(bytes(meta)), [arrays[name] for name in sorted(arrays)]
        except DAMAGE as error:
            warnings.warn(
                f"checkpoint {path} is missing or damaged ({error}); going back to one before it",
                stacklevel=2,
            )
            return None

    def remove(self) -> None:
        """Delete the folder's own files once the result is safe elsewhere."""
        for path in [
            *self.folder.glob("state-*.npz"),
            *self.folder.glob("records-*.npz"),
            self.folder / "run.json",
        ]:
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()
