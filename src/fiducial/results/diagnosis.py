"""Checks of a result that need no knowledge of the truth, and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..device import run_once
from ..model.exact_residuals import MET, MET_BETWEEN, residuals
from ..posing.groups import Group
from ..posing.unknowns import Interval, Positive
from ..status import Status
from .constant_pairs import TOGETHER, constants, describe, hardly_known, pairs
from .other_solutions import EXCESS, OTHER

if TYPE_CHECKING:
    from .result import Result

_LEAST_DRAWS = 400
_LEAST_PAIRS = 6
"""Pairs of neighbours that are needed to say whether errors resemble each other,
where no size is known that they could be too large for.
"""
_MANY_PAIRS = 16
"""So many are enough to say so from their number alone;"""
_ORDERS, _RARE = 20_000, 0.99865
"""of fewer, so many random orders say what is rare."""
_ONE_LINE = 1e5
"""Unknowns whose draws have a larger condition lie on one line: some direction was
not followed at all.
"""
_STUCK = 0.01
"""A constant near zero whose logarithm moves by less is stuck there; where draws
fail because they would have to pass zero, ten times as much.
"""
_MOST_FAILED = 0.02
"""More draws than this that have no solution cut the tails."""
_LEAST_TIGHTNESS = 5.0
"""Errors of an exact equation that are so much smaller than those of the best data
widen the band by a few per cent.
"""
_FEW_DRAWS = 100
"""With fewer effective draws than this 95 % limits are guesses."""


@dataclass(frozen=True)
class Check:
    """One number against its limit.

    Attributes:
        name: what was checked.
        value: what was found, or None when it is not a number.
        limit: the largest value that passes, or None.
        ok: whether it passed.
        severe: whether a failure means that the answer must not be trusted.
        advice: what to do about a failure.
    """

    name: str
    value: float | None
    limit: float | None
    ok: bool
    severe: bool
    advice: str


@dataclass(frozen=True)
class Diagnosis:
    """All checks and what follows from them.

    Example:
        ``result.diagnose().verdict`` is ``"trust"``, ``"caution"`` or ``"do not
        trust"``.
    """

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """``trust``, ``caution`` or ``do not trust``."""
        failed = [c for c in self.checks if not c.ok]
        return "do not trust" if any(c.severe for c in failed) else "caution" if failed else "trust"

    @property
    def reasons(self) -> list[str]:
        """Why, and what to change."""
        return [f"{c.name}: {c.advice}" for c in self.checks if not c.ok]

    def __str__(self) -> str:
        lines = [f"verdict: {self.verdict}", *(f"  - {reason}" for reason in self.reasons)]
        for c in self.checks:
            value = "" if c.value is None else f" {c.value:.3g}"
            limit = "" if c.limit is None else f" (limit {c.limit:.3g})"
            lines.append(f"  [{'ok' if c.ok else '!!'}] {c.name}{value}{limit}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def diagnose(result: "Result", against: Sequence["Result"] = ()) -> Diagnosis:
    """Run every check that applies to a result, and its agreement with other results
    of the same problem.
    """
    checks = [_status(result), _stopped(result)]
    with jax.enable_x64(True):
        (own, between), errors = _quantities(result)
    for g in result.problem.groups:
        checks += (
            _physics(g, own, between)
            if g.exact
            else [*_misfit(g, errors[g.name]), *_independent(g, errors[g.name])]
        )
    checks += [*_draws(result), *_identifiable(result), *_elsewhere(result), _interval(result)]
    return Diagnosis((*checks, *(_agreement(result, other) for other in against)))


def _agreement(result: "Result", other: "Result") -> Check:
    """Means and standard deviations of the outputs and the unknowns, in standard
    deviations, as far as so many draws can tell.
    """
    if result.draws is None or other.draws is None:
        raise ValueError(
            f"diagnose: {result.method} and {other.method} cannot be compared, as one of them has"
            " no draws"
        )
    tables = []
    for one in (result, other):
        band, constants = one.band(one.grid(11)), one.parameters()
        # near an exact value there is no spread to speak of
        least = np.broadcast_to(0.01 * band["sd"].max("point"), band["sd"].T.shape).T.ravel()
        table = {
            what: np.concatenate([band[what].values.ravel(), constants[what].to_numpy()])
            for what in ("mean", "sd")
        }
        tables.append({**table, "least": np.concatenate([least, np.zeros(len(constants))])})
    if tables[0]["sd"].shape != tables[1]["sd"].shape:
        raise ValueError(
            f"diagnose: the results of {result.method} and {other.method} are not of the same"
            " problem"
        )
    mine, theirs = tables
    finite = all(np.isfinite(table[what]).all() for table in tables for what in ("mean", "sd"))
    known = theirs["sd"] > theirs["least"]
    sd = np.where(known, theirs["sd"], 1.0)
    value = float(
        np.max(
            np.where(
                known,
                np.maximum(np.abs(mine["mean"] - theirs["mean"]) / sd, np.abs(mine["sd"] / sd - 1)),
                0.0,
            )
        )
    )
    worth = [
        one.facts.get("effective draws", one.draws["theta"].shape[0] * one.draws["theta"].shape[1])
        for one in (result, other)
    ]  # type: ignore[index]
    limit = 0.1 + 3 * float(np.sqrt(sum(1 / max(1.0, n) for n in worth)))
    advice = (
        f"{result.method} and {other.method} differ by more than their draws explain; trust the"
        " narrower claim of neither"
    )
    value = value if finite else math.inf
    return Check(
        f"difference from {other.method}, in standard deviations",
        value,
        limit,
        value <= limit,
        False,
        advice,
    )


def _status(result: "Result") -> Check:
    failed = [s for s in result.statuses if not s.usable]
    message = (failed[0] if failed else result.status).message
    advice = (
        f"{message}; try another seed, a smaller step, or look for divisions by zero in the"
        " equation"
    )
    problem = result.problem
    data, free = (
        sum(g.y.size for g in problem.groups if not g.exact),
        result.model.constant_count + 2 * len(problem.outputs),
    )
    if (
        any(g.noise_unknowns() for g in problem.groups) and data <= free
    ):  # two for each output is what an equation of second order leaves free
        advice = (
            f"{message}; {data} data may be met exactly, which leaves nothing to infer the size of"
            " their errors from: give sd=, or more data"
        )
    return Check("chains that failed", float(len(failed)), 0.0, not failed, True, advice)


def _stopped(result: "Result") -> Check:
    early = float(sum(s is Status.UNSETTLED for s in result.statuses))
    advice = "the stop rule was not met: the fit may still move; give more steps"
    return Check("chains that ran out of steps", early, 0.0, early == 0, False, advice)


def _quantities(result: "Result") -> tuple[tuple[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """What the checks look at, in one compiled program: residuals of exact groups,
    errors of noisy ones.
    """
    model = result.model
    data = {g.name: g.y for g in result.problem.groups}
    seen = run_once(
        lambda theta: (residuals(model, theta), model.errors(theta, data)),
        result.tree["estimate"]["theta"].values,
    )
    return jax.tree.map(np.asarray, seen)


def _physics(
    group: Group, own: dict[str, np.ndarray], between: dict[str, np.ndarray]
) -> list[Check]:
    """Exact values are met, and the equation also holds between its points where its
    right-hand side is constant.
    """
    value = float(own[group.name])
    advice = (
        "the exact values are not met; use more steps, a wider network, or check that they do not"
        " contradict each other"
    )
    checks = [Check(f"residual of exact '{group.name}'", value, MET, value <= MET, True, advice)]
    if group.name in between:
        value = float(between[group.name])
        advice = "the equation does not hold between its points; give more collocation points"
        checks.append(
            Check(
                f"residual of '{group.name}' at new points",
                value,
                MET_BETWEEN,
                value <= MET_BETWEEN,
                True,
                advice,
            )
        )
    return checks


def _misfit(group: Group, z: np.ndarray) -> list[Check]:
    """Errors of known size are not larger than they should be."""
    if group.noise_unknowns():
        return []
    from scipy.stats import chi2

    value, limit = float(np.mean(z**2)), float(chi2.ppf(0.999, z.size) / z.size)
    advice = (
        "the data lie further from the solution than their noise allows; is the sd too small, or"
        " the equation not right for them?"
    )
    return [Check(f"misfit of '{group.name}'", value, limit, value <= limit, True, advice)]


def _independent(group: Group, z: np.ndarray) -> list[Check]:
    """Errors of neighbours along a coordinate, all else being equal, do not resemble
    each other.
    """
    points, checks = group.points, []
    for i, name in enumerate(points.names):
        others = np.column_stack([np.delete(points.array, i, axis=1), points.repeats()])
        order = np.lexsort((points.array[:, i], *others.T))
        near = (others[order][1:] == others[order][:-1]).all(axis=1)
        first, second = z[order][:-1][near], z[order][1:][near]
        if len(first) < (_LEAST_PAIRS if group.noise_unknowns() else _MANY_PAIRS):
            continue
        value, limit = float(_likeness(first, second)), 3 / math.sqrt(len(first))
        if (
            len(first) < _MANY_PAIRS
        ):  # how much alike they are in other orders; a fit to few data makes their mean small
            shuffled = np.random.default_rng(0).permuted(np.tile(z[order], (_ORDERS, 1)), axis=1)
            limit = float(
                np.quantile(_likeness(shuffled[:, :-1][:, near], shuffled[:, 1:][:, near]), _RARE)
            )
        advice = (
            f"errors at neighbouring {name} resemble each other: intervals are too narrow; use"
            f" Correlated noise over {name}, or a better equation"
        )
        checks.append(
            Check(
                f"correlation of the errors of '{group.name}' along {name}",
                value,
                limit,
                value <= limit,
                False,
                advice,
            )
        )
    return checks


def _likeness(first: np.ndarray, second: np.ndarray) -> Any:
    """Correlation of errors with their neighbours'; their means are zero."""
    return np.sum(first * second, axis=-1) / np.sqrt(
        np.sum(first**2, axis=-1) * np.sum(second**2, axis=-1)
    )


def _draws(result: "Result") -> list[Check]:
    """Whether the method's draws solve their equations, are worth enough independent
    ones, and agree with the linear model.
    """
    facts = result.facts
    checks = []
    if "failed draws" in facts:
        value = facts["failed draws"]
        advice = (
            "too many draws have no solution, so the tails are cut: the model cannot explain what"
            " the errors ask for, or a constant would have to leave its range (a positive one pass"
            " zero); fix a constant, or give more data"
        )
        checks.append(
            Check(
                "share of draws that failed",
                value,
                _MOST_FAILED,
                value <= _MOST_FAILED,
                True,
                advice,
            )
        )
    if "inexact draws" in facts:
        value = facts["inexact draws"]
        advice = (
            "draws in the tails stay a little off their equations: the model is strongly curved;"
            " compare with efi-gn"
        )
        checks.append(
            Check("share of draws off their equations", value, 0.02, value <= 0.02, False, advice)
        )
    if "effective draws" in facts:
        worth = facts["effective draws"]
        short = (
            max(0.0, _LEAST_DRAWS - round(worth)) if math.isfinite(worth) else math.inf
        )  # too few to tell
        advice = (
            f"the draws are worth {worth:.0f} independent ones, too few for 95 % limits; give more"
            " draws"
        )
        checks.append(
            Check(
                f"effective draws short of {_LEAST_DRAWS}",
                short,
                0.0,
                short == 0,
                short > _LEAST_DRAWS - _FEW_DRAWS,
                advice,
            )
        )
    if "R-hat" in facts:
        value = facts["R-hat"]
        checks.append(
            Check(
                "R-hat",
                value,
                1.02,
                value <= 1.02,
                not value <= 1.05,
                "the chains do not agree with each other; give more draws or moves",
            )
        )
    checks += [*_imputed(facts), *_borrowed(facts)]
    if "lost moves" in facts:
        value = facts["lost moves"]
        advice = (
            "many moves of the chain found no solution, so it may not have been everywhere; give"
            " more data, or another network"
        )
        checks.append(
            Check(
                "share of moves without a solution", value, 0.05, value <= 0.05, value > 0.1, advice
            )
        )
    if facts.get("followed") == 0.0:
        advice = "the data inform more directions than the walk follows; use efi-direct"
        checks.append(
            Check(
                "effective parameters that are followed",
                facts["effective parameters"],
                None,
                False,
                True,
                advice,
            )
        )
    if facts.get("effective parameters", 1.0) < 0.5:
        advice = (
            "the equation and the exact values leave nothing for the data to decide, so bands have"
            " no width; is an edge meant to be free?"
        )
        checks.append(
            Check("effective parameters", facts["effective parameters"], None, False, True, advice)
        )
    if "width change at less damping" in facts:
        value = facts["width change at less damping"]
        advice = (
            "the widths depend on how firmly the network is held, not on the data alone; measure"
            " where the solution is free"
        )
        checks.append(
            Check("change of widths with the damping", value, 0.01, value <= 0.01, False, advice)
        )
    if "difference from efi-linear" in facts:
        checks.append(_linear(result, facts["difference from efi-linear"]))
    return checks


def _imputed(facts: dict[str, float]) -> list[Check]:
    """Whether a chain over the errors went as it must; none of this needs the truth."""
    checks = []
    if "spread of informed errors" in facts:
        value = abs(facts["spread of informed errors"] - 1)
        limit = 0.1 + min(0.1, 3 / math.sqrt(2 * max(1.0, facts["effective draws"])))
        advice = (
            "along the directions that the data inform errors must have unit spread; widths are off"
            " by as much: see the lag, or give more draws"
        )
        checks.append(
            Check("spread of informed errors off 1", value, limit, value <= limit, True, advice)
        )
    if "lag of the parameters" in facts:
        value = facts["lag of the parameters"]
        advice = (
            "the network does not keep up with the errors, so bands are too narrow; raise its"
            " learning rate, or slow the errors down"
        )
        checks.append(
            Check(
                "lag of the parameters behind the errors",
                value,
                0.02,
                value <= 0.02,
                value > 0.1,
                advice,
            )
        )
    if "data energy over its expectation" in facts:
        value = abs(facts["data energy over its expectation"] - 1)
        advice = (
            "the energy is not that of a chain at rest: give more iterations, or the noise is not"
            " of the size that was stated"
        )
        checks.append(
            Check("energy off its expectation", value, 0.2, value <= 0.2, value > 1, advice)
        )
    if "least p-value of the errors" in facts:
        value = facts["least p-value of the errors"]
        advice = (
            "the imputed errors are not normal: outliers, another distribution, or an equation that"
            " is not right for the data"
        )
        checks.append(
            Check(
                "normality of the imputed errors, p-value at least 0.001",
                value,
                None,
                value >= 0.001,
                False,
                advice,
            )
        )
    for name in ("frozen response", "neck condition"):
        if name in facts:  # to know, not to judge by
            checks.append(Check(name, facts[name], None, True, False, ""))
    return checks


def _borrowed(facts: dict[str, float]) -> list[Check]:
    """What is known about the methods that others use: how their chains went, and
    where widths do not come from the data.
    """
    checks = []
    if "divergent moves" in facts:
        value = facts["divergent moves"]
        advice = (
            "the chain meets places that its steps are too long for, so it does not go everywhere;"
            " give a larger sigma_f, or more warm-up"
        )
        checks.append(
            Check("share of divergent moves", value, 0.01, value <= 0.01, value > 0.1, advice)
        )
        value = facts["acceptance rate"]
        advice = (
            "hardly any move is accepted, so the chain stands still; give shorter steps, or more"
            " warm-up"
        )
        checks.append(
            Check("acceptance rate, at least 0.3", value, None, value >= 0.3, value < 0.05, advice)
        )
    if "tightness of the equation" in facts:
        value = facts["tightness of the equation"]
        advice = (
            "the equation was given errors that are not small beside those of the data, and the"
            " band is wider for it; give a smaller sigma_f"
        )
        checks.append(
            Check(
                f"tightness of the equation, at least {_LEAST_TIGHTNESS:g}",
                value,
                None,
                value >= _LEAST_TIGHTNESS,
                False,
                advice,
            )
        )
    if "trajectory" in facts:
        advice = (
            "the limits are percentiles over a training trajectory, which say how much an optimiser"
            " jitters; use efi-direct"
        )
        checks.append(Check("limits that are intervals", None, None, False, True, advice))
    elif "dropout rate" in facts:
        advice = (
            "the width of the band follows from the rate, which the data do not determine; compare"
            " with efi-direct"
        )
        checks.append(Check("dropout rate", facts["dropout rate"], None, False, False, advice))
    return checks


def _linear(result: "Result", value: float) -> Check:
    """Draws without weights must agree with the linear model; weighted ones may
    differ, but far from it they want a second opinion.
    """
    name = "difference from the linearisation, in standard deviations"
    if result.method == "efi-linear":
        return Check(
            name,
            value,
            0.1,
            value <= 0.1,
            True,
            "the network is not linear as far as the draws go; use efi-direct",
        )
    if result.facts["weighted"]:
        advice = (
            "the model bends strongly within its uncertainty: the linearisation is poor; compare"
            " with efi-gn"
        )
        return Check(name, value, 0.5, value <= 0.5, False, advice)
    advice = (
        "the data inform too many directions to correct for curvature, and there is some; treat the"
        " limits as approximate"
    )
    return Check(name, value, 0.1, value <= 0.1, False, advice)


def _identifiable(result: "Result") -> list[Check]:
    """The data inform every unknown, and tell them apart."""
    found = constants(result)
    if found is None:
        return []
    # a positive constant that has run towards zero hardly moves any more
    little = _STUCK if result.facts.get("failed draws", 0) <= _MOST_FAILED else 10 * _STUCK
    stuck = found.still | (
        found.positive
        & (found.scaled.std(axis=0) < little)
        & [_at_limit(result, name) is not None for name in found.names]
    )
    if stuck.any():
        names = list(dict.fromkeys(n for n, s in zip(found.names, stuck, strict=True) if s))
        advice = (
            f"the data say nothing about {', '.join(names)}, so its interval is empty; fix it, or"
            " measure something it changes"
        )
        limits = {name: at for name in names if (at := _at_limit(result, name)) is not None}
        if limits:
            there = "; ".join(
                f"{name} went to its limit {at:g}, which the data would have it pass"
                for name, at in limits.items()
            )
            advice = (
                f"{there}, and stuck there; widen its range (Real in place of Positive), or begin"
                " from another guess if the fit is a false one"
            )
        return [
            Check(
                "unknowns that the data do not inform", float(stuck.sum()), 0.0, False, True, advice
            )
        ]
    every = pairs(found)
    if not every:
        return []
    checks = []
    if "effective parameters" in result.facts:
        informed, count = result.facts["effective parameters"], len(found.names)
        missing = max(0.0, count - informed) if math.isfinite(informed) else math.inf
        advice = (
            f"the data move {informed:.0f} directions of {count} unknowns, so the others are held"
            " by the start or by what the network can represent, and limits are too narrow; fix an"
            " unknown, measure what it changes, or give a wider network and more points of the"
            " equation"
        )
        checks.append(
            Check(
                "unknowns beyond the directions that the data inform",
                missing,
                0.5,
                missing <= 0.5,
                True,
                advice,
            )
        )
    values, vectors = np.linalg.eigh(np.corrcoef(found.scaled.T))
    condition = float(values[-1] / max(values[0], 1e-300))
    sloppy = ", ".join(
        f"{v:+.2f} {label}"
        for label, v in zip(found.names, vectors[:, 0], strict=True)
        if abs(v) > 0.1
    )
    advice = (
        f"the data hardly tell the unknowns apart: the combination ({sloppy}) is poorly known; fix"
        " one of them, or measure where they differ"
    )
    checks.append(
        Check(
            "condition of the unknowns' correlation",
            condition,
            1e4,
            condition <= 1e4,
            condition > _ONE_LINE,
            advice,
        )
    )
    # constants that are well known, each by itself, may well depend on each other
    vague = hardly_known(found)
    doubtful = [p for p in every if vague[p.first] and vague[p.second]]
    value = abs(doubtful[0].correlation) if doubtful else 0.0
    tied = "; ".join(describe(found, p) for p in doubtful if abs(p.correlation) > TOGETHER)
    advice = (
        f"{tied}: the data tell one from the other, and hardly either by itself; fix one of them,"
        " or measure what only one of them changes"
    )
    return [
        *checks,
        Check(
            "correlation of hardly known unknowns",
            value,
            TOGETHER,
            value <= TOGETHER,
            False,
            advice,
        ),
    ]


def _elsewhere(result: "Result") -> list[Check]:
    """Fits from other guesses have come to the same constants, or fit worse."""
    if "elsewhere" not in result.tree.children:
        return []
    found = result.tree["elsewhere"].to_dataset()
    others = found.isel(start=np.flatnonzero(found[OTHER]))
    advice = ""
    if others.sizes["start"]:
        best = others.isel(start=int(np.argmin(others[EXCESS].values)))
        there = ", ".join(
            f"{name} = {np.array2string(best[name].values, precision=4)}"
            for name in result.problem.unknowns
        )
        excess = float(best[EXCESS])
        kind = "better (begin there: give it as the guesses)" if excess < -1 else "as well"
        advice = (
            f"at {there} another solution fits the data {kind}, -2 log likelihood {excess:+.2g};"
            " intervals know of one solution only: keep the others out by the ranges of unknowns"
            " (Interval), or measure what tells them apart"
        )
    value = float(others.sizes["start"])
    return [
        Check(
            f"other solutions, of {found.sizes['start']} fits from other guesses",
            value,
            0.0,
            value == 0,
            True,
            advice,
        )
    ]


def _at_limit(result: "Result", name: str) -> float | None:
    """The limit of an unknown's range that its estimate has come up to, if any."""
    unknown, value = result.problem.unknowns[name], np.asarray(result.tree["estimate"][name])
    if isinstance(unknown, Interval):
        reach = 1e-3 * (unknown.upper - unknown.lower)
        return next(
            (at for at in (unknown.lower, unknown.upper) if (np.abs(value - at) < reach).any()),
            None,
        )
    return 0.0 if isinstance(unknown, Positive) and (value < 1e-3 * unknown.guess).any() else None


def _interval(result: "Result") -> Check:
    reason = result.no_interval
    return Check("has intervals", None, None, reason is None, False, reason or "")
