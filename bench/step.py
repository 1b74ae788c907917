"""A training step of the transformer against other libraries and its products."""

import numpy as np

from backhand import transformer
from backhand.transformer import Config

from . import models, timing

CONFIGS = {
    "tiny": Config(vocab=64, context=32, width=32, layers=2, heads=4, hidden=128),
    "small": Config(vocab=256, context=64, width=128, layers=4, heads=4, hidden=512),
    "medium": Config(vocab=512, context=128, width=256, layers=6, heads=8, hidden=1024),
}
ROUNDS = {"tiny": 200, "small": 40, "medium": 12}
BATCH = 8
RIVALS = {  # by the module they need
    "torch": {
        "PyTorch eager": models.PyTorch,
        "PyTorch, attention fused": models.PyTorchFused,
    },
    "jax": {"JAX jit": models.Jax},
    "autograd": {"HIPS autograd": models.Autograd},
}


def contenders(config, rivals):
    rng = np.random.default_rng(0)
    tokens = rng.integers(config.vocab, size=(BATCH, config.context))
    targets = np.roll(tokens, -1, axis=1)

    def start(contender):
        return contender(config, transformer.init(config, seed=0), tokens, targets)

    entered = {"backhand": start(models.Backhand)}
    entered |= {name: start(rival) for name, rival in rivals.items()}
    agree_on_the_loss(entered)
    return entered | {"matrix products": start(models.Products)}


def agree_on_the_loss(entered, steps=5):
    """Train each a little: all must do the same thing, and learn."""
    losses = {name: [] for name in entered}
    for name, contender in entered.items():
        for _ in range(steps):
            for phase in contender.phases:
                getattr(contender, phase)()
            losses[name].append(float(contender.loss))
        np.testing.assert_allclose(losses[name], losses["backhand"], rtol=1e-5)
    first, *_, last = losses["backhand"]
    assert last < first, losses
    print(f"loss {first:.4f}, after {steps - 1} steps {last:.4f}: all agree")


def main():
    timing.describe_machine()
    rivals = {}
    for module, more in RIVALS.items():
        if timing.installed(module):
            rivals |= more
    for size, config in CONFIGS.items():
        print(f"\n{size}: batch {BATCH}, {config}")
        entered = contenders(config, rivals)
        times = timing.take_turns(
            {
                (name, phase): getattr(contender, phase)
                for name, contender in entered.items()
                for phase in contender.phases
            },
            ROUNDS[size],
        )
        total = {
            name: sum(times[name, phase] for phase in contender.phases)
            for name, contender in entered.items()
        }
        print(f"{'':36} {'backhand / it':>15} {'ms':>16}")
        for name in ["backhand", *rivals]:
            print_row(f"step, {name}", total["backhand"], total[name])
        passes = times["backhand", "forward"] + times["backhand", "backward"]
        products = total["matrix products"]
        print_row("forward + backward, products", passes, products)
        for (name, phase), t in times.items():
            print_row(f"  {name}, {phase}", times.get(("backhand", phase)), t)


def print_row(title, ours, theirs):
    share = f"{'':15}" if ours is None else timing.ratio(ours, theirs)
    print(f"{title:36} {share} {timing.milliseconds(theirs)}")


if __name__ == "__main__":
    main()
