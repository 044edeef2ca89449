"""The command ``fiducial``."""

import importlib.util
import inspect
import json
import os
import shutil
import sys
import textwrap
import traceback
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, NoReturn

import jax
import typer

from . import catalogue
from .checkpoint import Checkpoint
from .driver import Interrupted
from .files import write_text
from .fit import fit
from .problem import Problem
from .progress import progress_line
from .result import Result
from .summary import as_text

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="markdown")

FAILED, USAGE, STOPPED = 1, 2, 130


def _fail(message: Any, code: int = USAGE) -> NoReturn:
    typer.echo(f"fiducial: {message}", err=True)
    raise typer.Exit(code)


def _print(text: str) -> None:
    """Print; in a terminal lines that are too long for it go on in the next one, between words."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        lines = text.splitlines()
        text = "\n".join(textwrap.fill(x, width, subsequent_indent="      ", break_on_hyphens=False) if len(x) > width else x for x in lines)
    typer.echo(text)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"fiducial {metadata.version('fiducial')}, jax {jax.__version__}")
        raise typer.Exit


@app.callback()
def keep_programs(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the versions of fiducial and JAX.")] = False,
) -> None:
    """Honest uncertainty for physics-informed neural networks."""
    # JAX's own settings and variables go before: JAX_COMPILATION_CACHE_DIR, JAX_ENABLE_COMPILATION_CACHE
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(caches / "fiducial"))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:  # small programs too: there are dozens
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


@app.command()
def run(
    problem: Annotated[
        str,
        typer.Argument(help="A ready problem (see `fiducial problems`), or FILE.py or FILE.py:name with a Problem, or a function that returns one."),
    ],
    method: Annotated[str | None, typer.Option(help="The method (see `fiducial methods`); by default the best there is.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; must be new or empty. By default PROBLEM-METHOD in the current folder.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE ...", help="Options of the problem, such as sd=0.1, and of the method, such as method.adam_steps=500."
        ),
    ] = None,
    against: Annotated[str | None, typer.Option(help="Other methods to run and compare with, separated by commas; part of the verdict.")] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    elsewhere: Annotated[
        bool, typer.Option(help="Fit again from other guesses of unknown constants, to see whether there are other solutions.")
    ] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar, and nothing printed but errors.")] = False,
) -> None:
    """Fit a problem and leave summary.json, result.nc and figures in a folder.

    Exit code 0: there is an answer, whose verdict says whether to trust it. 1: the run failed. 2: a mistake in the call. 130: stopped by Ctrl-C.
    """
    if not 0 < level < 1:
        _fail(f"--level {level}: give a number between 0 and 1, such as 0.95")
    try:
        known = [method] if method else list(catalogue.methods())
        options, settings = _split(set_ or [], known)
        posed = _problem(problem, options)
        name = method or catalogue.default_method(posed).name
        others = [n for n in known if settings[n] != settings[name] and n != name and settings[n]]
        if others:
            raise ValueError(f"--set {others[0]}.{next(iter(settings[others[0]]))}=...: the method is '{name}'; give --method {others[0]}")
        chosen = catalogue.method(name, **settings[name])
        rivals = [catalogue.method(n) for n in against.split(",")] if against else []
        for other in (chosen, *rivals):
            other.check(posed)
            if rivals and other.no_interval:
                raise ValueError(f"--against: '{other.name}' has no intervals to compare; give methods that have")
    except (ValueError, TypeError, KeyError, OSError) as error:
        _fail(error)
    folder = _folder(out, f"{posed.name}-{chosen.name}", resume)
    if method is None and not quiet:
        typer.echo(f"no method named, using {name} (`fiducial methods` lists all)", err=True)
    try:
        result = fit(posed, chosen, seed=seed, folder=folder / "checkpoint", resume=resume, elsewhere=elsewhere, progress=False if quiet else None)
    except (Interrupted, KeyboardInterrupt):
        _fail(f"stopped; go on with the same command and --out {folder} --resume", STOPPED)
    except (ValueError, TypeError) as error:
        _fail(error)
    except OSError as error:
        _fail(f"cannot write to {folder}: {error.strerror}")
    try:
        if rivals:
            result.diagnose(against=[fit(posed, other, seed=seed, elsewhere=False, progress=False if quiet else None) for other in rivals])
    except Interrupted:
        _fail(f"stopped while comparing; go on with the same command and --out {folder} --resume", STOPPED)
    try:
        with progress_line(False if quiet else None) as line:
            line.begin("saving the result and drawing figures")
            _write(result, folder, level)
            Checkpoint(folder / "checkpoint").remove()  # only now is the result safe elsewhere
            text = "" if quiet else as_text(result, level)
    except KeyboardInterrupt:
        _fail(f"stopped while saving; go on with the same command and --out {folder} --resume", STOPPED)
    if not quiet:
        _print(text)
        _print(f"figures, summary.json and result.nc are in {folder}")
    if not result.status.usable:
        _fail(f"the run failed: {result.status.message}", FAILED)


@app.command()
def study(
    problem: Annotated[str, typer.Argument(help="A ready problem, or FILE.py or FILE.py:name, as for `fiducial run`.")],
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas; by default the best there is.")] = None,
    replicates: Annotated[int, typer.Option(min=1, help="Number of simulated data sets.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of data and methods.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for tables, figures and finished shards; must be new or empty.")] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=V1,V2 ...", help="Options of the problem to vary, such as sd=0.01,0.05; all combinations are run."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE ...", help="Options of the problem, and of methods: pinn.adam_steps=500.")
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    shard: Annotated[int | None, typer.Option(min=1, help="Data sets fitted at once; by default what fits in memory.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a study that was stopped.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar, and nothing printed but errors.")] = False,
) -> None:
    """Fit many simulated data sets and leave a table of coverage, width and error in a folder.

    Exit code 0: done, also when intervals are found wanting. 2: a mistake in the call. 130: stopped by Ctrl-C.
    """
    from .study import study as run_study

    try:
        names = (methods or catalogue.default_method().name).split(",")
        options, settings = _split(set_ or [], names)
        chosen = [catalogue.method(name, **settings[name]) for name in names]
        varied = {key: [_value(v) for v in text.split(",")] for key, text in (_pair(p, "--grid") for p in grid or [])}
        label = _problem(problem, options | {key: values[0] for key, values in varied.items()}).name
        folder = _folder(out, f"{label}-study", resume, "study.json")
        found = run_study(
            lambda **more: _problem(problem, options | more),
            chosen,
            replicates=replicates,
            seed=seed,
            level=level,
            grid=varied,
            shard=shard,
            folder=folder,
            resume=resume,
            progress=False if quiet else None,
        )
    except Interrupted:
        _fail(f"stopped; finished shards are kept, go on with the same command and --out {folder} --resume", STOPPED)
    except (ValueError, TypeError, KeyError, OSError) as error:
        _fail(error)
    if not quiet:
        typer.echo(found)
        _print(f"table.csv, table.md, study.nc and figures are in {folder}")


@app.command()
def show(folder: Annotated[Path, typer.Argument(help="The folder of a run.")]) -> None:
    """Print the summary of a run, or the table of a study."""
    path = folder / "summary.json"
    if folder.is_file():
        _fail(f"{folder} is a file; give the folder that it is in")
    if (folder / "table.md").is_file():
        typer.echo((folder / "table.md").read_text())
        return
    if Checkpoint(folder / "checkpoint").exists() and not path.is_file():
        _fail(f"the run in {folder} has not finished; go on with the same command and --out {folder} --resume", FAILED)
    try:
        summary = json.loads(path.read_text())
        text = _text(summary)
    except FileNotFoundError:
        _fail(f"{folder} holds no summary.json; give the folder that `fiducial run` named")
    except (ValueError, KeyError, TypeError) as error:
        _fail(f"{path} is not a summary of fiducial ({error})")
    _print(text)
    _print("files: " + ", ".join(sorted(p.name for p in folder.iterdir() if p.is_file())))


@app.command()
def problems() -> None:
    """List the ready problems with their options."""
    for name, make in catalogue.problems().items():
        options = ", ".join(f"{p.name}={p.default}" for p in inspect.signature(make).parameters.values())
        typer.echo(f"{name}\n    {(inspect.getdoc(make) or '').splitlines()[0]}\n    options: {options}")


@app.command()
def methods() -> None:
    """List the methods with their settings."""
    default = catalogue.default_method().name
    for name, cls in catalogue.methods().items():
        settings = ", ".join(f"{p.name}={p.default}" for p in inspect.signature(cls).parameters.values())
        typer.echo(f"{name}{' (default)' if name == default else ''}\n    {cls.summary}\n    settings: {settings}")


def _split(pairs: list[str], methods: list[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Options of the problem, and settings of each method: ``method.key=value`` for all, or ``NAME.key=value``."""
    options: dict[str, Any] = {}
    settings: dict[str, dict[str, Any]] = {name: {} for name in methods}
    for pair in pairs:
        key, text = _pair(pair, "--set")
        owner, dot, setting = key.partition(".")
        if not dot:
            options[key] = _value(text)
        elif owner == "method" or owner in settings:
            for name in methods if owner == "method" else [owner]:
                settings[name][setting] = _value(text)
        else:
            raise ValueError(f"--set {pair}: '{owner}' is not a method of this run; write method.{setting}=... or {methods[0]}.{setting}=...")
    return options, settings


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (equals and key):
        raise ValueError(f"{option} {text}: write key=value, such as sd=0.1")
    return key, value


def _value(text: str) -> Any:
    """A number, true, false or none, in JSON's spelling or Python's; a word otherwise."""
    try:
        return json.loads({"none": "null"}.get(text.lower(), text.lower() if text.lower() in ("true", "false") else text))
    except ValueError:
        return text


def _problem(spec: str, options: dict[str, Any]) -> Problem:
    """A problem by name, or from a user's file."""
    path, _, name = spec.partition(":")
    if not path.endswith(".py"):
        try:
            return catalogue.problem(spec, **options)
        except TypeError as error:
            words = [f"{key}={value}" for key, value in options.items() if isinstance(value, str)]
            raise ValueError(f"--set {' '.join(words)}: is a number meant? ({error})" if words else error) from error
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
    module = _import(Path(path))
    found = {n: v for n, v in vars(module).items() if isinstance(v, Problem)}
    if not name:
        if "problem" in vars(module):
            name = "problem"
        elif len(found) == 1:
            name = next(iter(found))
        elif not found:
            raise ValueError(f"{path} has no problem; write problem = fiducial.Problem(...), or name a function that makes one: {path}:NAME")
        else:
            raise ValueError(f"{path} has {len(found)} problems ({', '.join(found)}); name one: {path}:NAME")
    if not hasattr(module, name):
        raise ValueError(f"{path} has no '{name}'; it has {', '.join(found) or 'no problem'}")
    value = getattr(module, name)
    if callable(value):
        accepted = inspect.signature(value).parameters
        stray = [o for o in options if o not in accepted]
        if stray:
            raise ValueError(f"{path}:{name} has no option '{stray[0]}'; it has {', '.join(accepted) or 'none'}")
        value = value(**options)
    elif options:
        raise ValueError(f"{path}:{name} is a problem without options; make it a function with keyword arguments to use --set")
    if not isinstance(value, Problem):
        raise TypeError(f"{path}:{name} is {type(value).__name__}, not a Problem")
    return value if value.name != "problem" else value.replace(name=Path(path).stem)


def _import(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (ValueError, TypeError, OSError):
        raise
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path.resolve()]
        raise ValueError(f"{path}{f', line {lines[-1]}' if lines else ''}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    return module


def _folder(out: Path | None, default: str, resume: bool, begun: str = "checkpoint/run.json") -> Path:
    """The folder to work in; never one that holds something, unless its run is to go on."""
    if out is None:
        used = [Path(default), *(Path(f"{default}-{i}") for i in range(2, 1000))]
        taken = [p for p in used if p.exists()]
        out = taken[-1] if resume and taken else next(p for p in used if not p.exists())
    if resume:
        # a run killed before its first file has nothing to go on from, and nothing to lose
        if not (out / begun).is_file() and (not out.is_dir() or any(p.is_file() for p in out.rglob("*"))):
            _fail(f"{out} holds no run to go on with; leave out --resume to begin one")
    elif (out / "summary.json").is_file():
        _fail(f"{out} holds a finished run, which `fiducial show {out}` prints; give a new folder with --out")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        _fail(f"{out} is not empty; give a new folder with --out, or --resume to go on with the run in it")
    return out


def _write(result: Result, folder: Path, level: float) -> None:
    from .constants import constants, pairs
    from .plots import plot, plot_constants, plot_errors, plot_trace

    (folder / "result.nc").unlink(missing_ok=True)  # of this run, stopped while it was writing
    result.save(folder / "result.nc")
    plot(result, level).savefig(folder / "solution.png", dpi=150)
    plot_trace(result).savefig(folder / "trace.png", dpi=110)
    if "errors" in result.tree.children:
        plot_errors(result).savefig(folder / "errors.png", dpi=110)
    drawn = constants(result)
    if drawn is not None and pairs(drawn):
        plot_constants(result).savefig(folder / "constants.png", dpi=110)
    write_text(folder / "summary.json", json.dumps(result.summary(level), indent=2, allow_nan=False) + "\n")


def _text(summary: dict[str, Any]) -> str:
    lines = [f"{summary['problem']} by {summary['method']}, seed {summary['seed']}: {summary['status']}"]

    def line(name: str, entry: dict[str, Any]) -> str:
        return f"{name}: " + ", ".join(f"{k} {v:.5g}" for k, v in entry.items() if v is not None)

    lines += [line(name, entry) for name, entry in summary["unknowns"].items()]
    lines += [line(f"{parameter} of {group}", entry) for group, own in summary["noise"].items() for parameter, entry in own.items()]
    lines += [line(name, entry) for name, entry in summary["field"].items() if any(v is not None for v in entry.values())]
    lines.append(f"verdict: {summary['diagnosis']['verdict']}")
    if (why := getattr(catalogue.methods().get(summary["method"]), "no_interval", None)) is not None:
        lines.append(f"  no interval: {why}")
    for check in summary["diagnosis"]["checks"]:
        lines.append(line(f"  [{'ok' if check['ok'] else '!!'}] {check['name']}", {k: check[k] for k in ("value", "limit")}).removesuffix(": "))
    return "\n".join(lines)


def main() -> None:
    """Entry point. ``--set a=1 b=2`` is understood as ``--set a=1 --set b=2``, and so is ``--grid``."""
    arguments: list[str] = []
    repeating: str | None = None
    for argument in sys.argv[1:]:
        if repeating and "=" in argument and not argument.startswith("-") and arguments[-1] != repeating:
            arguments.append(repeating)
        elif argument.startswith("-"):
            repeating = argument if argument in ("--set", "--grid") else None
        arguments.append(argument)
    app(arguments, prog_name="fiducial")
