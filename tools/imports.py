"""Which modules of the package running a notebook runs, directly or not."""

import ast
import sys

import grimp
import nbformat
from IPython.core.inputtransformer2 import TransformerManager

PACKAGE = "backhand"


def graph():
    """What each module of the package in `src` imports."""
    sys.path.insert(0, "src")  # not what happens to be installed
    try:
        return grimp.build_graph(PACKAGE, cache_dir=None)
    finally:
        sys.path.remove("src")


def of_notebook(file, graph):
    """The names of the package's modules that the notebook's cells need."""
    found, ahead = set(), set(_named(file)) & graph.modules
    while ahead:
        module = ahead.pop()
        found.add(module)
        package = {module.rpartition(".")[0]} & graph.modules  # is imported first
        ahead |= (graph.find_modules_directly_imported_by(module) | package) - found
    return found


def _named(file):
    """Each name that an import in the notebook may mean a module by."""
    python_of = TransformerManager().transform_cell  # without magics
    for cell in nbformat.read(file, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(python_of(cell.source))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
