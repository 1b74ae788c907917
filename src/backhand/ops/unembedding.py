"""Unembedding: logits = h tableᵀ.   (9.6); chapters/linear, chapters/cross-entropy"""

from typing import NamedTuple

from ._arguments import Array, float_array, matmul, rows


class Cache(NamedTuple):
    h: Array      # (..., width)
    table: Array  # (vocab, width)


def forward(h, table):
    """Score each row of h against every row of the table: logits = h tableᵀ.

    Parameters
    ----------
    h : array of floats, (width,) or (..., width)
    table : (vocab, width), laid out as an embedding's so that one table can be both

    Returns
    -------
    logits : (..., vocab)
    cache : Cache, h and table themselves

    Raises
    ------
    TypeError, ValueError
        An array is not float32 or float64, the dtypes or widths differ, or an
        axis is empty.

    Notes
    -----
    (9.6), where W_U is the table's transpose; derived in chapters/linear.
    """
    h = float_array("h", h, min_ndim=1)
    table = float_array("table", table, like=h, shape=(None, h.shape[-1]))
    return matmul(h, table.T), Cache(h, table)


def backward(dy, cache):
    """Return dh = dy table and dtable = dyᵀ h."""
    h, table = cache
    dy = float_array("dy", dy, like=h, shape=h.shape[:-1] + table.shape[:1])
    dh = matmul(dy, table)
    dtable = rows(dy).T @ rows(h)
    return dh, dtable
