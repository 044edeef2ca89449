"""The flat parameter vector: what it holds where."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
from jaxtyping import Array, Float

from ..posing.problem import Problem
from ..posing.unknowns import AbstractUnknown
from .flat import unraveller
from .initial import initial_tree


@dataclass(frozen=True, eq=False)
class Layout:
    """What a parameter vector holds where: the representation's own parameters (weights
    of a network), then unknown noise parameters, then unknown constants, all of them
    unconstrained.

    Attributes:
        size: number of parameters.
        own: where the representation's own parameters are.
        noise: where the unknown noise parameters are, in order of group and name.
        constants: where the unknown constants are, in order of their names.
        noise_unknowns: the unknown noise parameters by group and name.
        named: the place and the unknown of each constant, and of each noise parameter
            under a name such as ``sd_u``.
    """

    size: int
    own: slice
    noise: slice
    constants: slice
    noise_unknowns: Mapping[str, Mapping[str, AbstractUnknown]]
    named: Mapping[str, tuple[slice, AbstractUnknown]]
    _unravel: Callable[[Array], dict[str, Any]]

    @classmethod
    def of(cls, problem: Problem) -> "Layout":
        """Return the layout of a problem's parameters, without computing them."""
        noise_unknowns = {g.name: g.noise_unknowns() for g in problem.groups if not g.exact}
        with jax.enable_x64(True):
            template = jax.eval_shape(
                lambda key: initial_tree(problem, noise_unknowns, key), jax.random.key(0)
            )
        # JAX flattens dictionaries in order of their keys: field, noise, unknowns.
        end = sum(leaf.size for leaf in jax.tree.leaves(template["field"]))
        own_slice = slice(0, end)
        of_noise = {}
        for group, own in sorted(noise_unknowns.items()):
            for name, unknown in sorted(own.items()):
                of_noise[f"{name}_{group}"] = (slice(end, end + unknown.guess.size), unknown)
                end += unknown.guess.size
        noise = slice(own_slice.stop, end)
        constants = {}
        for name, unknown in sorted(problem.unknowns.items()):
            constants[name] = (slice(end, end + unknown.guess.size), unknown)
            end += unknown.guess.size
        return cls(
            size=end,
            own=own_slice,
            noise=noise,
            constants=slice(noise.stop, end),
            noise_unknowns=noise_unknowns,
            named={**constants, **of_noise},
            _unravel=unraveller(template),
        )

    @property
    def constant_count(self) -> int:
        """Number of unknown constants, each component of a vector counted."""
        return self.constants.stop - self.constants.start

    def locate(self, name: str) -> tuple[slice, AbstractUnknown]:
        """Return the place of an unknown constant, or of a noise parameter such as
        ``sd_u``, and the unknown itself.
        """
        if name not in self.named:
            known = ", ".join(self.named) or "none"
            raise ValueError(f"there is no unknown called '{name}'; there are {known}")
        return self.named[name]

    def parts(self, theta: Float[Array, " p"]) -> dict[str, Any]:
        """Return the parameters as a dictionary with ``field``, ``noise`` and
        ``unknowns``.
        """
        if theta.shape != (self.size,):
            raise ValueError(
                f"expected {self.size} parameters, got an array of shape {theta.shape}"
            )
        if jax.dtypes.canonicalize_dtype(theta.dtype) != theta.dtype:
            raise RuntimeError(
                "these parameters are in double precision, which JAX has switched off here;"
                " compute inside `with jax.enable_x64(True):`"
            )
        return self._unravel(theta)
