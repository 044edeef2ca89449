"""A method from outside the package, in one file: its phases, a fact, a limit and a check."""

from typing import Any, ClassVar

import numpy as np

from fiducial.extend import (
    AbstractMethod,
    AbstractPhase,
    Answer,
    Check,
    Data,
    Facts,
    LevenbergMarquardt,
    Limit,
    Model,
    Outcome,
    Refits,
    require_positive,
    simulated_data,
)

UNSETTLED_REFITS = Limit(
    0.05,
    name="share of refits that ran out of steps",
    reason="a refit that has not converged is no draw of the bootstrap",
    source="convention",
    severe=0.5,
)


class BootstrapFacts(Facts):
    """Facts about refits to simulated data.

    Attributes:
        unsettled: share of refits that ran out of steps.
        largest: largest parameter of the estimate.
    """

    unsettled: Any = None
    largest: Any = None
    to_know: ClassVar[frozenset[str]] = frozenset({"largest"})


class Bootstrap(AbstractMethod):
    """Fit once, and refit to data simulated from the fit.

    Arguments:
        draws: number of refits.
        steps: largest number of steps of each fit.
    """

    draws: int = 30
    steps: int = 50
    chains: int = 1
    name: ClassVar[str] = "my-bootstrap"
    summary: ClassVar[str] = "a parametric bootstrap in a file of its own"

    def __check_init__(self) -> None:
        require_positive(self, "draws", "steps")

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        fit = LevenbergMarquardt(self.steps)
        refit = LevenbergMarquardt(self.steps, starts=1)
        return fit, Refits(self.draws, simulated_data, refit)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        estimate = np.asarray(outcome.state.fit[:, 0])
        unsettled = 1 - outcome.extra["draw"]["settled"].mean(axis=(1, 2))
        facts = BootstrapFacts(unsettled=unsettled, largest=np.abs(estimate).max(axis=1))
        return Answer(estimate=estimate, draws=outcome.draws["draw"], facts=facts)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        settled = UNSETTLED_REFITS.check(
            facts.unsettled,
            "some refits had not converged",
            "give more steps (--set method.steps=...)",
        )
        return [*super().judge(facts, model), settled]
