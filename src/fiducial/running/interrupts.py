"""Ctrl-C before and while a run goes on."""

import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LATER = 0.02
"""Seconds after which a Ctrl-C is tried again (convention)."""


def keep_interrupts() -> None:
    """Raise ``KeyboardInterrupt`` on Ctrl-C as Python does, but a moment later where it
    would be lost, in a callback of the garbage collector or a destructor.

    Call in the main thread of a command.
    """

    def on_signal(signum: int, frame: Any) -> None:
        # Python prints what these raise, and goes on; JAX has such a callback
        callbacks = [getattr(callback, "__code__", None) for callback in gc.callbacks]
        while frame is not None:
            if frame.f_code in callbacks or frame.f_code.co_name == "__del__":
                threading.Timer(_LATER, os.kill, (os.getpid(), signum)).start()
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, on_signal)


@contextmanager
def catch_interrupt() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event, so that a chunk can be finished; a second one
    stops at once.

    Outside the main thread, where Python delivers no signals, the event is never set.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def on_signal(signum: int, frame: Any) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
