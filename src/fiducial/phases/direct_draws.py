"""Draws from the fiducial distribution: fresh errors, and the parameters that explain the data with them."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..linearisation import Linearisation, linearise, split_means
from ..method import AbstractPhase, Info
from ..model import Data, Model

_CLOSE = 1e-3
"""A draw this near its target, in standard errors, needs no further step."""


class Draws(NamedTuple):
    """One block of draws.

    Attributes:
        theta: parameters, noise sizes included.
        log_weight: logarithm of the importance weight that corrects for curvature.
        miss: how far the draw is from solving its equations, in standard errors.
        errors: the standardised errors that the draw imputes, by group.
    """

    theta: Float[Array, "block p"]
    log_weight: Float[Array, " block"]
    miss: Float[Array, " block"]
    errors: dict[str, Float[Array, "block n"]]


class DirectState(NamedTuple):
    """The linearised fit, and the last block of draws."""

    theta: Float[Array, " p"]
    fit: Linearisation
    block: Draws


class DirectDraws(AbstractPhase):
    """Randomise, then optimise: each draw solves the data-generating equations for errors of its own.

    For errors z the target of the noisy rows is ``y_hat - s P z``, with P the projection onto the
    informed directions, while exact rows keep their values. It is reached from the fit by a few steps
    with the factorisation of the fit (chord steps). Where an error size is unknown, it is drawn
    too: ``s = sqrt(RSS / |(I - P) z|^2)``. Curvature makes the draws' density differ from the fiducial
    one; the weights correct for it.

    Arguments:
        steps: number of blocks of draws.
        block: draws in a block.
        chord_steps: steps towards the target with the tangent of the fit.
        newton_steps: at most so many more with the tangent where the draw is, for draws that are not there yet.

    Reference:
        Bardsley, Solonen, Haario, Laine (2014), Randomize-then-optimize, SIAM J. Sci. Comput. 36, A1895.
    """

    steps: int
    block: int = 50
    chord_steps: int = 2
    newton_steps: int = 10
    name: ClassVar[str] = "draw"

    @property
    def record_every(self) -> int:
        return 1

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> DirectState:
        theta = previous.theta.astype(jnp.float64)
        fit = linearise(model, theta, data)
        shapes = jax.eval_shape(jax.vmap(lambda k: self.one(model, data, fit, k)), jax.random.split(key, self.block))
        return DirectState(theta, fit, jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes))

    def step(self, model: Model, data: Data, state: DirectState, progress: Array, *, key: PRNGKeyArray) -> tuple[DirectState, Info]:
        block = jax.vmap(lambda k: self.one(model, data, state.fit, k))(jax.random.split(key, self.block))
        return state._replace(block=block), {"miss": jnp.max(block.miss), "parameters": jnp.sum(state.fit.informed).astype(jnp.float64)}

    def draw(self, state: DirectState) -> Draws:
        return state.block

    def one(self, model: Model, data: Data, fit: Linearisation, key: PRNGKeyArray) -> Draws:
        """One draw."""
        noise = model.noise(fit.theta)
        noisy = [g for g in model.groups if g.noise is not None]
        z = [jax.random.normal(jax.random.fold_in(key, i), (g.y.size,), jnp.float64) for i, g in enumerate(noisy)]
        collapsed = jnp.concatenate([_collapse(g, e, noise[g.name]) for g, e in zip(noisy, z, strict=True)])
        inside = jnp.where(fit.informed, fit.basis.T @ collapsed, 0.0)
        residual = model.errors(fit.theta, data)
        rss = sum((jnp.sum(residual[g.name] ** 2) for g in noisy), start=jnp.asarray(0.0))
        outside = sum((jnp.sum(e**2) for e in z), start=jnp.asarray(0.0)) - jnp.sum(inside**2)
        unknown_size = any(noise.values())
        size = jnp.sqrt(rss / outside) if unknown_size else jnp.asarray(1.0)

        target = _Target(model, fit, -size * inside)
        theta = fit.theta + fit.along @ target.goal
        for _ in range(self.chord_steps):
            theta = target.chord(theta)
        # far draws of a curved model need the tangent where they are; the loop ends at once for all others
        start = theta, target.miss(theta), jnp.asarray(0)
        theta, _, _ = jax.lax.while_loop(lambda c: (c[1] > _CLOSE) & (c[2] < self.newton_steps), target.newton, start)
        view = target.view(theta)
        log_weight, size = _weigh(model, data, fit, theta, view, size, rss, unknown_size)
        if unknown_size:
            theta = model.with_noise(theta, jax.tree.map(lambda s: s * size, noise))
        return Draws(theta, log_weight, target.miss_of(view), model.errors(theta, data))


class _View(NamedTuple):
    """The model around one theta: means, and what moving along the informed directions does to them."""

    noisy: Float[Array, " k"]
    exact: Float[Array, " e"]
    moves: Float[Array, "p r"]
    tangent: Float[Array, "k r"]
    push: Any


class _Target:
    """Solves for the theta whose noisy rows have moved by ``goal`` along the basis while exact rows have not moved."""

    def __init__(self, model: Model, fit: Linearisation, goal: Float[Array, " k"]):
        self.model, self.fit, self.goal = model, fit, goal
        self.r = most_directions(model)

    def _short(self, noisy: Array) -> Array:
        return jnp.where(self.fit.informed, self.goal - self.fit.basis.T @ (noisy - self.fit.noisy), 0.0)

    def miss(self, theta: Array) -> Array:
        """How far theta is from the target, in standard errors."""
        return self._miss(*split_means(self.model, theta, self.fit.theta))

    def miss_of(self, view: _View) -> Array:
        return self._miss(view.noisy, view.exact)

    def _miss(self, noisy: Array, exact: Array) -> Array:
        physics = jnp.sqrt(jnp.mean((exact - self.fit.exact) ** 2)) if exact.size else jnp.asarray(0.0)
        return jnp.maximum(jnp.max(jnp.abs(self._short(noisy))), self.model.precision(self.fit.theta) * physics)

    def chord(self, theta: Array) -> Array:
        """A step with the factorisation and the tangent of the fit."""
        fit = self.fit
        noisy, exact = split_means(self.model, theta, fit.theta)
        off = exact - fit.exact
        undone = jnp.where(fit.informed, fit.basis.T @ (fit.side_effect @ off), 0.0)
        return theta - fit.restore @ off + fit.along @ (self._short(noisy) + undone)

    def view(self, theta: Array) -> _View:
        """Means and tangent at theta, the tangent by following the fit's moves rather than from a fresh Jacobian."""
        (noisy, exact), push = jax.linearize(lambda t: split_means(self.model, t, self.fit.theta), theta)
        follow = jax.vmap(push, in_axes=1, out_axes=1)
        moves = self.fit.along[:, : self.r]
        moves = moves - self.fit.restore @ follow(moves)[1]
        real = self.fit.informed[: self.r]
        return _View(noisy, exact, jnp.where(real, moves, 0.0), jnp.where(real, follow(moves)[0], 0.0), push)

    def newton(self, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """A step with the tangent at theta; it is kept only if it comes closer."""
        theta, miss, count = carry
        view = self.view(theta)
        back = -self.fit.restore @ (view.exact - self.fit.exact)
        basis = self.fit.basis[:, : self.r]
        short = self._short(view.noisy + view.push(back)[0])[: self.r]
        trial = theta + back + view.moves @ jnp.linalg.solve(_only(basis.T @ view.tangent, self.fit.informed[: self.r]), short)
        closer = self.miss(trial)
        better = closer < miss
        return jnp.where(better, trial, theta), jnp.where(better, closer, miss), jnp.where(better, count + 1, 1000)


def most_directions(model: Model) -> int:
    """How many informed directions are followed: what an equation of order three in each output may leave free."""
    rows = sum(len(g.sites) for g in model.groups if not g.exact)
    constants = sum(int(u.guess.size) for u in model.problem.unknowns.values())
    return min(rows, constants + 3 * len(model.problem.outputs))


def _collapse(group: Any, z: Array, noise: dict[str, Array]) -> Array:
    """Errors as the whitened rows see them: replicates averaged, unit variance."""
    errors = group.noise.push(jnp.zeros_like(z), z, group.points, noise)
    return group.noise.whiten_data(errors, group.points, group.index, len(group.sites), noise)


def _only(matrix: Float[Array, "r r"], real: Array) -> Float[Array, "r r"]:
    """The block of real directions; the others stand for themselves, so that determinants and solutions leave them out."""
    return jnp.where(real[:, None] & real, matrix, jnp.eye(len(real), dtype=matrix.dtype))


def _weigh(
    model: Model, data: Data, fit: Linearisation, theta: Array, view: _View, size: Array, rss: Array, unknown_size: bool
) -> tuple[Array, Array]:
    """The logarithm of a draw's importance weight, and its error size rescaled to its own residuals.

    With Q the informed directions at the fit, T the tangent at the draw and r the draw's residual, the
    weight is ``exp(-|(I - Q Q^T) r|^2 / 2) sqrt(det T^T T) / |det Q^T T|`` for known error sizes, and the same
    idea with the size integrated out otherwise. It is constant for a linear model.
    """
    r = most_directions(model)
    Q, T, real = fit.basis[:, :r], view.tangent, fit.informed[:r]
    gram = _only(T.T @ T, real)
    log_turn = jnp.linalg.slogdet(_only(Q.T @ T, real))[1] - 0.5 * jnp.linalg.slogdet(gram)[1]
    noise = model.noise(fit.theta)
    targets = [model.targets(g, data[g.name], noise[g.name]) for g in model.groups if not g.exact]
    off = jnp.concatenate(targets) - view.noisy
    if not unknown_size:
        across = jnp.sum(off**2) - jnp.sum(jnp.where(real, Q.T @ off, 0.0) ** 2)
        log_weight = -0.5 * across - log_turn
    else:
        n = sum(g.y.size for g in model.groups if not g.exact)
        rss_draw = sum((jnp.sum(v**2) for v in model.errors(theta, data).values()), start=jnp.asarray(0.0))
        shared = T.T @ off
        inside = shared @ jnp.linalg.solve(gram, shared)
        spread = rss + jnp.sum(jnp.where(real, Q.T @ (view.noisy - fit.noisy), 0.0) ** 2)
        log_weight = 0.5 * n * jnp.log(spread / rss_draw) + 0.5 * jnp.log(rss_draw - inside) - log_turn
        size = size * jnp.sqrt(rss_draw / spread)
    # with more informed directions than are followed the draws stay unweighted
    return jnp.where(jnp.sum(fit.informed) <= r, log_weight, 0.0), size
