"""SwiGLU: y = (silu(x w_gate) · x w_up) w_down.   (9.13); chapters/swiglu"""

from typing import NamedTuple

from . import linear, silu
from ._arguments import Array, float_array


class Cache(NamedTuple):
    gate: linear.Cache
    up: linear.Cache
    silu: silu.Cache
    s: Array            # (..., hidden) silu of the gate
    u: Array            # (..., hidden) x w_up
    down: linear.Cache


def forward(x, w_gate, w_up, w_down):
    """Gate one projection of x by the SiLU of another, and project the product back.

    Parameters
    ----------
    x : array of floats, (n,) or (..., n)
    w_gate, w_up : (n, hidden)
    w_down : (hidden, m)

    Returns
    -------
    y : (..., m)
    cache : Cache, the caches of the three products and of silu, and both factors

    Raises
    ------
    TypeError, ValueError
        An array is not float32 or float64, not of x's dtype, not of the shape
        above, or has an empty axis.

    Notes
    -----
    (9.13); derived in chapters/swiglu.
    """
    x = float_array("x", x, min_ndim=1)
    w_gate = float_array("w_gate", w_gate, like=x, shape=(x.shape[-1], None))
    w_up = float_array("w_up", w_up, like=x, shape=w_gate.shape)
    w_down = float_array("w_down", w_down, like=x, shape=(w_gate.shape[1], None))
    g, gate = linear.forward(x, w_gate)
    u, up = linear.forward(x, w_up)
    s, silu_cache = silu.forward(g)
    y, down = linear.forward(s * u, w_down)
    return y, Cache(gate, up, silu_cache, s, u, down)


def backward(dy, cache):
    """Return dx, dw_gate, dw_up and dw_down. Two paths lead back to x, and add."""
    gate, up, silu_cache, s, u, down = cache
    dh, dw_down = linear.backward(dy, down)
    ds, du = dh * u, dh * s
    dg = silu.backward(ds, silu_cache)
    dx_gate, dw_gate = linear.backward(dg, gate)
    dx_up, dw_up = linear.backward(du, up)
    return dx_gate + dx_up, dw_gate, dw_up, dw_down
