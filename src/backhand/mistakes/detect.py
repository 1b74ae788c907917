"""Which checks catch a mistake: measured, on the example that shows it best."""

from dataclasses import replace

import numpy as np

from .. import transformer
from ..check.differences import numerical_gradient
from .mistake import WrongPass
from .model import WrongModel
from .optimizers import WrongStep

CHECKERS = (
    "backhand",
    "float32, entry by entry",
    "dy of ones",
    "one direction",
    "what hides it",
    "right values",
)

GRADCHECK = {"rtol": 1e-3, "atol": 1e-5}


def detect(mistake):
    """Let several checks loose on a mistake and see which catch it.

    All but "what hides it" are given the example, on which the mistake shows.

    Parameters
    ----------
    mistake : Mistake

    Returns
    -------
    dict of str to bool or None
        For each of `CHECKERS` whether it notices; None where it has nothing to
        check.

        backhand
            `check_gradients`, for a model `check_loss`: it disagrees, or says why it
            cannot agree.
        float32, entry by entry
            Central differences in float32; may differ by 1e-3 and one per cent.
        dy of ones
            Central differences of the sum of the output, in float64; may differ by
            1e-5 and one per thousand, as in PyTorch's gradcheck.
        one direction
            The slope along one seeded normal direction through all inputs; likewise.
        what hides it
            The tests the catalogue says it passes: False if it passes them all.
        right values
            A comparison with the right output, or with the closed form of an
            optimiser's steps. A wrong backward pass has no output to compare.
    """
    caught = dict.fromkeys(CHECKERS)
    caught["what hides it"] = not all(map(mistake.hides_behind, mistake.hidden_by))
    if mistake.checked_by in ("right values", "closed form"):
        caught["right values"] = mistake.is_caught()
    if isinstance(mistake, WrongStep):
        return caught
    report = mistake.check()
    caught["backhand"] = report.verdict == "disagree" or bool(report.findings)
    trial = model_trial if isinstance(mistake, WrongModel) else pass_trial
    with np.errstate(all="ignore"):
        caught["float32, entry by entry"] = entry_by_entry(
            *trial(mistake, np.float32), rtol=1e-2, atol=1e-3
        )
        caught["one direction"] = one_direction(
            *trial(mistake, np.float64), **GRADCHECK
        )
        if isinstance(mistake, WrongPass):
            caught["dy of ones"] = entry_by_entry(
                *trial(mistake, np.float64, dy=np.ones_like), **GRADCHECK
            )
    return caught


def pass_trial(mistake, dtype, dy=None):
    """A function of a list of float arrays, the arrays, dy and their gradients."""
    design = replace(mistake.shown_by, dtype=dtype, dy=dy)
    inputs = design.inputs()
    floats = [i for i, array in enumerate(inputs) if array.dtype.kind == "f"]

    def f(arrays):
        moved = dict(enumerate(inputs)) | dict(zip(floats, arrays, strict=True))
        return mistake.forward(*moved.values(), **design.options)[0]

    y, _ = mistake.forward(*inputs, **design.options)
    *gradients, _ = design.results(mistake)
    return f, [inputs[i] for i in floats], design.upstream(y), gradients


def model_trial(mistake, dtype):
    """The same for the loss of a transformer as a function of its parameters."""
    config = mistake.options["config"]
    params = transformer.init(config, seed=0, dtype=dtype)
    batch = mistake.example()

    def f(arrays):
        moved = dict(zip(params, arrays, strict=True))
        return transformer.forward(moved, *batch, config)[0]

    gradients = mistake.backward(transformer.forward(params, *batch, config)[1])
    return f, list(params.values()), None, [gradients[name] for name in params]


def entry_by_entry(f, arrays, dy, gradients, **tolerances):
    """Whether an entry of a gradient differs from its central difference."""
    for i, (x, gradient) in enumerate(zip(arrays, gradients, strict=True)):

        def f_of_one(x, i=i):
            return f([*arrays[:i], x, *arrays[i + 1 :]])

        if differ(gradient, numerical_gradient(f_of_one, x, dy), **tolerances):
            return True
    return False


def one_direction(f, arrays, dy, gradients, **tolerances):
    """Whether the slope along one direction differs from the measured one."""
    rng = np.random.default_rng(2)
    directions = [rng.normal(size=x.shape) for x in arrays]

    def along(distance):
        return f([x + distance * d for x, d in zip(arrays, directions, strict=True)])

    if any(g.shape != x.shape for g, x in zip(gradients, arrays, strict=True)):
        return True
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
    return differ(slope, numerical_gradient(along, 0.0, dy, step=1e-6), **tolerances)


def differ(found, expected, **tolerances):
    return np.shape(found) != np.shape(expected) or not np.allclose(
        found, expected, **tolerances
    )
