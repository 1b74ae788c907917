"""Mistakes in the optimisers, which no finite difference sees.

An optimiser differentiates nothing, so it is checked against the closed form of the
steps it should take: its recursion written out as a sum over all gradients so far.
"""

import re
from dataclasses import dataclass

import numpy as np

from ..optim import SGD, Adam, Momentum
from .design import Design, normal
from .mistake import Mistake


def weighted_sums(gradients, beta):
    """Σ_i β^(t-i) g_i for each step t: what v ← β v + g runs up to."""
    t = np.arange(len(gradients))
    age = t[:, None] - t
    return np.tensordot(np.where(age >= 0, float(beta) ** np.abs(age), 0), gradients, 1)


def sgd_steps(gradients, lr):
    return -lr * gradients


def momentum_steps(gradients, lr, beta=0.9):
    return -lr * weighted_sums(gradients, beta)


def adam_steps(gradients, lr, beta1=0.9, beta2=0.999, eps=1e-8):
    def corrected(values, beta):
        # The weights (1 - β) β^(t-i) add up to 1 - β^t, so this is their mean.
        return weighted_sums(values, beta) / weighted_sums(np.ones_like(values), beta)

    m, v = corrected(gradients, beta1), corrected(gradients**2, beta2)
    return -lr * m / (np.sqrt(v) + eps)


LR = {"lr": 0.1}
CLOSED_FORMS = {SGD: sgd_steps, Momentum: momentum_steps, Adam: adam_steps}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WrongStep(Mistake):
    """A wrong optimiser. A design builds each parameter's gradients: (steps, n).

    Parameters
    ----------
    optimizer : class
        `op` with a wrong step.
    """

    optimizer: type

    checked_by = "closed form"

    @property
    def wrong_code(self):
        return self.optimizer

    def is_caught(self):
        """Whether its steps differ from the closed form on the example."""
        return not self.hides_behind(self.shown_by)

    def right_results(self, design):
        """Every step from the closed form, all parameters side by side."""
        steps, options = CLOSED_FORMS[self.op], LR | design.options
        return tuple(np.hstack([steps(each, **options) for each in design.inputs()]))

    def wrong_results(self, design):
        return taken_steps(self.optimizer(**LR | design.options), design.inputs())


def taken_steps(optimizer, gradients):
    """Every step an optimiser takes, all parameters side by side."""
    steps = []
    for now in zip(*gradients, strict=True):
        params = {str(i): np.zeros_like(g) for i, g in enumerate(now)}
        optimizer.step(params, {str(i): g for i, g in enumerate(now)})
        steps.append(np.hstack(list(params.values())))
    return tuple(steps)


def wrong_step(kind, **what):
    """Decorate an optimiser with a wrong step: its base is the right one."""

    def declare(optimizer):
        words = re.findall("[A-Z][a-z]*", optimizer.__name__)
        return WrongStep(
            name="-".join(words).lower(),
            op=optimizer.__base__,
            kind=kind,
            optimizer=optimizer,
            **what,
        )

    return declare


STEPS = 6
TWO_PARAMETERS = Design("two parameters, several steps", normal((STEPS, 3), (STEPS, 2)))
ONE_PARAMETER = Design("one parameter", normal((STEPS, 3)))
ONE_STEP = Design("one step", normal((1, 3), (1, 2)))
CONSTANT = Design(
    "a constant gradient", lambda rng: (np.tile(rng.normal(size=3), (STEPS, 1)),)
)
MINIMUM = Design("a start at the minimum", lambda rng: (np.zeros((STEPS, 3)),))


@wrong_step(
    "sign_flip",
    symptom="The loss rises from the first step.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[MINIMUM],
)
class Uphill(SGD):
    def step(self, params, grads):
        for name, w in params.items():
            w += self.lr * grads[name]  # w -=


@wrong_step(
    "double_count",
    symptom="Steps grow longer and longer and the loss blows up: every gradient so far "
    "is still in the sum.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[ONE_STEP],
)
class GradientsNeverZeroed(SGD):
    total = {}

    def step(self, params, grads):
        for name, w in params.items():
            total = self.total.get(name, 0) + grads[name]  # grads[name] alone
            self.total = self.total | {name: total}
            w -= self.lr * total


@wrong_step(
    "constant_factor",
    symptom="Ten times slower than the learning rate says: an average of gradients "
    "where a sum belongs.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[Design("no momentum", TWO_PARAMETERS.build, options={"beta": 0.0})],
)
class Averaged(Momentum):
    def step(self, params, grads):
        for name, w in params.items():
            v = self.beta * self.v.get(name, 0) + (1 - self.beta) * grads[name]
            self.v[name] = v  # beta * v + grad
            w -= self.lr * v


@wrong_step(
    "constant_factor",
    symptom="Far too slow: the learning rate is in the velocity and in the step.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[
        Design("a learning rate of one", TWO_PARAMETERS.build, options={"lr": 1.0})
    ],
)
class LearningRateTwice(Momentum):
    def step(self, params, grads):
        for name, w in params.items():
            v = self.beta * self.v.get(name, 0) + self.lr * grads[name]
            self.v[name] = v
            w -= self.lr * v  # lr once, here or there


@wrong_step(
    "dropped_path",
    symptom="Plain gradient descent under another name.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[ONE_STEP],
)
class VelocityForgotten(Momentum):
    def step(self, params, grads):
        for name, w in params.items():
            v = self.beta * self.v.get(name, 0) + grads[name]
            w -= self.lr * v  # self.v[name] = v is missing


@wrong_step(
    "wrong_operand",
    symptom="Parameters of one shape push one another: the velocity is kept by shape "
    "instead of by name.",
    shown_by=Design("two parameters of one shape", normal((STEPS, 3), (STEPS, 3))),
    hidden_by=[ONE_PARAMETER, TWO_PARAMETERS],
)
class VelocityShared(Momentum):
    def step(self, params, grads):
        for name, w in params.items():
            v = self.beta * self.v.get(w.shape, 0) + grads[name]
            self.v[w.shape] = v  # self.v[name]
            w -= self.lr * v


def moments(adam, name, dw):
    """Adam's running mean and mean square of one gradient, brought up to date."""
    adam.m[name] = adam.beta1 * adam.m.get(name, 0) + (1 - adam.beta1) * dw
    adam.v[name] = adam.beta2 * adam.v.get(name, 0) + (1 - adam.beta2) * dw * dw
    return adam.m[name], adam.v[name]


@wrong_step(
    "missing_factor",
    symptom="The first step is 3.162 times too long, and a thousand more pass until it "
    "no longer shows.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[
        Design(
            "a look at the last of many steps",
            lambda rng: (np.tile(rng.normal(size=3), (1000, 1)),),
            options={"beta2": 0.98},
            looks_at=(-1,),
        ),
    ],
)
class NoBiasCorrection(Adam):
    def step(self, params, grads):
        for name, w in params.items():
            m, v = moments(self, name, grads[name])
            w -= self.lr * m / (np.sqrt(v) + self.eps)  # both over 1 - beta**t


@wrong_step(
    "nonfinite",
    symptom="nan after the first step: 1 - beta⁰ is zero.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[],
)
class CountedFromZero(Adam):
    def step(self, params, grads):
        m_correction = 1 - self.beta1**self.t
        v_correction = 1 - self.beta2**self.t
        for name, w in params.items():
            m, v = moments(self, name, grads[name])
            w -= self.lr * (m / m_correction) / (np.sqrt(v / v_correction) + self.eps)
        self.t += 1  # before the corrections


@wrong_step(
    "eps_placement",
    symptom="Parameters with small gradients hardly move, though Adam's step should "
    "not depend on their size.",
    shown_by=Design(
        "small gradients", lambda rng: (1e-5 * rng.normal(size=(STEPS, 3)),)
    ),
    hidden_by=[
        Design("large gradients", lambda rng: (1e3 * rng.normal(size=(STEPS, 3)),))
    ],
)
class EpsInsideTheRoot(Adam):
    def step(self, params, grads):
        self.t += 1
        m_correction = 1 - self.beta1**self.t
        v_correction = 1 - self.beta2**self.t
        for name, w in params.items():
            m, v = moments(self, name, grads[name])
            w -= self.lr * (m / m_correction) / np.sqrt(v / v_correction + self.eps)


@wrong_step(
    "wrong_operand",
    symptom="The mean remembers a thousand steps and the scale ten: sluggish, then "
    "nervous.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[CONSTANT, ONE_STEP],
)
class BetasExchanged(Adam):
    def __init__(self, beta1=0.9, beta2=0.999, **options):
        super().__init__(beta1=beta2, beta2=beta1, **options)


@wrong_step(
    "wrong_operand",
    symptom="The bias correction runs ahead by as many steps as there are parameters, "
    "and so ends too early.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[ONE_PARAMETER],
)
class CountedPerParameter(Adam):
    def step(self, params, grads):
        for name, w in params.items():
            self.t += 1  # once a step, before the loop
            m, v = moments(self, name, grads[name])
            m_hat, v_hat = m / (1 - self.beta1**self.t), v / (1 - self.beta2**self.t)
            w -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)


@wrong_step(
    "extra_factor",
    symptom="The corrected moments are stored and corrected again: from the second "
    "step on they grow.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[ONE_STEP],
)
class CorrectionStored(Adam):
    def step(self, params, grads):
        self.t += 1
        for name, w in params.items():
            m, v = moments(self, name, grads[name])
            self.m[name] = m_hat = m / (1 - self.beta1**self.t)  # m_hat = ... only
            self.v[name] = v_hat = v / (1 - self.beta2**self.t)
            w -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)


@wrong_step(
    "wrong_formula",
    symptom="Steps as large as one over the gradient: a flat direction sends the "
    "weights away.",
    shown_by=TWO_PARAMETERS,
    hidden_by=[
        Design("gradients of one", lambda rng: (np.ones((STEPS, 3)),)),
    ],
)
class RootForgotten(Adam):
    def step(self, params, grads):
        self.t += 1
        for name, w in params.items():
            m, v = moments(self, name, grads[name])
            m_hat, v_hat = m / (1 - self.beta1**self.t), v / (1 - self.beta2**self.t)
            w -= self.lr * m_hat / (v_hat + self.eps)  # np.sqrt(v_hat)
