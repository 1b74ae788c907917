"""What can be checked, and how it is called."""

import functools
import inspect
from collections.abc import Mapping
from contextlib import contextmanager
from types import GeneratorType, ModuleType

import numpy as np

from .nests import gradient_key, gradients_in, is_nest, leaves, mapped, rebuilt

POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


class Op:
    """A forward and a backward pass, put together to be checked.

    Parameters
    ----------
    forward : callable
        ``forward(*inputs, **options) -> (y, cache)``; y may be a tuple or a dict of
        several outputs
    backward : callable
        ``backward(dy, cache) ->`` one gradient for each floating-point input, in
        forward's order (a bare array when there is one). The dy of several outputs
        come as y does, or one after the other if backward takes as many.

    See Also
    --------
    Op.plain : for passes that share no cache.
    Op.loss : for what ends in one number and takes no dy.
    Op.layer : for objects that keep their parameters and gradients.
    """

    takes_dy = True

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
        _not_of_an_object("Op.plain", f, backward)

        @functools.wraps(f)  # keeps f's argument names
        def forward(*inputs, **options):
            shared = {k: v for k, v in options.items() if understood(k)}
            y = f(*inputs, **options)
            if isinstance(y, tuple) and len(y) == 2 != 1 + len(inputs):
                if arguments(backward) == (2, 2):
                    raise TypeError(
                        "f returned two things, and backward takes two, whatever the "
                        "inputs: if the second is a cache, write Op(f, backward)"
                    )
            return y, (inputs, shared)

        op.forward = forward
        op.backward = lambda dy, cache: spread(backward, dy, *cache[0], **cache[1])
        return op

    @classmethod
    def loss(cls, f, gradient=None):
        """Put together what ends in one number and takes no dy.

        Parameters
        ----------
        f : callable
            ``f(*inputs, **options) -> (loss, gradients)``, or the loss alone where
            there is a second function. The gradients come as in `Op.plain`.
        gradient : callable, optional
            ``gradient(*inputs, **options) -> gradients``

        Examples
        --------
        >>> from backhand import check_gradients
        >>> op = Op.loss(lambda x: (np.sum(x**2), 2 * x))
        >>> check_gradients(op, np.array([1.0, 3.0])).verdict
        'agree'
        """
        for name, value in (("f", f), ("gradient", gradient or f)):
            if not callable(value):
                raise TypeError(f"{name} is {value!r}; it needs to be callable")

        @functools.wraps(f)
        def forward(*inputs, **options):
            returned = f(*inputs, **options)
            if gradient is not None:
                return _number(returned), lambda: gradient(*inputs, **options)
            if not (isinstance(returned, tuple) and len(returned) >= 2):
                raise TypeError(
                    f"f returned {describe(returned)}; it needs to return "
                    "(loss, gradients). For two functions: Op.loss(f, gradient)"
                )
            number, *rest = returned
            return _number(number), lambda: rest[0] if len(rest) == 1 else tuple(rest)

        def backward(dy, cache):
            returned = listed(cache())
            if is_nest(returned):
                return mapped(lambda g: dy * np.asarray(g), returned)
            return None if returned is None else dy * np.asarray(returned)

        op = cls(forward, backward)
        op.takes_dy = False
        return op

    @classmethod
    def layer(cls, layer, **how):
        """Check an object: ``forward(x)``, ``backward(dy)``, the rest kept on itself.

        ``check_gradients(layer, x)`` does that, too, where the names are usual ones.
        What the two do not return is looked for on the object: y as ``output``, dx as
        ``dinputs``. Parameters are arrays of floats beside which there is a gradient:
        ``W`` and ``dW``, ``params["W"]`` and ``grads["W"]``, lists of both, objects
        with ``data`` and ``grad``, also within other objects. Copies of the layer are
        asked; itself is left alone.

        Parameters
        ----------
        layer : object
        forward, backward : str or callable, optional
            Their names, or functions of (layer, …).
        output : str or int, optional
            The attribute in which forward leaves y, or which of several things that it
            returns is y.
        dx : str, optional
            The attribute in which backward leaves the gradient of the input.
        grads : dict or tuple of str, optional
            Where the gradient of a parameter is left: ``{"W": "slope_of_W"}``. A tuple
            names the parameters whose gradients backward returns after the inputs'.
        zero : str or callable, optional
            What sets accumulated gradients to zero, called before each pass. A method
            called ``zero_grad``, or alike, is found.
        rate : float, optional
            For a ``backward(dy, rate)`` that changes the parameters at once: their
            gradients are told from that.

        Examples
        --------
        >>> from backhand import check_gradients
        >>> class Double:
        ...     def run(self, x):
        ...         return 2 * x
        ...     def back(self, dy):
        ...         return 2 * dy
        >>> op = Op.layer(Double(), forward="run", backward="back")
        >>> check_gradients(op, np.ones(3)).verdict
        'agree'
        """
        from .layer import Layer

        return Layer(layer, **how)

    def __repr__(self):
        return f"Op({self.forward!r}, {self.backward!r})"


def arguments(function):
    """How many positional arguments a function needs, and how many it takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-ins have no signature
        return 0, np.inf
    places = [p for p in parameters if p.kind in POSITIONAL]
    needed = sum(p.default is p.empty for p in places)
    anything = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return needed, np.inf if anything else len(places)


def spread(backward, dy, *rest, **options):
    """Call a backward with the dy of several outputs as it takes them."""
    if isinstance(dy, tuple | list):
        needed, most = arguments(backward)
        if needed > 1 + len(rest) and needed <= len(dy) + len(rest) <= most:
            return backward(*dy, *rest, **options)
    return backward(dy, *rest, **options)


def listed(returned):
    """What a backward returned, a generator as the tuple it stands for."""
    return tuple(returned) if isinstance(returned, GeneratorType) else returned


def _number(loss):
    if np.size(loss) != 1:
        raise TypeError(
            f"the loss is {describe(np.asarray(loss))}; it needs to be one number. For "
            "an output with a dy: Op.plain(f, backward)"
        )
    return np.reshape(loss, ())


def _not_of_an_object(call, *functions):
    """Refuse the two methods of one object, which shares its state between them."""
    owners = [getattr(function, "__self__", None) for function in functions]
    owner = owners[0]
    if owner is None or isinstance(owner, type | ModuleType):
        return
    if all(other is owner for other in owners) and arguments(functions[1])[0] <= 1:
        name = type(owner).__name__
        raise TypeError(
            f"{call} was given two methods of one {name}, which keeps its state on "
            f"itself: write check_gradients(layer, x), with layer the {name}"
        )


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
    names = [p.name for p in parameters if p.kind in POSITIONAL][:count]
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


def output_of(op, result):
    """y and the cache, from what a forward returned."""
    if not (isinstance(result, tuple) and len(result) == 2):
        _not_of_an_object("Op", op.forward, op.backward)
        raise TypeError(
            f"forward returned {describe(result)}; it needs to return (y, cache). "
            "For an f that returns y alone, use Op.plain(f, backward)"
        )
    y, cache = result
    if isinstance(cache, np.ndarray) and not is_nest(y) and cache.dtype.kind == "f":
        _, taken, *_ = [*argument_names(op.backward, 2), ""]
        if taken.startswith(("d", "grad")) and taken[1:2].isalpha():
            if taken not in ("data", "dims", "derived") and not taken[1:].isdigit():
                raise TypeError(
                    f"forward returned two arrays, the second as the cache, and "
                    f"backward takes it as {taken}, as one would a gradient. For two "
                    "outputs, let forward return ((h, c), cache) and backward take "
                    "(dh, dc), cache"
                )
    return y, cache


def flattened(y):
    """All outputs as one array of numbers; y itself where there is one.

    Raises
    ------
    TypeError
        Of what there are no derivatives, by its name.
    """
    if not is_nest(y):
        return _output("y", y)
    parts = [(name, part) for name, part in leaves(y, "y") if part is not None]
    if not parts:
        raise TypeError("y holds no arrays; forward needs to return its output")
    return np.concatenate([np.ravel(_output(*part)) for part in parts])


def like_outputs(outputs, dy):
    """The reverse: from one array, a part for each of several outputs."""
    if not is_nest(outputs):
        return dy
    parts, start = [], 0
    for _, output in leaves(outputs):
        size = 0 if output is None else np.size(output)
        part = dy[start : start + size]
        parts.append(None if output is None else part.reshape(np.shape(output)))
        start += size
    return rebuilt(outputs, iter(parts))


def _output(name, value):
    if value is None:
        raise TypeError(f"forward returned None for {name}: is a return missing?")
    array = real_array(name, value)
    if array.dtype.kind == "b":
        raise TypeError(
            f"{name} is {describe(array)}; it needs real numbers: a comparison has no "
            "derivative"
        )
    return array


def real_array(name, value):
    """Value as an array of real numbers, or an error that names it."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # a ragged list
        raise TypeError(f"{name} is not an array: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} is {describe(array)}; it needs real numbers")
    return array


def gradients_of(returned, inputs, floats, wanted):
    """What a backward returned, one array or None for each array among the inputs.

    Parameters
    ----------
    returned : array, tuple, list, dict, generator or None
    inputs : dict of name to input
        All of them; an input may be a nest of arrays.
    floats, wanted : list of str
        Those that hold floating-point numbers, and those that are differentiated.

    Raises
    ------
    TypeError, ValueError
        A count, name or type that cannot be matched with the inputs.
    """
    returned = listed(returned)
    if isinstance(returned, Mapping):
        by_name = _named(returned, inputs)
    elif returned is None:
        by_name = {}
    else:
        by_name = _in_order(returned, inputs, floats, wanted)
    return [
        None if gradient is None else real_array(f"the gradient of {leaf}", gradient)
        for name, value in inputs.items()
        for (leaf, _), gradient in zip(
            leaves(value, name), gradients_in(value, by_name.get(name), name)
        )
    ]


def _named(returned, inputs):
    """A dict of gradients, by the inputs' names."""
    by_name, spare = {}, dict(returned)
    for name in inputs:
        key = gradient_key(name, spare)
        if key is not None:
            by_name[name] = spare.pop(key)
    if not spare:
        return by_name
    dicts = [
        n for n, v in inputs.items() if isinstance(v, Mapping) and n not in by_name
    ]
    if len(dicts) != 1:
        raise ValueError(
            f"backward returned a gradient for {next(iter(spare))!r}; "
            f"forward's inputs are {', '.join(inputs)}"
        )
    return by_name | {dicts[0]: spare}


def _in_order(returned, inputs, floats, wanted):
    """One gradient, or several in the order of the inputs."""
    several = isinstance(returned, tuple | list)
    lone = inputs[wanted[0]] if len(wanted) == 1 else None
    if not several or lone is not None and _is_one_array(returned, lone, len(floats)):
        returned = [returned]
    nested = any(isinstance(part, tuple) for part in returned)
    arrays = [v for name in wanted for v in dict(leaves(inputs[name])).values()]
    if nested and not any(is_nest(inputs[name]) for name in wanted):
        flat = [part for _, part in leaves(tuple(returned))]
        if len(flat) == len(arrays) != len(returned):
            return dict(zip(wanted, flat))
    for names in (wanted, floats, list(inputs)):
        if len(returned) == len(names):
            return dict(zip(names, returned))
    some = floats if len(wanted) == len(floats) else wanted
    held = ""
    if len(returned) < len(wanted):
        held = f". If some are held fixed, name the others: wrt={wanted[0]!r}"
    raise ValueError(
        f"backward returned {_counted(len(returned), 'gradient')}; forward has "
        f"{_counted(len(some), 'floating-point input')}: {', '.join(some)}{held}"
    )


def _counted(count, noun):
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _is_one_array(returned, wanted, floats):
    """Whether a list is one array written out: [0.5, 1.0] for a lone input.

    Or the gradients of a lone input that is a list itself.
    """
    if is_nest(wanted):
        fits = (
            not isinstance(wanted, Mapping) and len(returned) == len(wanted) != floats
        )
        return fits and not (len(returned) == 1 and is_nest(returned[0]))
    return (
        isinstance(returned, list)
        and len(returned) > 1
        and not any(
            value is None or isinstance(value, np.ndarray) for value in returned
        )
    )
