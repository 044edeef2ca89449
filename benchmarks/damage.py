"""Damage files of results, studies and checkpoints in hundreds of ways, and count what is
then read: the numbers that were written, or an error that says what to do. Other numbers
stop the command.

    python benchmarks/damage.py [trials] [seed]
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from damage import TRIALS, tally


def main(trials: int = 500, seed: int = 0) -> None:
    for i, kind in enumerate(TRIALS):
        count = (trials + i) // len(TRIALS)
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found = tally(kind, Path(folder) / kind, count, seed)
        seconds = time.perf_counter() - begun
        verdicts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(found.items()))
        print(f"{kind}: {count} damaged files, {verdicts} ({seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
