import numpy as np
import pytest

from backhand.ops import cross_entropy, softmax

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(2, 3, 4))
TARGETS = RNG.integers(4, size=(2, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_loss_is_a_numpy_scalar_of_the_dtype_of_the_logits(dtype):
    for reduction in "mean", "sum":
        loss, _ = cross_entropy.forward(LOGITS.astype(dtype), TARGETS, reduction)
        assert type(loss) is dtype


def test_equal_logits_lose_the_log_of_their_number():
    loss, _ = cross_entropy.forward(np.zeros((5, 8)), np.arange(5))
    np.testing.assert_allclose(loss, np.log(8))


def test_the_gradient_is_the_probabilities_minus_the_one_hot_target():
    _, cache = cross_entropy.forward(LOGITS, TARGETS, reduction="sum")
    p, _ = softmax.forward(LOGITS)
    dlogits = cross_entropy.backward(1.0, cache)
    np.testing.assert_allclose(dlogits, p - np.eye(4)[TARGETS], rtol=1e-14)


def test_the_mean_divides_the_gradient_by_the_number_of_rows():
    _, total = cross_entropy.forward(LOGITS, TARGETS, reduction="sum")
    _, mean = cross_entropy.forward(LOGITS, TARGETS, reduction="mean")
    np.testing.assert_allclose(
        cross_entropy.backward(1.0, mean), cross_entropy.backward(1.0, total) / 6
    )


def test_each_row_of_the_gradient_sums_to_zero():
    _, cache = cross_entropy.forward(LOGITS, TARGETS)
    dlogits = cross_entropy.backward(1.0, cache)
    np.testing.assert_allclose(
        dlogits.sum(axis=-1), 0, atol=4 * np.finfo(float).eps
    )  # four terms, each below 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_target_whose_probability_underflows_keeps_an_exact_loss_and_gradient(dtype):
    loss, cache = cross_entropy.forward(np.array([[0, 2000]], dtype), [0])
    assert loss == 2000
    np.testing.assert_array_equal(cross_entropy.backward(1.0, cache), [[-1, 1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_row_is_shifted_by_its_own_maximum(dtype):
    """By the maximum of all, the lower row would be log 0."""
    logits = np.array([[0, 0], [2000, 2000]], dtype)
    loss, cache = cross_entropy.forward(logits, [0, 1], reduction="sum")
    np.testing.assert_allclose(loss, 2 * np.log(2), rtol=1e-6)
    np.testing.assert_array_equal(
        cross_entropy.backward(1.0, cache), [[-0.5, 0.5], [0.5, -0.5]]
    )


def test_a_masked_logit_of_minus_infinity_gets_no_gradient():
    loss, cache = cross_entropy.forward([[0.0, 0.0, -np.inf]], [0])
    np.testing.assert_allclose(loss, np.log(2))
    np.testing.assert_array_equal(cross_entropy.backward(1.0, cache), [[-0.5, 0.5, 0]])


def test_a_plain_float_does_for_dy_in_float32_too():
    _, cache = cross_entropy.forward(LOGITS.astype(np.float32), TARGETS)
    for one in 1.0, np.float32(1), np.float64(1):
        assert cross_entropy.backward(one, cache).dtype == np.float32


@pytest.mark.parametrize(
    "targets, error, message",
    [
        ([[0, 1, 2], [3, 4, 0]], ValueError, "targets holds 4; it needs ids from 0"),
        ([[0, 1, 2], [3, -1, 0]], ValueError, "targets holds -1"),
        (np.ones((2, 3), bool), TypeError, "targets has dtype bool"),
        (np.ones((2, 3)), TypeError, "targets has dtype float64"),
        ([0, 1, 2], ValueError, r"targets has shape \(3,\); it needs \(2, 3\)"),
        (np.zeros((2, 3, 1), int), ValueError, "targets has shape"),
    ],
)
def test_bad_targets_are_refused_by_name(targets, error, message):
    with pytest.raises(error, match=message):
        cross_entropy.forward(LOGITS, targets)


def test_an_unknown_reduction_is_refused():
    message = "reduction is 'none'; it needs one of mean, sum$"
    with pytest.raises(ValueError, match=message):
        cross_entropy.forward(LOGITS, TARGETS, reduction="none")


def test_a_scalar_logit_is_refused():
    with pytest.raises(ValueError, match="logits has shape"):
        cross_entropy.forward(1.0, 0)
