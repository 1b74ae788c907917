"""A second opinion: every forward pass written again, for HIPS autograd to differentiate.

Nothing here is shared with `backhand.ops`, neither the code nor the way a thing is
computed: a rotation is a matrix, heads come one after the other, a lookup is a product
with one-hot rows. So when the gradients agree, they do not agree by sharing a mistake.
Needs autograd.

>>> import numpy as np
>>> differentiate("tanh", [np.zeros(2)], np.ones(2))
(array([0., 0.]), (array([1., 1.]),))
"""

import autograd.numpy as anp
import numpy as np
from autograd import make_vjp


def softmax(z):
    e = anp.exp(z - anp.max(z, axis=-1, keepdims=True))
    return e / anp.sum(e, axis=-1, keepdims=True)


def cross_entropy(logits, targets, reduction="mean"):
    picked = anp.sum(softmax(logits) * anp.eye(logits.shape[-1])[targets], axis=-1)
    return -(anp.mean if reduction == "mean" else anp.sum)(anp.log(picked))


def linear(x, w, b=0.0):
    return anp.dot(x, w) + b


def unembedding(h, table):
    return anp.dot(h, table.T)


def embedding(tokens, table):
    return anp.dot(anp.eye(len(table))[tokens], table)


def sigmoid(x):
    return 1 / (1 + anp.exp(-x))


def relu(x):
    return anp.where(x > 0, x, 0)


def leaky_relu(x, alpha=0.01):
    return anp.where(x > 0, x, alpha * x)


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return x * (1 + anp.tanh((2 / anp.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2


def rms_norm(x, gain, eps=1e-5):
    return gain * x / anp.sqrt(anp.mean(x**2, axis=-1, keepdims=True) + eps)


def layer_norm(x, gain, bias, eps=1e-5):
    return rms_norm(x - anp.mean(x, axis=-1, keepdims=True), gain, eps) + bias


def swiglu(x, w_gate, w_up, w_down):
    return anp.dot(silu(anp.dot(x, w_gate)) * anp.dot(x, w_up), w_down)


def attention(q, k, v, causal=True, tile=None):
    scores = anp.matmul(q, anp.swapaxes(k, -1, -2)) / q.shape[-1] ** 0.5
    if causal:
        scores = anp.where(np.tri(q.shape[-2], dtype=bool), scores, -1e30)
    return anp.matmul(softmax(scores), v)


def rope(x, base=10000.0, layout="interleaved"):
    """Each pair times its own 2 × 2 rotation matrix, all in one (T, d, d) array."""
    T, d = x.shape[-2:]
    rotations = np.zeros((T, d, d))
    for t in range(T):
        for i in range(d // 2):
            pair = [2 * i, 2 * i + 1] if layout == "interleaved" else [i, i + d // 2]
            angle = t * base ** (-2 * i / d)
            c, s = np.cos(angle), np.sin(angle)
            rotations[t][np.ix_(pair, pair)] = [[c, -s], [s, c]]
    return anp.matmul(rotations, x[..., None])[..., 0]


def multi_head_attention(
    x,
    w_q,
    w_k,
    w_v,
    w_o,
    heads,
    causal=True,
    rope=False,
    base=10000.0,
    layout="interleaved",
):
    """One head after the other, each with its own columns of the weights."""
    y = 0.0
    for columns_q, columns_v, rows_o in zip(
        np.split(np.arange(w_q.shape[1]), heads),
        np.split(np.arange(w_v.shape[1]), heads),
        np.split(np.arange(w_o.shape[0]), heads),
    ):
        q, k = anp.dot(x, w_q[:, columns_q]), anp.dot(x, w_k[:, columns_q])
        if rope:
            q, k = rotate(q, base, layout), rotate(k, base, layout)
        v = anp.dot(x, w_v[:, columns_v])
        y = y + anp.dot(attention(q, k, v, causal), w_o[rows_o])
    return y


rotate = rope  # multi_head_attention has an option of that name


def residual(x, fx):
    return x + fx


FORWARD = {
    "sigmoid": sigmoid,
    "tanh": anp.tanh,
    "relu": relu,
    "leaky_relu": leaky_relu,
    "silu": silu,
    "gelu": gelu,
    "softmax": softmax,
    "cross_entropy": cross_entropy,
    "linear": linear,
    "unembedding": unembedding,
    "embedding": embedding,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "swiglu": swiglu,
    "attention": attention,
    "tiled_attention": attention,
    "rope": rope,
    "multi_head_attention": multi_head_attention,
    "residual": residual,
}


def differentiate(op, inputs, dy, **options):
    """The output, and the gradient of sum(dy · y) for each floating-point input.

    Parameters
    ----------
    op : str
        Name of a module of `backhand.ops`.
    inputs : sequence of arrays
        What its forward takes. They are taken as float64, but for integers.
    dy : array of the output's shape
    **options
        Those of its forward.

    Returns
    -------
    y : array
    gradients : tuple of arrays, in forward's order
    """
    inputs = [np.asarray(x) for x in inputs]
    floats = tuple(i for i, x in enumerate(inputs) if x.dtype.kind == "f")
    exact = [x.astype(float) if i in floats else x for i, x in enumerate(inputs)]
    backward, y = make_vjp(FORWARD[op], floats)(*exact, **options)
    return y, tuple(backward(np.asarray(dy, float)))
