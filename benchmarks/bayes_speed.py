"""Milliseconds of one move of Hamiltonian Monte Carlo, for many data sets at once.

    python benchmarks/bayes_speed.py [data sets] [moves]

The problem is the paper's first, with its settings: 6 leapfrog steps, float32, 200
points of the equation. By default 100 data sets and 2,000 moves, which take 3 s after
compiling on one H200.
"""

import sys

import jax
from machine import machine

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.running.driver import Runner
from fiducial.studies.simulation import Simulator


def main() -> None:
    sets, moves = (int(a) for a in (sys.argv[1:] + ["100", "2000"][len(sys.argv) - 1 :])[:2])
    problem = fd.problem("poisson")
    method = fd.paper.bayes("poisson", steps=moves, chains=1)
    with jax.enable_x64(True):
        runner = Runner(bind(problem), method, keep=lambda model, theta, data: {})
        data = Simulator(problem).draw(sets, seed=0, first=0)
        runner.run(data, seed=0)
        seconds = runner.run(data, seed=1).seconds["run"]
    print(f"machine: {machine()}")
    print(
        f"{sets} data sets, {moves} moves: {1000 * seconds / moves:.3f} ms a move (the paper: 13.3"
        " ms for one data set)"
    )


if __name__ == "__main__":
    main()
