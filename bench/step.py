"""A training step of the transformer against other libraries and its products."""

from dataclasses import replace

import numpy as np

from backhand import transformer

from . import models, timing

SMALL = transformer.Config(vocab=256, context=64, width=128, layers=4, heads=4, hidden=512)
CONFIGS = {
    "tiny": replace(SMALL, vocab=64, context=32, width=32, layers=2, hidden=128),
    "small": SMALL,
    "medium": replace(SMALL, vocab=512, context=128, width=256, layers=6, heads=8,
                      hidden=1024),
}
ROUNDS = {"tiny": 200, "small": 40, "medium": 12}
BATCH = 8
RIVALS = {
    "PyTorch eager": (models.PyTorch, "torch"),
    "JAX jit": (models.Jax, "jax"),
    "HIPS autograd": (models.Autograd, "autograd"),
}


def contenders(config, rivals):
    rng = np.random.default_rng(0)
    tokens = rng.integers(config.vocab, size=(BATCH, config.context))
    targets = np.roll(tokens, -1, axis=1)

    def start(contender):
        return contender(config, transformer.init(config, seed=0), tokens, targets)

    entered = {"backhand": start(models.Backhand)}
    entered |= {name: start(RIVALS[name][0]) for name in rivals}
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
    learned = losses["backhand"]
    assert learned[-1] < learned[0], learned
    print(f"loss {learned[0]:.4f}, after {steps - 1} steps {learned[-1]:.4f}: all agree")


def main():
    timing.describe_machine()
    rivals = [name for name, (_, module) in RIVALS.items() if timing.installed(module)]
    for size, config in CONFIGS.items():
        print(f"\n{size}: {config}, batch {BATCH}")
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
        print(f"{'':28} {'backhand / it':>15} {'ms':>16}")
        for name in ["backhand", *rivals]:
            share = timing.ratio(total["backhand"], total[name])
            print(f"step, {name:22} {share} {timing.milliseconds(total[name])}")
        passes = times["backhand", "forward"] + times["backhand", "backward"]
        products = total["matrix products"]
        print(
            f"{'forward + backward, products':28} {timing.ratio(passes, products)} "
            f"{timing.milliseconds(products)}"
        )
        print("by phase, ms")
        for (name, phase), t in times.items():
            print(f"  {name + ', ' + phase:26} {'':15} {timing.milliseconds(t)}")


if __name__ == "__main__":
    main()
