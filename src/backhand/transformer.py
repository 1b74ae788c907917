"""A decoder-only transformer made of the operations.   chapters/capstone

Every sublayer is x + f(norm(x)), where f is attention or an MLP. forward walks
through them and backward walks back.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .ops import (
    cross_entropy,
    embedding,
    gelu,
    layer_norm,
    linear,
    multi_head_attention,
    residual,
    rms_norm,
    swiglu,
    unembedding,
)
from .ops._arguments import FLOATS, float_array, one_of, positive_integer


@dataclass(frozen=True)
class Config:
    """The sizes and the choices of one transformer.

    Parameters
    ----------
    vocab, context, width, layers, heads, hidden : positive integers; heads divides
        width, and with RoPE the width of a head is even
    norm : "rms" or "layer"
    mlp : "swiglu", without biases, or "gelu", with them
    positions : "rope" in every attention, or "learned", a table added to the embedding
    tied : whether the embedding table is the unembedding table too
    """

    vocab: int
    context: int
    width: int
    layers: int
    heads: int
    hidden: int
    norm: str = "rms"
    mlp: str = "swiglu"
    positions: str = "rope"
    tied: bool = True

    def __post_init__(self):
        for name in "vocab", "context", "width", "layers", "heads", "hidden":
            positive_integer(name, getattr(self, name))
        one_of("norm", self.norm, ("rms", "layer"))
        one_of("mlp", self.mlp, ("swiglu", "gelu"))
        one_of("positions", self.positions, ("rope", "learned"))
        if not isinstance(self.tied, bool):
            raise TypeError(f"tied is {self.tied!r}; it needs True or False")
        if self.width % self.heads:
            raise ValueError(
                f"heads is {self.heads}; it must divide the width, {self.width}"
            )
        if self.positions == "rope" and self.width // self.heads % 2:
            raise ValueError(
                f"width is {self.width}; RoPE needs an even one for each of "
                f"{self.heads} heads"
            )


class Layer(NamedTuple):
    """An operation, and its parameters' shapes by the last part of their names."""

    name: str
    op: Any
    shapes: dict
    options: dict

    def forward(self, params, x):
        weights = (params[f"{self.name}.{weight}"] for weight in self.shapes)
        return self.op.forward(x, *weights, **self.options)

    def backward(self, dy, cache, grads):
        """Return dx, and enter the parameters' gradients into grads."""
        dx, *dweights = self.op.backward(dy, cache)
        for weight, dweight in zip(self.shapes, dweights):
            grads[f"{self.name}.{weight}"] = dweight
        return dx


class gelu_mlp:
    """y = gelu(x w_in + b_in) w_out + b_out, as an operation."""

    @staticmethod
    def forward(x, w_in, b_in, w_out, b_out):
        h, cache_in = linear.forward(x, w_in, b_in)
        a, cache_gelu = gelu.forward(h)
        y, cache_out = linear.forward(a, w_out, b_out)
        return y, (cache_in, cache_gelu, cache_out)

    @staticmethod
    def backward(dy, cache):
        cache_in, cache_gelu, cache_out = cache
        da, dw_out, db_out = linear.backward(dy, cache_out)
        dh = gelu.backward(da, cache_gelu)
        dx, dw_in, db_in = linear.backward(dh, cache_in)
        return dx, dw_in, db_in, dw_out, db_out


def norm_layer(name, config):
    n = (config.width,)
    if config.norm == "rms":
        return Layer(name, rms_norm, {"gain": n}, {})
    return Layer(name, layer_norm, {"gain": n, "bias": n}, {})


def attention_layer(name, config):
    square = (config.width, config.width)
    weights = {"w_q": square, "w_k": square, "w_v": square, "w_o": square}
    options = {"heads": config.heads, "rope": config.positions == "rope"}
    return Layer(name, multi_head_attention, weights, options)


def mlp_layer(name, config):
    n, hidden = config.width, config.hidden
    if config.mlp == "swiglu":
        weights = {"w_gate": (n, hidden), "w_up": (n, hidden), "w_down": (hidden, n)}
        return Layer(name, swiglu, weights, {})
    weights = {"w_in": (n, hidden), "b_in": (hidden,)}
    weights |= {"w_out": (hidden, n), "b_out": (n,)}
    return Layer(name, gelu_mlp, weights, {})


@lru_cache(maxsize=16)
def sublayers(config):
    """Return the pair (norm, f) of every sublayer x + f(norm(x)), first to last."""
    pairs = []
    for i in range(config.layers):
        for name, layer in ("attention", attention_layer), ("mlp", mlp_layer):
            f = layer(f"blocks.{i}.{name}", config)
            pairs.append((norm_layer(f"{f.name}_norm", config), f))
    return tuple(pairs)


def final_norm(config):
    return norm_layer("final_norm", config)


def readout(config):
    """Return the name of the table that turns vectors into logits."""
    return "embedding" if config.tied else "unembedding"


def shapes(config):
    """Return the shape of every parameter, by name."""
    table = (config.vocab, config.width)
    named = {"embedding": table}
    if config.positions == "learned":
        named["positions"] = (config.context, config.width)
    for layer in [*chain.from_iterable(sublayers(config)), final_norm(config)]:
        for weight, shape in layer.shapes.items():
            named[f"{layer.name}.{weight}"] = shape
    if not config.tied:
        named["unembedding"] = table
    return named


def init(config, seed, dtype=np.float32):
    """Return fresh parameters, a dict of arrays by name.

    Matrices are normal with standard deviation 0.02, those that project back into
    the stream (w_o, w_down, w_out) divided by √(2 · layers); gains are one, biases
    zero. The numbers are drawn in float64, so both dtypes start from the same ones.
    """
    if np.dtype(dtype) not in FLOATS:
        raise TypeError(f"dtype is {np.dtype(dtype)}; it needs float32 or float64")
    rng = np.random.default_rng(seed)
    params = {}
    for name, shape in shapes(config).items():
        weight = name.rpartition(".")[2]
        if weight == "gain":
            value = np.ones(shape)
        elif len(shape) == 1:
            value = np.zeros(shape)
        else:
            value = 0.02 * rng.normal(size=shape)
        if weight in ("w_o", "w_down", "w_out"):
            value /= math.sqrt(2 * config.layers)
        params[name] = value.astype(dtype)
    return params


class Cache(NamedTuple):
    config: Config
    embedding: embedding.Cache
    positions: tuple | None  # caches of the position table and of adding it
    sublayers: list          # for each, the caches of its norm, of f and of the sum
    final_norm: Any
    unembedding: unembedding.Cache
    loss: cross_entropy.Cache | None


def forward(params, tokens, targets, config):
    """Return the mean cross-entropy of predicting targets from tokens.

    Parameters
    ----------
    params : dict of arrays, with the names and shapes of shapes(config)
    tokens : array of integers, (..., T), each below vocab, T at most context
    targets : array of integers, (..., T), each below vocab
    config : Config

    Returns
    -------
    loss : NumPy scalar of the parameters' dtype, the mean over all positions
    cache : Cache, the caches of all operations

    Raises
    ------
    TypeError, ValueError
        A parameter is missing, unknown, of another shape or dtype; tokens or targets
        are not integers, out of range, of different shapes or too long.
    """
    scores, cache = logits(params, tokens, config)
    loss, loss_cache = cross_entropy.forward(scores, targets)
    return loss, cache._replace(loss=loss_cache)


def logits(params, tokens, config):
    """Return the logits of the next token at every position, (..., T, vocab).

    For sampling: everything is as in forward, but for the loss, which the cache then
    lacks, so that there is nothing for backward to start from.
    """
    check(params, config)
    x, embedding_cache = embedding.forward(tokens, params["embedding"])
    if x.ndim < 2 or x.shape[-2] > config.context:
        raise ValueError(
            f"tokens has shape {x.shape[:-1]}; it needs (..., T), T at most "
            f"{config.context}, the context"
        )
    positions_cache = None
    if config.positions == "learned":
        places = np.broadcast_to(np.arange(x.shape[-2]), x.shape[:-1])
        row, row_cache = embedding.forward(places, params["positions"])
        x, sum_cache = residual.forward(x, row)
        positions_cache = row_cache, sum_cache

    sublayer_caches = []
    for norm, f in sublayers(config):
        u, norm_cache = norm.forward(params, x)
        fu, f_cache = f.forward(params, u)
        x, sum_cache = residual.forward(x, fu)
        sublayer_caches.append((norm_cache, f_cache, sum_cache))

    h, norm_cache = final_norm(config).forward(params, x)
    scores, scores_cache = unembedding.forward(h, params[readout(config)])
    return scores, Cache(
        config,
        embedding_cache,
        positions_cache,
        sublayer_caches,
        norm_cache,
        scores_cache,
        loss=None,
    )


def backward(cache):
    """Return the gradient of the loss for every parameter, a dict by name."""
    config, grads = cache.config, {}
    dscores = cross_entropy.backward(1.0, cache.loss)
    dh, dtable = unembedding.backward(dscores, cache.unembedding)
    grads[readout(config)] = dtable
    dx = final_norm(config).backward(dh, cache.final_norm, grads)

    walk = list(zip(sublayers(config), cache.sublayers))
    for (norm, f), (norm_cache, f_cache, sum_cache) in reversed(walk):
        dx, dfu = residual.backward(dx, sum_cache)
        du = f.backward(dfu, f_cache, grads)
        dx += norm.backward(du, norm_cache, grads)  # the two paths of x + f(norm(x))

    if config.positions == "learned":
        row_cache, sum_cache = cache.positions
        dx, drow = residual.backward(dx, sum_cache)
        grads["positions"] = embedding.backward(drow, row_cache)
    dtable = embedding.backward(dx, cache.embedding)
    if config.tied:
        grads["embedding"] += dtable  # the table was read twice: the two uses add
    else:
        grads["embedding"] = dtable
    return {name: grads[name] for name in shapes(config)}


def check(params, config):
    needed = shapes(config)
    unmatched = sorted(params.keys() ^ needed.keys())
    if unmatched:
        raise ValueError(f"params and config do not both have {unmatched}")
    table = np.asarray(params["embedding"])
    for name, shape in needed.items():
        float_array(f"params[{name!r}]", params[name], like=table, shape=shape)
