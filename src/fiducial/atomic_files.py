"""Files that are either absent or whole, and that show when they were damaged later.

Every file is written under a temporary name, and gets its own name in one step when it is
complete. A file that is read back also carries the version of its format and a checksum,
the SHA-256 of its content. Both are verified before anything in the file is used:

- After the content of a binary file or a table comes a line with both, the *seal*.
  Programs that read HDF5, zip archives or Markdown ignore it, so that xarray, h5py and
  NumPy can open the file as well. The checksum is that of the bytes and not of the values,
  so that no parser sees a damaged file: HDF5 reads most damaged files without an error,
  with other numbers.
- In a JSON file, which may hold nothing after its end, the last member holds both, and
  the checksum is that of the other members.
"""

import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_SEAL = re.compile(rb"\n<!-- ([a-z]+-[a-z]+-\d+) sha256 ([0-9a-f]{64}) -->\n\Z")
"""The line after the content of a sealed file: format and checksum. Markdown takes it for a
comment."""
_LONGEST_SEAL = 200
"""Bytes at the end of a file in which a seal is looked for."""
_CHECKSUM = "checksum"
"""Name of the member of a JSON file that holds its format and checksum."""
_ABOUT = "about"
"""Name of the array that describes the others in a file of arrays, as JSON text."""


class DamagedFileError(ValueError):
    """A file is not what was written: it was damaged, cut off, or changed by another
    program. The message names the file and says what to do.
    """


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file, then give the file its name in one step.

    Arguments:
        path: the file.
        write: writes the content into a file of another name.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, without a checksum."""
    write_with(path, lambda temporary: temporary.write_text(text))


def write_sealed(path: Path, write: Callable[[Path], object], file_format: str) -> None:
    """Write a file like ``write_with``, and seal it.

    Arguments:
        path: the file.
        write: writes the content into a file of another name.
        file_format: name and version of the format, such as ``fiducial-result-2``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "numbers.txt"
        ...     write_sealed(path, lambda file: file.write_text("1 2 3"), "fiducial-list-1")
        ...     read_sealed(path, "fiducial-list-1")
        b'1 2 3'
    """

    def write_and_seal(temporary: Path) -> None:
        write(temporary)
        with open(temporary, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with open(temporary, "ab") as file:
            file.write(f"\n<!-- {file_format} sha256 {digest} -->\n".encode())

    write_with(path, write_and_seal)


def read_sealed(path: Path, file_format: str) -> bytes:
    """Return the content of a sealed file of this format.

    Raises:
        FileNotFoundError: if there is no such file.
        DamagedFileError: if the content is not what was sealed, or there is no seal.
    """
    content, sealed = read_perhaps_sealed(path, file_format)
    if not sealed:
        raise DamagedFileError(
            f"{path} has no checksum at its end: it was cut off, or written by an older version"
            " of fiducial"
        )
    return content


def read_perhaps_sealed(path: Path, file_format: str) -> tuple[bytes, bool]:
    """Return the content of a file, and whether it is sealed, for files that older versions
    wrote without a seal.

    Raises:
        FileNotFoundError: if there is no such file.
        DamagedFileError: if there is a seal, and the content is not what was sealed.
    """
    found = path.read_bytes()
    seal = _SEAL.search(found, max(0, len(found) - _LONGEST_SEAL))
    if seal is None:
        return found, False
    content = found[: seal.start()]
    _check_format(path, seal[1].decode(), file_format)
    if hashlib.sha256(content).hexdigest().encode() != seal[2]:
        raise DamagedFileError(
            f"{path} was damaged or changed after it was written: its content does not agree"
            " with the checksum at its end"
        )
    return content, True


def write_json(path: Path, contents: Mapping[str, Any], file_format: str) -> None:
    """Write a JSON object, with its format and checksum as the last member."""
    plain = json.loads(json.dumps(contents, default=str))
    seal = f"{file_format} sha256 {_checksum(plain)}"
    write_text(path, json.dumps({**plain, _CHECKSUM: seal}, indent=2) + "\n")


def read_json(path: Path, file_format: str) -> dict[str, Any]:
    """Return a JSON object of this format, without its checksum.

    Raises:
        FileNotFoundError: if there is no such file.
        DamagedFileError: if the object is not what was written, or has no checksum.
    """
    try:
        contents = json.loads(path.read_bytes())
        found_format, _, stated = contents.pop(_CHECKSUM).split()
    except KeyError:
        raise DamagedFileError(
            f"{path} has no checksum: it was changed, or written by an older version of fiducial"
        ) from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFileError(
            f"{path} is damaged or no file of fiducial: it cannot be read as JSON ({error})"
        ) from error
    _check_format(path, found_format, file_format)
    if stated != _checksum(contents):
        raise DamagedFileError(
            f"{path} was damaged or changed after it was written: its content does not agree"
            " with its checksum"
        )
    return contents


def write_arrays(
    path: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray], file_format: str
) -> None:
    """Write named arrays and an object that JSON can hold, in one sealed file.

    Arguments:
        path: the file.
        about: what the arrays are.
        arrays: the arrays; no name may be ``about``.
        file_format: name and version of the format.
    """
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    buffer = io.BytesIO()
    plain = {name: np.asarray(values) for name, values in arrays.items()}
    np.savez(buffer, allow_pickle=False, **{_ABOUT: text}, **plain)
    write_sealed(path, lambda temporary: temporary.write_bytes(buffer.getvalue()), file_format)


def read_arrays(path: Path, file_format: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the object and the arrays that ``write_arrays`` wrote.

    Raises:
        FileNotFoundError: if there is no such file.
        DamagedFileError: if the file is not what was written.
    """
    with np.load(io.BytesIO(read_sealed(path, file_format)), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(bytes(arrays.pop(_ABOUT))), arrays


def _check_format(path: Path, found: str, wanted: str) -> None:
    """Raise an error if a file has another format."""
    if found != wanted:
        raise DamagedFileError(
            f"{path} has the format {found}, where {wanted} is needed: it is another kind of"
            " file, or was written by another version of fiducial"
        )


def _checksum(contents: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON object, whatever the order and layout of its text."""
    canonical = json.dumps(contents, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
