"""The folder of a study: its settings, and a file for each finished shard.

Every shard also holds the settings of the study and the size of shards, so that finished
shards are enough to go on, whatever else of the folder is lost."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_files import DamagedFileError, read_arrays, read_json, write_arrays, write_json
from ..running.identity import differences

_STUDY = "fiducial-study-2"
"""Format of ``study.json``; version 1 had no checksum."""
_SHARD = "fiducial-shard-2"
"""Format of a shard; version 1 had no seal, and did not say what it was of."""


class Store:
    """Keeps the finished shards of a study in a folder.

    Arguments:
        folder: the folder.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._settings: dict[str, Any] = {}

    def open(self, settings: dict[str, Any], resume: bool) -> None:
        """Begin a study in the folder, which must be new or empty, or go on with the one in
        it, which must have these settings.
        """
        self._settings = json.loads(json.dumps(settings, default=str))
        if resume:
            details = differences(self._stored_settings(), self._settings)
            if details:
                raise ValueError(
                    f"cannot go on with {self.folder}: different {details}; use the same settings,"
                    " or another folder"
                )
        elif self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ValueError(
                f"{self.folder} is not empty; give a new folder, or resume to go on with the study"
                " in it"
            )
        (self.folder / "shards").mkdir(parents=True, exist_ok=True)
        write_json(self.folder / "study.json", self._settings, _STUDY)

    def read(self, cell: str, number: int) -> dict[str, np.ndarray] | None:
        """Return a finished shard of a cell; None where it is missing or damaged."""
        path = self._file(cell, number)
        try:
            return read_arrays(path, _SHARD)[1]
        except FileNotFoundError:
            return None
        except DamagedFileError as error:
            warnings.warn(f"a shard is computed again: {error}", stacklevel=2)
            return None

    def write(
        self,
        cell: str,
        number: int,
        arrays: dict[str, np.ndarray],
        *,
        identity: str,
        size: int,
    ) -> None:
        """Store a finished shard.

        Arguments:
            cell: name of the cell.
            number: number of the shard in its cell.
            arrays: its results.
            identity: what the cell is, as from ``Bench.identity``.
            size: number of data sets in each shard of the cell but the last.
        """
        about = {"settings": self._settings, "identity": identity, "size": size}
        write_arrays(self._file(cell, number), about, arrays, _SHARD)

    def size_of_shards(self, cell: str, identity: str) -> int | None:
        """Return the size of the finished shards of a cell; None where there are none.

        Raises:
            ValueError: if they are of another problem.
        """
        about = self._about_shards(f"{cell}-[0-9]*.npz")
        if about is None:
            return None
        if about["identity"] != identity:
            raise ValueError(
                f"cannot go on with {self.folder}: different problem, truth or points in '{cell}';"
                " use the same, or another folder"
            )
        return about["size"]

    def _stored_settings(self) -> dict[str, Any]:
        """Return the settings of the study in the folder: from ``study.json``, or where that
        is lost from a shard.
        """
        path = self.folder / "study.json"
        try:
            return read_json(path, _STUDY)
        except (FileNotFoundError, DamagedFileError) as error:
            trouble = error
        about = self._about_shards("*.npz")
        if about is not None:
            warnings.warn(f"{trouble}; the settings stored with a shard are used", stacklevel=2)
            return about["settings"]
        if isinstance(trouble, FileNotFoundError):
            raise ValueError(
                f"{self.folder} holds no study to go on with; leave out resume to begin one"
            )
        raise DamagedFileError(
            f"the study in {self.folder} cannot be continued, because no file that says what it is"
            f" is whole ({trouble}); begin it again in another folder, or if an older version of"
            " fiducial began it, go on with that version"
        )

    def _about_shards(self, pattern: str) -> dict[str, Any] | None:
        """Return what the first whole shard says about itself; None where there is none."""
        for path in sorted((self.folder / "shards").glob(pattern)):
            try:
                return read_arrays(path, _SHARD)[0]
            except DamagedFileError:  # ``read`` warns of it
                continue
        return None

    def _file(self, cell: str, number: int) -> Path:
        return self.folder / "shards" / f"{cell}-{number:05d}.npz"
