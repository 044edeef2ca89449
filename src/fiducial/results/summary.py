"""Summaries of a result: the dictionary behind ``summary.json``, and a text for a screen."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .diagnosis import Diagnosis
    from .result import Result

SUMMARY = "fiducial-summary-1"
"""Format of ``summary.json``."""


def summarise(
    result: "Result", level: float = 0.95, diagnosis: "Diagnosis | None" = None
) -> dict[str, Any]:
    """Return the answer as JSON can hold it, with None where something is not known."""
    diagnosis = diagnosis or result.diagnose()
    table = result.parameters(level)
    rows = {
        str(name): {
            k: _number(row[k]) for k in ("estimate", "mean", "sd", "lower", "upper", "truth")
        }
        for name, row in table.iterrows()
    }
    inferred = {
        f"{p}_{g.name}": (g.name, p) for g in result.problem.groups for p in g.noise_unknowns()
    }
    return {
        "problem": result.problem.name,
        "method": result.method,
        "seed": result.seed,
        "level": level,
        "status": result.status.name.lower(),
        "unknowns": {name: row for name, row in rows.items() if name not in inferred},
        "noise": _noise(result, rows),
        "field": _field(result, level),
        "diagnosis": {
            "verdict": diagnosis.verdict,
            "checks": [
                {"name": c.name, "value": _number(c.value), "limit": _number(c.limit), "ok": c.ok}
                for c in diagnosis.checks
            ],
        },
        "seconds": {k: _number(v) for k, v in result.seconds.items()},
    }


def _noise(result: "Result", rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return for each noisy group the size of its errors, inferred or, if it is one
    number, as given.
    """
    columns = ("mean", "sd", "lower", "upper", "truth")
    noise: dict[str, Any] = {}
    for g in result.problem.groups:
        if g.noise is None:
            continue
        own = {p: {k: rows[f"{p}_{g.name}"][k] for k in columns} for p in g.noise_unknowns()}
        given = g.noise.describe().get("sd")
        known = {**dict.fromkeys(columns), "mean": _number(given), "truth": _number(given)}
        noise[g.name] = own or {"sd": known}
    return noise


def _field(result: "Result", level: float) -> dict[str, Any]:
    """Return for each output the mean width of its band over a grid and, where the truth
    is known, the share of the truth inside the band and the mean squared error.
    """
    points = result.grid()
    band = result.band(points, level)
    truth = None if result.problem.truth is None else result.problem.truth.at(points)
    field: dict[str, Any] = {}
    for name in result.problem.outputs:
        own = band.sel(output=name)
        entry: dict[str, Any] = {
            "mean_width": _number(float((own.upper - own.lower).mean(skipna=False))),
            "coverage": None,
            "mse": None,
        }
        if truth is not None:
            true = truth[name]
            entry["mse"] = _number(float(np.mean((own["mean"].values - true) ** 2)))
            if entry["mean_width"] is not None:
                entry["coverage"] = _number(
                    float(np.mean((own.lower.values <= true) & (true <= own.upper.values)))
                )
        field[name] = entry
    return field


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, list):
        return None
    return float(value) if math.isfinite(value) else None


def as_text(result: "Result", level: float = 0.95, diagnosis: "Diagnosis | None" = None) -> str:
    """Return the answer for a screen."""
    seconds = result.seconds
    lines = [
        f"{result.problem.name} by {result.method}, seed {result.seed}:"
        f" {result.status.name.lower()} ({seconds['compile']:.1f} s to compile,"
        f" {seconds['run']:.1f} s to run)"
    ]
    if result.no_interval:
        lines.append(f"no interval: {result.no_interval}")
    table = result.parameters(level)
    if len(table):
        shown = table.dropna(axis="columns", how="all")
        lines.append(
            shown.loc[:, [c for c in shown if c != "unit" or shown[c].any()]].to_string(
                float_format=lambda v: f"{v:.5g}"
            )
        )
    for name, entry in _field(result, level).items():
        parts = [f"{k.replace('_', ' ')} {v:.4g}" for k, v in entry.items() if v is not None]
        if parts:
            lines.append(f"{name}: {', '.join(parts)}")
    verdict = str(diagnosis or result.diagnose())
    return "\n".join([*lines, *_new_measurements(result, level), verdict])


def _new_measurements(result: "Result", level: float) -> list[str]:
    """Return lines about intervals of new measurements, for a method without others."""
    if "left_out" not in result.tree.children:
        return []
    try:
        found = result.predict(result.grid(), level)
    except ValueError as error:  # too few measurements for the level
        return [f"no interval of new measurements: {error}"]
    widths = {
        str(o): float((found.upper - found.lower).sel(output=o).mean()) for o in found.output.values
    }
    return [
        f"new measurements of {o}: mean width {width:.4g} of the {100 * level:g} % interval"
        for o, width in widths.items()
    ]
