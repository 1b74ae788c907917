from dataclasses import replace
from itertools import product

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import value_and_grad

from backhand import transformer
from backhand.transformer import Config

SMALL = Config(vocab=11, context=8, width=8, layers=2, heads=2, hidden=12)
CHOICES = {
    "norm": ["rms", "layer"],
    "mlp": ["swiglu", "gelu"],
    "positions": ["rope", "learned"],
    "tied": [True, False],
}
CONFIGS = [
    replace(SMALL, **dict(zip(CHOICES, values)))
    for values in product(*CHOICES.values())
]
RNG = np.random.default_rng(0)
TOKENS, TARGETS = RNG.integers(11, size=(2, 3, 6))

every_config = pytest.mark.parametrize(
    "config",
    CONFIGS,
    ids=lambda c: f"{c.norm}-{c.mlp}-{c.positions}-{'tied' if c.tied else 'untied'}",
)


def awake(config, dtype=np.float64):
    """Parameters large enough that no path is close to linear, and no gain is 1."""
    rng = np.random.default_rng(1)
    return {
        name: (value + 0.3 * rng.normal(size=value.shape)).astype(dtype)
        for name, value in transformer.init(config, seed=0).items()
    }


# ------------------------------------------------ the same model, for HIPS autograd


def reference_loss(params, config):
    def softmax(z):
        e = anp.exp(z - anp.max(z, axis=-1, keepdims=True))
        return e / anp.sum(e, axis=-1, keepdims=True)

    def norm(x, name):
        if config.norm == "layer":
            x = x - anp.mean(x, axis=-1, keepdims=True)
        x = x / anp.sqrt(anp.mean(x * x, axis=-1, keepdims=True) + 1e-5)
        return x * params[f"{name}.gain"] + params.get(f"{name}.bias", 0.0)

    def rotate(x):
        pairs = x.shape[-1] // 2
        angle = np.outer(np.arange(T), 10000.0 ** (-np.arange(pairs) / pairs))
        c, s = np.cos(angle), np.sin(angle)
        a, b = x[..., 0::2], x[..., 1::2]
        turned = anp.stack([a * c - b * s, a * s + b * c], axis=-1)
        return anp.reshape(turned, x.shape)

    def attention(x, name):
        y = 0.0
        for columns in np.split(np.arange(config.width), config.heads):
            q, k, v = (anp.dot(x, params[f"{name}.w_{i}"][:, columns]) for i in "qkv")
            if config.positions == "rope":
                q, k = rotate(q), rotate(k)
            scores = anp.matmul(q, anp.swapaxes(k, -1, -2)) / len(columns) ** 0.5
            p = softmax(anp.where(np.tri(T, dtype=bool), scores, -1e30))
            y = y + anp.dot(anp.matmul(p, v), params[f"{name}.w_o"][columns])
        return y

    def mlp(x, name):
        if config.mlp == "swiglu":
            gate = anp.dot(x, params[f"{name}.w_gate"])
            up = anp.dot(x, params[f"{name}.w_up"])
            return anp.dot(gate / (1 + anp.exp(-gate)) * up, params[f"{name}.w_down"])
        h = anp.dot(x, params[f"{name}.w_in"]) + params[f"{name}.b_in"]
        t = anp.tanh(anp.sqrt(2 / anp.pi) * (h + 0.044715 * h**3))
        a = h * (1 + t) / 2
        return anp.dot(a, params[f"{name}.w_out"]) + params[f"{name}.b_out"]

    T = TOKENS.shape[-1]
    x = params["embedding"][TOKENS]
    if config.positions == "learned":
        x = x + params["positions"][:T]
    for block in (f"blocks.{i}" for i in range(config.layers)):
        x = x + attention(norm(x, f"{block}.attention_norm"), f"{block}.attention")
        x = x + mlp(norm(x, f"{block}.mlp_norm"), f"{block}.mlp")
    table = params["embedding" if config.tied else "unembedding"]
    p = softmax(anp.dot(norm(x, "final_norm"), table.T))
    return -anp.mean(anp.log(anp.sum(p * np.eye(config.vocab)[TARGETS], axis=-1)))


@every_config
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-10), (np.float32, 2e-5)])
def test_loss_and_gradients_agree_with_autograd(config, dtype, tolerance):
    params = awake(config, dtype)
    exact = {name: value.astype(float) for name, value in params.items()}
    exact_loss, exact_grads = value_and_grad(reference_loss)(exact, config)

    loss, cache = transformer.forward(params, TOKENS, TARGETS, config)
    grads = transformer.backward(cache)

    assert type(loss) is dtype
    np.testing.assert_allclose(loss, exact_loss, rtol=tolerance)
    assert list(grads) == list(params)
    for name, expected in exact_grads.items():
        assert grads[name].dtype == dtype
        scale = max(np.abs(expected).max(), 0.01)
        np.testing.assert_allclose(
            grads[name], expected, rtol=0, atol=tolerance * scale, err_msg=name
        )


# ------------------------------------------------------------------ its properties


def test_the_parameters_have_the_names_the_chapters_use():
    assert transformer.shapes(replace(SMALL, layers=1)) == {
        "embedding": (11, 8),
        "blocks.0.attention_norm.gain": (8,),
        "blocks.0.attention.w_q": (8, 8),
        "blocks.0.attention.w_k": (8, 8),
        "blocks.0.attention.w_v": (8, 8),
        "blocks.0.attention.w_o": (8, 8),
        "blocks.0.mlp_norm.gain": (8,),
        "blocks.0.mlp.w_gate": (8, 12),
        "blocks.0.mlp.w_up": (8, 12),
        "blocks.0.mlp.w_down": (12, 8),
        "final_norm.gain": (8,),
    }
    other = replace(
        SMALL, layers=1, norm="layer", mlp="gelu", positions="learned", tied=False
    )
    added = transformer.shapes(other).keys() - transformer.shapes(SMALL).keys()
    assert added == {
        "positions",
        "blocks.0.attention_norm.bias",
        "blocks.0.mlp_norm.bias",
        "blocks.0.mlp.w_in",
        "blocks.0.mlp.b_in",
        "blocks.0.mlp.w_out",
        "blocks.0.mlp.b_out",
        "final_norm.bias",
        "unembedding",
    }


@every_config
def test_fresh_parameters_have_the_promised_spread(config):
    wide = replace(config, width=64, hidden=128, vocab=50, layers=8)
    for name, value in transformer.init(wide, seed=0).items():
        weight = name.rpartition(".")[2]
        if value.ndim == 1:
            np.testing.assert_array_equal(value, 1 if weight == "gain" else 0)
        else:
            into_the_stream = weight in ("w_o", "w_down", "w_out")
            spread = 0.02 / 4 if into_the_stream else 0.02
            np.testing.assert_allclose(value.std(), spread, rtol=0.1)


def test_one_seed_gives_one_model_in_both_dtypes():
    single, double = (transformer.init(SMALL, 3, d) for d in (np.float32, np.float64))
    other = transformer.init(SMALL, 4)
    for name, value in single.items():
        assert value.dtype == np.float32 and double[name].dtype == np.float64
        np.testing.assert_array_equal(value, double[name].astype(np.float32))
    assert not np.array_equal(single["embedding"], other["embedding"])


def test_a_fresh_model_loses_the_log_of_the_vocabulary():
    loss, _ = transformer.forward(transformer.init(SMALL, 0), TOKENS, TARGETS, SMALL)
    np.testing.assert_allclose(loss, np.log(11), rtol=0.01)


@every_config
def test_no_logit_depends_on_a_later_token(config):
    params = awake(config)
    scores, _ = transformer.logits(params, TOKENS, config)
    changed = TOKENS.copy()
    changed[:, 4] = (changed[:, 4] + 1) % 11
    other, _ = transformer.logits(params, changed, config)
    np.testing.assert_array_equal(scores[:, :4], other[:, :4])
    assert not np.isclose(scores[:, 4:], other[:, 4:]).any()


@every_config
def test_a_batch_is_the_mean_of_its_windows(config):
    params = awake(config)
    loss, cache = transformer.forward(params, TOKENS, TARGETS, config)
    grads = transformer.backward(cache)
    each = [transformer.forward(params, *w, config) for w in zip(TOKENS, TARGETS)]
    np.testing.assert_allclose(loss, np.mean([loss for loss, _ in each]))
    for name, grad in grads.items():
        mean = np.mean([transformer.backward(cache)[name] for _, cache in each], axis=0)
        np.testing.assert_allclose(grad, mean, atol=1e-14)


@every_config
def test_backward_gives_arrays_of_its_own_and_the_same_ones_twice(config):
    params = awake(config)
    before = {name: value.copy() for name, value in params.items()}
    _, cache = transformer.forward(params, TOKENS, TARGETS, config)
    first, second = transformer.backward(cache), transformer.backward(cache)
    for name, value in params.items():
        np.testing.assert_array_equal(value, before[name])
        np.testing.assert_array_equal(first[name], second[name])
        for other in params:
            assert not np.shares_memory(first[name], params[other])
            assert other == name or not np.shares_memory(first[name], first[other])


def test_a_tied_table_gets_the_sum_of_what_two_tables_get():
    tied, untied = SMALL, replace(SMALL, tied=False)
    params = awake(tied)
    two = {**params, "unembedding": params["embedding"]}
    _, cache = transformer.forward(params, TOKENS, TARGETS, tied)
    _, other_cache = transformer.forward(two, TOKENS, TARGETS, untied)
    grads = transformer.backward(other_cache)
    np.testing.assert_allclose(
        transformer.backward(cache)["embedding"],
        grads["embedding"] + grads["unembedding"],
    )


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"vocab": 0}, ValueError, "vocab is 0; it needs a positive integer"),
        ({"layers": -1}, ValueError, "layers is -1"),
        ({"context": 8.0}, TypeError, "context is 8.0"),
        ({"hidden": True}, TypeError, "hidden is True"),
        ({"heads": 3}, ValueError, "heads is 3; it must divide the width, 8"),
        ({"heads": 8}, ValueError, "width is 8; RoPE needs an even one"),
        ({"norm": "batch"}, ValueError, "norm is 'batch'; it needs one of rms, layer"),
        ({"mlp": "relu"}, ValueError, "mlp is 'relu'; it needs one of swiglu, gelu"),
        ({"positions": None}, ValueError, "positions is None; it needs one of rope"),
        ({"tied": "no"}, TypeError, "tied is 'no'; it needs True or False"),
    ],
)
def test_a_bad_config_is_refused_by_name(change, error, message):
    with pytest.raises(error, match=message):
        replace(SMALL, **change)


def test_learned_positions_allow_heads_of_odd_width():
    assert replace(SMALL, heads=8, positions="learned").heads == 8


@pytest.mark.parametrize("dtype", [np.float16, np.int64])
def test_init_refuses_other_dtypes(dtype):
    with pytest.raises(TypeError, match="dtype is .*; it needs float32 or float64"):
        transformer.init(SMALL, 0, dtype)


@pytest.mark.parametrize(
    "tokens, error, message",
    [
        (3, ValueError, r"tokens has shape \(\)"),
        (np.zeros(9, int), ValueError, "tokens has shape .*; .* T at most 8"),
        ([0, 11], ValueError, "tokens holds 11; it needs ids from 0 to 10"),
        ([0, -1], ValueError, "tokens holds -1"),
        ([0.0, 1.0], TypeError, "tokens has dtype float64"),
        ([True, False], TypeError, "tokens has dtype bool"),
    ],
)
def test_bad_tokens_are_refused_by_name(tokens, error, message):
    with pytest.raises(error, match=message):
        transformer.forward(transformer.init(SMALL, 0), tokens, tokens, SMALL)


def test_targets_of_another_shape_are_refused_by_name():
    with pytest.raises(ValueError, match=r"targets has shape \(3, 5\); it needs"):
        transformer.forward(transformer.init(SMALL, 0), TOKENS, TARGETS[:, :5], SMALL)


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"extra": np.ones(2)}, ValueError, r"params and config .*\['extra'\]"),
        ({"final_norm.gain": None}, ValueError, r".*\['final_norm.gain'\]"),
        ({"final_norm.gain": np.ones(1)}, ValueError, r"params\['final_norm.gain'\]"),
        ({"embedding": np.ones((10, 8))}, ValueError, r"params\['embedding'\] has"),
        ({"embedding": np.ones((11, 8), int)}, TypeError, r"params\['embedding'\]"),
        ({"final_norm.gain": np.ones(8, np.float32)}, TypeError, r"params\['final"),
    ],
)
def test_bad_parameters_are_refused_by_name(change, error, message):
    params = awake(SMALL) | change
    params = {name: value for name, value in params.items() if value is not None}
    with pytest.raises(error, match=message):
        transformer.forward(params, TOKENS, TARGETS, SMALL)
