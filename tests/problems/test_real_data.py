"""Data that come with the package, and the answers that are known for them."""

import numpy as np
import pytest

import fiducial as fd


def test_tables_load_with_all_their_rows():
    tumour, assay = fd.datasets.v79_tumour(), fd.datasets.scratch_assay()
    assert tumour["time_days"].shape == (45,)
    assert tumour["time_days"].max() < 60
    assert assay["count3"].shape == (6 * 5 * 38,)
    assert set(assay["initial_cells"]) == {10_000, 12_000, 14_000, 16_000, 18_000, 20_000}


@pytest.mark.extra
def test_montroll_has_the_exact_intervals():
    """k, C and sd by importance sampling from the exact fiducial density of the
    algebraic solution, and that by two digits known from elsewhere.
    """
    problem = fd.problem("montroll")
    problem = problem.replace(network=fd.MLP((20, 20), problem.recipe.activation))
    rows = fd.fit(problem, fd.EFIDirect(draws=2000), seed=0, multistart=False).parameters()
    exact = problem.exact({"p": problem.groups[0].y}, (), 0.95)
    for name, lower, upper, digit in (
        ("k", 1.19, 1.48, 0.005),
        ("C", 7.19, 7.76, 0.005),
        ("sd_p", 0.052, 0.080, 0.0005),
    ):
        np.testing.assert_allclose(exact[name], (lower, upper), atol=digit)
        low, high = exact[name]
        assert abs(rows.loc[name, "lower"] - low) < 0.05 * (high - low), rows
        assert abs(rows.loc[name, "upper"] - high) < 0.05 * (high - low), rows
        assert abs((rows.loc[name, "upper"] - rows.loc[name, "lower"]) / (high - low) - 1) < 0.06, (
            rows
        )


@pytest.mark.extra
def test_montroll_with_a_free_exponent_is_exact_and_names_the_pair():
    """A third of the draws ask for an exponent below zero and have no solution; the
    others follow the exact density of what is possible.

    The share of draws below each exact limit, to four of its standard errors, and 0.02
    for the distance that draws may be off."""
    problem = fd.problem("montroll", theta=None)
    problem = problem.replace(network=fd.MLP((20, 20), problem.recipe.activation))
    result = fd.fit(problem, fd.EFIDirect(draws=300), seed=0, multistart=False)
    for level in (0.5, 0.95):
        exact = problem.exact({"p": problem.groups[0].y}, (), level)
        for name in ("k", "C", "exponent", "sd_p"):
            for share, limit in zip(((1 - level) / 2, (1 + level) / 2), exact[name], strict=True):
                error = np.sqrt(share * (1 - share) / result.facts["effective_draws"])
                assert abs((result.draws[name].values < limit).mean() - share) < 4 * error + 0.02, (
                    name,
                    level,
                )
    diagnosis = result.diagnose()
    assert diagnosis.verdict == "do not trust"
    assert any(
        "k and exponent move together" in reason and "fix one of them" in reason
        for reason in diagnosis.reasons
    )
    assert result.facts["failed_draws"] > 0.2


@pytest.mark.slow
def test_the_exact_answer_with_a_free_exponent_does_not_depend_on_how_it_is_sampled():
    """The density near an exponent of zero is that of Gompertz growth; 95 % limits
    by a second set of samples, from around another day.
    """
    from fiducial.problems import montroll as module
    from fiducial.problems._curve import ExactCurve

    problem = fd.problem("montroll", theta=None)
    data = {"p": problem.groups[0].y}
    times = problem.groups[0].points.array[:, 0]

    def curve(t, p):
        return np.where(np.asarray(p[3]) > 0, module._volume(t, *p[:4], 27.0), np.nan)

    other = ExactCurve(
        curve,
        times,
        (0.13, 7.5, 1.6, 0.1),
        (),
        "p",
        derived=problem.exact.derived,
        h=np.sqrt(times),
    )
    one, two = problem.exact(data, (), 0.9), other(data, (), 0.9)
    for name in ("k", "C", "exponent"):
        # 40,000 effective samples: a tail of 5 % has a relative error of 2 %, and so
        # has a limit whose density goes as 1 / k^2
        np.testing.assert_allclose(one[name], two[name], rtol=0.1, err_msg=name)


@pytest.mark.parametrize("options", [{"theta": "none"}, {"theta": -1.0}, {"noise": "linear"}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="montroll"):
        fd.problem("montroll", **options)


def test_the_scratch_assays_have_positions_every_fifty_micrometres():
    assay = fd.datasets.scratch_assay()
    np.testing.assert_allclose(np.diff(np.unique(assay["position_um"])), 50.0)
