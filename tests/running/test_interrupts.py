"""Ctrl-C where Python would lose it."""

import gc
import signal
import time

import pytest

from fiducial.running.interrupts import keep_interrupts


@pytest.fixture
def kept():
    before = signal.getsignal(signal.SIGINT)
    keep_interrupts()
    yield
    signal.signal(signal.SIGINT, before)


def wait(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.005)


@pytest.mark.usefixtures("kept")
def test_it_is_raised_at_once():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("kept")
def test_in_a_callback_of_the_garbage_collector_it_is_raised_later():
    pressed = []

    def press(*_):
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    gc.callbacks.append(press)
    try:
        gc.collect()
        assert pressed
        with pytest.raises(KeyboardInterrupt):
            wait(5)
    finally:
        gc.callbacks.remove(press)
