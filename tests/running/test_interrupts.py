"""Ctrl-C where Python would lose it, in a process of its own."""

import subprocess
import sys

SCRIPT = """
import gc, signal, time
from fiducial.running.interrupts import keep_interrupts

def press(*_):
    if not pressed:
        pressed.append(True)
        signal.raise_signal(signal.SIGINT)

pressed = []
keep_interrupts()
gc.callbacks.append(press)
gc.collect()
assert pressed
gc.callbacks.remove(press)
try:
    for _ in range(1000):
        time.sleep(0.005)
except KeyboardInterrupt:
    print("raised")
"""


def test_in_a_callback_of_the_garbage_collector_it_is_raised_later():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stdout == "raised\n", done.stderr
    assert not done.stderr
