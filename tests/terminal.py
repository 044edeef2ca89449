"""A pseudo-terminal of a given width: what a person sees of a command, frame by
frame.
"""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyte

CTRL_C = b"\x03"
# the terminal must be the session's own for Ctrl-C to reach the command
_LAUNCH = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1],"
    " sys.argv[1:])"
)


@dataclass
class Seen:
    """What a terminal showed.

    Attributes:
        code: exit code of the command.
        frames: the lines on the screen after each change of it.
    """

    code: int = -1
    frames: list[list[str]] = field(default_factory=list)

    @property
    def last(self) -> str:
        """The screen when the command had ended."""
        return "\n".join(self.frames[-1])

    def lines_with(self, words: str) -> list[str]:
        """Every line that was on the screen at any time and holds these words."""
        return list(dict.fromkeys(line for frame in self.frames for line in frame if words in line))


def watch(
    command: list[object],
    *,
    columns: int,
    folder: Path,
    press_at: str | None = None,
    key: bytes = CTRL_C,
    limit: float = 300,
) -> Seen:
    """Run a command in a terminal, and press a key once when some words are on the
    screen.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
    }
    environment |= {"TERM": "xterm-256color", "JAX_COMPILATION_CACHE_DIR": str(folder / "cache")}
    process = subprocess.Popen(
        [sys.executable, "-c", _LAUNCH, *map(str, command)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    screen, seen = pyte.Screen(columns, 200), Seen()
    stream, deadline = pyte.ByteStream(screen), time.monotonic() + limit
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                sent = os.read(ours, 1 << 16)
            except OSError:  # how Linux says that the other side is closed
                break
            if not sent:
                break
            stream.feed(sent)
            frame = [line.rstrip() for line in screen.display if line.strip()]
            seen.frames.append(frame)
            if press_at is not None and press_at in "\n".join(frame):
                os.write(ours, key)
                press_at = None
        seen.code = process.wait(timeout=10)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return seen
