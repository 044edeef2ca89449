"""The end of a chain as its only draw."""

from typing import Any, ClassVar, NamedTuple

from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from .base import AbstractPhase, Drawn, Info


class MemberState(NamedTuple):
    """The parameters."""

    theta: Float[Array, " p"]


class Member(AbstractPhase):
    """One step that changes nothing, so that what the phases before it found is
    recorded as a draw.
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
