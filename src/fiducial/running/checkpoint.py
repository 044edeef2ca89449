"""A folder from which a run that was stopped at any moment goes on, to the same bits.

After every chunk two files are written: what the chunk recorded, and the state that it
left, together with the identity of the run. So a state and the records before it are
enough to go on, whatever else is lost: ``run.json`` is only for a run that was stopped
before its first chunk, and for people. Every file shows damage by its checksum."""

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..atomic_files import DamagedFileError, read_arrays, read_json, write_arrays, write_json

_RUN = "fiducial-run-2"
"""Format of ``run.json``; version 1 had no checksum."""
_CHUNK = "fiducial-chunk-2"
"""Format of states and records; version 1 had no seal."""
_LATEST = 2
"""Number of the latest states that are kept: when one is damaged, the other serves."""
_EVERY = 8
"""Besides, the state of every eighth chunk is kept, so that damaged records cost the run
since that chunk and not the whole run. A phase has about twenty chunks."""

Identity = dict[str, Any]


class Chunk(NamedTuple):
    """What a file of a checkpoint holds.

    Attributes:
        position: the phase and the step that the chunk reached.
        leaves: the leaves of the tree that was stored.
    """

    position: dict[str, int]
    leaves: list[np.ndarray]


class Stored(NamedTuple):
    """A state from which a run can go on.

    Attributes:
        number: number of chunks that are done.
        state: the state after them.
        records: what each of them recorded.
    """

    number: int
    state: Chunk
    records: list[Chunk]


class Checkpoint:
    """Reads and writes the checkpoint folder of one run.

    Arguments:
        folder: where the files go; made when first written to.
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self._identity: Identity = {}

    def exists(self) -> bool:
        """Return whether a run has begun here."""
        return self._about.is_file() or bool(self._numbers("state"))

    def begin(self, identity: Identity) -> None:
        """Store what is being run, so that another run is not continued by mistake."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._identity = identity
        write_json(self._about, identity, _RUN)

    def identity(self) -> Identity:
        """Return what is being run: from ``run.json``, or where that is lost from the newest
        state that is whole.

        Raises:
            DamagedFileError: if no file that says it is whole.
        """
        try:
            return read_json(self._about, _RUN)
        except (FileNotFoundError, DamagedFileError) as error:
            trouble = error
        for number in reversed(self._numbers("state")):
            try:
                about, _ = read_arrays(self._file("state", number), _CHUNK)
            except DamagedFileError:
                continue
            warnings.warn(f"{trouble}; the identity stored with a state is used", stacklevel=2)
            return about["identity"]
        raise DamagedFileError(
            f"the run in {self.folder} cannot be continued, because no file that says what it is"
            f" is whole ({trouble}); begin it again in another folder, or if an older version of"
            " fiducial began it, resume it with that version"
        )

    def save(self, number: int, position: dict[str, int], state: Any, records: Any) -> None:
        """Store chunk ``number``: its records, and the state after it."""
        about = {"position": position, "identity": self._identity}
        for kind, tree in (("records", records), ("state", state)):
            leaves = {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}
            write_arrays(self._file(kind, number), about, leaves, _CHUNK)
        for old in self._numbers("state")[:-_LATEST]:
            if old % _EVERY:
                self._file("state", old).unlink(missing_ok=True)

    def newest(self) -> Stored | None:
        """Return the newest state that is whole, with the records of all chunks up to it;
        None when there is none.
        """
        records = self._whole_records()
        for number in reversed(self._numbers("state")):
            if number > len(records):
                continue
            state = self._read("state", number)
            if state is not None:
                return Stored(number, state, records[:number])
        return None

    def forget_after(self, number: int) -> None:
        """Delete chunks later than ``number``, which are about to be computed again."""
        for kind in ("state", "records"):
            for k in self._numbers(kind):
                if k > number:
                    self._file(kind, k).unlink()

    def remove(self) -> None:
        """Delete the folder's own files once the result is safe elsewhere."""
        self.forget_after(0)
        self._about.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    @property
    def _about(self) -> Path:
        return self.folder / "run.json"

    def _file(self, kind: str, number: int) -> Path:
        return self.folder / f"{kind}-{number:06d}.npz"

    def _numbers(self, kind: str) -> list[int]:
        """Return the numbers of the stored chunks of a kind, in order."""
        if not self.folder.is_dir():
            return []
        found = (re.fullmatch(rf"{kind}-(\d+)\.npz", p.name) for p in self.folder.iterdir())
        return sorted(int(m.group(1)) for m in found if m)

    def _whole_records(self) -> list[Chunk]:
        """Return the records of all chunks before the first that is missing or damaged."""
        whole: list[Chunk] = []
        for number in range(1, max(self._numbers("state"), default=0) + 1):
            found = self._read("records", number)
            if found is None:
                break
            whole.append(found)
        return whole

    def _read(self, kind: str, number: int) -> Chunk | None:
        """Return what a file holds, or None with a warning if it is missing or damaged."""
        try:
            about, leaves = read_arrays(self._file(kind, number), _CHUNK)
        except (FileNotFoundError, DamagedFileError) as error:
            warnings.warn(
                f"a file of the checkpoint cannot be used ({error}); the run goes on from before"
                " it",
                stacklevel=2,
            )
            return None
        return Chunk(about["position"], [leaves[name] for name in sorted(leaves)])
