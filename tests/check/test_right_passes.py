"""Right backward passes are not accused: every op, at every scale, in both dtypes.

Saturated, tiny, huge, and all of them mixed, where differences see little or nothing.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backhand import check_gradients, ops

EXAMPLES = 64  # for each of 19 ops: more than 1,200 in all

ORDINARY = [1.0]
ANY = [1e-150, 1e-20, 1e-8, 1e-3, 1.0, 30.0, 300.0, 1e6, 1e12, 1e50]


@st.composite
def shapes(draw):
    """Lengths by name, and some leading axes."""
    lengths = {name: draw(st.integers(1, 5)) for name in "nmhtv"}
    return lengths, tuple(draw(st.lists(st.integers(1, 3), max_size=2)))


def activation(n, m, h, t, v, lead):
    return [lead], {}


INPUTS = {
    "sigmoid": activation,
    "tanh": activation,
    "relu": activation,
    "leaky_relu": activation,
    "silu": activation,
    "gelu": activation,
    "softmax": lambda n, m, h, t, v, lead: ([(*lead, n)], {}),
    "cross_entropy": lambda n, m, h, t, v, lead: (
        [(*lead, n), (lead, n)],
        {"reduction": ("mean", "sum")[m % 2]},
    ),
    "linear": lambda n, m, h, t, v, lead: ([(*lead, n), (n, m), (m,)], {}),
    "unembedding": lambda n, m, h, t, v, lead: ([(*lead, n), (v, n)], {}),
    "embedding": lambda n, m, h, t, v, lead: ([(lead, v), (v, n)], {}),
    "layer_norm": lambda n, m, h, t, v, lead: ([(*lead, n), (n,), (n,)], {}),
    "rms_norm": lambda n, m, h, t, v, lead: ([(*lead, n), (n,)], {}),
    "residual": lambda n, m, h, t, v, lead: ([lead, lead], {}),
    "swiglu": lambda n, m, h, t, v, lead: ([(*lead, n), (n, h), (n, h), (h, m)], {}),
    "rope": lambda n, m, h, t, v, lead: (
        [(*lead, t, 2 * n)],
        {"layout": ("interleaved", "half")[m % 2]},
    ),
    "attention": lambda n, m, h, t, v, lead: (
        [(*lead, t, n), (*lead, t, n), (*lead, t, m)],
        {"causal": v % 2 == 0},
    ),
    "tiled_attention": lambda n, m, h, t, v, lead: (
        [(*lead, t, n), (*lead, t, n), (*lead, t, m)],
        {"tile": v},
    ),
    "multi_head_attention": lambda n, m, h, t, v, lead: (
        [(*lead, t, n), (n, 4 * m), (n, 4 * m), (n, 2 * h), (2 * h, n)],
        {"heads": 2, "rope": v % 2 == 0},
    ),
}


def report_on(name, shapes, seed, scales, dtype, ones):
    """Check an op on seeded inputs, each with a scale of its own."""
    lengths, lead = shapes
    wanted, options = INPUTS[name](**lengths, lead=lead)
    rng = np.random.default_rng(seed)
    inputs = []
    for shape, scale in zip(wanted, scales):
        if shape and isinstance(shape[0], tuple):  # ids: their shape, and how many
            inputs.append(rng.integers(shape[1], size=shape[0]))
        else:
            inputs.append((scale * rng.normal(size=shape)).astype(dtype))
    op = getattr(ops, name)
    dy = None
    if ones:
        with np.errstate(all="ignore"):
            dy = np.ones_like(op.forward(*inputs, **options)[0])
    return check_gradients(op, *inputs, dy=dy, seed=seed, **options)


def drawn(scales, dtypes=(np.float32, np.float64)):
    return given(
        shapes=shapes(),
        seed=st.integers(0, 2**32 - 1),
        scales=st.lists(st.sampled_from(scales), min_size=5, max_size=5),
        dtype=st.sampled_from(dtypes),
        ones=st.booleans(),
    )


every_op = pytest.mark.parametrize("name", INPUTS)


def test_every_op_is_among_them():
    assert set(INPUTS) == set(ops.__all__)


@every_op
@pytest.mark.parametrize("seed", range(3))
def test_a_right_gradient_agrees_on_ordinary_inputs(name, seed):
    lengths = {"n": 4, "m": 3, "h": 2, "t": 3, "v": 5}
    report = report_on(name, (lengths, (2,)), seed, 5 * ORDINARY, np.float64, False)
    assert report.verdict == "agree" and not report.findings


@every_op
@settings(max_examples=EXAMPLES // 2)
@drawn(ORDINARY)
def test_a_right_gradient_is_not_accused(name, shapes, seed, scales, dtype, ones):
    assert report_on(name, shapes, seed, scales, dtype, ones).verdict != "disagree"


@every_op
@settings(max_examples=EXAMPLES // 2)
@drawn(ANY, dtypes=[np.float64])
def test_no_scale_gets_a_right_gradient_accused(
    name, shapes, seed, scales, dtype, ones
):
    assert report_on(name, shapes, seed, scales, dtype, ones).verdict != "disagree"
