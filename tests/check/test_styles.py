"""Layers, losses and models in the styles people write them in, each in one line."""

import numpy as np
import pytest

from backhand.check import Op, check_gradients, check_loss

rng = np.random.default_rng(0)
X = rng.normal(size=(4, 3))
W, B = rng.normal(size=(3, 5)), rng.normal(size=5)
TARGET = rng.normal(size=(4, 5))


def told(report):
    """Verdicts by name, and what is not checked."""
    return {row.name: row.verdict for row in report.rows}


def all_right(report, *names):
    assert report.agrees, report
    assert list(told(report)) == list(names) and not report.remarks
    return True


# --------------------------------------------------------------------- layer objects


class Attributes:
    """W and dW."""

    factor = 1.0

    def __init__(self, W=W, b=B):
        self.W, self.b = W.copy(), b.copy()

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = self.factor * self.x.T @ dy
        self.db = dy.sum(axis=0)
        return dy @ self.W.T


class Dicts:
    """params and grads, by equal names."""

    factor = 1.0

    def __init__(self):
        self.params = {"W": W.copy(), "b": B.copy()}
        self.grads = {}

    def forward(self, x):
        self.cache = x
        return x @ self.params["W"] + self.params["b"]

    def backward(self, dy):
        self.grads["W"] = self.factor * self.cache.T @ dy
        self.grads["b"] = dy.sum(axis=0)
        return dy @ self.params["W"].T


class Lists:
    """params and grads in lists, the gradients written into arrays that are there."""

    factor = 1.0

    def __init__(self):
        self.params = [W.copy(), B.copy()]
        self.grads = [np.zeros_like(W), np.zeros_like(B)]

    def forward(self, x):
        self.x = x
        return x @ self.params[0] + self.params[1]

    def backward(self, dy):
        self.grads[0][...] = self.factor * self.x.T @ dy
        self.grads[1][...] = dy.sum(axis=0)
        return dy @ self.params[0].T


class LeavesAll:
    """Neither method returns a thing."""

    factor = 1.0

    def __init__(self):
        self.weights, self.biases = W.copy(), B[None].copy()

    def forward(self, inputs):
        self.inputs = inputs
        self.output = inputs @ self.weights + self.biases

    def backward(self, dvalues):
        self.dweights = self.factor * self.inputs.T @ dvalues
        self.dbiases = dvalues.sum(axis=0, keepdims=True)
        self.dinputs = dvalues @ self.weights.T


class OtherNames:
    factor = 1.0

    def __init__(self):
        self.layer_input = None
        self.W = W.copy()

    def forward_pass(self, X, training=True):
        self.layer_input = X
        return X @ self.W

    def backward_pass(self, accum_grad):
        self.grad_W = self.factor * self.layer_input.T @ accum_grad
        return accum_grad @ self.W.T


class Lazy:
    """Makes its weights when it first sees how wide the input is."""

    factor = 1.0

    def __init__(self):
        self.parameters, self.gradients, self.is_initialized = {}, {}, False
        self.X = []

    def forward(self, X, retain_derived=True):
        if not self.is_initialized:
            self.parameters["W"] = np.random.normal(size=(X.shape[1], 5))
            self.gradients["W"] = np.zeros_like(self.parameters["W"])
            self.is_initialized = True
        self.X.append(X)
        return X @ self.parameters["W"]

    def backward(self, dLdy, retain_grads=True):
        self.gradients["W"] += self.factor * self.X[-1].T @ dLdy
        return dLdy @ self.parameters["W"].T

    def flush_gradients(self):
        self.X = []
        for gradient in self.gradients.values():
            gradient[...] = 0


class Parameter:
    def __init__(self, data):
        self.data, self.grad = data.copy(), np.zeros_like(data)


class Parameters:
    factor = 1.0

    def __init__(self):
        self.weight, self.bias = Parameter(W), Parameter(B)

    def __call__(self, x):
        self.x = x
        return x @ self.weight.data + self.bias.data

    def backward(self, dy):
        self.weight.grad = self.factor * self.x.T @ dy
        self.bias.grad = dy.sum(axis=0)
        return dy @ self.weight.data.T


class Model:
    """A stack of layers, parameters in each."""

    def __init__(self):
        self.layers = [Attributes(), Dicts.__new__(Dicts)]
        self.layers[1].params = {"W": rng.normal(size=(5, 2)), "b": rng.normal(size=2)}
        self.layers[1].grads = {}

    @property
    def factor(self):
        return self.layers[1].factor

    @factor.setter
    def factor(self, value):
        self.layers[1].factor = value

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, dy):
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        return dy


STYLES = {
    Attributes: ("x", "W", "b"),
    Dicts: ("x", "W", "b"),
    Lists: ("x", "params[0]", "params[1]"),
    LeavesAll: ("inputs", "weights", "biases"),
    OtherNames: ("X", "W"),
    Lazy: ("X", "W"),
    Parameters: ("x", "weight", "bias"),
    Model: ("x", "layers[0].W", "layers[0].b", "layers[1].W", "layers[1].b"),
}
of_every_style = pytest.mark.parametrize("style", STYLES)


@of_every_style
def test_a_layer_is_checked_in_one_line(style):
    assert all_right(check_gradients(style(), X), *STYLES[style])


@of_every_style
def test_a_parameters_gradient_that_is_wrong_is_found_in_it(style):
    layer = style()
    layer.factor = 2.0
    report = check_gradients(layer, X)
    off = [name for name, verdict in told(report).items() if verdict == "disagree"]
    assert len(off) == 1 and report.row(off[0]).ratio == pytest.approx(2)
    assert report.findings[0].kind == "constant_factor"


@of_every_style
def test_the_layer_is_left_alone(style):
    layer = style()
    before = {k: str(v) for k, v in vars(layer).items() if k != "layers"}
    check_gradients(layer, X)
    assert before == {k: str(v) for k, v in vars(layer).items() if k != "layers"}


@of_every_style
def test_a_layer_that_was_used_already_is_checked_as_well(style):
    layer = style()
    run = getattr(layer, "forward", None) or getattr(layer, "forward_pass", layer)
    run(X[:2])
    assert check_gradients(layer, X).agrees


def test_float32_parameters_are_taken_to_float64():
    assert check_gradients(
        Attributes(W.astype(np.float32)), X.astype(np.float32)
    ).agrees


def test_a_gradient_of_another_shape_is_told_of():
    class Layer(LeavesAll):
        def backward(self, dvalues):
            super().backward(dvalues)
            self.dbiases = dvalues.sum(axis=0)

    assert "wrong_shape" in [f.kind for f in check_gradients(Layer(), X).findings]


class Accumulates(Attributes):
    def __init__(self):
        super().__init__()
        self.dW, self.db = np.zeros_like(W), np.zeros_like(B)

    def backward(self, dy):
        self.dW += self.x.T @ dy
        self.db += dy.sum(axis=0)
        return dy @ self.W.T

    def forget(self):
        self.dW[...] = 0
        self.db[...] = 0


def test_gradients_that_add_up_are_named_or_told_how_to_be_zeroed():
    report = check_gradients(Accumulates(), X)
    assert {f.kind for f in report.findings} == {"not_repeatable"}
    assert "zero=" in report.findings[0].advice
    for zero in ("forget", Accumulates.forget):
        assert check_gradients(Op.layer(Accumulates(), zero=zero), X).agrees


def test_a_layer_that_zeroes_its_gradients_in_forward_is_right():
    class Layer(Accumulates):
        def forward(self, x):
            self.forget()
            return super().forward(x)

    assert check_gradients(Layer(), X).agrees


def test_a_backward_that_uses_up_its_cache_is_right():
    class Layer(Attributes):
        def backward(self, dy):
            dx = super().backward(dy)
            del self.x
            return dx

    assert check_gradients(Layer(), X).agrees


def test_a_state_carried_from_call_to_call_is_no_fault():
    class Recurrent:
        def __init__(self):
            self.W, self.h = rng.normal(size=(5, 5)), np.zeros((4, 5))

        def forward(self, x):
            self.before = self.h
            self.h = np.tanh(x + self.h @ self.W)
            return self.h

        def backward(self, dy):
            da = dy * (1 - self.h**2)
            self.dW = self.before.T @ da
            return da

    layer = Recurrent()
    layer.h = rng.normal(size=(4, 5))
    assert all_right(check_gradients(layer, TARGET), "x", "W")


def test_a_mask_drawn_from_the_layers_own_generator_repeats():
    class Dropout:
        def __init__(self):
            self.rng = np.random.default_rng(0)

        def forward(self, x):
            self.mask = self.rng.random(x.shape) < 0.5
            return x * self.mask * 2

        def backward(self, dy):
            return dy * self.mask * 2

    assert all_right(check_gradients(Dropout(), X), "x")


def test_a_mask_drawn_from_elsewhere_is_reseeded():
    def forward(x):
        mask = np.random.random(x.shape) < 0.5
        return x * mask, mask

    op = Op(forward, lambda dy, mask: dy * mask)
    report = check_gradients(op, X)
    assert report.verdict == "inconclusive"
    assert "reseed=lambda: np.random.seed(0)" in report.findings[0].advice
    assert check_gradients(op, X, reseed=lambda: np.random.seed(0)).agrees
    with pytest.raises(TypeError, match="reseed is 0; it needs a function"):
        check_gradients(op, X, reseed=0)


def test_a_backward_that_takes_a_rate_and_descends_at_once():
    class Dense:
        def __init__(self):
            self.weights, self.bias = W.copy(), B.copy()

        def forward(self, input):
            self.input = input
            return input @ self.weights + self.bias

        def backward(self, output_gradient, learning_rate):
            dx = output_gradient @ self.weights.T
            self.weights -= learning_rate * self.input.T @ output_gradient
            self.bias = self.bias - learning_rate * output_gradient.sum(axis=0)
            return dx

    assert all_right(check_gradients(Dense(), X), "input", "weights", "bias")


def test_gradients_of_parameters_may_be_returned_after_those_of_inputs():
    class Layer(Attributes):
        def backward(self, dy):
            return dy @ self.W.T, self.x.T @ dy, dy.sum(axis=0)

    assert all_right(check_gradients(Layer(), X), "x", "W", "b")
    with pytest.raises(ValueError, match=r"Name .*: Op.layer\(layer, grads=\('W', 'b'"):
        square = Layer(W[:, :3], B[:3])
        square.b = W[:, :3].copy()
        check_gradients(square, X[:3])


def test_names_that_nobody_would_guess_can_be_given():
    class Layer:
        def __init__(self):
            self.kernel = W.copy()

        def run(self, x):
            self.seen, self.result = x, (x @ self.kernel, "ok")

        def unrun(self, above):
            self.store = {"slope": self.seen.T @ above}
            self.below = above @ self.kernel.T

    named = {"forward": "run", "backward": "unrun", "output": "result.0"}
    with pytest.raises(TypeError, match="needs a forward and a backward"):
        check_gradients(Layer(), X)
    with pytest.raises(TypeError, match=r"no method 'go'; name it: Op.layer"):
        Op.layer(Layer(), forward="go", backward="unrun")
    with pytest.raises(TypeError, match='name the attribute it leaves .*output="'):
        check_gradients(Op.layer(Layer(), forward="run", backward="unrun"), X)
    with pytest.raises(TypeError, match='returned None, and no gradient of x .*dx="'):
        check_gradients(Op.layer(Layer(), **named), X)
    report = check_gradients(Op.layer(Layer(), dx="below", **named), X)
    assert report.agrees and list(told(report)) == ["x"]
    assert report.remarks[0].startswith("not checked: kernel. The output depends on it")
    assert report.remarks[0] in " ".join(str(report).split())
    full = Op.layer(Layer(), dx="below", grads={"kernel": "store['slope']"}, **named)
    assert all_right(check_gradients(full, X), "x", "kernel")
    with pytest.raises(ValueError, match="grads names 'core', and Layer has no such"):
        check_gradients(Op.layer(Layer(), dx="below", grads={"core": "b"}, **named), X)


def test_a_backward_that_gives_no_gradient_of_the_input_is_said_not_to():
    class First(Attributes):
        def backward(self, dy):
            super().backward(dy)

    report = check_gradients(First(), X)
    assert report.agrees and list(told(report)) == ["W", "b"]
    assert report.remarks[0].startswith("not checked: x. Backward returned None")
    assert all_right(check_gradients(First(), X, wrt=("W", "b")), "W", "b")
    with pytest.raises(TypeError, match="no gradient of x was found on it"):
        check_gradients(First(), X, wrt="x")


def test_single_numbers_are_parameters_too():
    class Scale:
        def __init__(self):
            self.gamma = 1.5

        def forward(self, x):
            self.x = x
            return self.gamma * x

        def backward(self, dy):
            self.dgamma = np.sum(dy * self.x)
            return self.gamma * dy

    assert all_right(check_gradients(Scale(), X), "x", "gamma")


def test_a_loss_object_whose_backward_takes_nothing():
    class MSE:
        def forward(self, y, t):
            self.gap = y - t
            return np.mean(self.gap**2)

        def backward(self):
            return 2 * self.gap / self.gap.size

    report = check_gradients(MSE(), TARGET + 1, TARGET, wrt="y")
    assert all_right(report, "y")
    assert report.row("y").analytic == pytest.approx(2 / 20)


def test_a_layer_of_two_inputs():
    class Add:
        def forward(self, a, b):
            return a + 2 * b

        def backward(self, dy):
            return dy, 2 * dy

    assert all_right(check_gradients(Add(), X, X + 1), "a", "b")


def test_a_lookup_is_a_layer_too():
    class Embedding:
        def __init__(self):
            self.W = rng.normal(size=(6, 3))

        def forward(self, ids):
            self.ids = ids
            return self.W[ids]

        def backward(self, dy):
            self.dW = np.zeros_like(self.W)
            np.add.at(self.dW, self.ids, dy)

    assert all_right(check_gradients(Embedding(), np.array([1, 4, 1])), "W")


# ------------------------------------------------------ told what to write instead


@pytest.mark.parametrize("put", [Op, Op.plain])
def test_methods_of_a_layer_are_no_functions(put):
    layer = Attributes()
    with pytest.raises(TypeError, match=r"write check_gradients\(layer, x\), with"):
        check_gradients(put(layer.forward, layer.backward), X)


def test_a_class_is_no_layer_yet():
    with pytest.raises(TypeError, match="Attributes is a class; make an object of it"):
        check_gradients(Attributes, X)
    with pytest.raises(TypeError, match="Attributes is a class; make an object of it"):
        Op.layer(Attributes)


def test_a_layer_that_cannot_be_copied_says_so():
    class Layer(Attributes):
        def __init__(self):
            super().__init__()
            self.open = (i for i in range(3))

    with pytest.raises(TypeError, match="Layer cannot be copied .* for Op.plain"):
        check_gradients(Layer(), X)


def test_a_cache_given_to_plain_is_told_of():
    with pytest.raises(TypeError, match=r"if the second is a cache, write Op\(f"):
        op = Op.plain(lambda x, w: (x @ w, (x, w)), lambda dy, cache: None)
        check_gradients(op, X, W)


def test_an_autograd_function_is_told_of():
    class Square:
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, dy):
            return dy

    with pytest.raises(TypeError, match="Square is an autograd.Function, .*with Op"):
        check_gradients(Square, X)


# ------------------------------------------------------------- losses that take no dy


def loss_of_one(w):
    y = X @ w - TARGET
    return np.mean(y**2), 2 * X.T @ y / y.size


def loss_of_two(w, b):
    y = X @ w + b - TARGET
    g = 2 * y / y.size
    return np.mean(y**2), (X.T @ g, g.sum(axis=0))


def test_a_function_that_returns_loss_and_gradient_is_checked_as_it_is():
    assert all_right(check_gradients(loss_of_one, W), "w")
    assert all_right(check_gradients(loss_of_two, W, B), "w", "b")
    assert all_right(check_gradients(Op.loss(loss_of_two), W, B), "w", "b")


def test_its_numbers_are_those_it_returned():
    def wrong(w):
        loss, gradient = loss_of_one(w)
        return loss, 3 * gradient

    report = check_gradients(wrong, W)
    row = report.row("w")
    assert row.analytic == wrong(W)[1][row.worst_index] and row.ratio == pytest.approx(
        3
    )
    assert [f.kind for f in report.findings] == ["constant_factor"]


def test_a_loss_and_its_gradient_may_be_two_functions():
    op = Op.loss(lambda w: loss_of_one(w)[0], lambda w: loss_of_one(w)[1])
    assert all_right(check_gradients(op, W), "w")


def test_gradients_of_a_loss_may_come_in_a_dict_or_one_by_one():
    def by_name(w, b):
        loss, (dw, db) = loss_of_two(w, b)
        return loss, {"dw": dw, "db": db}

    def one_by_one(w, b):
        loss, (dw, db) = loss_of_two(w, b)
        return loss, dw, db

    assert all_right(check_gradients(by_name, W, B), "w", "b")
    assert all_right(check_gradients(one_by_one, W, B), "w", "b")


def test_what_is_no_loss_is_told_of():
    with pytest.raises(
        TypeError, match=r"the loss is \(4, 3\).*needs to be one number"
    ):
        check_gradients(Op.loss(lambda x: (x, x)), X)
    with pytest.raises(TypeError, match=r"f returned float64|f returned \(\) float64"):
        check_gradients(Op.loss(np.sum), X)
    with pytest.raises(TypeError, match="where is its backward"):
        check_gradients(lambda x: 2 * x, X)


# ----------------------------------------------------------------- several outputs


def two(x):
    return (2 * x, 3 * x), x


@pytest.mark.parametrize(
    "backward",
    [
        lambda dy, cache: 2 * dy[0] + 3 * dy[1],
        lambda dh, dc, cache: 2 * dh + 3 * dc,
    ],
    ids=["a tuple", "one by one"],
)
def test_several_outputs_have_a_dy_each(backward):
    assert all_right(check_gradients(Op(two, backward), X), "x")


def test_several_outputs_of_a_plain_function_and_of_a_layer():
    op = Op.plain(lambda x: (2 * x, x.sum()), lambda dy, ds, x: 2 * dy + ds)
    assert all_right(check_gradients(op, X), "x")

    class Layer:
        def forward(self, x):
            return {"h": 2 * x, "c": x.sum()}

        def backward(self, d):
            return 2 * d["h"] + d["c"]

    assert all_right(check_gradients(Layer(), X), "x")


def test_the_one_of_several_that_counts_can_be_chosen():
    class Layer:
        def forward(self, x):
            return 2 * x, "weights"

        def backward(self, dy):
            return 2 * dy

    assert all_right(check_gradients(Op.layer(Layer(), output=0), X), "x")


def test_a_second_output_that_is_taken_for_the_cache_is_told_of():
    with pytest.raises(TypeError, match=r"two outputs, let forward return \(\(h, c\)"):
        check_gradients(Op(lambda x: (2 * x, 3 * x), lambda dh, dc: 2 * dh), X)


# ---------------------------------------------------------------- inputs held fixed


def squared(x, target, rate):
    return np.mean((x - target) ** 2) + rate * np.sum(x**2)


def squared_backward(dy, x, target, rate):
    return dy * (2 * (x - target) / x.size + 2 * rate * x)


@pytest.mark.parametrize("wrt", ["x", 0, ["x"], -3])
def test_inputs_can_be_held_fixed(wrt):
    op = Op.plain(squared, squared_backward)
    assert all_right(check_gradients(op, X, X + 1, 0.1, wrt=wrt), "x")


def test_who_does_not_say_so_is_told_to():
    op = Op.plain(squared, squared_backward)
    with pytest.raises(ValueError, match="held fixed, name the others: wrt='x'"):
        check_gradients(op, X, X + 1, 0.1)
    with pytest.raises(
        ValueError, match="wrt names 'z'; the inputs are x, target, rat"
    ):
        check_gradients(op, X, X + 1, 0.1, wrt="z")
    with pytest.raises(TypeError, match=r"wrt names target, which is \(2,\) int64"):
        check_gradients(op, X, np.array([1, 2]), 0.1, wrt=["x", "target"])


# ------------------------------------------------------------------- nests of arrays


def test_parameters_may_come_in_a_dict():
    def f(x, params):
        return np.tanh(x @ params["W"] + params["b"])

    def backward(dy, x, params):
        d = dy * (1 - f(x, params) ** 2)
        return d @ params["W"].T, {"dW": x.T @ d, "db": d.sum(axis=0)}

    params = {"W": W, "b": B}
    op = Op.plain(f, backward)
    assert all_right(check_gradients(op, X, params), "x", "params.W", "params.b")
    report = check_gradients(op, X, params, wrt="params.b")
    assert all_right(report, "params.b")


def test_gradients_may_come_in_nested_tuples_or_one_after_the_other():
    def f(x, w, b):
        return x @ w + b

    def nested(dy, x, w, b):
        return dy @ w.T, (x.T @ dy, dy.sum(axis=0))

    def yielded(dy, x, w, b):
        yield from (dy @ w.T, x.T @ dy, dy.sum(axis=0))

    for backward in (nested, yielded):
        assert all_right(check_gradients(Op.plain(f, backward), X, W, B), "x", "w", "b")


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x > 0, r"y is \(4, 3\) bool; it needs real numbers"),
        (lambda x: None, "forward returned None for y: is a return missing"),
        (lambda x: {}, "y holds no arrays"),
        (lambda x: (x, "no"), r"y\[1\] is .*needs real numbers"),
    ],
)
def test_an_output_that_has_no_derivative_is_refused_by_name(f, message):
    with pytest.raises(TypeError, match=message):
        check_gradients(Op.plain(f, lambda dy, x: dy), X)


# --------------------------------------------------------------------------- models


def network(params):
    h = np.tanh(X @ params["W1"] + params["b1"])
    y = h @ params["W2"] - TARGET[:, :2]
    g = 2 * y / y.size
    dz = g @ params["W2"].T * (1 - h * h)
    grads = {"dW1": X.T @ dz, "db1": dz.sum(axis=0), "dW2": h.T @ g}
    return np.mean(y**2), grads


PARAMS = {"W1": W, "b1": B, "W2": rng.normal(size=(5, 2))}


def test_one_function_may_give_the_loss_and_the_gradients():
    assert all_right(check_loss(network, PARAMS), *PARAMS)


def test_gradients_may_be_named_after_the_parameters():
    report = check_loss(lambda p: network(p)[0], lambda p: network(p)[1], PARAMS)
    assert all_right(report, *PARAMS)


def test_parameters_of_a_model_may_come_in_lists_and_in_dicts_of_dicts():
    def of_list(p):
        loss, grads = network(dict(zip(PARAMS, p)))
        return loss, list(grads.values())

    report = check_loss(of_list, list(PARAMS.values()))
    assert all_right(report, "params[0]", "params[1]", "params[2]")

    def of_nest(p):
        loss, g = network({**p["hidden"], "W2": p["out"][0]})
        return loss, {"hidden": {"dW1": g["dW1"], "db1": g["db1"]}, "out": [g["dW2"]]}

    nest = {"hidden": {"W1": W, "b1": B}, "out": [PARAMS["W2"]]}
    assert all_right(check_loss(of_nest, nest), "hidden.W1", "hidden.b1", "out[0]")


def test_one_array_of_parameters_will_do():
    assert all_right(check_loss(loss_of_one, W), "params")


def test_a_model_may_read_its_parameters_where_they_are():
    params = {name: value.copy() for name, value in PARAMS.items()}
    before = {name: value.copy() for name, value in params.items()}

    report = check_loss(lambda: network(params)[0], lambda: network(params)[1], params)
    assert all_right(report, *PARAMS)
    for name in params:
        np.testing.assert_array_equal(params[name], before[name])


def test_a_loss_that_draws_random_numbers_can_be_reseeded():
    def noisy(p):
        loss, grads = network(p)
        return loss + np.random.normal(), grads

    assert check_loss(noisy, PARAMS).verdict == "inconclusive"
    assert check_loss(noisy, PARAMS, reseed=lambda: np.random.seed(0)).agrees


def test_a_list_of_gradients_needs_as_many_as_there_are_parameters():
    with pytest.raises(TypeError, match="list of 1 for params; it needs a list of 3"):
        check_loss(lambda p: (1.0, [W]), list(PARAMS.values()))
    with pytest.raises(TypeError, match=r"needs to return \(loss, gradients\)"):
        check_loss(lambda p: 1.0, PARAMS)
