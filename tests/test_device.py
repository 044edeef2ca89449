"""How thoroughly a program is compiled changes its seconds, not its numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fiducial import device
from fiducial.device import Effort, compile_program, jit, run_once


def program(x):
    matrix = jnp.eye(x.size) + jnp.outer(x, x) / x.size
    solved = jax.lax.fori_loop(0, 5, lambda _, v: jnp.tanh(jnp.linalg.solve(matrix, v)), x)
    return {"solved": solved, "sum": jnp.sum(jnp.sin(solved) ** 2)}


@pytest.mark.parametrize("effort", list(Effort))
def test_every_effort_gives_the_same_numbers(x64, effort):
    x = jnp.linspace(0.1, 2.0, 30)
    found, plain = compile_program(jax.jit(program).lower(x), effort)(x), program(x)
    for name in plain:
        np.testing.assert_allclose(found[name], plain[name], rtol=1e-12)


def test_arguments_of_a_program_that_runs_once_may_be_trees(x64):
    assert float(run_once(lambda t, k: t["a"] * k, {"a": jnp.asarray(2.0)}, 3)) == 6.0


def sums_of_products(x):
    return jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2))(x)


@pytest.mark.parametrize("how", [*Effort, jit])
def test_many_small_products_are_summed_up_right(x64, how):
    """With jaxlib 0.10.2 on a CPU ``jax.jit`` by itself does not."""
    x = jnp.arange(3.0 * 20_000).reshape(-1, 3)
    compiled = (
        jit(sums_of_products)
        if how is jit
        else compile_program(jax.jit(sums_of_products).lower(x), how)
    )
    np.testing.assert_allclose(compiled(x), np.sum(np.asarray(x) ** 2, axis=1), rtol=1e-14)


def test_an_option_that_the_compiler_does_not_know_is_left_out(monkeypatch):
    monkeypatch.setitem(device._ON_CPU, Effort.RUNS_ONCE, {"xla_no_such_option": True})
    assert float(run_once(lambda x: x + 1, 1.0)) == 2.0


@pytest.mark.parametrize("effort", list(Effort))
def test_options_for_a_gpu_are_ones_that_the_compiler_knows(x64, effort):
    """On a CPU they are read, and change nothing."""
    x = jnp.linspace(0.1, 2.0, 30)
    lowered = jax.jit(program).lower(x)
    found = lowered.compile(device._ON_GPU.get(effort, {}))(x)
    np.testing.assert_allclose(found["solved"], program(x)["solved"], rtol=1e-12)
