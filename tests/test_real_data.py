"""Data that come with the package, and the answers that are known for them."""

import numpy as np
import pytest

import fiducial as fd


def test_tables_load_with_all_their_rows():
    tumour, assay = fd.data.v79_tumour(), fd.data.scratch_assay()
    assert tumour["time_days"].shape == (45,)
    assert tumour["time_days"].max() < 60
    assert assay["count3"].shape == (6 * 5 * 38,)
    assert set(assay["initial_cells"]) == {10_000, 12_000, 14_000, 16_000, 18_000, 20_000}


def test_montroll_has_the_exact_intervals():
    """k, C and sd by importance sampling from the exact fiducial density of the algebraic solution, and that by two digits known from elsewhere."""
    problem = fd.problem("montroll")
    problem = problem.replace(network=fd.MLP((20, 20), problem.recipe.activation))
    rows = fd.fit(problem, fd.EFIDirect(draws=3000), seed=0).parameters()
    exact = problem.exact({"p": problem.groups[0].y}, (), 0.95)
    for name, lower, upper, digit in (("k", 1.19, 1.48, 0.005), ("C", 7.19, 7.76, 0.005), ("sd_p", 0.052, 0.080, 0.0005)):
        np.testing.assert_allclose(exact[name], (lower, upper), atol=digit)
        low, high = exact[name]
        assert abs(rows.loc[name, "lower"] - low) < 0.05 * (high - low), rows
        assert abs(rows.loc[name, "upper"] - high) < 0.05 * (high - low), rows
        assert abs((rows.loc[name, "upper"] - rows.loc[name, "lower"]) / (high - low) - 1) < 0.06, rows


@pytest.mark.parametrize("options", [{"theta": "none"}, {"theta": -1.0}, {"noise": "linear"}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="montroll"):
        fd.problem("montroll", **options)


def test_the_scratch_assays_have_positions_every_fifty_micrometres():
    assay = fd.data.scratch_assay()
    np.testing.assert_allclose(np.diff(np.unique(assay["position_um"])), 50.0)
