"""The solutions near a fit: those that keep the exact rows, told apart by coordinates.

The coordinates of a solution say how far its noisy rows have moved from those of the
fit along each of the informed directions. They are what the errors of the data act on,
so a solution is found for given coordinates, never for given weights of the network.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Bool, Float, Int

from ..device import apply_if, loops_per_lane
from ..model.model import Data, Model
from .least_squares import adapt_damping, bent, curvature, damped_solver, eliminate, ridge_step
from .linearisation import (
    RELEASE,
    Linearisation,
    exact_means,
    jacobians,
    most_directions,
    noisy_means,
)

LARGEST_MISS = 0.05
"""How far from its goal a solution may be, in standard errors, to count as found."""
MOST_POINTS = 1000
"""The equation is asked at no more points than this while drawing; the fit has met
all of them.
"""
_CLOSE = 1e-3
"""A solution this near its goal, in standard errors, needs no further step."""
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-4, 1e-12, 1e6
_WINDOW, _LEAST_GAIN = 6, 0.1
"""A far goal is given up when five steps together bring the sum of squares down by
less than a tenth.
"""
_KEEP = 0.1
"""A Jacobian serves for as long as its steps leave less than this share of the sum
of squares.
"""


class View(NamedTuple):
    """The model around one theta: means, and what moving along the informed
    directions does to them.
    """

    noisy: Float[Array, " k"]
    exact: Float[Array, " e"]
    moves: Float[Array, "p r"]
    tangent: Float[Array, "k r"]


def view_at(
    model: Model,
    fit: Float[Array, " p"],
    theta: Float[Array, " p"],
    along: Float[Array, "p r"],
    restore: Float[Array, "p e"],
    count: Int[Array, ""] | None = None,
) -> View:
    """Means at ``theta``, and the moves of a fit turned so that they keep the exact
    rows there.

    With ``count`` only so many of the directions are looked at, one after the other,
    and the others have no moves."""
    noisy, push_noisy = jax.linearize(lambda t: noisy_means(model, t, fit), theta)
    exact, push_exact = jax.linearize(lambda t: exact_means(model, t), theta)
    if count is None:
        off = jax.vmap(push_exact, in_axes=1, out_axes=1)(along)
        moves = along - (restore @ off.astype(restore.dtype)).astype(along.dtype)
        return View(
            noisy,
            exact,
            moves,
            jax.vmap(push_noisy, in_axes=1, out_axes=1)(moves.astype(theta.dtype)),
        )

    def one(i: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        move = along[:, i] - restore @ push_exact(along[:, i])
        return found[0].at[:, i].set(move), found[1].at[:, i].set(push_noisy(move))

    moves, tangent = jax.lax.fori_loop(
        0, count, one, (jnp.zeros_like(along), jnp.zeros((noisy.size, along.shape[1]), noisy.dtype))
    )
    return View(noisy, exact, moves, tangent)


class NearbySolutions:
    """Solutions around a fit.

    Arguments:
        model: the problem made computable.
        fit: the fit, linearised.
    """

    def __init__(self, model: Model, fit: Linearisation):
        self.model, self.fit = model, fit
        self.r = most_directions(model)
        self.informed = fit.share > 0.5
        self.real = self.informed[: self.r]

    def coordinates(self, noisy: Float[Array, " k"]) -> Float[Array, " k"]:
        """Of a solution with these means."""
        return jnp.where(self.fit.share > 0, self.fit.basis.T @ (noisy - self.fit.noisy), 0.0)

    def miss(
        self, noisy: Float[Array, " k"], exact: Float[Array, " e"], goal: Float[Array, " k"]
    ) -> Float[Array, ""]:
        """How far a solution is from its goal and from the exact rows, in standard
        errors.
        """
        physics = (
            jnp.sqrt(jnp.mean((exact - self.fit.exact) ** 2)) if exact.size else jnp.asarray(0.0)
        )
        short = jnp.max(jnp.abs(self.fit.share * (goal - self.coordinates(noisy))))
        return jnp.maximum(short, self.model.precision(self.fit.theta) * physics)

    def reach(
        self, theta: Float[Array, " p"], goal: Float[Array, " k"], *, steps: int
    ) -> Float[Array, " p"]:
        """Go from theta to the solution with the coordinates ``goal``, with the tangent
        and the factorisation of the fit.

        Each of these chord steps costs one evaluation. They stop when they are close or
        no longer come closer."""

        def step(
            carry: tuple[Array, Array, Array, Array, Array],
        ) -> tuple[Array, Array, Array, Array, Array]:
            theta, noisy, exact, miss, count = carry
            off = exact - self.fit.exact
            undone = self.fit.basis.T @ (self.fit.side_effect @ off)
            trial = (
                theta
                - self.fit.restore @ off
                + self.fit.along @ (goal - self.coordinates(noisy) + undone)
            )
            noisy, exact, closer = self._evaluate(trial, goal)
            better = closer < miss
            return (
                jnp.where(better, trial, theta),
                noisy,
                exact,
                jnp.where(better, closer, miss),
                jnp.where(better, count + 1, steps),
            )

        start = theta, *self._evaluate(theta, goal), jnp.asarray(0)
        return jax.lax.while_loop(lambda c: (c[3] > _CLOSE) & (c[4] < steps), step, start)[0]

    def reach_further(
        self, theta: Float[Array, " p"], goal: Float[Array, " k"], *, steps: int
    ) -> Float[Array, " p"]:
        """The same with the tangent where the solution is, for what chord steps have
        left.
        """

        def step(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            theta, miss, count = carry
            view = self.view(theta)
            back = -self.fit.restore @ (view.exact - self.fit.exact)
            shifted = (
                view.noisy
                + jax.jvp(lambda t: noisy_means(self.model, t, self.fit.theta), (theta,), (back,))[
                    1
                ]
            )
            short = (goal - self.coordinates(shifted))[: self.r]
            turn = only(self.fit.basis[:, : self.r].T @ view.tangent, self.real)
            trial = (
                theta
                + back
                + view.moves @ _solve(turn, jnp.where(self.real, short, 0.0)[:, None])[0][:, 0]
            )
            closer = self._evaluate(trial, goal)[2]
            better = closer < miss
            return (
                jnp.where(better, trial, theta),
                jnp.where(better, closer, miss),
                jnp.where(better, count + 1, steps),
            )

        start = theta, self._evaluate(theta, goal)[2], jnp.asarray(0)
        return jax.lax.while_loop(lambda c: (c[1] > _CLOSE) & (c[2] < steps), step, start)[0]

    def _evaluate(
        self, theta: Float[Array, " p"], goal: Float[Array, " k"]
    ) -> tuple[Array, Array, Array]:
        """Means of the noisy and of the exact rows, and how far they are from the
        goal.
        """
        noisy, exact = (
            noisy_means(self.model, theta, self.fit.theta),
            exact_means(self.model, theta),
        )
        return noisy, exact, self.miss(noisy, exact, goal)

    def rescue(
        self,
        theta: Float[Array, " p"],
        miss: Float[Array, ""],
        goal: Float[Array, " k"],
        *,
        steps: int,
    ) -> Float[Array, " p"]:
        """The same as ``reach`` for a far goal, from where that failed, with Jacobians
        of its own, which are dear.

        Where there is no solution, the way ends as soon as it hardly leads any closer.
        """
        model, fit = self.model, self.fit
        # exact rows count as they do in the distance: one by one they would make the
        # valley to follow needlessly narrow
        heavy = model.precision(fit.theta) / jnp.sqrt(max(1, fit.exact.size))

        def rows(theta: Array) -> tuple[Array, Array]:
            noisy = noisy_means(model, theta, fit.theta)
            short = jnp.where(self.informed, goal - self.coordinates(noisy), 0.0)
            return jnp.concatenate([short, heavy * (fit.exact - exact_means(model, theta))]), noisy

        def slope(theta: Array) -> Array:
            noisy, exact = jacobians(self.model, theta, self.fit.theta)
            return jnp.concatenate(
                [jnp.where(self.informed[:, None], fit.basis.T @ noisy, 0.0), heavy * exact]
            )

        start = jnp.where(miss < jnp.max(jnp.abs(goal)), theta, fit.theta)
        return _approach(rows, slope, start, steps=steps, close=10 * _CLOSE, closest=0.1 * _CLOSE)

    def regress(
        self, target: Float[Array, " k"], *, steps: int
    ) -> tuple[Float[Array, " p"], Float[Array, ""]]:
        """Fit again, with the ridge, to data that lie by ``target`` off those of the
        fit; for free functions.

        Returns:
            The parameters, and how far the last step would still have moved a datum, in
            standard errors.
        """
        model, fit = self.model, self.fit
        heavy = 10 * model.precision(fit.theta)

        def rows(theta: Array) -> Array:
            off = target - (noisy_means(model, theta, fit.theta) - fit.noisy)
            return jnp.concatenate([off, heavy * (fit.exact - exact_means(model, theta))])

        def slope(theta: Array) -> Array:
            noisy, exact = jacobians(self.model, theta, self.fit.theta)
            return jnp.concatenate([noisy, heavy * exact])

        ridge = 1 / jnp.asarray(model.prior_scale) ** 2
        return _climb(rows, slope, fit.theta, ridge=ridge, steps=steps, close=10 * _CLOSE)

    def fresh_view(self, theta: Float[Array, " p"]) -> View:
        """Means and tangent at theta from a fresh Jacobian, for solutions far from
        the fit.
        """
        Ju, Je = jacobians(self.model, theta, self.fit.theta)
        moves = jnp.where(self.real, self.fit.along[:, : self.r], 0.0)
        if len(Je):
            moves = moves - damped_solver(Je, jnp.asarray(RELEASE * len(Je)))(Je @ moves)
        return View(
            noisy_means(self.model, theta, self.fit.theta),
            exact_means(self.model, theta),
            moves,
            Ju @ moves,
        )

    def view(self, theta: Float[Array, " p"]) -> View:
        """The same, by following the fit's moves rather than from a fresh Jacobian."""
        along = jnp.where(self.real, self.fit.along[:, : self.r], 0.0)
        # many solutions on a line look along all directions at once; one by one, or in
        # a plane, only along those that are real
        count = (
            jnp.sum(self.real)
            if loops_per_lane() or len(self.model.problem.domain.names) > 1
            else None
        )
        return view_at(self.model, self.fit.theta, theta, along, self.fit.restore, count)

    def sums_of_squares(self, theta: Float[Array, " p"], data: Data) -> dict[str, Array]:
        """Residual sum of squares of each noisy group, in units of the fit's errors."""
        same = self.model.with_noise(theta, self.model.noise(self.fit.theta))
        return {name: jnp.sum(z**2) for name, z in self.model.errors(same, data).items()}

    def log_density(self, view: View, rss: dict[str, Array]) -> Array:
        """Logarithm of the fiducial density of the coordinates, unknown error sizes
        integrated out.

        It is the likelihood times ``det([F R]^T [F R])^(1/2)``, with F the derivative
        of the data's means by the coordinates and R a column for each unknown size, the
        residual of its group."""
        noisy = [g for g in self.model.groups if not g.exact]
        unknown = [g for g in noisy if self.model.size_unknown(g)]
        off = self.fit.residual + self.fit.noisy - view.noisy
        columns = [jnp.where(rows_of(self.model, g.name), off, 0.0) for g in unknown]
        T = view.tangent
        cross = jnp.stack([T.T @ c for c in columns], axis=1) if columns else jnp.zeros((self.r, 0))
        corner = (
            jnp.diag(jnp.stack([rss[g.name] for g in unknown])) if unknown else jnp.zeros((0, 0))
        )
        gram = jnp.block([[only(T.T @ T, self.real), cross], [cross.T, corner]])
        turn = only(self.fit.basis[:, : self.r].T @ T, self.real)
        size = sum((0.5 * g.y.size * jnp.log(rss[g.name]) for g in unknown), start=jnp.asarray(0.0))
        fit = sum((0.5 * rss[g.name] for g in noisy if g not in unknown), start=jnp.asarray(0.0))
        return 0.5 * eliminate(gram, gram[:, :0])[1] - _solve(turn, turn[:, :0])[1] - size - fit


class _Way(NamedTuple):
    """How far a search has come.

    Attributes:
        root: the factor of the smaller normal matrix.
        costs: of the last steps, the latest first.
        seen: the means that are watched.
        moved: how far the last step has moved any of them.
    """

    theta: Float[Array, " p"]
    residual: Float[Array, " m"]
    jacobian: Float[Array, "m p"]
    root: Float[Array, "k k"]
    stale: Bool[Array, ""]
    damping: Float[Array, ""]
    growth: Float[Array, ""]
    costs: Float[Array, " window"]
    seen: Float[Array, " k"]
    moved: Float[Array, ""]
    taken: Int[Array, ""]


def _approach(
    rows: Callable[[Array], tuple[Array, Array]],
    slope: Callable[[Array], Array],
    theta: Array,
    *,
    steps: int,
    close: float,
    closest: float,
) -> Array:
    """Levenberg-Marquardt until all rows together are no larger than ``close``, or a
    number of steps has hardly made them smaller.

    Far from the fit a small residual of the equation can be a large error of the curve.
    So the means that ``rows`` gives as well must stand still, too: a step may move none
    by more than ``close``, unless the rows are no larger than ``closest``. A Jacobian
    is kept for as long as its steps serve. The first step with one follows the
    curvature of the rows (geodesic acceleration)."""

    def factored(theta: Array, damping: Array) -> tuple[Array, Array]:
        jacobian = slope(theta)
        small = jacobian @ jacobian.T if dual else jacobian.T @ jacobian
        cost = damping * jnp.trace(small) / len(jacobian)
        return jacobian, jsl.cholesky(small + cost * jnp.eye(len(small)), lower=True)

    def step(way: _Way) -> _Way:
        jacobian, root = apply_if(
            way.stale, lambda _: factored(way.theta, way.damping), (way.jacobian, way.root)
        )

        def solve(residual: Array) -> Array:
            return (
                jacobian.T @ jsl.cho_solve((root, True), residual)
                if dual
                else jsl.cho_solve((root, True), jacobian.T @ residual)
            )

        def bend(move: Array) -> Array:
            return bent(move, solve(0.5 * curvature(lambda t: rows(t)[0], way.theta, move)))

        move = solve(way.residual)
        # a Jacobian that serves on is near its goal, where nothing bends
        trial = way.theta + apply_if(way.stale, bend, move)
        (residual, seen), predicted = (
            rows(trial),
            way.costs[0] - jnp.sum((way.residual - jacobian @ move) ** 2),
        )
        cost = jnp.sum(residual**2)
        better = cost < way.costs[0]  # false for a trial that is not finite
        # a failure with an old Jacobian says nothing about the damping
        adapted = adapt_damping(
            way.damping,
            way.growth,
            better,
            (way.costs[0] - cost) / predicted,
            _LEAST_DAMPING,
            _MOST_DAMPING,
        )
        damping, growth = (
            jnp.where(way.stale, new, old)
            for new, old in zip(adapted, (way.damping, way.growth), strict=True)
        )
        stale, costs = (
            ~(cost < _KEEP * way.costs[0]),
            jnp.concatenate([jnp.where(better, cost, way.costs[0])[None], way.costs[:-1]]),
        )
        moved = jnp.where(better, jnp.max(jnp.abs(seen - way.seen)), way.moved)
        theta, residual, seen = (
            jnp.where(better, new, old)
            for new, old in ((trial, way.theta), (residual, way.residual), (seen, way.seen))
        )
        return _Way(
            theta,
            residual,
            jacobian,
            root,
            stale,
            damping,
            growth,
            costs,
            seen,
            moved,
            way.taken + 1,
        )

    def open_end(way: _Way) -> Array:
        there = (way.costs[0] <= closest**2) | ((way.costs[0] <= close**2) & (way.moved <= close))
        return ~there & (way.costs[0] < (1 - _LEAST_GAIN) * way.costs[-1]) & (way.taken < steps)

    residual, seen = rows(theta)
    m, p = len(residual), len(theta)
    dual = m <= p
    nothing, largest = (jnp.zeros((m, p)), jnp.zeros((min(m, p),) * 2)), jnp.finfo(jnp.float64).max
    costs = jnp.full(_WINDOW, largest).at[0].set(jnp.sum(residual**2))
    damping, growth = jnp.asarray(_FIRST_DAMPING), jnp.asarray(2.0)
    start = _Way(
        theta,
        residual,
        *nothing,
        jnp.asarray(True),
        damping,
        growth,
        costs,
        seen,
        jnp.asarray(largest),
        jnp.asarray(0),
    )
    return jax.lax.while_loop(open_end, step, start).theta


def _climb(
    rows: Callable[[Array], Array],
    slope: Callable[[Array], Array],
    theta: Array,
    *,
    ridge: Array,
    steps: int,
    close: float,
) -> tuple[Array, Array]:
    """Levenberg-Marquardt until a step would move no row by more than ``close``; also
    says by how much the last would have.

    The ridge pulls to where it starts.
    """
    origin = theta

    def step(
        carry: tuple[Array, Array, Array, Array, Array],
    ) -> tuple[Array, Array, Array, Array, Array]:
        theta, residual, damping, _, count = carry
        jacobian, gone = slope(theta), theta - origin
        move, trial, _ = ridge_step(
            residual,
            jacobian,
            theta,
            damping=damping,
            ridge=ridge,
            gone=gone,
            bend=lambda along: curvature(rows, theta, along),
        )
        after = rows(trial)
        costs = [
            jnp.sum(r**2) + jnp.sum(ridge * (t - origin) ** 2)
            for r, t in ((residual, theta), (after, trial))
        ]
        better = costs[1] < costs[0]
        damping = jnp.maximum(damping * jnp.where(better, 0.2, 4.0), _LEAST_DAMPING)
        left = jnp.max(jnp.abs(jacobian @ move))
        return (
            jnp.where(better, trial, theta),
            jnp.where(better, after, residual),
            damping,
            left,
            count + 1,
        )

    start = (
        theta,
        rows(theta),
        jnp.asarray(1e-4),
        jnp.asarray(jnp.finfo(jnp.float64).max),
        jnp.asarray(0),
    )
    theta, _, _, left, _ = jax.lax.while_loop(
        lambda c: (c[3] > close) & (c[4] < steps), step, start
    )
    return theta, left


def _solve(
    matrix: Float[Array, "r r"], right: Float[Array, "r k"]
) -> tuple[Float[Array, "r k"], Float[Array, ""]]:
    """Solution and logarithm of the determinant's size for any small matrix."""
    found, log_determinant = eliminate(matrix.T @ matrix, matrix.T @ right)
    return found, 0.5 * log_determinant


def rows_of(model: Model, group: str) -> Array:
    """Which of the noisy rows belong to a group."""
    return jnp.concatenate(
        [jnp.full(len(g.sites), g.name == group) for g in model.groups if not g.exact]
    )


def only(matrix: Float[Array, "r r"], real: Array) -> Float[Array, "r r"]:
    """The block of real directions; the others stand for themselves, so that
    determinants and solutions leave them out.
    """
    return jnp.where(real[:, None] & real, matrix, jnp.eye(len(real), dtype=matrix.dtype))
