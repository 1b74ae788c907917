"""The packages the browser's Python may import, as wheels that start fast.

A wheel as it is published holds sources: the browser would compile them in every
session, which costs more than all else. So each is unpacked, rid of its tests,
compiled by Pyodide itself under Node, and packed again.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pyodide

COMPILE = Path(__file__).with_name("compile.cjs")

# From Pyodide, with what they depend on less what nothing here uses: fonttools writes
# PDF, pytz serves pandas, and the other is a backend that the kernel does not choose.
UPSTREAM = ["ipython", "matplotlib", "micropip", "numpy", "sqlite3"]
UNUSED = {"fonttools", "matplotlib-pyodide", "pytz"}

# From the environment that builds the book, so in the versions that it was built with.
ENVIRONMENT = {
    "autograd": ["numpy"],
    "comm": [],
    "ipywidgets": ["comm", "ipython", "traitlets"],
    "mpmath": [],
    "sympy": ["mpmath"],
    "tabulate": [],
}

# From the kernel extension.
KERNEL = {
    "ipykernel": [],
    "piplite": ["micropip"],
    "pyodide-kernel": ["comm", "ipykernel", "ipython"],
}
KERNEL_WHEELS = (
    Path(sys.prefix) / "share/jupyter/labextensions/@jupyterlite"
    "/pyodide-kernel-extension/static/pypi"
)

# Without content. The kernel asks for jedi and ssl before it starts, and works without.
# What the notebook extra of backhand names is loaded with the parts that need it, not
# with backhand: a first cell that needs NumPy only should not wait for more.
EMPTY = {
    "jedi": [],
    "ssl": [],
    "backhand-notebook": ["backhand", "ipywidgets", "matplotlib", "sympy", "tabulate"],
    "backhand-oracle": ["autograd", "backhand"],
}
EMPTY_IMPORTS = {
    "backhand-notebook": ["backhand.book", "backhand.derive"],
    "backhand-oracle": ["backhand.book.derivative_reference", "backhand.oracle"],
}

# Loaded while the kernel starts: what it asks for, under the names it uses, and what
# every notebook imports.
PRELOADED = [
    *("micropip", "piplite", "ssl", "sqlite3", "ipykernel", "comm"),
    *("pyodide_kernel", "jedi", "ipython", "backhand"),
]

LEFT_OUT = re.compile(
    r"(^|/)(tests?|benchmarks|sample_data|test-examples)/|\.pyc$|\.pyi$|^\.\./"
)


@dataclass
class Package:
    """A package before it is packed: its files by name, and its place in the lock."""

    files: dict
    depends: list
    imports: list = None

    def __post_init__(self):
        self.files = {n: f for n, f in self.files.items() if not LEFT_OUT.search(n)}
        metadata, wheel = self._fields("METADATA"), self._fields("WHEEL")
        self.name, self.version = metadata["Name"], metadata["Version"]
        tag = wheel.get_all("Tag")[-1]
        self.wheel = f"{self.name.replace('-', '_')}-{self.version}-{tag}.whl"
        if self.imports is None:
            self.imports = sorted(
                {n.split("/")[0].removesuffix(".py") for n in self.files if n.endswith(".py")}
            )

    def _fields(self, file):
        (name,) = (name for name in self.files if name.endswith(f".dist-info/{file}"))
        return Parser().parsestr(self.files[name].decode())

    def size(self):
        return sum(len(content) for content in self.files.values())

    def key(self):
        """A hash of all that the packed wheel is made from."""
        digest = hashlib.sha256(pyodide.SHA256[pyodide.LOCK].encode())
        digest.update(COMPILE.read_bytes())
        for name, content in sorted(self.files.items()):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:16]


def collect(source, folder, backhand):
    """All packages, by name. Pyodide's files are brought into `folder`."""
    lock = pyodide.fetch(source, UPSTREAM, UNUSED, folder)
    packages = {
        name: Package(
            _unzip(folder / entry["file_name"]), entry["depends"], entry["imports"]
        )
        for name, entry in lock["packages"].items()
    }
    for name, depends in ENVIRONMENT.items():
        files = distribution(name).files
        packages[name] = Package(
            {f.as_posix(): f.locate().read_bytes() for f in files if f.suffix != ".pyc"},
            depends,
        )
    for name, depends in KERNEL.items():
        (wheel,) = KERNEL_WHEELS.glob(f"{name.replace('-', '_')}-*.whl")
        packages[name] = Package(_unzip(wheel), depends)
    packages["backhand"] = Package(_unzip(backhand), ["numpy"])
    packages |= {name: _empty(name, depends) for name, depends in EMPTY.items()}
    return packages


def _empty(name, depends):
    info = f"{name.replace('-', '_')}-0.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    return Package(files, depends, EMPTY_IMPORTS.get(name, []))


def _unzip(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {i.filename: archive.read(i) for i in archive.infolist() if not i.is_dir()}


def pack(packages, folder, cache):
    """The packed wheel of each package; only those not in `cache` are made."""
    wheels = {
        name: cache / package.key() / package.wheel
        for name, package in packages.items()
    }
    missing = {name: wheel for name, wheel in wheels.items() if not wheel.exists()}
    if not missing:
        return wheels
    trees = cache / "trees"
    shutil.rmtree(trees, ignore_errors=True)
    for name in missing:
        for file, content in packages[name].files.items():
            target = trees / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    _compile(sorted(missing, key=lambda name: packages[name].size()), folder, trees)
    for name, wheel in missing.items():
        wheel.parent.mkdir(parents=True, exist_ok=True)
        _zip(trees / name, wheel)
    shutil.rmtree(trees)
    return wheels


def _compile(names, folder, trees):
    """Compile the trees in place, by two processes at once."""
    print(f"Compiling {len(names)} packages for the browser", flush=True)
    command = [_node(), COMPILE, folder.resolve(), trees.resolve()]
    processes = [
        subprocess.Popen([*command, *half], stderr=subprocess.PIPE, text=True)
        for half in (names[::2], names[1::2])
        if half
    ]
    for process in processes:
        _, errors = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{' '.join(map(str, process.args))}\n{errors}")


def _node():
    beside = os.pathsep + str(Path(sys.executable).parent)
    node = shutil.which("node", path=os.environ["PATH"] + beside)
    if node is None:
        raise pyodide.Unavailable("node is missing: run `make assets`")
    return node


def _zip(tree, wheel):
    """The same bytes for the same content, so that browsers may keep what they have."""
    unfinished = wheel.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(file for file in tree.rglob("*") if file.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(tree).as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
    unfinished.rename(wheel)


def lock(packages, wheels, folder):
    """Pyodide's lock with these packages; each wheel's address has its hash in it."""
    result = json.loads((folder / pyodide.NEEDED).read_text(encoding="utf-8"))
    result["packages"] = {
        name: {
            "name": package.name,
            "version": package.version,
            "file_name": f"../{address(wheels[name])}",
            "install_dir": "site",
            "sha256": _sha256(wheels[name]),
            "package_type": "package",
            "imports": package.imports,
            "depends": package.depends,
            "unvendored_tests": False,
        }
        for name, package in sorted(packages.items())
    }
    return result


def address(wheel):
    """Where the site has it: another content is another address, so never stale."""
    return f"wheels/{_sha256(wheel)[:12]}/{wheel.name}"


def _sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()
