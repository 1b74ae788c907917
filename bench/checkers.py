"""The gradient checker against other libraries' on the same three functions.

Exhaustive checks move every entry of every input; directional ones move all entries at
once, along one direction or a few.
"""

from functools import partial

import numpy as np

from backhand import Op, check_gradients, ops, oracle
from backhand.transformer import Config

from . import models, timing

RNG = np.random.default_rng(0)
ROWS, TARGETS = np.arange(16), RNG.integers(50, size=16)
LOGITS = RNG.normal(size=(16, 50))
FUNCTIONS = {  # by the name of each, a title and the inputs
    "losses": ("softmax cross-entropy of 16 rows of 50", [LOGITS]),
    "mean_loss": ("the mean of those, one number that cannot be stacked", [LOGITS]),
    "layer_norm": (
        "LayerNorm 8 × 64", [RNG.normal(size=shape) for shape in ((8, 64), 64, 64)]
    ),
    "attention": (
        "causal attention T 16, d 8", [RNG.normal(size=(1, 16, 8)) for _ in range(3)]
    ),
}


def backhand():
    """Return the checks, by mode and name, each a function of (name, inputs)."""

    def forward(z):
        p, cache = ops.softmax.forward(z)
        return -np.log(p[..., ROWS, TARGETS]), (p, cache)

    def backward(dy, cache):
        p, softmax_cache = cache
        dp = np.zeros_like(p)
        dp[..., ROWS, TARGETS] = -dy / p[..., ROWS, TARGETS]
        return ops.softmax.backward(dp, softmax_cache)

    def check(name, inputs, entrywise):
        if name == "mean_loss":
            op, inputs = ops.cross_entropy, [*inputs, TARGETS]
        else:
            op = Op(forward, backward) if name == "losses" else getattr(ops, name)
        report = check_gradients(op, *inputs, entrywise=entrywise)
        assert report.verdict == "agree", report

    return {
        "exhaustive": {"backhand": partial(check, entrywise=True)},
        "directional": {"backhand": partial(check, entrywise=False)},
    }


def pytorch():
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(1)
    targets = torch.tensor(TARGETS)
    functions = {
        "losses": lambda z: F.cross_entropy(z, targets, reduction="none"),
        "mean_loss": lambda z: F.cross_entropy(z, targets),
        "layer_norm": lambda x, gain, bias: F.layer_norm(x, gain.shape, gain, bias),
        "attention": partial(F.scaled_dot_product_attention, is_causal=True),
    }

    def check(name, inputs, fast_mode):
        inputs = [torch.tensor(x, requires_grad=True) for x in inputs]
        assert torch.autograd.gradcheck(functions[name], inputs, fast_mode=fast_mode)

    return {
        "exhaustive": {"PyTorch gradcheck": partial(check, fast_mode=False)},
        "directional": {"PyTorch gradcheck, fast mode": partial(check, fast_mode=True)},
    }


def jax():
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    config = Config(vocab=50, context=16, width=8, layers=1, heads=1, hidden=1)
    parts = models.Plain(jax.numpy, config)  # jax.nn's attention rounds to float32
    functions = {
        "losses": lambda z: -jax.nn.log_softmax(z)[ROWS, TARGETS],
        "mean_loss": lambda z: -jax.nn.log_softmax(z)[ROWS, TARGETS].mean(),
        "layer_norm": lambda x, gain, bias: (
            gain * jax.nn.standardize(x, epsilon=1e-5) + bias
        ),
        "attention": parts.attention,
    }

    def check(name, inputs):
        check_grads(functions[name], inputs, order=1, modes=["rev"])

    return {"directional": {"JAX check_grads": check}}


def autograd():
    import autograd.numpy as anp
    from autograd.test_util import check_grads

    functions = {
        "losses": lambda z: -anp.log(oracle.softmax(z)[ROWS, TARGETS]),
        "mean_loss": lambda z: oracle.cross_entropy(z, TARGETS),
        "layer_norm": oracle.layer_norm,
        "attention": oracle.attention,
    }

    def check(name, inputs):
        check_grads(functions[name], modes=["rev"], order=1)(*inputs)

    return {"directional": {"HIPS check_grads": check}}


def one_wrong_derivative():
    """Which check notices one of 4096 derivatives that is twice what it should be?"""
    x = RNG.normal(size=4096)
    factor = np.full(4096, 2.0)
    factor[1234] = 4

    square = Op.plain(lambda x: x * x, lambda dy, x: dy * factor * x)
    report = check_gradients(square, x)
    print("\nx² for 4096 x, its derivative wrong, 4 x, at entry 1234 alone")
    print(f"  backhand: {report.verdict}, worst at {report.rows[0].worst_index}")
    assert report.verdict == "disagree"
    if not timing.installed("torch"):
        return

    import torch

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, dy):
            return dy * torch.tensor(factor) * ctx.saved_tensors[0]

    torch.manual_seed(0)
    x = torch.tensor(x, requires_grad=True)
    passes = torch.autograd.gradcheck(
        Square.apply, x, fast_mode=True, raise_exception=False
    )
    print(f"  PyTorch gradcheck, fast mode: {'agree' if passes else 'disagree'}")


RIVALS = {"torch": pytorch, "jax": jax, "autograd": autograd}


def main():
    timing.describe_machine()
    checks = backhand()
    for module, rival in RIVALS.items():
        if timing.installed(module):
            for mode, more in rival().items():
                checks[mode] |= more
    for mode, rounds in ("exhaustive", 9), ("directional", 40):
        for name, (title, inputs) in FUNCTIONS.items():
            contest = {
                checker: partial(check, name, inputs)
                for checker, check in checks[mode].items()
            }
            times = timing.take_turns(contest, rounds)
            print(f"\n{mode}: {title}")
            print(f"{'':28} {'time to ours':>16} {'ms':>16}")
            for checker, t in times.items():
                share = timing.ratio(t, times["backhand"])
                print(f"{checker:28} {share} {timing.milliseconds(t)}")
    one_wrong_derivative()


if __name__ == "__main__":
    main()
