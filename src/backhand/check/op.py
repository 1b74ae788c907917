"""What can be checked, and how it is called."""

import functools
import inspect
from contextlib import contextmanager

import numpy as np


class Op:
    """A forward and a backward pass, put together to be checked.

    Parameters
    ----------
    forward : callable
        ``forward(*inputs, **options) -> (y, cache)``
    backward : callable
        ``backward(dy, cache) ->`` one gradient for each floating-point input, in
        forward's order (a bare array when there is one)

    See Also
    --------
    Op.plain : for passes that share no cache.
    """

    def __init__(self, forward, backward):
        for name, value in (("forward", forward), ("backward", backward)):
            if not callable(value):
                raise TypeError(f"{name} is {value!r}; it needs to be callable")
        self.forward = forward
        self.backward = backward

    @classmethod
    def plain(cls, f, backward):
        """Put together the style people write at home.

        Parameters
        ----------
        f : callable
            ``f(*inputs, **options) -> y``
        backward : callable
            ``backward(dy, *inputs) ->`` an array; a tuple or list of them, in the
            order of the floating-point inputs; or a dict by f's argument names.
            None stands for no gradient. It is given f's options too, as far as it
            has parameters of those names.

        Examples
        --------
        >>> square = Op.plain(lambda x: x * x, lambda dy, x: dy * 2 * x)
        >>> y, cache = square.forward(np.array([1.0, 3.0]))
        >>> square.backward(np.array([1.0, 10.0]), cache)
        array([ 2., 60.])
        """
        op = cls(f, backward)
        understood = _keywords(backward)

        @functools.wraps(f)  # keeps f's argument names
        def forward(*inputs, **options):
            shared = {k: v for k, v in options.items() if understood(k)}
            return f(*inputs, **options), (inputs, shared)

        op.forward = forward
        op.backward = lambda dy, cache: backward(dy, *cache[0], **cache[1])
        return op

    def __repr__(self):
        return f"Op({self.forward!r}, {self.backward!r})"


def _keywords(function):
    """A test of whether a function takes an argument of a name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some built-ins have no signature
        return lambda name: False
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return lambda name: anything or name in parameters


def argument_names(function, count):
    """The names of a function's first arguments, made up where it has none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    names = [p.name for p in parameters if p.kind in positional][:count]
    return names + [f"input {i}" for i in range(len(names), count)]


def defaults(function):
    """What a function's arguments are if left out."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    return {n: p.default for n, p in parameters.items() if p.default is not p.empty}


@contextmanager
def naming(call, **arrays):
    """Add to whatever is raised inside which call raised it, and on which shapes."""
    try:
        yield
    except Exception as error:
        shapes = ", ".join(f"{k} {describe(v)}" for k, v in arrays.items())
        error.add_note(f"raised by {call} on {shapes}")
        raise


def describe(value):
    """An array by shape and dtype, anything else by its type."""
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.shape} {value.dtype}"
    return type(value).__name__


def output_of(result):
    """y and the cache, from what a forward returned."""
    if not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(
            f"forward returned {describe(result)}; it needs to return (y, cache). "
            "For an f that returns y alone, use Op.plain(f, backward)"
        )
    return result


def real_array(name, value):
    """Value as an array of real numbers, or an error that names it."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # a ragged list
        raise TypeError(f"{name} is not an array: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} is {describe(array)}; it needs real numbers")
    return array


def gradients_of(returned, names, floats):
    """What a backward returned, one array or None for each input of forward.

    Parameters
    ----------
    returned : array, tuple, list, dict or None
    names : list of str
        Of all inputs.
    floats : list of int
        The positions of those that are floating point.

    Raises
    ------
    TypeError, ValueError
        A count, name or type that cannot be matched with the inputs.
    """
    floats = [names[position] for position in floats]
    if isinstance(returned, dict):
        unknown = [key for key in returned if key not in names]
        if unknown:
            raise ValueError(
                f"backward returned a gradient for {unknown[0]!r}; "
                f"forward's inputs are {', '.join(names)}"
            )
        by_name = returned
    elif returned is None:
        by_name = {}
    else:
        several = isinstance(returned, tuple | list)
        alone = not several or _is_one_array(returned, floats)
        values = [returned] if alone else returned
        if len(values) not in (len(floats), len(names)):
            raise ValueError(
                f"backward returned {_counted(len(values), 'gradient')}; forward has "
                f"{_counted(len(floats), 'floating-point input')}: {', '.join(floats)}"
            )
        by_name = dict(zip(floats if len(values) == len(floats) else names, values))
    return [
        None
        if by_name.get(name) is None
        else real_array(f"the gradient of {name}", by_name[name])
        for name in names
    ]


def _counted(count, noun):
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _is_one_array(returned, floats):
    """Whether a list is one array written out: [0.5, 1.0] for a lone input."""
    return (
        isinstance(returned, list)
        and len(floats) == 1 < len(returned)
        and not any(
            value is None or isinstance(value, np.ndarray) for value in returned
        )
    )
