"""Files that are either absent or whole, whatever happens while they are written."""

import io
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)
"""What reading a damaged file may raise."""


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file, then give it its name in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    write_with(path, lambda temporary: temporary.write_text(text))


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays; zip checksums tell later damage."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.asarray(a) for name, a in arrays.items()})
    write_with(path, lambda temporary: temporary.write_bytes(buffer.getvalue()))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read named arrays; raises one of ``DAMAGE`` if the file is not whole."""
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
