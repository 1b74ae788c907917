"""What a cell needs of the cells before it: the statements that define its names.

No others, and of an import only the names that are used: a cell that needs NumPy should
not wait for SymPy because the chapter imports it.
"""

import ast
import builtins
import symtable

import nbformat

TAG = "try-it"

# A method called for what it does to its object.
CHANGING = {
    "add", "append", "clear", "extend", "fill", "insert", "pop", "remove",
    "reverse", "setdefault", "setflags", "shuffle", "sort", "update",
}  # fmt: skip
# One called for its result that changes what the next will be: a generator's.
DRAWING = {
    "choice", "integers", "normal", "permutation", "random", "standard_normal", "uniform",
}  # fmt: skip
# A statement that binds its names whatever happens.
BINDING = (
    ast.AnnAssign,
    ast.Assign,
    ast.ClassDef,
    ast.FunctionDef,
    ast.Import,
    ast.ImportFrom,
)


def cells(file):
    """(index, code, setup) of each cell of a notebook that readers are to try."""
    return cells_of(nbformat.read(file, as_version=4))


def cells_of(notebook):
    """As `cells`, of a notebook that was read.

    The setup also has what the exercise's solution needs, since a reader who finds it
    will write the same names.
    """
    found, before = [], []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        if TAG in cell.metadata.get("tags", []):
            solution = _solution(notebook.cells[index + 1 :])
            found.append((index, cell.source, setup(before, cell.source, solution)))
        before.append(cell.source)
    return found


def _solution(cells):
    """The code of the solution that follows, if one does."""
    codes, inside = [], False
    for cell in cells:
        if cell.cell_type == "code":
            if not inside:
                return ""
            codes.append(cell.source)
        elif inside:
            if "{solution-end}" in cell.source:
                break
        elif "{solution-start}" in cell.source:
            inside = True
    return "\n".join(codes)


def setup(before, code, afterwards=""):
    """The statements of the sources `before` that `code`, then `afterwards`, needs."""
    earlier = [Statement(node) for source in before for node in ast.parse(source).body]
    later = [Statement(node) for node in ast.parse(f"{code}\n{afterwards}").body]
    late = set()
    while True:
        kept = _needed(earlier, later, late)
        # A function looks its names up when it is called, so after what follows it.
        now = set().union(*(statement.late for statement, _ in kept), *(s.late for s in later))
        if now <= late:
            return "\n".join(statement.text(names) for statement, names in kept)
        late |= now


def _needed(earlier, later, names):
    names = _read(later, names)
    kept = []
    for statement in reversed(earlier):
        wanted = statement.defines & names
        if wanted or statement.changes & names:
            kept.append((statement, wanted))
            names = (names - statement.binds) | statement.uses
    return kept[::-1]


def _read(statements, afterwards=()):
    """The names that statements one after the other read before they bind them."""
    names = set(afterwards)
    for statement in reversed(statements):
        names = (names - statement.binds) | statement.uses
    return names


class Statement:
    """A statement of a notebook's top level, and what it does to names."""

    def __init__(self, node):
        self.node = node
        table = symtable.symtable(ast.unparse(node), "cell", "exec")
        symbols = table.get_symbols()
        self.defines = {
            s.get_name() for s in symbols if s.is_assigned() or s.is_imported()
        }
        self.changes = set(_changed(node))
        self.late = set(_globals(table)) - vars(builtins).keys()
        self.uses = {s.get_name() for s in symbols if s.is_referenced()}
        if isinstance(node, ast.For):  # what each turn binds first is its own
            body = _read(list(map(Statement, node.body))) - set(_stored(node.target))
            rest = [ast.Expr(node.iter), *node.orelse]
            self.uses &= body.union(*(Statement(each).uses for each in rest))
        self.uses -= vars(builtins).keys()
        # A comprehension and a lambda may be called at once.
        self.uses |= self.late
        self.uses |= self.changes
        self.binds = self.defines - self.changes if isinstance(node, BINDING) else set()

    def text(self, wanted):
        """The statement; an import only of what is wanted of it."""
        node = self.node
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [
                alias
                for alias in node.names
                if (alias.asname or alias.name.split(".")[0]) in wanted
            ]
            fields = {f: getattr(node, f) for f in node._fields} | {"names": names}
            node = type(node)(**fields)
        return ast.unparse(node)


def _stored(target):
    return (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _globals(table):
    for scope in table.get_children():
        for symbol in scope.get_symbols():
            if symbol.is_global() and symbol.is_referenced():
                yield symbol.get_name()
        yield from _globals(scope)


def _changed(node):
    """The names whose objects a statement changes: x[0] = 1, seen.append(1), rng.normal()."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return
    for part in ast.walk(node):
        match part:
            case ast.AugAssign(target=target):
                yield from _base(target)
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store()):
                yield from _base(part)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="at"), args=[first, *_])):
                yield from _base(first)  # np.add.at
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) as method)):
                if name in CHANGING:
                    yield from _base(method)
            case ast.Call(func=ast.Attribute(attr=name) as method) if name in DRAWING:
                yield from _base(method)


def _base(node):
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
