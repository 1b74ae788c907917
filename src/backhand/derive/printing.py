"""LaTeX for indexed expressions, in the order a person would write them."""

import re

from sympy import (
    Add,
    Idx,
    Indexed,
    KroneckerDelta,
    Mul,
    Pow,
    Rational,
    Sum,
    Symbol,
    default_sort_key,
    fraction,
    sympify,
)
from sympy.printing.latex import LatexPrinter


class _Printer(LatexPrinter):
    """SymPy's printer with the habits of a textbook.

    A positive term comes first, a sum comes last in its product, a sum over a whole
    axis shows only its index, and an array named ``dy`` is the gradient ∇y.
    """

    def _as_ordered_terms(self, expr, order=None):
        terms = super()._as_ordered_terms(expr, order)
        return sorted(terms, key=lambda term: term.could_extract_minus_sign())

    def _print_Mul(self, expr):
        if not isinstance(expr, Mul):  # Pow asks for this method too
            return super()._print_Mul(expr)
        coefficient, rest = expr.as_coeff_Mul()
        if coefficient.is_negative:
            flipped = _flip_a_difference(rest)
            if flipped is None:
                return f"- {self._print(-expr)}"
            expr = -coefficient * flipped
        sums = [factor for factor in Mul.make_args(expr) if isinstance(factor, Sum)]
        front = expr / Mul(*sums)
        below = fraction(front)[1]
        if sums and below != 1 and not below.has(Sum):  # 1/n in front of the sum
            return " ".join(map(self._print, [front, *sums]))
        if isinstance(expr, Mul):
            expr = Mul._from_args(sorted(expr.args, key=_rank))
        return super()._print_Mul(expr)

    def _print_Sum(self, expr):
        if any(k.args[1:] != ((low, high),) for k, low, high in expr.limits):
            return super()._print_Sum(expr)
        names = ",".join(self._print(k) for k, _, _ in reversed(expr.limits))
        summand = self._print(expr.function)
        if isinstance(expr.function, Add):
            summand = rf"\left({summand}\right)"
        return rf"\sum_{{{names}}} {summand}"

    def _print_Rational(self, expr):
        decimal = str(expr.evalf(6).round(6)).rstrip("0")
        if expr.q > 1000 and Rational(decimal) == expr:  # 0.044715, not 8943/200000
            return decimal
        return super()._print_Rational(expr)

    def _print_IndexedBase(self, expr):
        return self._print(expr.label)

    def _print_Symbol(self, expr, style="plain"):
        name = expr.name
        if re.fullmatch(r"d[A-Za-z]\w*", name) and name != "delta":
            return rf"\nabla {self._print(Symbol(name[1:]))}"
        tex = super()._print_Symbol(expr, style)
        is_word = tex == name and len(name) > 1 and name.isalpha()
        return rf"\mathrm{{{name}}}" if is_word else tex

    def _subscript(self, indices):
        letters_only = all(isinstance(index, Idx) for index in indices)
        return (" " if letters_only else ",").join(map(self._print, indices))

    def _print_KroneckerDelta(self, expr):
        return rf"\delta_{{{self._subscript(expr.args)}}}"

    def _print_Indexed(self, expr):
        subscript = self._subscript(expr.indices)
        base = self._print(expr.base)
        if "_" in base:  # {W_g}_i, and not W_g_i, which TeX refuses
            base = re.sub(r"(\\nabla )?(.*)", r"\1{\2}", base, count=1)
        return f"{base}_{{{subscript}}}"


def _flip_a_difference(product):
    """Absorb a minus into a factor such as (b - a), if there is one."""
    for factor in Mul.make_args(product):
        if isinstance(factor, Add) and any(
            term.could_extract_minus_sign() for term in factor.args
        ):
            return product / factor * -factor
    return None


def _rank(factor):
    base = factor.base if isinstance(factor, Pow) else factor
    kinds = ((Symbol, 1), (Indexed, 2), (KroneckerDelta, 4), (Add, 5), (Sum, 6))
    rank = next((r for kind, r in kinds if isinstance(base, kind)), 3)
    return (0 if base.is_number else rank, default_sort_key(factor))


_printer = _Printer({"order": "none"})


def latex(expr):
    r"""LaTeX of an indexed expression.

    >>> from backhand.derive import indexed, indices, size
    >>> from sympy import Sum
    >>> n = size("n")
    >>> (dp, p), (j, k) = indexed("dp p"), indices("j k", n)
    >>> print(latex(p[j] * (dp[j] - Sum(dp[k] * p[k], k))))
    p_{j} \left(\nabla p_{j} - \sum_{k} \nabla p_{k} p_{k}\right)
    """
    return _printer.doprint(sympify(expr))


class show:
    """One formula, or several joined by equals signs, as a notebook's output."""

    def __init__(self, *sides):
        self.sides = [sympify(side) for side in sides]

    def __repr__(self):
        return " = ".join(map(str, self.sides))

    def _repr_latex_(self):
        return rf"$\displaystyle {' = '.join(map(latex, self.sides))}$"
