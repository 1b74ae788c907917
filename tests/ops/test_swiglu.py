import numpy as np
import pytest

from backhand.ops import residual, silu, swiglu

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3))
W_GATE, W_UP, W_DOWN = (RNG.normal(size=s) for s in [(3, 4), (3, 4), (4, 5)])


def test_the_hidden_layer_is_the_silu_of_the_gate_times_up():
    y, _ = swiglu.forward(X, W_GATE, W_UP, W_DOWN)
    s, _ = silu.forward(X @ W_GATE)
    np.testing.assert_allclose(y, (s * (X @ W_UP)) @ W_DOWN)


def test_a_closed_gate_stops_up_but_not_the_gate():
    """With w_gate = 0, silu is 0 and its slope 1/2: only the gate path is open."""
    y, cache = swiglu.forward(X, np.zeros((3, 4)), W_UP, W_DOWN)
    dx, dw_gate, dw_up, dw_down = swiglu.backward(np.ones((2, 5)), cache)
    assert not y.any() and not dw_up.any() and not dw_down.any() and not dx.any()
    expected = X.T @ (np.ones((2, 5)) @ W_DOWN.T * (X @ W_UP) / 2)
    np.testing.assert_allclose(dw_gate, expected)


@pytest.mark.parametrize(
    "arrays, message",
    [
        ((X, W_GATE.T, W_UP, W_DOWN), r"w_gate has shape \(4, 3\)"),
        ((X, W_GATE, W_UP[:, :3], W_DOWN), r"w_up has shape \(3, 3\)"),
        ((X, W_GATE, W_UP, W_DOWN.T), r"w_down has shape \(5, 4\)"),
        ((X, W_GATE, W_UP, W_DOWN[:, 0]), r"w_down has shape \(4,\)"),
        ((1.0, W_GATE, W_UP, W_DOWN), r"x has shape \(\)"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(arrays, message):
    with pytest.raises(ValueError, match=message):
        swiglu.forward(*arrays)


@pytest.mark.parametrize("fx", [np.ones(3), np.ones((1, 3)), np.ones((2, 2, 3)), 1.0])
def test_a_residual_refuses_to_broadcast(fx):
    with pytest.raises(ValueError, match=r"fx has shape .*; it needs \(2, 3\)"):
        residual.forward(X, fx)
