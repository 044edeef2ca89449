"""Conformal prediction around a fit."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..model.model import Data, Model
from ..noise.gaussian import Gaussian
from ..phases.base import AbstractPhase
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.groups import Group
from ..posing.problem import Problem
from ._left_out import LeftOut
from ._refitting import refits
from ._requirements import require_choice, require_positive
from .base import AbstractMethod, Answer, Facts, Outcome

_LEAST = 19
"""Smallest number of measurements for an interval at 95 %: the largest of n errors
covers a new one n times out of n + 1.
"""
_LEAST_PLACES = 10
"""Smallest number of places with which a new place is taken as exchangeable. A
convention.
"""
_MOST_FOLDS = 40
"""Largest number of parts that are left out by default, each of which costs a refit."""


class Conformal(AbstractMethod):
    """Intervals for new measurements, from the distances of measurements to fits that
    left them out.

    It needs no model of the errors' distribution, only a new measurement that is
    exchangeable with those at hand: taken at the same kind of place in the same way. It
    says nothing about the solution itself or the constants. ``predict`` has the
    intervals.

    Arguments:
        kind: ``"jackknife"`` for jackknife+, in which each measurement is left out
            once, or ``"split"``, in which one fit to half of the measurements is
            compared with the other half.
        folds: number of parts that are left out one after the other; None for one
            measurement at a time, in at most 40 parts.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit to all
            measurements.

    Reference:
        Vovk, Gammerman, Shafer (2005), Algorithmic learning in a random world; Barber,
        Candès, Ramdas, Tibshirani (2021), Predictive inference with the jackknife+,
        Ann. Statist. 49.

    Example:
        ``fiducial.fit(problem, fiducial.Conformal(), seed=0).predict()``
    """

    kind: str = "jackknife"
    folds: int | None = None
    lm_steps: int = 1200
    chains: int = 1
    name: ClassVar[str] = "conformal"
    summary: ClassVar[str] = (
        "intervals for new measurements only, from fits that left some out; few assumptions, no"
        " intervals of the constants"
    )
    no_interval: ClassVar[str | None] = (
        "conformal gives intervals of new measurements (see predict), and only point estimates of"
        " the solution and the constants; use efi-direct for their intervals"
    )

    def __check_init__(self) -> None:
        require_positive(self, "lm_steps")
        require_choice(self, kind=("jackknife", "split"))
        if self.folds is not None and self.folds < 2:
            raise ValueError(f"Conformal(folds={self.folds}): give at least 2, or None")
        if self.chains != 1:
            raise ValueError(f"Conformal(chains={self.chains}): it uses one fit; give chains=1")

    def check(self, problem: Problem) -> None:
        targets = _targets(problem.groups)
        if not targets:
            raise ValueError(
                "conformal: no output has noisy observations, so there is nothing to predict; use"
                " pinn"
            )
        for g in targets:
            if not isinstance(g.noise, Gaussian):
                raise ValueError(
                    f"conformal: the errors of '{g.name}' are not independent Gaussian ones, so its"
                    " measurements may not be exchangeable; use efi-direct"
                )
            if len(g.sites) < _LEAST_PLACES:
                raise ValueError(
                    f"conformal: '{g.name}' was measured at {len(g.sites)} places, and a"
                    " measurement at another place is not exchangeable with so few (at least"
                    f" {_LEAST_PLACES}); use efi-direct"
                )
            scored = g.y.size // 2 if self.kind == "split" else g.y.size
            if scored < _LEAST:
                enough = self.kind == "split" and g.y.size >= _LEAST
                instead = "kind='jackknife'" if enough else "efi-direct"
                raise ValueError(
                    f"conformal: {scored} measurements of '{g.name}' to compare with are too few"
                    f" for 95 % (at least {_LEAST}); use {instead}"
                )

    def _folds(self, group: Group) -> np.ndarray:
        """Return the number of the refit that leaves each measurement out, or -1 for
        none.

        Neighbours are in different parts.
        """
        n = group.y.size
        order = np.lexsort(group.points.array.T[::-1])
        place = np.empty(n, int)
        place[order] = np.arange(n)
        if self.kind == "split":
            return np.where(place % 2 == 1, 0, -1)
        return place % min(n, self.folds or _MOST_FOLDS)

    def _refit_count(self, model: Model) -> int:
        return max(int(self._folds(g).max()) + 1 for g in _targets(model.groups))

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        folds = {g.name: self._folds(g) for g in _targets(model.groups)}

        def change(
            model: Model, data: Data, fit: Array, number: Array, key: PRNGKeyArray
        ) -> tuple[Model, Data]:
            groups = [
                (
                    dataclasses.replace(
                        g, noise=LeftOut(g.noise, jnp.asarray(folds[g.name] != number, float))
                    )
                    if g.name in folds and isinstance(g.noise, Gaussian)
                    else g
                )
                for g in model.groups
            ]
            return dataclasses.replace(model, groups=tuple(groups)), data

        return LevenbergMarquardt(self.lm_steps), refits(
            self._refit_count(model), change, errors=True
        )

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        extra = outcome.extra["draw"]
        left_out = {"theta": extra["theta"][:, 0]}
        for g in _targets(model.groups):
            fold = self._folds(g)
            scored = np.flatnonzero(fold >= 0)
            left_out[f"z_{g.name}"] = extra[f"errors {g.name}"][:, 0][:, fold[scored], scored]
            left_out[f"fold_{g.name}"] = np.broadcast_to(
                fold[scored], (len(extra["theta"]), scored.size)
            )
        failed = 1 - extra["settled"][:, 0].mean(axis=1)
        return Answer(
            estimate=np.asarray(outcome.state.fit[:, 0]),
            left_out=left_out,
            facts=Facts(failed_draws=failed),
        )


def _targets(groups: tuple[Group, ...]) -> list[Group]:
    return [g for g in groups if g.noise is not None and g.output]
