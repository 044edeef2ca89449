"""The solutions near a fit: those that keep the exact rows, told apart by coordinates.

The coordinates of a solution say how far its noisy rows have moved from those of the
fit along each of the informed directions. They are what the errors of the data act on,
so a solution is found for given coordinates, never for given weights of the network.
``chord_steps.py`` finds solutions with the factorisation of the fit,
``far_solutions.py`` with Jacobians of their own.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..device import loops_per_lane
from ..model.model import Data, Model
from .linear_systems import damped_solver, eliminate, solve_small
from .linearisation import (
    RELEASE,
    Linearisation,
    exact_means,
    jacobians,
    most_directions,
    noisy_means,
)
from .tangents import TangentView, informed_block, tangent_view

LARGEST_MISS = 0.05
"""Largest distance of a solution from its goal, in standard errors, at which it counts
as found: less than the Monte-Carlo error of a limit from 1,000 draws, about 0.08.
"""
CLOSE = 1e-3
"""Distance of a solution from its goal, in standard errors, below which it is not
improved any further (convention).
"""
MOST_POINTS = 1000
"""Largest number of points of each equation while drawing; the fit has met all of them.
``docs/direct.md`` tells of thousands of points.
"""


class NearbySolutions:
    """Solutions around a fit, for k noisy rows, of which r directions are followed.

    Arguments:
        model: the problem made computable.
        fit: the fit, linearised.

    Attributes:
        r: largest number of informed directions that are followed.
        informed: which of all k directions the data inform.
        followed: which of the first r directions the data inform.
    """

    def __init__(self, model: Model, fit: Linearisation):
        self.model = model
        self.fit = fit
        self.r = most_directions(model)
        self.informed: Bool[Array, " k"] = fit.share > 0.5
        self.followed: Bool[Array, " r"] = self.informed[: self.r]

    def means(self, theta: Float[Array, " p"]) -> tuple[Float[Array, " k"], Float[Array, " e"]]:
        """Return the means of the noisy rows and of the exact rows."""
        return noisy_means(self.model, theta, self.fit.theta), exact_means(self.model, theta)

    def coordinates(self, noisy: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return the coordinates of a solution with these means."""
        return jnp.where(self.fit.share > 0, self.fit.basis.T @ (noisy - self.fit.noisy), 0.0)

    def miss(
        self, noisy: Float[Array, " k"], exact: Float[Array, " e"], goal: Float[Array, " k"]
    ) -> Float[Array, ""]:
        """Return how far a solution with these means is from the coordinates ``goal``
        and from the exact rows, in standard errors.
        """
        physics = (
            jnp.sqrt(jnp.mean((exact - self.fit.exact) ** 2)) if exact.size else jnp.asarray(0.0)
        )
        short = jnp.max(jnp.abs(self.fit.share * (goal - self.coordinates(noisy))))
        return jnp.maximum(short, self.model.precision(self.fit.theta) * physics)

    def view(self, theta: Float[Array, " p"]) -> TangentView:
        """Return means and tangent at theta, from the moves of the fit."""
        # in a batch on a line all directions at once; one by one, or in a plane, only
        # those that are informed
        one_by_one = loops_per_lane() or len(self.model.problem.domain.names) > 1
        count = jnp.sum(self.followed) if one_by_one else None
        return tangent_view(
            self.model, self.fit.theta, theta, self._moves(), self.fit.restore, count
        )

    def fresh_view(self, theta: Float[Array, " p"]) -> TangentView:
        """Return means and tangent at theta from Jacobians there, for solutions far
        from the fit.
        """
        noisy_jacobian, exact_jacobian = jacobians(self.model, theta, self.fit.theta)
        moves = self._moves()
        if len(exact_jacobian):
            restore = damped_solver(exact_jacobian, jnp.asarray(RELEASE * len(exact_jacobian)))
            moves = moves - restore(exact_jacobian @ moves)
        noisy, exact = self.means(theta)
        return TangentView(noisy, exact, moves, noisy_jacobian @ moves)

    def _moves(self) -> Float[Array, "p r"]:
        """Return the fit's moves along the directions that are followed."""
        return jnp.where(self.followed, self.fit.along[:, : self.r], 0.0)

    def turn(self, view: TangentView) -> Float[Array, "r r"]:
        """Return the derivative of the followed coordinates along the moves of a
        view.
        """
        return informed_block(self.fit.basis[:, : self.r].T @ view.tangent, self.followed)

    def sums_of_squares(self, theta: Float[Array, " p"], data: Data) -> dict[str, Array]:
        """Return the residual sum of squares of each noisy group, in units of the fit's
        errors.
        """
        in_units_of_fit = self.model.with_noise(theta, self.model.noise(self.fit.theta))
        errors = self.model.errors(in_units_of_fit, data)
        return {name: jnp.sum(z**2) for name, z in errors.items()}

    def log_density(self, view: TangentView, rss: dict[str, Array]) -> Float[Array, ""]:
        """Return the logarithm of the fiducial density of the coordinates, unknown
        noise sizes integrated out.

        It is the likelihood times ``det([F R]^T [F R])^(1/2)``, with F the derivative
        of the data's means by the coordinates and R a column for each unknown size, the
        residual of its group.

        Arguments:
            view: means and tangent at the solution.
            rss: its residual sum of squares of each noisy group.
        """
        noisy = [g for g in self.model.groups if not g.exact]
        unknown = [g for g in noisy if self.model.size_unknown(g)]
        residual = self.fit.residual + self.fit.noisy - view.noisy
        columns = [jnp.where(rows_of(self.model, g.name), residual, 0.0) for g in unknown]
        T = view.tangent
        if unknown:
            cross = jnp.stack([T.T @ c for c in columns], axis=1)
            corner = jnp.diag(jnp.stack([rss[g.name] for g in unknown]))
        else:
            cross = jnp.zeros((self.r, 0))
            corner = jnp.zeros((0, 0))
        gram = jnp.block([[informed_block(T.T @ T, self.followed), cross], [cross.T, corner]])
        turn = self.turn(view)
        log_volume = 0.5 * eliminate(gram, gram[:, :0])[1] - solve_small(turn, turn[:, :0])[1]
        zero = jnp.asarray(0.0)
        size = sum((0.5 * g.count * jnp.log(rss[g.name]) for g in unknown), start=zero)
        misfit = sum((0.5 * rss[g.name] for g in noisy if g not in unknown), start=zero)
        return log_volume - size - misfit


def rows_of(model: Model, group: str) -> Bool[Array, " k"]:
    """Return which of the noisy rows belong to a group."""
    return jnp.concatenate(
        [jnp.full(len(g.sites), g.name == group) for g in model.groups if not g.exact]
    )
