"""A damped oscillator: the damping from forty noisy measurements.

A mass on a spring is pulled to 1 mm and let go at rest. Its displacement obeys

    u'' + 2 c u' + w^2 u = 0,    u(0) = 1 mm,    u'(0) = 0,

with the angular frequency w = 2 per second known and the damping c unknown.

The measurements in damped_oscillator.csv are simulated, once, with c = 0.15 per second
and independent normal errors of standard deviation 0.05 mm, by these lines (values kept
to four decimals):

    t = np.round(np.linspace(0.25, 10.0, 40), 2)
    wd = np.sqrt(2.0**2 - 0.15**2)
    u = np.exp(-0.15 * t) * (np.cos(wd * t) + 0.15 / wd * np.sin(wd * t))
    y = u + 0.05 * np.random.default_rng(7).standard_normal(t.size)

Run it from the root of the repository, either way; it takes half a minute on two CPU
cores, most of it for compiling:

    fiducial run examples/damped_oscillator.py
    python examples/damped_oscillator.py
"""

from pathlib import Path

import fiducial as fd

W = 2.0  # angular frequency, per second


def oscillator(u, t, p):
    """Return the residual of the equation at one time, which is zero for a solution."""
    return fd.derivative(u, t, order=2) + 2 * p["c"] * fd.derivative(u, t) + W**2 * u(t)


def velocity(u, t, p):
    """Return the velocity, which the second initial condition sets to zero."""
    return fd.derivative(u, t)


problem = fd.Problem(
    name="damped-oscillator",
    equation=oscillator,
    domain=fd.Box(t=(0, 10)),
    unknowns={"c": fd.Positive(guess=0.5)},
    observations=[
        fd.Observed.from_table(
            "u",
            Path(__file__).with_name("damped_oscillator.csv"),
            x="time_s",
            y="displacement_mm",
            noise=fd.Gaussian(),  # their standard deviation is unknown: inferred
        ),
        fd.Observed("u", x=[0.0], y=[1.0], name="start"),  # no noise named: exact
        fd.Observed(velocity, x=[0.0], y=[0.0]),
    ],
    units={"t": "s", "u": "mm", "c": "1/s"},
)


if __name__ == "__main__":
    result = fd.fit(problem, seed=0)
    print(result)
