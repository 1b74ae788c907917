"""The gradient check that most people write first: one dy, one tolerance."""

import numpy as np

from ..check.differences import numerical_gradient


def passes(op, *inputs, dy=np.ones_like, rtol=1e-3, atol=1e-5):
    """Whether the gradients of an op pass a plain test, in the inputs' own precision.

    Parameters
    ----------
    op : module or Op
        Anything with forward and backward.
    *inputs : array of floats
    dy : callable
        ``dy(y)`` is the upstream gradient. Ones make the loss the sum of y, and
        ``2 * y`` makes it the sum of its squares.
    rtol, atol : float
        For ``numpy.allclose``. By default those of PyTorch's gradcheck.

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

    def agrees(place, gradient):
        def f(x):
            moved = [x if at == place else each for at, each in enumerate(inputs)]
            return op.forward(*moved)[0]

        numeric = numerical_gradient(f, inputs[place], upstream)
        same = gradient.shape == numeric.shape
        return same and np.allclose(gradient, numeric, rtol=rtol, atol=atol)

    return all(agrees(place, each) for place, each in enumerate(gradients))
