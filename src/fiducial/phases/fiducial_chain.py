"""Extended fiducial inference: the errors wander, and the hyper-network learns which
parameters go with them.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.base import AbstractKernel
from ..model.model import Data, Model
from ..numerics.energy import Energy, Terms
from ..numerics.hyper_network import HyperNetwork, answer, encode, initial_network
from ..numerics.linearisation import Linearisation, collapse, linearise, probe
from ..numerics.mixing import convergence
from ..numerics.nearby_solutions import MOST_POINTS
from ..numerics.tracking import Tracker, renew, tracker, turn
from ..numerics.weight_update import AbstractUpdate, Now, lag_of, respond, scatter_slope
from .base import AbstractPhase, Drawn, Info


class ChainState(NamedTuple):
    """What the next iterations need.

    Attributes:
        theta: the network's answer.
        fit: the pilot fit, linearised.
        tracker: how to follow from there.
        network: weights of the hyper-network.
        memory: what the update of the weights carries.
        z: the errors of all noisy observations.
        momentum: what the kernel carries.
        neck: mean of the neck's outer products so far.
        age: records so far.
        drawn: the last draw.
    """

    theta: Float[Array, " p"]
    fit: Linearisation
    tracker: Tracker
    network: HyperNetwork
    memory: Any
    z: Float[Array, " n"]
    momentum: Any
    neck: Float[Array, "d d"]
    age: Array
    drawn: Drawn


class FiducialChain(AbstractPhase):
    """Algorithm 1 of the paper: each step is ``thin`` iterations and gives one draw.

    An iteration evaluates energy and gradient once, lets the kernel move the errors,
    and lets the update move the weights of the hyper-network.

    Arguments:
        steps: number of draws, those of the warm-up included.
        thin: iterations between two draws.
        warm_up: draws at the start that do not count.
        effective: the other draws of all chains together are enough when worth so many
            independent ones; None for all steps.
        kernel: moves the errors.
        update: moves the weights.
        terms: weights of the energy's terms at a progress from 0 to 1.
        size: step size of the kernel at that progress, one or one for each error.
        hidden: widths of the encoder's hidden layers.
        neck: width of the neck.
        neck_sd: standard deviation of noise that is added to the neck.
        last_layers: only so many layers of the model's network are the hyper-network's
            answer; None for all.
        plain: start from a fresh network of the model instead of the pilot fit, and let
            the hyper-network give parameters for inputs and outputs in the user's
            units, as the paper has them.
        dtype: of the iterations.
    """

    steps: int
    thin: int
    warm_up: int
    effective: int | None
    kernel: AbstractKernel
    update: AbstractUpdate
    terms: Callable[[Model, Linearisation, Array], Terms]
    size: Callable[[Model, Linearisation, Array], Array]
    hidden: tuple[int, ...]
    neck: int
    neck_sd: float = 0.0
    last_layers: int | None = None
    plain: bool = False
    dtype: Any = jnp.float64
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "imputing the errors"

    @property
    def record_every(self) -> int:
        return 1

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> ChainState:
        model = model.thinned(MOST_POINTS).with_free_layers(self.last_layers)
        keys = jax.random.split(key, 4)
        pilot = linearise(model, previous.theta.astype(jnp.float64), data)
        follows = tracker(model, pilot)
        count = sum(g.y.size for g in model.groups if not g.exact)
        theta = pilot.theta
        if self.plain:  # layers that are held stay as the pilot fit has them
            theta = jnp.where(model.free_mask > 0, model.init(keys[0]) / model.unit_factors, theta)
        fit, follows, theta = jax.tree.map(lambda v: v.astype(self.dtype), (pilot, follows, theta))
        # read in every iteration, which takes longer than to multiply with it; what one
        # correction leaves the next one finds
        follows = follows._replace(restore=follows.restore.astype(jnp.float32))
        # from the pilot fit's own errors, where nothing pulls, or from any at all
        own = jnp.concatenate([fit.errors[g.name] for g in model.groups if not g.exact])
        z = jax.random.normal(keys[1], (count,), self.dtype) if self.plain else own
        network = initial_network(
            theta * self._units(model),
            self._rows(model, data, z).shape[1],
            self.hidden,
            self.neck,
            key=keys[2],
        )
        extra = self._extra(model, fit, theta, theta, z)
        return ChainState(
            theta,
            # what only draws around the fit need is left behind
            fit._replace(
                along=fit.along[:, :0],
                restore=fit.restore[:, :0],
                side_effect=fit.side_effect[:, :0],
            ),
            follows,
            network,
            self.update.init(network),
            z,
            self.kernel.init(z, key=keys[3]),
            jnp.zeros((self.neck, self.neck), self.dtype),
            jnp.asarray(0),
            Drawn(theta[None], extra),
        )

    def step(
        self, model: Model, data: Data, state: ChainState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[ChainState, Info]:
        model = model.thinned(MOST_POINTS).with_free_layers(self.last_layers)
        data = {name: y.astype(self.dtype) for name, y in data.items()}
        zero, units = jnp.asarray(0.0, self.dtype), self._units(model)

        at = turn(model, state.fit.theta, state.theta, state.tracker)

        def ahead(now: Array) -> Any:
            followed = (
                self.terms(model, state.fit, now),
                self.size(model, state.fit, now),
                self.update.plan(now),
            )
            return jax.tree.map(lambda v: jnp.asarray(v, self.dtype), followed)

        # all schedules and random numbers at once: one by one they would be programs of
        # their own in every iteration
        planned = jax.vmap(ahead)(progress + jnp.arange(self.thin) / (self.thin * self.steps))
        noises = jax.random.normal(
            jax.random.fold_in(key, self.thin), (self.thin, state.z.size), self.dtype
        )

        def iterate(i: Array, carry: Any) -> Any:
            network, memory, z, momentum, neck, at, sums = carry
            own = jax.random.fold_in(key, i)
            (terms, size, plan), noise = jax.tree.map(lambda v: v[i], (planned, noises))
            energy = Energy(model, state.fit, terms)
            necks, pull = jax.vjp(
                lambda encoder, z: self._neck(encoder, self._rows(model, data, z), own),
                network.encoder,
                z,
            )
            theta = answer(network, necks) / units
            slopes = self.update.slopes(energy, theta, z, data, key=jax.random.fold_in(own, 3))
            slopes = slopes._replace(
                theta=slopes.theta / units, for_weights=slopes.for_weights / units
            )
            force = -slopes.z - z
            if not self.update.keeps_up:
                force -= pull(
                    network.out @ slopes.theta / len(necks)
                    + scatter_slope(network, necks, terms.together)
                )[1]
            moved, momentum = self.kernel.step(z, momentum, force, size, noise)
            view = Now(
                theta,
                slopes,
                necks,
                lambda c: pull(c)[0],
                self._rows(model, data, moved),
                moved,
                plan,
            )
            if self.update.keeps_up:
                at = renew(energy, at, theta, slopes.seen.slip)
            network, memory, lag = self.update.step(network, memory, energy, at, data, view)
            sums = jax.tree.map(
                jnp.add, sums, (slopes.seen.data_energy, slopes.seen.exact_energy, lag)
            )
            return network, memory, moved, momentum, neck + necks.T @ necks / len(necks), at, sums

        begin = (
            state.network,
            state.memory,
            state.z,
            state.momentum,
            jnp.zeros_like(state.neck),
            at,
            (zero, zero, zero),
        )
        network, memory, z, momentum, neck, at, sums = jax.lax.fori_loop(
            0, self.thin, iterate, begin
        )
        rows = self._rows(model, data, z)
        theta, frozen = respond(network, rows) / units, respond(state.network, rows) / units
        drawn = Drawn(theta[None], self._extra(model, state.fit, theta, frozen, z))
        weight = 1 / (state.age + 1.0).astype(self.dtype)
        mean = (1 - weight) * state.neck + weight * neck / self.thin
        after = state._replace(
            theta=theta,
            tracker=at,
            network=network,
            memory=memory,
            z=z,
            momentum=momentum,
            neck=mean,
            age=state.age + 1,
            drawn=drawn,
        )
        data_energy, exact_energy, lag = (s / self.thin for s in sums)
        end = progress + 1 / self.steps
        terms, size = self.terms(model, state.fit, end), self.size(model, state.fit, end)
        if not self.update.keeps_up:
            energy = Energy(model, state.fit, terms)
            lag = lag_of(energy, at, energy.of_data(theta, z, data)[1])
        info = {
            "data energy": data_energy,
            "exact energy": exact_energy,
            "lag": lag / jnp.maximum(1.0, jnp.sum(state.fit.share)),
        }
        return after, {
            **info,
            "stiffness": terms.typical,
            "step size": jnp.mean(size),
            "sensitivity": state.fit.sensitivity,
        }

    def enough(self, extra: dict[str, np.ndarray]) -> bool:
        draws = extra["probe"][:, :, self.warm_up :]
        if self.effective is None or draws.shape[2] < 20:
            return False
        return all(convergence(one).effective.min() >= self.effective for one in draws)

    def draw(self, state: ChainState) -> Drawn:
        return state.drawn

    def _units(self, model: Model) -> Array:
        return jnp.asarray(model.unit_factors if self.plain else np.ones(model.size), self.dtype)

    def _neck(self, encoder: Any, rows: Array, key: PRNGKeyArray) -> Array:
        neck = encode(encoder, rows)
        if self.neck_sd:
            neck = neck + self.neck_sd * jax.random.normal(
                jax.random.fold_in(key, 2), neck.shape, neck.dtype
            )
        return neck

    def _rows(self, model: Model, data: Data, z: Float[Array, " n"]) -> Float[Array, "n i"]:
        """What the encoder is given: the point, the value and the error of each
        observation, all of unit size.
        """
        box, noisy = model.problem.domain, [g for g in model.groups if not g.exact]
        middle, reach = (box.upper + box.lower) / 2, (box.upper - box.lower) / 2
        places = np.concatenate([(g.points.array - middle) / reach for g in noisy])
        values = [
            (data[g.name] - jnp.mean(data[g.name]))
            / (jnp.std(data[g.name]) + jnp.finfo(self.dtype).tiny)
            for g in noisy
        ]
        which = np.concatenate([np.full(g.y.size, i) for i, g in enumerate(noisy)])
        errors = jnp.where(which[:, None] == np.arange(len(noisy)), z[:, None], 0.0)
        return jnp.concatenate(
            [jnp.asarray(places), jnp.concatenate(values)[:, None], errors], axis=1
        ).astype(self.dtype)

    def _extra(
        self, model: Model, fit: Linearisation, theta: Array, frozen: Array, z: Array
    ) -> dict[str, Array]:
        """What draws are judged by: quantities of the answer, of the answer with the
        weights of the draw before, and the errors.
        """
        errors = model.split_by_group(z)
        place = model.noise_slice
        seen = [jnp.concatenate([probe(model, t), t[place]]) for t in (theta, frozen)]
        found = {
            "probe": seen[0],
            "frozen": seen[1],
            "informed": fit.basis.T @ collapse(model, fit.theta, errors),
            "z": z,
        }
        return {name: jnp.asarray(v, self.dtype)[None] for name, v in found.items()}
