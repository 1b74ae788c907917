"""Objects that keep their parameters, their gradients and what backward needs.

Whatever the checker asks of a layer it asks of a fresh copy, with the parameters it
wants: so none is touched, and nothing one call leaves behind is met by the next.
"""

import copy
import re
from collections.abc import Mapping
from types import ModuleType

import numpy as np

from .nests import gradient_key, is_nest, leaves, mapped
from .op import Op, argument_names, arguments, describe, listed, naming, spread

METHODS = (
    ("forward", "backward"),
    ("forward_pass", "backward_pass"),
    ("fprop", "bprop"),
    ("forward_prop", "backward_prop"),
    ("forward_propagation", "backward_propagation"),
    ("feedforward", "backprop"),
    ("forward", "backprop"),
    ("forward", "backward_pass"),
    ("__call__", "backward"),
    ("__call__", "backprop"),
)
ZEROING = (
    *("zero_grad", "zero_grads", "zero_gradients", "clear_grad", "clear_grads"),
    *("cleargrads", "reset_grad", "reset_grads", "reset_gradients", "flush_gradients"),
)
OUTPUTS = ("output", "outputs", "out", "y", "Y", "activation", "a", "A", "z", "Z")
INPUT_GRADIENTS = (
    *("dx", "dX", "dinputs", "dinput", "d_inputs", "d_input", "grad_input"),
    *("grad_inputs", "input_grad", "input_gradient", "gradInput", "delta", "dA_prev"),
)
VALUES = ("value", "values", "data", "val", "v", "array", "weight", "w")
GRADIENTS = ("grad", "gradient", "grads", "gradients", "g", "diff")
STORES = ("params", "parameters", "param", "weights", "variables", "trainable", "p")
GRADIENT_STORES = ("grads", "gradients", "grad", "derivatives", "g", "dparams")
RATES = ("lr", "rate", "alpha", "eta", "learning_rate", "learningrate", "step_size")
DEPTH = 6  # how far an object is looked into


class Layer:
    """An object with a forward and a backward, to be checked: see `Op.layer`."""

    def __init__(
        self,
        layer,
        *,
        forward=None,
        backward=None,
        output=None,
        dx=None,
        grads=None,
        zero=None,
        rate=None,
    ):
        if isinstance(layer, type):
            raise TypeError(
                f"{layer.__name__} is a class; make an object of it first: "
                f"check_gradients({layer.__name__}(…), x)"
            )
        self.layer = layer
        self.kind = type(layer).__name__
        usual = usual_methods(layer) or (None, None)
        self.forward = self._method("forward", forward or usual[0])
        self.backward = self._method("backward", backward or usual[1])
        self.output, self.dx, self.grads, self.rate = output, dx, grads, rate
        usual = (name for name in ZEROING if callable(getattr(layer, name, None)))
        zero = zero or next(usual, None)
        self.zero = None if zero is None else self._method("zero", zero)
        if rate is None and isinstance(self.backward, str):
            method = getattr(layer, self.backward)
            needed = arguments(method)[0]
            if needed == 2 and argument_names(method, 2)[1].lower() in RATES:
                self.rate = 1.0

    def _method(self, role, given):
        if (
            given is None
            or isinstance(given, str)
            and not callable(getattr(self.layer, given, None))
        ):
            what = f"no {role} method" if given is None else f"no method {given!r}"
            raise TypeError(
                f"{self.kind} has {what}; name it: "
                f"Op.layer(layer, {role}={'zero_grad' if role == 'zero' else '…'!r})"
            )
        return given

    def bind(self, inputs, options, wrt=None):
        """An op of the inputs and the parameters, which are found by a trial.

        Returns
        -------
        op : Op
        values : list
            The inputs, then the parameters.
        names : list of str
        remarks : list of str
            What of the layer is left out of the check.
        wrt : as given, or the parameters alone
        """
        method = self.forward
        method = getattr(self.layer, method) if isinstance(method, str) else None
        names = argument_names(method, len(inputs)) if method else None
        names = names or [f"input {i}" for i in range(len(inputs))]
        trial = _Trial(self, inputs, options, names)
        taken, pairs = set(names), []
        for path, gradient in trial.pairs:
            short = _called(path)
            name = short if short not in taken else _called(path, full=True)
            taken.add(name)
            pairs.append((name, path, gradient))
        bound = _Bound(self, trial, len(inputs), [pair[1:] for pair in pairs])
        op = Op(bound.forward, bound.backward)
        op.takes_dy = trial.takes_dy
        parameters = {name: arrays_of(trial.base)[path] for name, path, _ in pairs}
        remarks = trial.remarks(list(parameters), wrt)
        values = [*inputs, *parameters.values()]
        if wrt is None and trial.left is None and parameters:
            wrt = list(parameters)
        return op, values, [*names, *parameters], remarks, wrt

    # ---------------------------------------------------------------- calling the layer

    def call(self, role, layer, *arguments, **options):
        method = getattr(self, role)
        if isinstance(method, str):
            return getattr(layer, method)(*arguments, **options)
        return method(layer, *arguments, **options)

    def run_forward(self, layer, inputs, options):
        if self.zero is not None:
            self.call("zero", layer)
        returned = self.call("forward", layer, *inputs, **options)
        if isinstance(self.output, int):
            return listed(returned)[self.output]
        if returned is not None and self.output is None:
            return returned
        if self.output is not None:
            return _at(layer, self.output, f"output={self.output!r}")
        for name in OUTPUTS:
            if isinstance(getattr(layer, name, None), np.ndarray | np.generic):
                return getattr(layer, name)
        raise TypeError(
            f"forward of {self.kind} returned None and left no {OUTPUTS[0]}: name the "
            'attribute it leaves it in: Op.layer(layer, output="…")'
        )

    def run_backward(self, layer, dy):
        method = (
            getattr(layer, self.backward) if isinstance(self.backward, str) else None
        )
        if method is not None and arguments(method)[1] == 0:
            return method()
        rest = () if self.rate is None else (self.rate,)
        if method is None:
            return self.backward(layer, dy, *rest)
        return spread(method, dy, *rest)

    def input_gradients(self, layer, returned, names):
        """Of what backward returned or left, the part that belongs to the inputs."""
        if self.dx is not None:
            return _at(layer, self.dx, f"dx={self.dx!r}")
        if returned is not None:
            return returned
        own = vars(layer) if hasattr(layer, "__dict__") else {}
        found = {
            name: gradient_key(name, [k for k in own if k != name]) for name in names
        }
        if all(found.values()):
            kept = [own[key] for key in found.values()]
            if all(isinstance(g, np.ndarray) for g in kept):
                return kept[0] if len(kept) == 1 else tuple(kept)
        for name in INPUT_GRADIENTS if len(names) == 1 else ():
            if isinstance(own.get(name), np.ndarray):
                return own[name]
        return None


class _Trial:
    """One forward and one backward, after which parameters and gradients are known."""

    def __init__(self, how, inputs, options, names):
        self.how, self.options, self.names = how, options, names
        self.inputs = [mapped(_wide, v) if is_nest(v) else _wide(v) for v in inputs]
        self.base = _copied(how.layer, _narrow(how.layer))
        method = how.backward
        method = getattr(how.layer, method) if isinstance(method, str) else None
        self.takes_dy = method is None or arguments(method)[1] > 0
        self._try()
        single = [
            path for path in self._numbers() if _gradient_of(path, self.left_over)
        ]
        if single:
            for path in single:
                _put(self.base, path, np.array(float(_get(self.base, path))))
            self._try()
        self.left = how.input_gradients(self.after, self.returned, names)

    def _try(self):
        how = self.how
        self.after = self.fresh()
        with naming(
            f"the first forward of {how.kind}", **dict(zip(self.names, self.inputs))
        ):
            self.y = how.run_forward(self.after, self._given(), self.options)
        made = [p for p in arrays_of(self.after) if p not in arrays_of(self.base)]
        if made and self._made_lazily(made):
            self.base = _copied(self.after)
        self.constant = self._constant()
        before = _copied(self.after)
        rng = np.random.default_rng(0)
        dy = mapped(lambda y: np.asarray(rng.uniform(1.1, 1.9, np.shape(y))), self.y)
        with naming(f"the first backward of {how.kind}", dy=dy):
            self.returned = listed(how.run_backward(self.after, dy))
        self.left_over = arrays_of(self.after, numbers=True)
        self.pairs = self._pairs(before)

    def _numbers(self):
        """Where the layer holds single floats that forward leaves as they are."""
        before, after = (arrays_of(a, numbers=True) for a in (self.base, self.after))
        arrays = arrays_of(self.base)
        return [
            path
            for path in before
            if path not in arrays
            and path in after
            and _equal(before[path], after[path])
        ]

    def fresh(self, values=None):
        return _copied(self.base, values)

    def _given(self, shifted=False):
        def moved(v):
            v = v.copy() if isinstance(v, np.ndarray) else v
            floats = isinstance(v, np.ndarray) and v.dtype.kind == "f"
            return v * 1.25 + 0.125 if shifted and floats else v

        return [mapped(moved, v) for v in self.inputs]

    def _made_lazily(self, paths):
        """Whether what the first forward made is the same after another one."""
        again = _copied(self.after)
        if not any(_is_float(v) for i in self.inputs for _, v in leaves(i)):
            return False
        try:
            self.how.run_forward(again, self._given(shifted=True), self.options)
        except Exception:
            return False
        one, other = arrays_of(self.after), arrays_of(again)
        kept = [p for p in paths if p in other and _equal(one[p], other[p])]
        return any(np.any(one[path]) for path in kept)

    def _constant(self):
        """The arrays of the layer that no forward changes."""
        again = self.fresh()
        try:
            self.how.run_forward(again, self._given(shifted=True), self.options)
        except Exception:
            again = self.after
        before, after, other = map(arrays_of, (self.base, self.after, again))
        return [
            path
            for path, array in before.items()
            if all(path in a and _equal(array, a[path]) for a in (after, other))
        ]

    def _pairs(self, before):
        """(path of a parameter, path of its gradient), in the order of the layer."""
        arrays, how = self.left_over, self.how
        if how.rate is not None:
            was = arrays_of(before)
            return [
                (path, None)
                for path in self.constant
                if path in arrays and not _equal(was[path], arrays[path])
            ]
        if isinstance(how.grads, Mapping):
            known = {_dotted(p): p for p in arrays_of(self.base)}
            for name, where in how.grads.items():
                for what, among in ((name, known), (where, map(_dotted, arrays))):
                    if _plain(what) not in among:
                        raise ValueError(
                            f"grads names {what!r}, and {how.kind} has no such array; "
                            f"it has {', '.join(map(_dotted, arrays))}"
                        )
            all_ = {_dotted(p): p for p in arrays}
            return [(known[_plain(n)], all_[_plain(w)]) for n, w in how.grads.items()]
        if isinstance(how.grads, tuple | list):
            known = {_dotted(p): p for p in arrays_of(self.base)}
            unknown = [n for n in how.grads if _plain(n) not in known]
            if unknown:
                raise ValueError(
                    f"grads names {unknown[0]!r}, and {how.kind} has no such array; it "
                    f"has {', '.join(known)}"
                )
            return [(known[_plain(n)], i) for i, n in enumerate(how.grads)]
        found = ((path, _gradient_of(path, arrays)) for path in self.constant)
        pairs = [(path, gradient) for path, gradient in found if gradient]
        gradients = {gradient for _, gradient in pairs}
        pairs = [pair for pair in pairs if pair[0] not in gradients]
        return pairs or self._returned_besides()

    def _returned_besides(self):
        """Parameters whose gradients backward returns after those of the inputs."""
        if not isinstance(self.returned, tuple):
            return []
        more = self.returned[len(self.inputs) :]
        held = [path for path in self.constant if self.moves_y(path)]
        arrays = arrays_of(self.base)
        if not more or len(more) != len(held):
            return []
        shapes = [arrays[path].shape for path in held]
        if [np.shape(g) for g in more] != shapes or len(set(shapes)) < len(shapes):
            raise ValueError(
                f"backward of {self.how.kind} returned {len(self.returned)} gradients, "
                f"for {', '.join(self.names)} and what else? Name the parameters in "
                f"their order: Op.layer(layer, grads={tuple(map(_called, held))!r})"
            )
        return [(path, i) for i, path in enumerate(held)]

    def moves_y(self, path):
        array = arrays_of(self.base)[path]
        if array.size == 0:
            return False
        moved = array + 0.01 * (np.abs(array) + np.max(np.abs(array)) + 1e-3)
        try:
            y = self.how.run_forward(
                self.fresh({id(array): moved}), self._given(), self.options
            )
        except Exception:
            return False
        ours, theirs = ([v for _, v in leaves(a)] for a in (self.y, y))
        return not all(map(_equal, ours, theirs))

    def remarks(self, parameters, wrt):
        """What of the layer is not checked, since its gradient was not found."""
        said, paired = [], {path for path, _ in self.pairs}
        lost = [p for p in self.constant if p not in paired and self.moves_y(p)]
        if lost:
            one = _called(lost[0])
            said.append(
                f"not checked: {', '.join(map(_called, lost))}. The output depends on "
                "it, but no gradient of it was found on the layer; say where it is: "
                f"Op.layer(layer, grads={{{one!r}: '…'}})."
            )
        floats = any(_is_float(v) for i in self.inputs for _, v in leaves(i))
        if self.left is None and floats:
            asked = wrt is None or bool(set(np.atleast_1d(wrt)) & set(self.names))
            if not parameters or asked and wrt is not None:
                raise TypeError(
                    f"backward of {self.how.kind} returned None, and no gradient of "
                    f"{self.names[0]} was found on it: name the attribute it is left "
                    'in: Op.layer(layer, dx="…")'
                )
            if asked:
                said.append(
                    f"not checked: {', '.join(self.names)}. Backward returned None, "
                    "and no gradient of it was found on the layer; say where it is: "
                    "Op.layer(layer, dx='…')."
                )
        return said


class _Bound:
    """The layer as an op: each forward on a copy that has the parameters asked for."""

    def __init__(self, how, trial, count, pairs):
        self.how, self.trial, self.count, self.pairs = how, trial, count, pairs
        arrays = arrays_of(trial.base)
        self.parameters = [arrays[path] for path, _ in pairs]

    def forward(self, *values, **options):
        inputs, parameters = values[: self.count], values[self.count :]
        ids = map(id, self.parameters)
        layer = self.trial.fresh(dict(zip(ids, parameters)))
        y = self.how.run_forward(layer, inputs, options)
        return y, _Run(self, layer, y, inputs, parameters, options)

    def backward(self, dy, run):
        return run.backward(dy)


class _Run:
    """A forward that was made, for one backward after the other."""

    def __init__(self, bound, layer, y, inputs, parameters, options):
        self.bound, self.layer, self.y = bound, layer, y
        self.inputs, self.parameters, self.options = inputs, parameters, options
        self.used = False

    def backward(self, dy):
        bound, how = self.bound, self.bound.how
        if self.used:
            # The next forward and backward of the same layer: gradients that add up
            # show. A state carried from one forward to the next is no fault.
            y = how.run_forward(self.layer, self.inputs, self.options)
            ours, theirs = ([v for _, v in leaves(a)] for a in (self.y, y))
            if how.rate is not None or not all(map(_equal, ours, theirs)):
                _, fresh = bound.forward(*self.inputs, *self.parameters, **self.options)
                return fresh.backward(dy)
        self.used = True
        kept = [np.array(p) for p in self.parameters]
        returned = listed(how.run_backward(self.layer, dy))
        arrays = arrays_of(self.layer, numbers=True)
        if how.rate is not None:
            gradients = []
            for (path, _), before, parameter in zip(bound.pairs, kept, self.parameters):
                gradients.append((before - arrays[path]) / how.rate)
                parameter[...] = before  # it is meant to change them
        elif bound.pairs and isinstance(bound.pairs[0][1], int):
            more = returned[bound.count :]
            returned = returned[: bound.count]
            gradients = [more[i] for _, i in bound.pairs]
        else:
            gradients = [arrays.get(path) for _, path in bound.pairs]
        ours = how.input_gradients(self.layer, returned, bound.trial.names)
        gradients = self._of_inputs(ours) + gradients
        if bound.trial.takes_dy:
            return gradients
        return [g if g is None else mapped(lambda v: dy * v, g) for g in gradients]

    def _of_inputs(self, ours):
        names = self.bound.trial.names
        if isinstance(ours, Mapping):
            return [ours.get(gradient_key(name, ours)) for name in names]
        if len(names) == 1:
            alone = isinstance(ours, tuple) and len(ours) == 1
            return [ours[0] if alone else ours]
        if ours is None:
            return [None] * len(names)
        ours = list(ours) if isinstance(ours, tuple | list) else [ours]
        if len(ours) > len(names):
            raise ValueError(
                f"backward of {self.bound.how.kind} returned {len(ours)} gradients for "
                f"{len(names)} inputs; name the parameters the others belong to: "
                "Op.layer(layer, grads=('W', …))"
            )
        if len(ours) < len(names):
            floats = [i for i, v in enumerate(self.inputs) if _is_float(v)]
            if len(ours) != len(floats):
                floats = range(len(ours))
            full = [None] * len(names)
            for i, gradient in zip(floats, ours):
                full[i] = gradient
            return full
        return ours


def as_op(op, inputs, options, wrt=None):
    """What is to be checked as an op, with all its inputs and their names.

    Returns
    -------
    op, inputs, names (None: forward's own), remarks, wrt
    """
    if isinstance(op, Op):
        return op, inputs, None, [], wrt
    if isinstance(op, Layer):
        return op.bind(inputs, options, wrt)
    methods = None if isinstance(op, ModuleType | np.ufunc) else usual_methods(op)
    if methods and isinstance(op, type):
        first = argument_names(getattr(op, methods[0]), 1)[0]
        if first == "self":
            return Layer(op)  # which says that it is a class
        if first == "ctx":
            raise TypeError(
                f"{op.__name__} is an autograd.Function, which takes tensors. Let a "
                "forward make them and call apply, let a backward call "
                "torch.autograd.grad, and put the two together with Op"
            )
    elif methods and not isinstance(op, ModuleType):
        if methods[0] != "forward" or arguments(getattr(op, methods[1]))[0] <= 1:
            return Layer(op).bind(inputs, options, wrt)
        second = argument_names(op.backward, 2)[1].lower()
        if second in RATES:
            return Layer(op).bind(inputs, options, wrt)
    elif callable(op) and hasattr(op, "__code__"):
        returned = op(*(mapped(_wide, v) for v in inputs), **options)
        if (
            isinstance(returned, tuple)
            and len(returned) > 1
            and np.size(returned[0]) == 1
        ):
            return Op.loss(op), inputs, None, [], wrt
        raise TypeError(
            f"{op.__name__} returned {describe(returned)}; where is its backward? "
            "Op.plain(f, backward), or a function that returns (loss, gradients)"
        )
    return op, inputs, None, [], wrt


def usual_methods(layer):
    """The names of its forward and backward, if they are usual ones."""
    for names in METHODS:
        if all(callable(getattr(layer, name, None)) for name in names):
            return names
    return None


# --------------------------------------------------------------- looking into objects


def arrays_of(thing, numbers=False):
    """All arrays of floats in an object, by the path that leads to each.

    numbers : bool
        Whether single numbers are taken in, as arrays.
    """
    found = {}
    _collect(thing, (), found, set(), numbers)
    return found


def _collect(thing, path, found, seen, numbers):
    if isinstance(thing, np.ndarray):
        if thing.dtype.kind == "f":
            found[path] = thing
        return
    if isinstance(thing, float | np.floating):
        if numbers:
            found[path] = np.array(thing, float)
        return
    if id(thing) in seen or len(path) > DEPTH:
        return
    if isinstance(thing, Mapping):
        parts = [(key, part) for key, part in thing.items()]
    elif isinstance(thing, list | tuple):
        parts = list(enumerate(thing))
    elif hasattr(thing, "__dict__") and not (
        isinstance(thing, type | ModuleType) or hasattr(thing, "__code__")
    ):
        parts = list(vars(thing).items())
    else:
        return
    seen.add(id(thing))
    for key, part in parts:
        _collect(part, (*path, key), found, seen, numbers)


def _gradient_of(path, arrays):
    """The path of the gradient of the array at a path, or None."""
    *above, name = path
    beside = [p for p in arrays if len(p) == len(path) and list(p[:-1]) == above]
    others = {p[-1]: p for p in beside if p != path}
    if isinstance(name, str):
        key = gradient_key(name, others)
        if key is not None and key != name:
            return others[key]
        values = [n for n in (*others, name) if n in VALUES]
        if values == [name]:
            for key in GRADIENTS:
                if key in others:
                    return others[key]
    # In one container the values, in another one the gradients.
    for depth in range(len(path) - 1):
        store = path[depth]
        stores = {
            p[depth]
            for p in arrays
            if len(p) == len(path) and p[:depth] == path[:depth] and p[depth] != store
        }
        if not isinstance(store, str):
            continue
        known = [key for key in GRADIENT_STORES if key in stores]
        known = known if store in STORES else []
        own = gradient_key(store, stores)
        for other in filter(None, (own, *known)):
            place = (*path[:depth], other, *path[depth + 1 :])
            if place in arrays:
                return place
            keys = {p[-1]: p for p in arrays if p[:-1] == place[:-1]}
            key = gradient_key(name, keys) if isinstance(name, str) else None
            if key is not None:
                return keys[key]
    return None


def _called(path, full=False):
    """A path in words: "W", "layers[0].W"."""
    parts = list(path)
    if not full:
        if len(parts) > 1 and parts[-1] in VALUES:
            parts.pop()
        dull = [i for i, part in enumerate(parts[:-1]) if part in STORES]
        for i in reversed(dull):
            if isinstance(parts[i + 1], str):
                del parts[i]
    words = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in parts)
    return words.removeprefix(".")


def _dotted(path):
    return ".".join(map(str, path))


def _plain(name):
    """Brackets as dots: grads[0] as grads.0."""
    return re.sub(r"\[['\"]?([^\]'\"]*)['\"]?\]", r".\1", name)


def _get(thing, path):
    for key in path:
        by_key = isinstance(thing, Mapping | list | tuple)
        thing = thing[key] if by_key else getattr(thing, key)
    return thing


def _put(thing, path, value):
    *above, last = path
    thing = _get(thing, above)
    if isinstance(thing, Mapping | list):
        thing[last] = value
    else:
        setattr(thing, last, value)


def _at(layer, name, said):
    found = layer
    for key in _plain(name).split("."):
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, list | tuple) and key.isdigit():
            found = found[int(key)]
        else:
            found = getattr(found, key, None)
    if found is None:
        raise TypeError(f"{said}: {type(layer).__name__} has no {name} after the call")
    return found


def _copied(layer, values=None):
    """A deep copy, some of its arrays replaced by others: by id."""
    try:
        return copy.deepcopy(layer, dict(values or {}))
    except Exception as error:
        raise TypeError(
            f"{type(layer).__name__} cannot be copied ({error}), and a check needs a "
            "fresh one for each pass: write its forward and backward as functions, for "
            "Op.plain"
        ) from error


def _narrow(layer):
    """Its float32 arrays in float64, by id: a copy is to compute in that."""
    return {id(a): a.astype(np.float64) for a in arrays_of(layer).values()}


def _wide(value):
    """A float64 or integer copy of an array-like, as a check passes it on."""
    try:
        array = np.array(value)
    except ValueError:
        return value
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return array if array.dtype.kind in "iub" else value


def _is_float(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _equal(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
