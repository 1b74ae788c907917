"""Arrays in dicts, lists and tuples, of whatever depth, and the names of gradients."""

from collections.abc import Mapping

import numpy as np

BEFORE = (
    *("d", "grad", "grads", "gradient", "gradients", "g", "dld", "dlossd", "djd"),
    *("dcostd", "delta", "nabla", "del", "gradof"),
)
AFTER = ("grad", "grads", "gradient", "gradients", "bar", "deriv", "derivative")


def is_nest(value):
    """Whether it is a dict, or a list or tuple with an array somewhere in it."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list | tuple) and any(
        isinstance(part, np.ndarray) or is_nest(part) for part in value
    )


def leaves(value, name=""):
    """(name, leaf) for all that a nest holds: "layers[0].w"."""
    if not is_nest(value):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(part, f"{name}.{key}" if name else str(key))
    else:
        for i, part in enumerate(value):
            yield from leaves(part, f"{name}[{i}]")


def rebuilt(value, parts):
    """A nest of the same form, its leaves taken from an iterator."""
    if not is_nest(value):
        return next(parts)
    if isinstance(value, Mapping):
        return {key: rebuilt(part, parts) for key, part in value.items()}
    made = [rebuilt(part, parts) for part in value]
    if isinstance(value, list):
        return made
    return type(value)(*made) if hasattr(value, "_fields") else tuple(made)


def mapped(function, value):
    """A nest with a function of each leaf; None stays None."""
    results = (None if v is None else function(v) for _, v in leaves(value))
    return rebuilt(value, iter(list(results)))


def gradient_key(name, keys):
    """Which of some keys names the gradient of something: itself, "dW", "W_grad".

    A key that is exact is preferred, then one that differs by case alone. None if
    there is none.
    """
    if name in keys:
        return name
    plain, found = _plain(name), {}
    for key in keys:
        found.setdefault(_plain(key), key)
    wanted = (plain, *(b + plain for b in BEFORE), *(plain + a for a in AFTER))
    for fold in (str, str.casefold):
        folded = {fold(key): original for key, original in found.items()}
        for candidate in wanted:
            if fold(candidate) in folded:
                return folded[fold(candidate)]
    return None


def _plain(key):
    return str(key).replace("_", "").replace(".", "")


def gradients_in(value, returned, name, whose="backward"):
    """The gradients of a nest's leaves, in order, from what was returned for it.

    Dicts go by their keys, or by keys that gradients of those would have; lists by
    position. None where there is none.
    """
    if returned is None:
        return [None for _ in leaves(value)]
    if not is_nest(value):
        return [returned]
    what = name or "params"
    if isinstance(value, Mapping):
        if not isinstance(returned, Mapping):
            raise TypeError(
                f"{whose} returned {type(returned).__name__}; it needs a dict by the "
                f"names of {what}"
            )
        found = _by_key(value, returned, what, whose)
    else:
        if not isinstance(returned, list | tuple) or len(returned) != len(value):
            count = f" of {len(returned)}" if hasattr(returned, "__len__") else ""
            raise TypeError(
                f"{whose} returned {type(returned).__name__}{count} for {what}; it "
                f"needs a list of {len(value)}, as {what} is"
            )
        found = dict(enumerate(returned))
    parts = value if isinstance(value, Mapping) else range(len(value))
    return [
        gradient
        for key in parts
        for gradient in gradients_in(value[key], found.get(key), f"{name}.{key}", whose)
    ]


def _by_key(value, returned, what, whose):
    spare = [key for key in returned if key not in value]
    found = {key: returned[key] for key in value if key in returned}
    for key in value:
        if key not in found and (match := gradient_key(key, spare)) is not None:
            found[key] = returned[match]
            spare.remove(match)
    if spare:
        raise ValueError(
            f"{whose} returned a gradient for {spare[0]!r}; {what} has "
            f"{', '.join(map(str, value))}"
        )
    return found
