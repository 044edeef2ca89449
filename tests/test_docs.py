"""The documentation is true: its Python blocks run and print what it says, its examples
of extensions work, and the files that it names exist.
"""

import contextlib
import importlib
import io
import re
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import fiducial as fd
from fiducial import catalogue
from fiducial.posing.coordinates import Points
from test_architecture import RINGS

PROJECT = Path(__file__).parents[1]
PAGES = [
    PROJECT / "README.md",
    PROJECT / "CONTRIBUTING.md",
    *sorted((PROJECT / "docs").rglob("*.md")),
]
# a Python block without a title, and the text block that follows at once: its output
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", flags=re.DOTALL)
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")
EXTENDING = (PROJECT / "docs" / "extending.md").read_text()
EXAMPLES = dict(re.findall(r'```python title="(.*?)\.py"\n(.*?)```', EXTENDING, flags=re.DOTALL))


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


def assert_same_output(printed: str, shown: str) -> None:
    """Compare word by word; numbers within 5 %, and small residuals by their size only,
    since both depend on the machine. Lines may be broken differently.
    """
    said, expected = (NUMBER.sub("#", " ".join(text.split())) for text in (printed, shown))
    assert said == expected
    for one, other in zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True):
        small = max(abs(float(one)), abs(float(other))) < 0.02
        assert small or float(one) == pytest.approx(float(other), rel=0.05), (one, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: name_of(p)
)
def test_python_blocks_run_and_print_what_the_page_says(page, monkeypatch):
    monkeypatch.chdir(PROJECT)
    names: dict[str, object] = {"__name__": "__main__"}
    for code, shown in BLOCK.findall(page.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name_of(page), "exec"), names)
        if shown:
            assert_same_output(printed.getvalue(), shown)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: name_of(p))
def test_files_that_a_page_names_exist(page):
    for path in re.findall(
        r"`((?:src|tests|benchmarks|docs|examples)/[\w./-]*)`", page.read_text()
    ):
        assert (PROJECT / path).exists(), f"{name_of(page)} names {path}"
    for path in re.findall(r"python (benchmarks/\w+\.py)", page.read_text()):
        assert (PROJECT / path).exists(), f"{name_of(page)} runs {path}"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.parent == PROJECT], ids=lambda p: name_of(p)
)
def test_links_outside_the_site_lead_to_files(page):
    """MkDocs checks those between pages of the site."""
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (PROJECT / target).exists(), f"{name_of(page)} links to {target}"


def test_every_page_is_in_the_navigation():
    navigation = (PROJECT / "mkdocs.yml").read_text()
    for page in sorted((PROJECT / "docs").rglob("*.md")):
        assert str(page.relative_to(PROJECT / "docs")) in navigation


def test_the_page_on_the_architecture_has_the_rings_of_its_test():
    page = (PROJECT / "docs" / "architecture.md").read_text().split("## The rings")[1]
    shown = [set(re.findall(r"`(\w+)`", line)) for line in re.findall(r"^\d+\. .*$", page, re.M)]
    assert shown == [ring - {"__main__"} for ring in RINGS]


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that imports an example of ``extending.md`` as a user's own file."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in EXAMPLES.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


def test_there_is_an_example_of_each_kind():
    assert set(EXAMPLES) == {
        "exponential_decay",
        "gradient_descent",
        "descent",
        "descent_with_check",
        "known_covariance",
        "log_normal",
        "exponential",
    }


@pytest.mark.slow
def test_the_problem_and_the_method_run(load):
    problem = load("exponential_decay").exponential_decay()
    (method,) = [
        m
        for m in vars(load("descent")).values()
        if isinstance(m, type) and issubclass(m, fd.AbstractMethod) and m is not fd.AbstractMethod
    ]
    assert method.name not in catalogue.methods()
    assert fd.fit(problem.replace(network=fd.MLP((8,))), method(steps=20), seed=0).status.usable


def test_the_method_with_a_check_reports_it(load):
    problem = load("exponential_decay").exponential_decay().replace(network=fd.MLP((8,)))
    result = fd.fit(problem, load("descent_with_check").CheckedDescent(steps=20), seed=0)
    check = next(c for c in result.diagnose().checks if c.name.startswith("fall of the loss"))
    assert check.value == pytest.approx(result.facts["fall"])
    assert not check.ok  # after 20 steps of gradient descent


@pytest.mark.slow
def test_the_representation_stands_in_for_a_network(load):
    """An exponential through two exact values has one set of parameters."""
    at_two = fd.Observed("u", x=[0.0, 2.0], y=[3.0, 3.0 * np.exp(-1.0)], name="two values")
    problem = (
        load("exponential_decay")
        .exponential_decay()
        .replace(
            unknowns={},
            known={"k": 0.5},
            observations=[at_two],
            truth=None,
            representation=load("exponential").Exponential(),
        )
    )
    result = fd.fit(problem, fd.PINN(), seed=0, multistart=False)
    found = result.band(np.linspace(0, 4, 5))["estimate"].sel(output="u")
    np.testing.assert_allclose(found, 3.0 * np.exp(-0.5 * np.linspace(0, 4, 5)), rtol=1e-5)


def test_the_noise_model_has_the_density_of_a_log_normal_distribution(load, x64):
    noise, points = load("log_normal").LogNormal(0.3), Points(("t",), np.arange(3.0)[:, None])
    mean, y = np.array([0.5, 1.0, 2.0]), np.array([0.7, 0.8, 1.9])
    exact = np.sum(stats.lognorm(0.3, scale=mean).logpdf(y))
    assert float(noise.log_prob(jnp.asarray(mean), y, points, {})) == pytest.approx(exact)
    with pytest.raises(ValueError, match="must be positive"):
        fd.Problem(
            equation=lambda u, t, p: fd.derivative(u, t) + u(t),
            domain=fd.Box(t=(0, 1)),
            observations=[fd.Observed("u", x=[0.5, 1.0], y=[1.0, -1.0], noise=noise)],
        )


def test_the_noise_model_agrees_with_gaussian_errors(load, x64):
    random = np.random.default_rng(0)
    mean, y = random.standard_normal((2, 5))
    points, index = Points(("x",), np.arange(5.0)[:, None]), np.arange(5)
    sd = np.linspace(0.1, 0.5, 5)
    mine, plain = load("known_covariance").KnownCovariance(np.diag(sd**2)), fd.Gaussian(sd=sd)
    for noise in (mine, plain):
        noise.check((5,), "here")
    np.testing.assert_allclose(
        mine.pull(mean, y, points, {}), plain.pull(mean, y, points, {}), rtol=1e-12
    )
    np.testing.assert_allclose(
        mine.push(mean, y, points, {}), plain.push(jnp.asarray(mean), y, points, {}), rtol=1e-12
    )
    np.testing.assert_allclose(
        mine.log_prob(mean, y, points, {}), plain.log_prob(mean, y, points, {}), rtol=1e-12
    )
    np.testing.assert_allclose(
        mine.whiten_mean(mean, points, index, 5, {}),
        plain.whiten_mean(mean, points, index, 5, {}),
        rtol=1e-12,
    )
    with pytest.raises(ValueError, match="several observations"):
        mine.unknowns(y, points, np.zeros(5, int))
