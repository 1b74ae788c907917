"""The gradient check that most people write first: one dy, one tolerance."""

import numpy as np

from .detect import GRADCHECK, entry_by_entry


def passes(op, *inputs, dy=np.ones_like, **tolerances):
    """Whether the gradients of an op pass a plain test, in the inputs' own precision.

    Parameters
    ----------
    op : module or Op
        Anything with forward and backward.
    *inputs : array of floats
    dy : callable
        ``dy(y)`` is the upstream gradient. Ones make the loss the sum of y, and
        ``2 * y`` makes it the sum of its squares.
    **tolerances : float
        rtol and atol for ``numpy.allclose``. By default those of PyTorch's gradcheck.

    Examples
    --------
    >>> from backhand import Op
    >>> forgets_dy = Op.plain(np.tanh, lambda dy, x: 1 - np.tanh(x) ** 2)
    >>> x = np.array([-0.5, 1.0])
    >>> passes(forgets_dy, x), passes(forgets_dy, x, dy=lambda y: 2 * y)
    (True, False)
    """
    y, cache = op.forward(*inputs)
    upstream = dy(y)
    gradients = op.backward(upstream, cache)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    return not entry_by_entry(
        lambda arrays: op.forward(*arrays)[0],
        inputs,
        upstream,
        gradients,
        **(GRADCHECK | tolerances),
    )
