"""Draws in a file: a few directions instead of all parameters, and the same intervals."""

import numpy as np
import pytest

import fiducial as fd
from fiducial.results.storage import find_directions
from helpers import decay, made_up


def low_rank(count: int, length: int, rank: int, seed: int = 0) -> np.ndarray:
    """Vectors in ``rank`` directions, each direction ten times shorter than the last."""
    random = np.random.default_rng(seed)
    coordinates = random.standard_normal((count, rank)) * 10.0 ** -np.arange(rank)
    return 3.0 + coordinates @ random.standard_normal((rank, length))


@pytest.mark.parametrize(("rank", "stored"), [(1, 1), (5, 5), (40, range(10, 16))])
def test_vectors_are_rebuilt_to_within_rounding(rank, stored):
    vectors = low_rank(400, 900, rank)
    found = find_directions(vectors)
    rebuilt = found.mean + found.coordinates @ found.basis
    assert np.abs(rebuilt - vectors).max() < 1e-10
    assert len(found.basis) in (stored if isinstance(stored, range) else [stored])
    np.testing.assert_allclose(found.basis @ found.basis.T, np.eye(len(found.basis)), atol=1e-12)


def test_more_directions_than_are_tried_first_are_found():
    random = np.random.default_rng(1)
    vectors = random.standard_normal((400, 70)) @ random.standard_normal((70, 900))
    assert len(find_directions(vectors).basis) == 70


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_of_full_rank_or_not_finite_stay_as_they_are(bad):
    assert find_directions(np.random.default_rng(0).standard_normal((200, 300))) is None
    vectors = low_rank(400, 900, 2)
    vectors[3, 5] = bad
    assert find_directions(vectors) is None


def test_equal_vectors_have_no_direction():
    found = find_directions(np.ones((400, 900)))
    assert found.basis.shape == (0, 900)
    np.testing.assert_array_equal(found.mean, 1.0)


@pytest.mark.slow
def test_a_loaded_result_has_the_same_intervals(tmp_path):
    """Draws around an untrained network, in twelve directions of very different lengths."""
    problem = decay(network=fd.MLP((50, 50)), noise=fd.Gaussian())
    result = made_up(problem, draws=300)
    theta = result.tree["draws"]["theta"]
    moves = low_rank(600, theta.sizes["parameter"], 12) - 3.0
    theta.values[:] = result.parameter_vectors("estimate") + 0.1 * moves.reshape(theta.shape)
    path = result.save(tmp_path / "result.nc")
    assert path.stat().st_size < 0.1 * theta.values.nbytes
    again = fd.load(path, problem=problem)
    for ask in (fd.Result.band, fd.Result.predict):
        one, other = ask(result), ask(again)
        width = one.upper - one.lower
        for name in ("mean", "sd", "lower", "upper", "estimate"):
            assert float((np.abs(one[name] - other[name]) / width).max()) < 1e-6
    assert again.parameters().equals(result.parameters())
    assert repr(again) == repr(result)
