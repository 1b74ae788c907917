import numpy as np
import pytest

from backhand.ops import rope

RNG = np.random.default_rng(0)
X, DY = RNG.normal(size=(2, 5, 6)), RNG.normal(size=(2, 5, 6))
BOTH = pytest.mark.parametrize("layout", ["interleaved", "half"])


@BOTH
def test_lengths_and_the_first_position_stay_as_they_are(layout):
    y, _ = rope.forward(X, layout=layout)
    np.testing.assert_allclose((y * y).sum(axis=-1), (X * X).sum(axis=-1))
    np.testing.assert_array_equal(y[:, 0], X[:, 0])


@BOTH
def test_backward_undoes_forward(layout):
    y, cache = rope.forward(X, layout=layout)
    np.testing.assert_allclose(rope.backward(y, cache), X)


@BOTH
def test_a_score_depends_on_the_distance_only(layout):
    """The same query and key at every position: the score matrix is Toeplitz."""
    query, key = (np.broadcast_to(RNG.normal(size=6), (8, 6)) for _ in range(2))
    q, _ = rope.forward(query, layout=layout)
    k, _ = rope.forward(key, layout=layout)
    scores = q @ k.T
    np.testing.assert_allclose(scores[1:, 1:], scores[:-1, :-1])
    assert np.ptp(scores) > 0.1


def test_the_factors_that_calls_share_cannot_be_changed():
    _, cache = rope.forward(X)
    assert cache.turn is rope.forward(X)[1].turn
    with pytest.raises(ValueError, match="read-only"):
        cache.turn[:] = 1


def test_the_first_pair_turns_by_one_radian_a_position():
    y, _ = rope.forward(np.tile([1.0, 0.0], (4, 1)))
    t = np.arange(4)
    np.testing.assert_allclose(y, np.stack([np.cos(t), np.sin(t)], axis=-1))


def test_the_layouts_differ_by_a_permutation_of_features():
    permutation = [0, 2, 4, 1, 3, 5]
    half, _ = rope.forward(X[..., permutation], layout="half")
    interleaved, _ = rope.forward(X)
    np.testing.assert_allclose(half, interleaved[..., permutation])


@BOTH
def test_float32_angles_are_as_good_as_float64_ones(layout):
    """At position 3000 an angle kept in float32 would be off by 1e-4."""
    x = RNG.normal(size=(3001, 2))
    exact, _ = rope.forward(x, layout=layout)
    y, _ = rope.forward(x.astype(np.float32), layout=layout)
    np.testing.assert_allclose(y, exact, atol=1e-6)


@BOTH
def test_infinity_stays_in_its_pair(layout):
    x = X.copy()
    x[0, 1, 0] = np.inf
    y, _ = rope.forward(x, layout=layout)
    assert np.isinf(y[0, 1]).sum() == 2 and np.isfinite(y).sum() == y.size - 2


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 1)])
def test_an_odd_width_is_refused(shape):
    with pytest.raises(ValueError, match="x has shape .*; it needs an even last axis"):
        rope.forward(np.ones(shape))


def test_a_row_without_a_position_is_refused():
    with pytest.raises(ValueError, match="x has shape .*; it needs at least 2 axes"):
        rope.forward(np.ones(4))


def test_a_wrong_base_or_layout_is_refused():
    for base in 0, -1.0, np.nan:
        with pytest.raises(ValueError, match="base is"):
            rope.forward(X, base=base)
    with pytest.raises(ValueError, match="layout is 'pairs'; it needs one of"):
        rope.forward(X, layout="pairs")
