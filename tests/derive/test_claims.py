"""Every claim is proved, and the NumPy backward computes what is claimed."""

from dataclasses import replace

import numpy as np
import pytest

from backhand import ops
from backhand.derive import CLAIMS, activations, attention, normalization

EVERY_CLAIM = [
    *(
        pytest.param(claim, id=op)
        for op, claim in CLAIMS.items()
        if op != "tiled_attention"  # attention's claim, see below
    ),
    pytest.param(activations.GELU_EXACT, id="gelu, exact"),
    pytest.param(normalization.IN_TWO_STEPS, id="layer_norm, in two steps"),
    pytest.param(attention.SCORES, id="attention, scores"),
    pytest.param(attention.WEIGHTS, id="attention, weights"),
    pytest.param(attention.CONTEXT, id="attention, context"),
]


def test_every_op_has_a_claim():
    assert set(CLAIMS) == set(ops.__all__)
    assert all(op == claim.op for op, claim in CLAIMS.items())


def test_tiled_attention_claims_what_attention_does():
    assert replace(CLAIMS["tiled_attention"], op="attention") == CLAIMS["attention"]


@pytest.mark.parametrize("claim", EVERY_CLAIM)
def test_sympy_derives_the_claim_for_every_size(claim):
    assert claim.prove() == dict.fromkeys(claim.gradients, 0)


@pytest.mark.parametrize("claim", EVERY_CLAIM)
def test_the_whole_jacobian_gives_the_claim_at_small_sizes(claim):
    for name in claim.gradients:
        for values in claim.examples:
            assert claim.brute_force(name, values).is_zero_matrix is True


@pytest.mark.parametrize("claim", EVERY_CLAIM)
def test_the_forward_pass_and_each_gradient_print_as_equations(claim):
    lines = claim.forward_latex() + [claim.latex(name) for name in claim.gradients]
    assert all(line.count(" = ") == 1 for line in lines)
    assert not any("Indexed" in line or "_{_" in line for line in lines)


random = np.random.default_rng(0).standard_normal
CAUSAL = np.tril(np.ones((4, 4)))
T, HEADS, PAIRS = 4, 2, 3


def as_is(array):
    return array


def heads_of_columns(w):  # (D, H·d) to (D, H, d)
    return w.reshape(len(w), HEADS, -1)


def heads_of_rows(w):  # (H·d, D) to (H, d, D)
    return w.reshape(HEADS, -1, w.shape[-1])


def neighbours(x):  # (T, 2·pairs) to (T, pairs, 2)
    return x.reshape(T, PAIRS, 2)


def halves(x):
    return x.reshape(T, 2, PAIRS).swapaxes(1, 2)


# op, arguments of its forward, further ones of the claim, and how an array of the
# op is laid out in the claim, where that differs (`y` for the output).
NUMBERS = [
    ("sigmoid", {"x": random(5)}, {}, {}),
    ("tanh", {"x": random(5)}, {}, {}),
    ("relu", {"x": np.append(random(5), 0.0)}, {}, {}),
    ("leaky_relu", {"x": np.append(random(5), 0.0), "alpha": 0.1}, {}, {}),
    ("silu", {"x": random(5)}, {}, {}),
    ("gelu", {"x": random(5)}, {}, {}),
    ("softmax", {"z": random(5)}, {}, {}),
    (
        "cross_entropy",
        {"logits": random((T, 3)), "targets": np.array([2, 0, 0, 1])},
        {"divisor": T},
        {},
    ),
    (
        "cross_entropy",
        {"logits": random((T, 3)), "targets": np.arange(T) % 3, "reduction": "sum"},
        {"divisor": 1, "reduction": None},
        {},
    ),
    ("linear", {"x": random((T, 3)), "w": random((3, 2)), "b": random(2)}, {}, {}),
    ("unembedding", {"h": random((T, 3)), "table": random((5, 3))}, {}, {}),
    (
        "embedding",
        {"tokens": np.array([2, 0, 2, 3, 2]), "table": random((5, 3))},
        {},
        {},
    ),
    (
        "layer_norm",
        {"x": random(5), "gain": random(5), "bias": random(5), "eps": 0.01},
        {},
        {},
    ),
    ("rms_norm", {"x": random(5), "gain": random(5), "eps": 0.01}, {}, {}),
    *(
        (
            op,
            {"q": random((T, 3)), "k": random((T, 3)), "v": random((T, 2))} | options,
            {"mask": mask} | dict.fromkeys(options),
            {},
        )
        for op, options, mask in [
            ("attention", {}, CAUSAL),
            ("attention", {"causal": False}, np.ones((T, T))),
            ("tiled_attention", {"tile": 3}, CAUSAL),
        ]
    ),
    (
        "multi_head_attention",
        {
            "x": random((T, 3)),
            "w_q": random((3, 4)),
            "w_k": random((3, 4)),
            "w_v": random((3, 4)),
            "w_o": random((4, 3)),
            "heads": HEADS,
        },
        {"mask": CAUSAL, "heads": None},
        dict.fromkeys(["w_q", "w_k", "w_v"], heads_of_columns) | {"w_o": heads_of_rows},
    ),
    *(
        (
            "rope",
            {"x": random((T, 2 * PAIRS)), "base": 100.0, "layout": layout},
            {"layout": None},
            {"x": pairs, "y": pairs},
        )
        for layout, pairs in [("interleaved", neighbours), ("half", halves)]
    ),
    (
        "swiglu",
        {
            "x": random((T, 3)),
            "w_gate": random((3, 5)),
            "w_up": random((3, 5)),
            "w_down": random((5, 2)),
        },
        {},
        {},
    ),
    ("residual", {"x": random((T,)), "fx": random((T,))}, {}, {}),
]


def test_every_claim_is_compared_with_numpy():
    assert {op for op, *_ in NUMBERS} == set(CLAIMS)


@pytest.mark.parametrize("op, arguments, options, layout", NUMBERS)
def test_the_numpy_backward_computes_the_claim(op, arguments, options, layout):
    module, claim = getattr(ops, op), CLAIMS[op]
    y, cache = module.forward(**arguments)
    dy = random(np.shape(y))
    computed = module.backward(dy, cache)
    computed = computed if isinstance(computed, tuple) else (computed,)

    given = {**arguments, **options}  # an option of None is the NumPy op's alone
    claimed = claim.evaluate(
        layout.get("y", as_is)(dy),
        **{
            name: layout.get(name, as_is)(value)
            for name, value in given.items()
            if value is not None
        },
    )
    assert len(claimed) == len(computed)
    floats = [name for name in arguments if name in claim.gradients]
    for name, array in zip(floats, computed, strict=True):
        array = layout.get(name, as_is)(array)
        np.testing.assert_allclose(array, claimed[name], rtol=1e-11, atol=1e-13)


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="b: axis j has length 5, elsewhere it is 2"):
        CLAIMS["linear"].evaluate(
            random((T, 2)), x=random((T, 3)), w=random((3, 2)), b=random(5)
        )
    with pytest.raises(ValueError, match="dy: axis a has length 3, elsewhere it is 2"):
        CLAIMS["rope"].evaluate(random((T, 2, 3)), x=random((T, 2, 3)), base=100.0)
