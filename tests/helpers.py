"""Small problems with known answers, and results made without a fit."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

import fiducial as fd
from fiducial.methods.base import AbstractMethod, Answer, Outcome
from fiducial.model.binding import bind
from fiducial.results.building import build_result
from fiducial.results.result import Result
from fiducial.running.driver import Run, Runner
from fiducial.status import Status

SMALL = fd.MLP((20, 20))
TINY = fd.MLP((8,))


def poisson(sd: float = 0.05, **options: Any) -> fd.Problem:
    """The catalogue's poisson with a small network and fewer points."""
    return fd.problem("poisson", sd=sd, n_f=100, **options).replace(network=SMALL)


def decay(*, noise: Any = None, network: Any = SMALL, seed: int = 3, **changes: Any) -> fd.Problem:
    """u' = -k u with u(0) = 1 known exactly and u measured at twelve times; k = 1.3."""
    t = np.linspace(0.2, 2.0, 12)
    y = np.exp(-1.3 * t) + 0.05 * np.random.default_rng(seed).standard_normal(t.size)
    given: dict[str, Any] = {
        "name": "decay",
        "equation": lambda u, t, p: fd.derivative(u, t) + p["k"] * u(t),
        "domain": fd.Box(t=(0, 2)),
        "unknowns": {"k": fd.Positive(1.0)},
        "observations": [
            fd.Observed("u", x=t, y=y, noise=noise or fd.Gaussian(sd=0.05)),
            fd.Observed("u", x=[0.0], y=[1.0], name="start"),
        ],
        "collocation": fd.collocation.grid(40),
        "network": network,
        "truth": fd.Truth(outputs={"u": lambda t: jnp.exp(-1.3 * t)}, unknowns={"k": 1.3}),
    }
    return fd.Problem(**{**given, **changes})


def batch(model: Any, sets: int) -> dict[str, np.ndarray]:
    """The same observations for several data sets, shape (data set, n)."""
    return {name: np.repeat(y[None], sets, axis=0) for name, y in model.data.items()}


def assert_same_content(tree: Any, other: Any) -> None:
    """Two trees of results agree: draws to within rounding, since they are stored by the
    directions in which they lie, and all else exactly.
    """
    assert tree.groups == other.groups
    for node in other.subtree:
        mine, theirs = tree[node.path].to_dataset(), node.to_dataset()
        if "theta" in theirs:
            np.testing.assert_allclose(mine["theta"], theirs["theta"], rtol=1e-9, atol=1e-11)
        assert mine.drop_vars("theta", errors="ignore").identical(
            theirs.drop_vars("theta", errors="ignore")
        )


def run(model: Any, method: AbstractMethod, data: Any, **how: Any) -> Run:
    """One batch through a driver of its own."""
    return Runner(model, method).run(data, **how)


class Drawn(AbstractMethod):
    """Stands for a method with draws, so that results can be made without a fit."""

    chains: int = 2
    name: ClassVar[str] = "drawn"
    summary: ClassVar[str] = "draws made up by the tests"

    def phases(self, model: Any) -> tuple[Any, ...]:
        return ()

    def collect(self, model: Any, data: Any, outcome: Any) -> Answer:
        raise NotImplementedError


def made_up(
    problem: fd.Problem,
    *,
    chains: int = 2,
    draws: int | None = 50,
    seed: int = 0,
    errors: bool = False,
) -> Result:
    """A result of untrained networks; ``draws=None`` makes it a point estimate."""
    with jax.enable_x64(True):
        model = bind(problem)
        centre = np.asarray(model.init(jax.random.key(seed)))
        random = np.random.default_rng(seed)
        theta = (
            None
            if draws is None
            else centre + 0.3 * random.standard_normal((1, chains, draws, model.size))
        )
        noisy = {
            g.name: random.standard_normal((1, chains, draws or 1, g.y.size))
            for g in problem.groups
            if not g.exact
        }
        answer = Answer(
            centre[None],
            None if theta is None else {"theta": theta, "errors": noisy if errors else {}},
        )
        status = np.full((1, chains), Status.FINISHED.value)
        outcome = Outcome(None, status, {"lm": {"loss": random.random((1, chains, 7))}}, {}, {})
        method = fd.PINN(chains=chains) if draws is None else Drawn(chains=chains)
        return build_result(
            model, method, answer, Run(outcome, {"compile": 1.5, "run": 0.25}), seed=seed
        )
