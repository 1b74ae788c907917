"""The same training step for other libraries, from the same parameters.

One model, with RMSNorm, RoPE, SwiGLU and a tied table, built from a few parts: Plain
writes them in NumPy's vocabulary, for JAX and HIPS autograd, and Torch takes PyTorch's
own. A contender has phases, methods to be called in that order, and keeps its loss.
"""

import numpy as np

from backhand import transformer
from backhand.optim import Adam


def mean_loss(parts, params, tokens, targets, config):
    x = params["embedding"][tokens]
    for block in (f"blocks.{i}" for i in range(config.layers)):
        u = parts.rms_norm(x, params[f"{block}.attention_norm.gain"])
        x = x + attend(parts, params, f"{block}.attention", u, config)
        u = parts.rms_norm(x, params[f"{block}.mlp_norm.gain"])
        gate = parts.silu(u @ params[f"{block}.mlp.w_gate"])
        up = u @ params[f"{block}.mlp.w_up"]
        x = x + (gate * up) @ params[f"{block}.mlp.w_down"]
    h = parts.rms_norm(x, params["final_norm.gain"])
    logits = h @ params["embedding"].T
    return parts.cross_entropy(logits.reshape(-1, config.vocab), targets.reshape(-1))


def attend(parts, params, name, u, config):
    batch, T, width = u.shape

    def heads(weight):
        x = u @ params[f"{name}.{weight}"]
        return x.reshape(batch, T, config.heads, -1).swapaxes(1, 2)

    q, k, v = heads("w_q"), heads("w_k"), heads("w_v")
    y = parts.attention(parts.rope(q), parts.rope(k), v)
    return y.swapaxes(1, 2).reshape(batch, T, width) @ params[f"{name}.w_o"]


class Plain:
    """The parts, in NumPy's vocabulary."""

    def __init__(self, xp, config):
        T, width = config.context, config.width // config.heads
        self.xp = xp
        self.scale = width**-0.5
        self.mask = np.tri(T, dtype=bool)
        turns = angles(T, width).repeat(2, axis=-1)
        self.cos, self.sin = np.cos(turns).astype("f4"), np.sin(turns).astype("f4")
        quarter_turn = [[0, 1], [-1, 0]]  # (a, b) becomes (-b, a)
        self.swap = np.kron(np.eye(width // 2), quarter_turn).astype("f4")

    def rms_norm(self, x, gain):
        mean_square = self.xp.mean(x * x, axis=-1, keepdims=True)
        return gain * x / self.xp.sqrt(mean_square + 1e-5)

    def silu(self, x):
        return x / (1 + self.xp.exp(-x))

    def rope(self, x):
        return x * self.cos + x @ self.swap * self.sin

    def attention(self, q, k, v):
        scores = self.xp.where(self.mask, q @ k.swapaxes(-1, -2) * self.scale, -1e30)
        e = self.xp.exp(self.below_zero(scores))
        return e / self.xp.sum(e, axis=-1, keepdims=True) @ v

    def below_zero(self, scores):
        return scores - self.xp.max(scores, axis=-1, keepdims=True)

    def cross_entropy(self, logits, targets):
        z = self.below_zero(logits)
        log_total = self.xp.log(self.xp.sum(self.xp.exp(z), axis=-1))
        return self.xp.mean(log_total - z[np.arange(len(targets)), targets])


class Torch:
    """The parts, from torch.nn.functional where they are there."""

    def __init__(self, torch, config):
        F = torch.nn.functional
        self.torch = torch
        self.rms_norm = lambda x, gain: F.rms_norm(x, gain.shape, gain, eps=1e-5)
        self.silu = F.silu
        self.cross_entropy = F.cross_entropy
        T, width = config.context, config.width // config.heads
        self.turn = torch.tensor(np.exp(1j * angles(T, width)).astype(np.complex64))
        self.scale = width**-0.5
        self.later = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)

    def rope(self, x):
        pairs = self.torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return self.torch.view_as_real(pairs * self.turn).flatten(-2)

    def attention(self, q, k, v):
        scores = q @ k.swapaxes(-1, -2) * self.scale
        scores = scores.masked_fill(self.later, -self.torch.inf)
        return self.torch.softmax(scores, dim=-1) @ v


class FusedTorch(Torch):
    """And attention in one piece."""

    def attention(self, q, k, v):
        attention = self.torch.nn.functional.scaled_dot_product_attention
        return attention(q, k, v, is_causal=True)


def angles(T, width):
    return np.outer(np.arange(T), 10000.0 ** (-np.arange(0, width, 2) / width))


class Backhand:
    phases = ["forward", "backward", "update"]

    def __init__(self, config, params, tokens, targets):
        self.params, self.data = params, (tokens, targets, config)
        self.optimiser = Adam()

    def forward(self):
        self.loss, self.cache = transformer.forward(self.params, *self.data)

    def backward(self):
        self.grads = transformer.backward(self.cache)

    def update(self):
        self.optimiser.step(self.params, self.grads)


class PyTorch:
    phases = ["forward", "backward", "update"]
    made_of = Torch

    def __init__(self, config, params, tokens, targets):
        import torch

        torch.set_num_threads(1)
        self.params = {
            name: torch.tensor(w, requires_grad=True) for name, w in params.items()
        }
        self.optimiser = torch.optim.Adam(self.params.values(), lr=1e-3)
        self.data = torch.tensor(tokens), torch.tensor(targets), config
        self.parts = self.made_of(torch, config)

    def forward(self):
        self.value = mean_loss(self.parts, self.params, *self.data)
        self.loss = self.value.item()

    def backward(self):
        self.value.backward()

    def update(self):
        self.optimiser.step()
        self.optimiser.zero_grad()


class PyTorchFused(PyTorch):
    made_of = FusedTorch


class Jax:
    phases = ["step"]

    def __init__(self, config, params, tokens, targets):
        import jax
        from jax.example_libraries.optimizers import adam

        parts = Plain(jax.numpy, config)
        start, update, current = adam(1e-3)
        differentiate = jax.value_and_grad(
            lambda params: mean_loss(parts, params, tokens, targets, config)
        )

        @jax.jit
        def step(i, state):
            loss, grads = differentiate(current(state))
            return loss, update(i, grads, state)

        self.jitted, self.wait = step, jax.block_until_ready
        self.state, self.i = start(params), 0

    def step(self):
        self.loss, self.state = self.wait(self.jitted(self.i, self.state))
        self.i += 1


class Autograd:
    phases = ["differentiate", "update"]

    def __init__(self, config, params, tokens, targets):
        import autograd.numpy as anp
        from autograd import value_and_grad

        parts = Plain(anp, config)
        self.value_and_grad = value_and_grad(
            lambda params: mean_loss(parts, params, tokens, targets, config)
        )
        self.params = params
        self.optimiser = Adam()  # autograd has none that takes one step

    def differentiate(self):
        self.loss, self.grads = self.value_and_grad(self.params)

    def update(self):
        self.optimiser.step(self.params, self.grads)


class Products:
    """Nothing but the matrix products of forward and backward."""

    phases = ["multiply"]

    def __init__(self, config, params, tokens, targets):
        rng = np.random.default_rng(0)
        batch, T = tokens.shape
        N, D, H, d = batch * T, config.width, config.heads, config.width // config.heads
        heads = batch, H
        a_layer = [
            *[((N, D), (D, D))] * 4,  # queries, keys, values, output
            ((*heads, T, d), (*heads, d, T)),  # scores
            ((*heads, T, T), (*heads, T, d)),  # weighted values
            *[((N, D), (D, config.hidden))] * 2,  # gate, up
            ((N, config.hidden), (config.hidden, D)),  # down
        ]
        factors = a_layer * config.layers + [((N, D), (D, config.vocab))]
        self.products = []
        for shapes in factors:
            x, w = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
            self.products.append((x, w, x @ w))

    def multiply(self):
        for x, w, dy in self.products:
            x @ w
            dy @ w.swapaxes(-1, -2)
            x.swapaxes(-1, -2) @ dy
