"""The table of a study: a row for each method at each grid point."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .scores import standard_error

COLUMNS = [
    "method",
    "n",
    "failed",
    "mse",
    "mse_se",
    "coverage",
    "coverage_se",
    "width",
    "width_se",
    "width_ratio",
    "interval_score",
    "crps",
    "seconds_per_dataset",
]


def row(
    method: str,
    arrays: Mapping[str, np.ndarray],
    truth: Mapping[str, Any],
    outputs: list[str],
    usable: np.ndarray,
) -> dict[str, Any]:
    """Return averages over the data sets that have an answer; not-a-number where a method
    gives no intervals.

    Arguments:
        method: name of the method.
        arrays: results of all data sets, as ``Bench.shard`` names them.
        truth: true values by name.
        outputs: names of the outputs; all other names in ``truth`` are constants.
        usable: which data sets have an answer.
    """
    ok = {name: values[usable] for name, values in arrays.items() if name != "seconds"}
    field = {name: _judged(ok, name, truth[name]) for name in outputs}

    def over_outputs(what: str) -> np.ndarray:
        return np.mean([field[name][what] for name in outputs], axis=0)

    result = {"method": method, "n": len(usable), "failed": int((~usable).sum())}
    result |= _with_error("mse", over_outputs("mse"))
    result |= _with_error("coverage", over_outputs("coverage"))
    result |= _with_error("width", over_outputs("width"))
    result["width_ratio"] = _mean(over_outputs("width")) / _mean(over_outputs("exact_width"))
    result["interval_score"], result["crps"] = (
        _mean(over_outputs(what)) for what in ("score", "crps")
    )
    result["seconds_per_dataset"] = float(arrays["seconds"][1]) / len(usable)
    for name in truth:
        if name not in outputs:
            for index in np.ndindex(np.shape(truth[name])):
                own = {
                    key: values[:, *index]
                    for key, values in ok.items()
                    if key.startswith(f"{name}.")
                }
                label = name + "".join(f"_{i}" for i in index)
                result |= _constant(label, _judged(own, name, np.asarray(truth[name])[index]))
    return result


def _judged(arrays: Mapping[str, np.ndarray], name: str, truth: Any) -> dict[str, np.ndarray]:
    """Return the measures of one quantity in each data set, averaged over points."""
    point = arrays.get(f"{name}.mean", arrays[f"{name}.estimate"])
    truth = np.asarray(truth)
    axes = tuple(range(1, point.ndim))
    missing = np.full(len(point), np.nan)
    judged = {"mean": point.mean(axis=axes), "mse": ((point - truth) ** 2).mean(axis=axes)}
    judged |= dict.fromkeys(("coverage", "width", "score", "crps", "exact_width"), missing)
    if f"{name}.lower" in arrays:
        lower, upper = arrays[f"{name}.lower"], arrays[f"{name}.upper"]
        judged["coverage"] = ((lower <= truth) & (truth <= upper)).mean(axis=axes)
        judged["width"] = (upper - lower).mean(axis=axes)
        judged["score"], judged["crps"] = (
            arrays[f"{name}.{what}"].mean(axis=axes) for what in ("score", "crps")
        )
    if f"{name}.exact_lower" in arrays:
        judged["exact_width"] = (
            arrays[f"{name}.exact_upper"] - arrays[f"{name}.exact_lower"]
        ).mean(axis=axes)
    return judged


def _constant(label: str, judged: dict[str, np.ndarray]) -> dict[str, Any]:
    found: dict[str, Any] = {f"{label}_mean": _mean(judged["mean"])}
    return (
        found
        | _with_error(f"{label}_coverage", judged["coverage"])
        | _with_error(f"{label}_width", judged["width"])
    )


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _with_error(name: str, values: np.ndarray) -> dict[str, float]:
    return {name: _mean(values), f"{name}_se": standard_error(values)}


def off_level(rows: list[dict[str, Any]], level: float) -> list[str]:
    """Return a line for every coverage that is more than two standard errors off its
    level.
    """
    lines = []
    for found in rows:
        for name, value in found.items():
            if not name.endswith("coverage") or not np.isfinite(value):
                continue
            # binomial, since a calibrated interval contains the truth or not; a field is
            # covered in part, so that data sets differ less
            binomial = float(np.sqrt(level * (1 - level) / max(1, found["n"] - found["failed"])))
            error = binomial if name != "coverage" else found[f"{name}_se"] or binomial
            if abs(value - level) > 2 * error:
                what = "the field" if name == "coverage" else name.removesuffix("_coverage")
                side = (
                    "too often: the intervals are too wide"
                    if value > level
                    else "too seldom: the intervals are too narrow, or off centre"
                )
                options = ", ".join(
                    f"{k.removeprefix('option_')}={v}"
                    for k, v in found.items()
                    if k.startswith("option_")
                )
                lines.append(
                    f"warning: {found['method']}{f' ({options})' if options else ''} covers {what}"
                    f" in {value:.4f} of data sets, {abs(value - level) / error:.1f} standard"
                    f" errors from {level:g}; {side}"
                )
    return lines


def to_csv(rows: list[dict[str, Any]]) -> str:
    """Return the table as CSV, with all digits; empty where a number is not known."""
    columns = _columns(rows)
    lines = [",".join(columns)]
    for found in rows:
        lines.append(",".join(_cell(found.get(name)) for name in columns))
    return "\n".join(lines) + "\n"


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    extra = [name for found in rows for name in found if name not in COLUMNS]
    return COLUMNS + sorted(dict.fromkeys(extra), key=lambda name: name.startswith("option_"))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return repr(value) if np.isfinite(value) else ""
    return "" if value is None else str(value)


def to_markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table in Markdown: values with their standard errors."""
    columns = [name for name in _columns(rows) if not name.endswith("_se")]
    shown = [name for name in columns if any(_cell(found.get(name)) for found in rows)]

    def text(found: dict[str, Any], name: str) -> str:
        value, error = found.get(name), found.get(f"{name}_se")
        if not _cell(value):
            return ""
        plain = f"{value:.4g}" if isinstance(value, float) else str(value)
        return f"{plain} ± {error:.2g}" if error is not None and np.isfinite(error) else plain

    lines = [
        "| " + " | ".join(name.removeprefix("option_").replace("_", " ") for name in shown) + " |",
        "|" + "---|" * len(shown),
    ]
    lines += ["| " + " | ".join(text(found, name) for name in shown) + " |" for found in rows]
    return "\n".join(lines) + "\n"
