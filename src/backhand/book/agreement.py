"""Does the hand-written gradient agree with finite differences, and how closely?"""

import numpy as np

from ..check.differences import numerical_gradient
from .picture import Picture
from .style import BACKWARD, FORWARD, ROLES, axes, styled

STEPS = np.logspace(-12, 0, 25)
MARKERS = "os^Dv"


@styled
def agreement(op, *inputs, dy, title=None, caption=None, large=False, **options):
    """Analytic against numeric entries, and the error against the step.

    Parameters
    ----------
    op : module
        Anything with forward and backward.
    *inputs : array_like
        What forward takes, in float64. Integer inputs are not differentiated.
    dy : array
        The upstream gradient.
    title : str, optional
        What there is to find in the curve of errors.
    caption : str, optional
        What to see in it, said after how many entries agree and how closely.
    large : bool, optional
        Whether the curve of errors is to be the larger panel, where it surprises.
    **options
        For forward.

    Returns
    -------
    Picture
        Left: each entry of each gradient, the hand-written value against the
        numeric one; the diagonal is agreement. Right: the largest relative error
        of a central difference against its step, in float32 and float64.
    """
    gradients = _analytic(op, inputs, dy, options)
    numeric = _numeric(op, inputs, dy, options, np.float64, step=None)

    diagonal = axes(
        "Every entry on the diagonal",
        xlabel="by hand",
        ylabel="finite difference",
        aspect="equal",
    )
    ends = [np.min(np.concatenate(gradients)), np.max(np.concatenate(gradients))]
    diagonal.plot(ends, ends, **ROLES["reference"])
    for each, (ours, theirs) in enumerate(zip(gradients, numeric, strict=True)):
        diagonal.plot(
            ours, theirs, MARKERS[each % 5], color=BACKWARD, alpha=0.7, mew=0
        )

    errors = {
        dtype: _errors_over_step(op, inputs, dy, options, dtype, gradients)
        for dtype in (np.float64, np.float32)
    }
    # A step of 1 is far too long, unless the output is linear in every input.
    linear = errors[np.float64][-1] < 1e-10
    found = "Linear: no step is too long" if linear else "The best step lies in a valley"
    curve = axes(
        title or found,
        width=5.2 if large else 3.4,
        height=3.4 if large else 2.6,
        xlabel="step h",
        ylabel="largest relative error",
        xscale="log",
        yscale="log",
    )
    for dtype, each in errors.items():
        shown = np.clip(each, 1e-17, 1e3)
        curve.plot(STEPS, shown, **ROLES[dtype.__name__], label=dtype.__name__)
        curve.axvline(np.finfo(dtype).eps ** (1 / 3), **ROLES["reference"])
    curve.legend()

    entries = sum(each.size for each in gradients)
    best64, best32 = (_power_above(min(each)) for each in errors.values())
    return Picture(
        diagonal,
        curve,
        alt=f"All {entries} entries lie on the diagonal; a central difference comes "
        f"within {best64} in float64 and {best32} in float32 at its best step, and "
        f"worse {'with shorter ones' if linear else 'on both sides of it'}.",
        caption=f"{entries} entries, largest relative error below "
        f"{_power_above(relative_error(numeric, gradients))}. "
        + (
            caption
            or "The upright lines mark ε^(1/3), the step theory picks: left of it "
            "round-off wins, right of it "
            + ("nothing does." if linear else "the curve bends.")
        ),
    )


def floor(op, *inputs, dy, dtype, **options):
    """The error of a central difference in `dtype` at its best step of all."""
    gradients = _analytic(op, inputs, dy, options)
    return min(_errors_over_step(op, inputs, dy, options, dtype, gradients))


def _errors_over_step(op, inputs, dy, options, dtype, gradients):
    return [
        relative_error(_numeric(op, inputs, dy, options, dtype, step), gradients)
        for step in STEPS
    ]


def _power_above(error):
    """The next power of ten, which is the same on every machine; not below round-off."""
    return f"{10.0 ** np.ceil(np.log10(max(error, np.finfo(float).eps))):.0e}"


def relative_error(found, expected):
    """The largest difference, in units of the largest entry of each array."""
    return max(
        np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))
        for ours, theirs in zip(found, expected, strict=True)
    )


def _analytic(op, inputs, dy, options):
    _, cache = op.forward(*inputs, **options)
    gradients = op.backward(dy, cache)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    return [np.ravel(each) for each in gradients]


def _numeric(op, inputs, dy, options, dtype, step):
    """Central differences of each float input, in the precision asked for."""
    inputs = [
        each.astype(dtype) if each.dtype.kind == "f" else each
        for each in map(np.asarray, inputs)
    ]

    def of(place):
        def f(x):
            moved = [x if at == place else each for at, each in enumerate(inputs)]
            return op.forward(*moved, **options)[0]

        return f

    with np.errstate(all="ignore"):
        return [
            np.ravel(
                numerical_gradient(of(place), x, np.asarray(dy, dtype), step=step)
            ).astype(np.float64)
            for place, x in enumerate(inputs)
            if x.dtype.kind == "f"
        ]
