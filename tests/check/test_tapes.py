"""The lines that the page on the reader's own code gives for PyTorch and JAX."""

import importlib
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from backhand.check import Op, check_gradients

PAGE = Path(__file__).parents[2] / "appendix/bring-your-own.ipynb"
X = np.random.default_rng(0).normal(size=(3, 4))


def snippet(library):
    """The code on the page that imports a library, less its check."""
    text = "\n".join(cell.source for cell in nbformat.read(PAGE, 4).cells)
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (code,) = [block for block in blocks if f"import {library}\n" in block]
    return code.replace("check_gradients(Op(forward, backward), x)", "")


def square_of_torch(torch, factor):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, dy):
            return factor * dy * ctx.saved_tensors[0]

    return {"Square": Square}


def square_of_jax(jax, factor):
    @jax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, dy: (factor * dy * x,))
    return {"square": square}


@pytest.mark.parametrize(
    ("library", "square"), [("torch", square_of_torch), ("jax", square_of_jax)]
)
def test_a_function_of_another_library_is_checked_in_a_few_lines(library, square):
    code = snippet(library)
    try:
        module = importlib.import_module(library)
    except ImportError:
        pytest.skip(f"{library} is not installed; pip install backhand[bench] has it")
    for factor, verdict in ((2, "agree"), (3, "disagree")):
        names = {"np": np, "Op": Op, "check_gradients": check_gradients}
        names |= square(module, factor)
        exec(code, names)
        op = Op(names["forward"], names["backward"])
        assert check_gradients(op, X).verdict == verdict
