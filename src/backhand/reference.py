"""The derivative reference: one row an operation, and where everything about it is.

Appendix A of the book is rendered from `ROWS`, in this order; the tests hold each row
to what it says. Formulas are read from `backhand.derive`, where SymPy proves them.

>>> row("rms_norm").chapter
'normalization'
>>> print(*row("rms_norm").gradients_latex)
x gain
"""

from dataclasses import dataclass

from . import derive, mistakes, ops, optim, transformer
from .check import differences

CHAPTERS = (
    "slopes",
    "chain-rule",
    "gradients",
    "jacobians",
    "checking",
    "sigmoid-tanh",
    "relu",
    "silu-gelu",
    "softmax",
    "cross-entropy",
    "linear",
    "normalization",
    "attention",
    "multi-head-attention",
    "rope",
    "swiglu",
    "residual",
    "embedding",
    "optimizers",
    "capstone",
    "which-bugs-still-train",
)

# Where a reader whose gradient shows a mistake of this kind learns about it.
CHAPTER_OF_KIND = {
    "wrong_shape": "jacobians",
    "transpose": "jacobians",
    "missing_sum": "linear",
    "silent_broadcast": "linear",
    "wrong_operand": "linear",
    "constant_factor": "cross-entropy",
    "sign_flip": "gradients",
    "not_accumulated": "embedding",
    "double_count": "residual",
    "missing_mask": "attention",
    "quadratic_memory": "attention",
    "dropped_path": "swiglu",
    "dropped_coupling": "normalization",
    "wrong_axis": "normalization",
    "eps_placement": "normalization",
    "variance_n_vs_n1": "normalization",
    "missing_factor": "silu-gelu",
    "extra_factor": "silu-gelu",
    "wrong_formula": "silu-gelu",
    "wrong_point": "chain-rule",
    "nonfinite": "softmax",
    "float_noise": "slopes",
    "integer_input": "slopes",
    "kink": "relu",
    "inplace_mutation": "checking",
    "not_repeatable": "checking",
    "nondeterministic": "checking",
    "uninformative_upstream": "checking",
}


@dataclass(frozen=True)
class Row:
    """What the reference says of one operation.

    Parameters
    ----------
    name : str
        The name of its module, or of the optimiser: "rms_norm".
    title : str
        What people call it: "RMSNorm".
    section : str
        The heading it stands under.
    sources : tuple of str
        Where the companion texts have it: "A.4" is a section of the appendix,
        "(9.7)" an equation of chapter 09, "C" the note on derivatives.
    chapter : str
        The chapter that derives it, one of `CHAPTERS`.
    op : module, class, function or None
        What computes it.
    formulas : tuple of str
        LaTeX, for a row that is no op with a gradient to prove.
    side : str
        Which pass `formulas` belong to, "forward" or "backward"; empty for what is
        neither, as an optimiser's step or a measurement.
    """

    name: str
    title: str
    section: str
    sources: tuple[str, ...]
    chapter: str
    op: object = None
    formulas: tuple[str, ...] = ()
    side: str = ""

    @property
    def anchor(self):
        """The row's id on the page: "rms-norm"."""
        return self.name.replace("_", "-")

    @property
    def claim(self):
        """What SymPy proves of it, a `derive.Claim`; None for a row without."""
        return derive.CLAIMS.get(self.name)

    @property
    def mistakes(self):
        """Its entries in the catalogue of mistakes."""
        return tuple(m for m in mistakes.CATALOGUE if m.op_name == self.name)

    @property
    def forward_latex(self):
        """Equations of the forward pass: names on the way first, the output last."""
        return tuple(self.claim.forward_latex())

    @property
    def gradients_latex(self):
        """An equation for each gradient, a dict by name.

        Those of values on the way come first, under the letter the forward pass
        gives them, since those of the inputs are written in terms of them.
        """
        return {name: self.claim.latex(name) for name in self.claim.gradients}


def _op(name, title, section, sources, chapter):
    return Row(name, title, section, sources, chapter, getattr(ops, name))


ACTIVATIONS = "Activations"
PROBABILITIES = "Softmax and cross-entropy"
NORMS = "Norms"
ATTENTION = "Linear layers and attention"
PATHS = "Residuals, gates and embeddings"
OPTIMISERS = "Optimisers"
VERIFYING = "Verifying any of this"

ROWS = (
    _op("sigmoid", "Sigmoid", ACTIVATIONS, ("A.1",), "sigmoid-tanh"),
    _op("tanh", "Tanh", ACTIVATIONS, ("A.1",), "sigmoid-tanh"),
    _op("relu", "ReLU", ACTIVATIONS, ("A.1",), "relu"),
    _op("leaky_relu", "Leaky ReLU", ACTIVATIONS, ("A.1",), "relu"),
    _op("silu", "SiLU", ACTIVATIONS, ("A.1",), "silu-gelu"),
    _op("gelu", "GELU", ACTIVATIONS, ("A.1", "A.2"), "silu-gelu"),
    _op(
        "softmax",
        "Softmax",
        PROBABILITIES,
        ("A.1", "A.3", "(9.3)", "(9.3b)", "C"),
        "softmax",
    ),
    _op(
        "cross_entropy",
        "Cross-entropy of a softmax",
        PROBABILITIES,
        ("A.3", "(9.3)", "(9.4)", "(9.5)"),
        "cross-entropy",
    ),
    _op("layer_norm", "LayerNorm", NORMS, ("A.4",), "normalization"),
    _op("rms_norm", "RMSNorm", NORMS, ("A.4", "(9.7)"), "normalization"),
    _op("linear", "Linear layer", ATTENTION, ("A.5", "(9.2)", "C"), "linear"),
    _op("unembedding", "Unembedding", ATTENTION, ("(9.6)",), "linear"),
    _op(
        "attention",
        "Attention",
        ATTENTION,
        ("A.5", "(9.8)", "(9.9)", "(9.10)", "C"),
        "attention",
    ),
    _op("tiled_attention", "Tiled attention", ATTENTION, ("C",), "attention"),
    _op(
        "multi_head_attention",
        "Multi-head attention",
        ATTENTION,
        ("(9.11)",),
        "multi-head-attention",
    ),
    _op("rope", "RoPE", ATTENTION, ("(9.10)",), "rope"),
    _op("residual", "Residual", PATHS, ("A.6", "(9.12)"), "residual"),
    _op("swiglu", "SwiGLU", PATHS, ("(9.13)",), "swiglu"),
    _op("embedding", "Embedding", PATHS, ("A.6", "(9.14)"), "embedding"),
    Row(
        "transformer",
        "Tied table",
        PATHS,
        ("A.6",),
        "capstone",
        transformer,
        (r"\nabla e = \nabla e_{\text{input}} + \nabla e_{\text{readout}}",),
        "backward",
    ),
    Row(
        "sgd",
        "SGD",
        OPTIMISERS,
        ("A.7",),
        "optimizers",
        optim.SGD,
        (r"w \leftarrow w - \eta \nabla w",),
    ),
    Row(
        "momentum",
        "Momentum",
        OPTIMISERS,
        ("A.7",),
        "optimizers",
        optim.Momentum,
        (r"v \leftarrow \beta v + \nabla w", r"w \leftarrow w - \eta v"),
    ),
    Row(
        "adam",
        "Adam",
        OPTIMISERS,
        ("A.7",),
        "optimizers",
        optim.Adam,
        (
            r"m \leftarrow \beta_1 m + (1 - \beta_1) \nabla w",
            r"v \leftarrow \beta_2 v + (1 - \beta_2) (\nabla w)^2",
            r"w \leftarrow w - \eta \frac{m / (1 - \beta_1^t)}"
            r"{\sqrt{v / (1 - \beta_2^t)} + \epsilon}",
        ),
    ),
    Row(
        "differences",
        "Central difference",
        VERIFYING,
        ("A.8", "C"),
        "slopes",
        differences.numerical_gradient,
        (r"\nabla w \approx \frac{L(w + \epsilon) - L(w - \epsilon)}{2 \epsilon}",),
    ),
    Row(
        "gradient",
        "Gradient",
        VERIFYING,
        ("C",),
        "gradients",
        None,
        (
            r"\nabla w_i = \frac{\partial L}{\partial w_i}",
            r"\sum_i v_i \nabla w_i = |v| \, |\nabla w| \cos\theta",
        ),
        "backward",
    ),
    Row(
        "directional_difference",
        "Difference along a direction",
        VERIFYING,
        ("A.8",),
        "checking",
        differences.directional_derivative,
        (
            r"\sum_i d_i \nabla w_i \approx "
            r"\frac{L(w + \epsilon d) - L(w - \epsilon d)}{2 \epsilon}",
        ),
    ),
    Row(
        "chain_rule",
        "Chain rule",
        VERIFYING,
        ("(9.1)", "C"),
        "chain-rule",
        None,
        (r"\nabla x = \nabla y \, f'(u) \, u'(x) \quad\text{for}\quad y = f(u(x))",),
        "backward",
    ),
    Row(
        "jacobian",
        "Jacobian",
        VERIFYING,
        ("(9.1)", "C"),
        "jacobians",
        None,
        (
            r"J_{ij} = \frac{\partial y_i}{\partial x_j}",
            r"\nabla x_j = \sum_i J_{ij} \nabla y_i",
        ),
        "backward",
    ),
)


def rows_under(section):
    """The rows under one heading of the page."""
    found = tuple(each for each in ROWS if each.section == section)
    if not found:
        known = ", ".join(dict.fromkeys(each.section for each in ROWS))
        raise ValueError(f"section is {section!r}; it needs one of {known}")
    return found


def row(name):
    """The row of an operation, by its name or its module: ``row("rms_norm")``."""
    wanted = mistakes.name_of(name)
    for each in ROWS:
        if each.name == wanted:
            return each
    known = ", ".join(each.name for each in ROWS)
    raise ValueError(f"name is {name!r}; it needs one of {known}")
