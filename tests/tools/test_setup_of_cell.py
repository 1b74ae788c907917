"""A cell that readers try gets what it needs of earlier cells, and no more."""

import ast
import subprocess
import sys
from pathlib import Path

import nbformat.v4 as nb
import pytest
import setup_of_cell
from setup_of_cell import setup
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).parents[2]
FILES = [ROOT / f"{name}.ipynb" for name in parse_toc_yaml(ROOT / "_toc.yml")]
CELLS = [
    pytest.param(file, code, before, id=f"{file.stem}-{index}")
    for file in FILES
    if file.exists()
    for index, code, before in setup_of_cell.cells(file)
]
HEAVY = """
import sys
heavy = {"sympy", "matplotlib", "ipywidgets", "IPython"} & sys.modules.keys()
assert not heavy, heavy
"""


def test_only_what_defines_the_names_is_kept_and_that_transitively():
    before = ["a = 1\nb = a + 1\nc = 3", "d = b * 2\nprint(d)"]
    assert setup(before, "d") == "a = 1\nb = a + 1\nd = b * 2"


def test_an_import_is_narrowed_to_the_names_used():
    before = ["import numpy as np, sympy\nfrom math import cos, pi as half_turn"]
    expected = "import numpy as np\nfrom math import pi as half_turn"
    assert setup(before, "np.sin(half_turn)") == expected


def test_the_last_definition_counts():
    assert setup(["a = 1", "a = 2"], "a") == "a = 2"
    assert setup(["a = 1", "a = a + 1"], "a") == "a = 1\na = a + 1"


@pytest.mark.parametrize(
    "change",
    ["x[0] = 1", "x += 1", "x.append(4)", "np.add.at(x, 0, 1)", "for i in y: x[i] = 1"],
)
def test_what_changes_a_name_belongs_to_it(change):
    before = ["import numpy as np\nx, y = [0], [0]", change]
    kept = setup(before, "x")
    assert "x, y = ([0], [0])" in kept
    assert ast.unparse(ast.parse(change)) in kept


def test_a_generator_gives_what_it_gives_in_the_notebook():
    draws = "x = rng.normal(size=3)", "y = rng.normal(size=3)"
    before = ["import numpy as np\nrng = np.random.default_rng(0)", *draws, "z = 2 * y"]
    assert draws[0] in setup(before, "y")
    assert draws[0] in setup(before, "rng.normal(size=2)")
    assert setup([*before, "x = 1"], "x") == "x = 1"


def test_names_in_functions_count_and_are_looked_up_late():
    before = ["def f(x):\n    return x + shift", "shift = 1", "x = 5"]
    kept = setup(before, "f(2)")
    assert "shift = 1" in kept
    assert "x = 5" not in kept  # the parameter is another x


def test_what_the_cell_defines_itself_is_not_asked_for():
    assert setup(["x = 1\nf = 2"], "def f(): return g()\ndef g(): return 1\nx = f()") == ""


def test_what_a_loop_binds_in_each_turn_is_its_own():
    loop = "for x in points:\n    y = x + shift\n    print(y, last)\n    last = y"
    before = ["x = y = 1\npoints = [2]", "shift = 3\nlast = 4"]
    assert setup(before, loop) == "points = [2]\nshift = 3\nlast = 4"


def test_a_name_that_only_may_be_bound_is_looked_for_further_up():
    before = ["a = 1", "if flag:\n    a = 2", "flag = True"]
    assert setup(["flag = False", *before], "a").startswith("flag = False\na = 1\nif flag")


def test_the_solutions_names_are_there_too():
    solution = ["```{solution-start} one\n```", "```{solution-end}\n```"]
    cells = [nb.new_code_cell("a = 1\nb = 2\nc = 3"), nb.new_code_cell("a")]
    cells[1].metadata["tags"] = ["try-it"]
    cells += [nb.new_markdown_cell(solution[0]), nb.new_code_cell("b")]
    cells += [nb.new_markdown_cell(solution[1]), nb.new_code_cell("c")]
    ((index, code, before),) = setup_of_cell.cells_of(nb.new_notebook(cells=cells))
    assert (index, code, before) == (1, "a", "a = 1\nb = 2")


def test_there_are_cells_to_try():
    assert len(CELLS) >= 10


@pytest.mark.parametrize("file, code, before", CELLS)
def test_a_cell_runs_with_its_setup_alone_and_loads_nothing_heavy(file, code, before):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{before}\n{code}\n{HEAVY}"],
        cwd=file.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{before}\n\n{done.stderr}"
