"""Coverage of fiducial intervals with few data: u' = -k u with u(0) unknown, and eight
values with errors of unknown size.

    python benchmarks/few_data.py [data sets] [fits]

By default 4,000 data sets by quadrature, and the first 40 of them by `efi-direct`.

The solution is A exp(-k t), so two integrals give the exact fiducial distribution of k.
Its distance from 95 % belongs to the fiducial method; the distance of `efi-direct` from
it belongs to the implementation.
"""

import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from machine import machine

import fiducial as fd

TIMES, TRUE_K, SD = np.linspace(0.25, 3, 8), 0.7, 0.1
RATES, HEIGHTS = np.linspace(0.05, 2.5, 500), np.linspace(0.8, 3.6, 141)


def posed() -> fd.Problem:
    return fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + p["k"] * u(t),
        domain=fd.Box(t=(0, 3)),
        unknowns={"k": fd.Positive(guess=1.0)},
        observations=[fd.Observed("u", x=TIMES, y=np.zeros(TIMES.size), noise=fd.Gaussian())],
        truth=fd.Truth(
            outputs={"u": lambda t: 2 * jnp.exp(-TRUE_K * t)},
            unknowns={"k": TRUE_K},
            noise={"u": {"sd": SD}},
        ),
    )


def exact(y: np.ndarray) -> np.ndarray:
    """Return the exact 95 % interval of k, from the likelihood times the volume spanned
    by derivatives and residual, with the size of the errors integrated out.
    """
    mean = HEIGHTS[:, None] * np.exp(-RATES[:, None, None] * TIMES)
    off = y - mean
    columns = np.stack([mean / HEIGHTS[:, None], -TIMES * mean, off])
    gram = np.einsum("i...t,j...t->...ij", columns, columns)
    rss = np.sum(off**2, axis=-1)
    density = (rss / rss.min()) ** (-TIMES.size / 2) * np.sqrt(np.maximum(np.linalg.det(gram), 0.0))
    below = np.cumsum(density.sum(axis=1))
    return np.interp([0.025, 0.975], below / below[-1], RATES)


def covered(limits: np.ndarray) -> str:
    share = np.mean((limits[:, 0] <= TRUE_K) & (limits[:, 1] >= TRUE_K))
    return (
        f"{share:.3f} +- {np.sqrt(share * (1 - share) / len(limits)):.3f}, mean width"
        f" {np.mean(np.ptp(limits, axis=1)):.4f}"
    )


def main() -> None:
    sets, ours = (
        int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((1, 4000), (2, 40))
    )
    print(f"machine: {machine()}")
    data = fd.simulate(posed(), sets, seed=0)["u"]
    limits = np.array([exact(y) for y in data])
    print(f"exact fiducial intervals of k, {sets} data sets: {covered(limits)}")
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)  # all fits are the same program
        fits = (
            fd.fit(
                posed().with_data({"u": y}),
                fd.EFIDirect(),
                seed=0,
                progress=False,
                multistart=False,
            )
            for y in data[:ours]
        )
        drawn = np.array(
            [f.parameters().loc["k", ["lower", "upper"]].to_numpy(float) for f in fits]
        )
    off = (drawn - limits[:ours]) / np.ptp(limits[:ours], axis=1, keepdims=True)
    print(
        f"efi-direct, {ours} of them: {covered(drawn)}; the exact ones of these:"
        f" {covered(limits[:ours])}"
    )
    print(
        f"its limits are off by {100 * np.abs(off).mean():.1f} % of the exact width on average,"
        f" {100 * np.abs(off).max():.1f} % at most"
    )


if __name__ == "__main__":
    main()
