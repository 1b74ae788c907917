"""What every operation owes: the right gradient, and good manners with arrays.

One row of INPUTS an operation: how to draw what its forward takes.
"""

import inspect
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backhand import ops, oracle

TOLERANCE = {np.float64: 1e-10, np.float32: 2e-5}
DTYPES = list(TOLERANCE)

lengths = st.integers(1, 5)
leading_axes = st.lists(st.integers(1, 3), max_size=3).map(tuple)


# ---------------------------------------------------------------- drawing inputs


@st.composite
def float_arrays(draw, shape, dtype):
    """Normal numbers in every memory layout NumPy may hand over."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if not shape:
        return np.asarray(rng.normal(), dtype)
    layout = draw(st.sampled_from(["C", "F", "strided", "reversed", "read-only"]))
    if layout == "strided":
        return rng.normal(size=(*shape[:-1], 2 * shape[-1])).astype(dtype)[..., ::2]
    array = rng.normal(size=shape).astype(dtype, order="F" if layout == "F" else "C")
    if layout == "reversed":
        return array[..., ::-1]
    if layout == "read-only":
        array.flags.writeable = False
    return array


@st.composite
def token_arrays(draw, shape, count):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.int8, np.uint16, np.int32, np.int64, np.uint64]))
    return rng.integers(count, size=shape).astype(dtype)


@st.composite
def softmax_inputs(draw, dtype):
    shape = (*draw(leading_axes), draw(lengths))
    return (draw(float_arrays(shape, dtype)),), {}


@st.composite
def cross_entropy_inputs(draw, dtype):
    leading, n = draw(leading_axes), draw(lengths)
    logits = draw(float_arrays((*leading, n), dtype))
    reduction = draw(st.sampled_from(["mean", "sum"]))
    return (logits, draw(token_arrays(leading, n))), {"reduction": reduction}


@st.composite
def linear_inputs(draw, dtype):
    leading, n, m = draw(leading_axes), draw(lengths), draw(lengths)
    shapes = [(*leading, n), (n, m), (m,)][: draw(st.sampled_from([2, 3]))]
    return tuple(draw(float_arrays(shape, dtype)) for shape in shapes), {}


@st.composite
def unembedding_inputs(draw, dtype):
    leading, vocab, width = draw(leading_axes), draw(lengths), draw(lengths)
    h = draw(float_arrays((*leading, width), dtype))
    return (h, draw(float_arrays((vocab, width), dtype))), {}


@st.composite
def embedding_inputs(draw, dtype):
    leading, vocab, width = draw(leading_axes), draw(lengths), draw(lengths)
    tokens = draw(token_arrays(leading, vocab))
    return (tokens, draw(float_arrays((vocab, width), dtype))), {}


@st.composite
def activation_inputs(draw, dtype):
    return (draw(float_arrays(draw(leading_axes), dtype)),), {}


@st.composite
def leaky_relu_inputs(draw, dtype):
    alpha = draw(st.sampled_from([0, 0.01, np.float64(0.3), 1]))
    return (draw(float_arrays(draw(leading_axes), dtype)),), {"alpha": alpha}


@st.composite
def layer_norm_inputs(draw, dtype):
    n = draw(lengths)
    shapes = [(*draw(leading_axes), n), (n,), (n,)]
    eps = draw(st.sampled_from([1e-5, np.float64(0.1), 1]))
    return tuple(draw(float_arrays(shape, dtype)) for shape in shapes), {"eps": eps}


@st.composite
def rms_norm_inputs(draw, dtype):
    (x, gain, _), options = draw(layer_norm_inputs(dtype))
    return (x, gain), options


@st.composite
def residual_inputs(draw, dtype):
    shape = draw(leading_axes)
    return tuple(draw(float_arrays(shape, dtype)) for _ in range(2)), {}


@st.composite
def swiglu_inputs(draw, dtype):
    n, hidden, m = draw(lengths), draw(lengths), draw(lengths)
    shapes = [(*draw(leading_axes), n), (n, hidden), (n, hidden), (hidden, m)]
    return tuple(draw(float_arrays(shape, dtype)) for shape in shapes), {}


@st.composite
def attention_inputs(draw, dtype):
    leading = draw(leading_axes)
    queries, keys, d, e = (draw(lengths) for _ in range(4))
    causal = draw(st.booleans())
    if causal:
        keys = queries
    shapes = [(*leading, queries, d), (*leading, keys, d), (*leading, keys, e)]
    arrays = tuple(draw(float_arrays(shape, dtype)) for shape in shapes)
    return arrays, {"causal": causal}


@st.composite
def tiled_attention_inputs(draw, dtype):
    arrays, options = draw(attention_inputs(dtype))
    return arrays, {**options, "tile": draw(st.integers(1, 6))}


@st.composite
def rope_inputs(draw, dtype):
    shape = (*draw(leading_axes), draw(lengths), 2 * draw(lengths))
    layout = draw(st.sampled_from(["interleaved", "half"]))
    base = draw(st.sampled_from([10000.0, np.float64(3)]))
    return (draw(float_arrays(shape, dtype)),), {"base": base, "layout": layout}


@st.composite
def multi_head_attention_inputs(draw, dtype):
    n, m, d, e, heads = (draw(lengths) for _ in range(5))
    a, c = 2 * heads * d, heads * e
    shapes = [(*draw(leading_axes), draw(lengths), n), (n, a), (n, a), (n, c), (c, m)]
    options = {
        "heads": heads,
        "causal": draw(st.booleans()),
        "rope": draw(st.booleans()),
        "base": 7,
        "layout": draw(st.sampled_from(["interleaved", "half"])),
    }
    return tuple(draw(float_arrays(shape, dtype)) for shape in shapes), options


# -------------------------------------------------------------------- the table

INPUTS = {
    "sigmoid": activation_inputs,
    "tanh": activation_inputs,
    "relu": activation_inputs,
    "leaky_relu": leaky_relu_inputs,
    "silu": activation_inputs,
    "gelu": activation_inputs,
    "softmax": softmax_inputs,
    "cross_entropy": cross_entropy_inputs,
    "linear": linear_inputs,
    "unembedding": unembedding_inputs,
    "embedding": embedding_inputs,
    "layer_norm": layer_norm_inputs,
    "rms_norm": rms_norm_inputs,
    "swiglu": swiglu_inputs,
    "attention": attention_inputs,
    "tiled_attention": tiled_attention_inputs,
    "rope": rope_inputs,
    "multi_head_attention": multi_head_attention_inputs,
    "residual": residual_inputs,
}


def every_op(examples):
    """Run test(name, data, dtype) for every operation, in dtypes taken in turn.

    A profile that wants fewer examples gets fewer.
    """

    def decorate(test):
        test = given(data=st.data(), dtype=st.sampled_from(DTYPES))(test)
        few = min(examples, settings.default.max_examples)
        test = settings(max_examples=few)(test)
        return pytest.mark.parametrize("name", INPUTS)(test)

    return decorate


def is_float(x):
    return np.issubdtype(np.asarray(x).dtype, np.floating)


def argument_names(op):
    return list(inspect.signature(op.forward).parameters)


def as_tuple(gradients):
    return gradients if isinstance(gradients, tuple) else (gradients,)


def arrays_in(cache):
    for entry in cache:
        if isinstance(entry, np.ndarray):
            yield entry
        elif isinstance(entry, tuple):
            yield from arrays_in(entry)


def assert_close(actual, expected, tolerance):
    """Within tolerance of the array's largest entry, or of 1 where all are smaller."""
    scale = max(1, np.max(np.abs(expected)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def draw_call(name, data, dtype):
    """One call of the op: its inputs, options, output, cache and a random dy."""
    op = getattr(ops, name)
    inputs, options = data.draw(INPUTS[name](dtype))
    y, cache = op.forward(*inputs, **options)
    dy = data.draw(float_arrays(y.shape, dtype)) if y.shape else dtype(-1.7)
    return op, inputs, options, y, cache, dy


def test_the_table_has_every_op():
    assert set(INPUTS) == set(oracle.FORWARD) == set(ops.__all__)


def test_options_have_the_usual_defaults():
    defaults = {
        name: {
            p.name: p.default
            for p in inspect.signature(getattr(ops, name).forward).parameters.values()
            if p.default is not p.empty
        }
        for name in INPUTS
    }
    assert {name: options for name, options in defaults.items() if options} == {
        "leaky_relu": {"alpha": 0.01},
        "cross_entropy": {"reduction": "mean"},
        "linear": {"b": None},
        "layer_norm": {"eps": 1e-5},
        "rms_norm": {"eps": 1e-5},
        "attention": {"causal": True},
        "tiled_attention": {"causal": True, "tile": 128},
        "rope": {"base": 10000.0, "layout": "interleaved"},
        "multi_head_attention": {
            "causal": True,
            "rope": False,
            "base": 10000.0,
            "layout": "interleaved",
        },
    }


@every_op(examples=60)
def test_output_and_gradients_agree_with_autograd(name, data, dtype):
    op, inputs, options, y, cache, dy = draw_call(name, data, dtype)
    gradients = as_tuple(op.backward(dy, cache))

    exact_y, exact_gradients = oracle.differentiate(name, inputs, dy, **options)

    assert len(gradients) == len(exact_gradients)
    for ours, theirs in zip((y, *gradients), (exact_y, *exact_gradients)):
        assert_close(ours, theirs, TOLERANCE[dtype])


@every_op(examples=15)
def test_each_gradient_has_the_shape_and_dtype_of_its_input(name, data, dtype):
    op, inputs, _, y, cache, dy = draw_call(name, data, dtype)
    gradients = as_tuple(op.backward(dy, cache))
    floats = [x for x in inputs if is_float(x)]
    assert y.dtype == dtype
    assert [g.shape for g in gradients] == [x.shape for x in floats]
    assert [g.dtype for g in gradients] == [x.dtype for x in floats]


@every_op(examples=15)
def test_nothing_returned_shares_memory_with_anything_else(name, data, dtype):
    op, inputs, _, y, cache, dy = draw_call(name, data, dtype)
    returned = [y, *as_tuple(op.backward(dy, cache))]
    others = [*inputs, dy, *arrays_in(cache)]
    for i, array in enumerate(returned):
        for other in returned[:i] + others:
            assert not np.shares_memory(array, other)


@every_op(examples=15)
def test_a_second_call_gives_the_same_and_no_argument_changes(name, data, dtype):
    op, inputs, options, y, cache, dy = draw_call(name, data, dtype)
    before = [np.copy(a) for a in (*inputs, dy)]
    first = as_tuple(op.backward(dy, cache))
    second = as_tuple(op.backward(dy, cache))
    again, _ = op.forward(*inputs, **options)
    np.testing.assert_array_equal(again, y)
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a, b)
    for a, b in zip((*inputs, dy), before):
        np.testing.assert_array_equal(a, b)


@every_op(examples=15)
def test_backward_is_linear_in_dy(name, data, dtype):
    op, _, _, y, cache, dy = draw_call(name, data, dtype)
    other = data.draw(float_arrays(y.shape, dtype)) if y.shape else dtype(0.6)
    together = as_tuple(op.backward(3 * dy - other, cache))
    one, two = as_tuple(op.backward(dy, cache)), as_tuple(op.backward(other, cache))
    for g, a, b in zip(together, one, two):
        assert_close(g, 3 * a - b, TOLERANCE[dtype])


@every_op(examples=15)
def test_a_dy_of_the_wrong_shape_or_dtype_is_refused_by_name(name, data, dtype):
    op, _, _, y, cache, dy = draw_call(name, data, dtype)
    message = re.escape(f"dy has shape {(2, *y.shape)}; it needs {y.shape}")
    with pytest.raises(ValueError, match=message):
        op.backward(np.ones((2, *y.shape), dtype), cache)
    for wrong in (np.float16, np.int64, *(d for d in DTYPES if d is not dtype)):
        with pytest.raises(TypeError, match=f"dy has dtype {wrong.__name__}"):
            op.backward(np.ones(y.shape, wrong), cache)


@every_op(examples=15)
def test_a_float_input_of_another_dtype_is_refused_by_name(name, data, dtype):
    """float16 and integers always, and float64 among float32."""
    op = getattr(ops, name)
    inputs, options = data.draw(INPUTS[name](dtype))
    names = argument_names(op)
    floats = [i for i, x in enumerate(inputs) if is_float(x)]
    for i in floats:
        for wrong in np.float16, np.int32, np.bool_:
            bad = [x.astype(wrong) if j == i else x for j, x in enumerate(inputs)]
            with pytest.raises(TypeError, match=f"^{names[i]} has dtype .*; it needs"):
                op.forward(*bad, **options)
    for i in floats[1:]:  # the first has the dtype that the others need
        (other,) = (d for d in DTYPES if d is not dtype)
        bad = [x.astype(other) if j == i else x for j, x in enumerate(inputs)]
        with pytest.raises(TypeError, match=f"^{names[i]} has dtype .*; it needs"):
            op.forward(*bad, **options)


@every_op(examples=15)
def test_an_empty_axis_is_refused_by_name(name, data, dtype):
    op = getattr(ops, name)
    inputs, options = data.draw(INPUTS[name](dtype))
    for i, x in enumerate(inputs):
        if x.ndim:
            bad = [z[..., :0] if j == i else z for j, z in enumerate(inputs)]
            message = f"^{argument_names(op)[i]} has shape .*empty"
            with pytest.raises(ValueError, match=message):
                op.forward(*bad, **options)
