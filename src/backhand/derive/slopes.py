"""Slopes: a difference quotient whose h cancels before it goes to zero.

>>> from sympy import Function, limit, simplify, symbols
>>> x, h = symbols("x h")
>>> difference_quotient(lambda u: u**2, 2, h)
h + 4
>>> difference_quotient(lambda u: (3 * u + 1) ** 2, x, h)
9*h + 18*x + 6

The power rule, for every n: all terms of the binomial expansion but the first keep
an h, and the limit drops them.

>>> n = symbols("n", integer=True, positive=True)
>>> first, rest = power_quotient(x, h, n)
>>> first
n*x**(n - 1)
>>> rest
h*Sum(h**(k - 2)*x**(-k + n)*binomial(n, k), (k, 2, n))

The chain rule: stretch the quotient by the change of the inner function, and it falls
apart into two quotients, the outer one taken from g(x).

>>> f, g = Function("f"), Function("g")
>>> outer, inner = chained_quotients(f, g, x, h)
>>> simplify(outer * inner - (f(g(x + h)) - f(g(x))) / h)
0
>>> chained_quotients(lambda u: u**2, lambda u: 3 * u + 1, x, h)
(3*h + 6*x + 2, 3)
>>> f(g(x)).diff(x)
Derivative(f(g(x)), g(x))*Derivative(g(x), x)

Two ways from x to y: the rise of one after the other is the whole rise.

>>> F, a, b = Function("F"), Function("a"), Function("b")
>>> sum(rises_in_turn(F, a, b, x, h))
-F(a(x), b(x)) + F(a(h + x), b(h + x))
"""

from sympy import Sum, Symbol, binomial, cancel


def difference_quotient(f, x, h):
    """The slope of the secant from x to x + h, with h cancelled where it can be."""
    return cancel((f(x + h) - f(x)) / h)


def power_quotient(x, h, n):
    """The difference quotient of x**n by the binomial theorem, in two parts.

    Returns the term without h, and h times all the others.
    """
    k = Symbol("k", integer=True, positive=True)
    rest = Sum(binomial(n, k) * x ** (n - k) * h ** (k - 2), (k, 2, n))
    return binomial(n, 1) * x ** (n - 1), h * rest


def chained_quotients(f, g, x, h):
    """The quotients of f, from g(x) on, and of g; their product is that of f(g(x))."""
    moved = g(x + h) - g(x)
    outer = (f(g(x) + moved) - f(g(x))) / moved
    return cancel(outer), cancel(moved / h)


def rises_in_turn(f, a, b, x, h):
    """How far f(a(x), b(x)) rises when first b moves alone, and after it a."""
    b_moved = f(a(x), b(x + h)) - f(a(x), b(x))
    a_moved = f(a(x + h), b(x + h)) - f(a(x), b(x + h))
    return a_moved, b_moved
