"""Which positions of the input each position of the output is said to depend on."""

import numpy as np

from .jacobian import room, with_jacobians


@with_jacobians
def triangle(e, analytic, numeric):
    """Backward sends dy back to positions that forward hides from the output."""
    for axis, sent, used in _by_position(e, analytic, numeric):
        close = room(sent, used)
        used, sent = used > close, sent > close
        for masked, what in (
            (np.triu(np.ones(used.shape, bool), 1), "later"),
            (np.tril(np.ones(used.shape, bool), -1), "earlier"),
        ):
            leaks = int(np.sum(sent[masked]))
            if leaks and not used[masked].any() and used[masked.T].all():
                yield e.finding(
                    "missing_mask",
                    f"in forward no output depends on {what} positions of {e.name} "
                    f"(axis {axis}); backward sends dy back to them, in {leaks} of "
                    f"{int(masked.sum())} pairs",
                    "Zero what the mask hides before it is used, in backward too.",
                )
                return


@with_jacobians
def across(e, analytic, numeric):
    """Backward mixes positions that forward, summing within each, treats one by one."""
    moved_by = np.sum(np.abs(numeric) > room(analytic, numeric), axis=1)
    if np.all(moved_by <= 1):
        return
    for axis, sent, used in _by_position(e, analytic, numeric):
        close = room(sent, used)
        apart = ~np.eye(len(used), dtype=bool)
        mixed = int(np.sum(sent[apart] > close))
        if mixed > 1 and not np.any(used[apart] > close):
            yield e.finding(
                "wrong_axis",
                f"in forward each position along axis {axis} is on its own; backward "
                f"mixes them, in {mixed} of {int(apart.sum())} pairs",
                f"Sum over the axes that forward summed over, not over axis {axis}.",
            )
            return


def _by_position(e, *jacobians):
    """An axis of both x and y, and the largest entries between its positions."""
    for axis in range(min(e.x.ndim, e.y.ndim) - 1):
        length = e.x.shape[axis]
        if length != e.y.shape[axis] or length < 2:
            continue
        kept = {axis, e.y.ndim + axis}
        others = tuple(set(range(e.y.ndim + e.x.ndim)) - kept)
        pairs = [
            np.abs(jacobian).reshape(e.y.shape + e.x.shape).max(axis=others)
            for jacobian in jacobians
        ]
        yield axis, *pairs
