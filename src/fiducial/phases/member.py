"""The result of earlier phases as the only draw of a chain."""

from typing import Any, ClassVar, NamedTuple

from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from .base import AbstractPhase, Drawn, Info


class MemberState(NamedTuple):
    """State of the only step: the parameters."""

    theta: Float[Array, " p"]


class Member(AbstractPhase):
    """Record the parameters that the phases before it found as a draw, in one step that
    changes nothing.
    """

    steps: int = 1
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "drawing"

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> MemberState:
        return MemberState(previous.theta)

    def step(
        self, model: Model, data: Data, state: MemberState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[MemberState, Info]:
        return state, {}

    def draw(self, state: MemberState) -> Drawn:
        return Drawn(state.theta[None], {})
