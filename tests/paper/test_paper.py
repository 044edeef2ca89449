"""The paper's methods are configured by data, and made of the same phases."""

import dataclasses
import json

import jax
import numpy as np
import pytest

import fiducial as fd
from fiducial import paper
from fiducial.model.binding import bind
from fiducial.phases.fiducial_chain import FiducialChain
from helpers import TINY, decay

EVERY = [
    (name, problem)
    for problem, methods in paper.SETTINGS.items()
    for name in (f"paper-{method}" for method in methods)
]


def steps_of(phases) -> int:
    """Iterations of the phases that the paper counts."""
    return sum(
        p.steps * p.sampling.thin if isinstance(p, FiducialChain) else p.steps
        for p in phases
        if p.name in ("train", "warm-up", "draw")
    )


@pytest.mark.parametrize(("name", "problem"), EVERY)
def test_every_experiment_has_a_method_with_the_papers_number_of_steps(name, problem):
    method = paper.method(name, problem)
    assert method.name == name
    assert json.loads(json.dumps(method.settings()))["steps"] == method.steps
    stated = paper.settings(name.removeprefix("paper-"), problem)["steps"]
    posed = fd.problem(problem, **({"n_x": 6, "n_t": 4} if "fkpp" in problem else {}))
    with jax.enable_x64(True):
        model = bind(posed.replace(network=fd.MLP((4,))))
        assert steps_of(method.phases(model)) == pytest.approx(stated, rel=0.01)


def test_any_setting_can_be_changed():
    for name, cls in paper.methods().items():
        for field in dataclasses.fields(cls):
            value = getattr(paper.method(name, "poisson"), field.name)
            changed = paper.method(name, "poisson", **{field.name: value})
            assert changed.settings() == paper.method(name, "poisson").settings()
    assert paper.efi("poisson", steps=1000).steps == 1000


def test_the_step_size_of_a_bayesian_chain_is_that_of_its_errors():
    assert paper.bayes("poisson").learning_rate == 1e-4
    assert paper.bayes("poisson", sigma_f="exp_0.05_0.0005").learning_rate == "linear_1e-4_3e-6"
    assert paper.bayes("poisson", sigma_f=0.05, learning_rate=1e-5).learning_rate == 1e-5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: paper.efi("heat"), "it has some for poisson"),
        (lambda: paper.bayes("montroll"), "no settings of bayes for 'montroll'"),
        (lambda: paper.method("paper-laplace", "poisson"), "there are paper-efi"),
        (lambda: paper.method("paper-pinn", "poisson", rate=0.1), "has no setting 'rate'"),
        (lambda: paper.dropout("poisson", rate=1.0), "between 0 and 1"),
        (lambda: paper.efi("poisson", batch=0), "at least 1"),
        (lambda: paper.bayes("poisson", sigma_f=-1.0), "positive size"),
        (lambda: paper.concrete_dropout("poisson", length_scale=0.0), "positive number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_batch_has_no_more_than_all_observations():
    with pytest.raises(ValueError, match="at most 20"):
        fd.fit(fd.problem("poisson"), paper.efi("poisson", batch=1000), multistart=False)


def test_methods_serve_a_problem_of_ones_own_with_the_settings_of_another():
    paper.pinn("poisson").check(decay())
    paper.bayes("poisson").check(decay())


@pytest.mark.slow
@pytest.mark.slow
def test_percentiles_over_a_trajectory_are_not_trusted():
    problem = fd.problem("poisson", n_f=15).replace(network=TINY)
    result = fd.fit(problem, paper.pinn("poisson", steps=400), seed=0, multistart=False)
    assert result.method == "paper-pinn"
    assert result.draws["theta"].shape[1] == 200  # the second half
    assert any("percentiles over a training trajectory" in r for r in result.diagnose().reasons)
    assert result.diagnose().verdict == "do not trust"


@pytest.mark.slow
def test_bayesian_chains_start_from_the_prior():
    """Weights that act on inputs in the user's units are standard normal."""
    with jax.enable_x64(True):
        model = bind(fd.problem("poisson"))
        phase, *_ = paper.bayes("poisson").phases(model)
        state = phase.init(model, model.data, None, key=jax.random.key(0))
        weights = np.asarray(state.theta * model.unit_factors)
    assert abs(weights.mean()) < 4 / np.sqrt(weights.size)
    assert abs(weights.var() - 1) < 4 * np.sqrt(2 / weights.size)


@pytest.mark.parametrize(
    ("old", "error"),
    [
        (lambda: fd.EFI(preset="paper"), TypeError),
        (lambda: fd.Dropout(preset="paper"), TypeError),
        (lambda: fd.method("bayes", preset="paper"), ValueError),
        (lambda: fd.method("pinn-paper"), ValueError),
        (lambda: fd.method("paper-concrete-dropout"), ValueError),
        (lambda: fd.PaperPINN, AttributeError),
    ],
)
def test_old_names_say_the_new_ones(old, error):
    with pytest.raises(error, match=r'fiducial\.paper\.[a-z_]+\("poisson"\)'):
        old()
