// Compile unpacked packages with the Python that will run them, and let Matplotlib
// list its fonts, so that no reader's browser has to.
//
// node compile.cjs PYODIDE TREES NAME...
//
// Modules that are hardly ever imported stay sources. So do backhand's, beside their
// bytecode: its reader looks at the code.

const path = require("node:path");
const [pyodide, trees, ...names] = process.argv.slice(2);
const { loadPyodide } = require(path.join(pyodide, "pyodide.js"));

const COMPILE = `
import compileall, pathlib, py_compile, re, site

for name in names:
    tree = pathlib.Path("/trees", name)
    readable = name == "backhand"
    compileall.compile_dir(
        tree,
        quiet=1,
        rx=re.compile("pygments/(lexers|styles)/|sympy/physics/|numpy/(distutils|f2py)/"),
        stripdir=tree,
        prependdir=site.getsitepackages()[0],
        legacy=not readable,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    for module in tree.rglob("*.py"):
        if not readable and module.with_suffix(".pyc").exists():
            module.unlink()
`;

const LIST_FONTS = `
import pathlib, shutil, matplotlib.font_manager
package = pathlib.Path(matplotlib.__file__).parent
shutil.copy(package / "fontlist.json", "/trees/matplotlib/matplotlib")
`;

async function main() {
  const python = await loadPyodide({
    indexURL: pyodide,
    lockFileURL: path.join(pyodide, "needed-lock.json"),
    env: { PYTHONHASHSEED: "0" }, // the same bytecode every time
  });
  python.mountNodeFS("/trees", trees);
  python.runPython(COMPILE, { globals: python.toPy({ names }) });
  if (names.includes("matplotlib")) {
    await python.loadPackage("matplotlib", { messageCallback: () => {} });
    python.runPython(LIST_FONTS);
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
