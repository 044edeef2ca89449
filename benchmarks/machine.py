"""The machine that a benchmark runs on, in words."""

import platform

import jax


def machine() -> str:
    """Return the device, the architecture and the version of JAX."""
    return f"{jax.devices()[0].device_kind}, {platform.machine()}, jax {jax.__version__}"
