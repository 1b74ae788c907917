"""Pyodide's own files: where they come from, and that they are the right ones."""

import hashlib
import json
import urllib.request
from pathlib import Path

VERSION = "0.27.7"  # the one that jupyterlite-pyodide-kernel 0.6.1 goes with
RELEASE = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full"

LOCK = "pyodide-lock.json"
NEEDED = "needed-lock.json"
# The interpreter, and the lock that has the sha256 of every package.
SHA256 = {
    LOCK: "9c45b916001a750f4102fc287494f3eab215909c7535c626a20db80fd6333e2c",
    "pyodide.asm.js": "6b4c90de5b7172873f04f21884d0e9d2274e305fe32116558fe3e4fbe3618d51",
    "pyodide.asm.wasm": (
        "a50dd1843f805a0b7c45b61037ee0d7b26dfe85efe0e18ef95a34ad24e401f5f"
    ),
    "pyodide.js": "b4cb23a53aba19c221659b9fb40a2f18281d685691dc06647fb0afd0681baf98",
    "python_stdlib.zip": (
        "16611534726e5d8ac2bd8f926410b2dcb8d6f49aa24913463533b457a2115c16"
    ),
}


class Unavailable(Exception):
    """A file of Pyodide cannot be had, or is not what it should be."""


def fetch(source, packages, unused, folder):
    """Bring the interpreter and `packages`, with what they need, into `folder`.

    `source` is a folder or the address of one. Returns the lock, cut to the packages
    and their dependencies less `unused`; it is also written to NEEDED.
    """
    for name, sha256 in SHA256.items():
        _fetch(source, name, sha256, folder)
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    every, lock["packages"] = lock["packages"], {}
    needed = list(packages)
    while needed:
        name = needed.pop()
        if name in lock["packages"]:
            continue
        lock["packages"][name] = entry = every[name]
        _fetch(source, entry["file_name"], entry["sha256"], folder)
        names = [dependency.replace("_", "-") for dependency in entry["depends"]]
        entry["depends"] = [name for name in names if name not in unused]
        needed += entry["depends"]
    (folder / NEEDED).write_text(json.dumps(lock), encoding="utf-8")
    return lock


def _fetch(source, name, sha256, folder):
    target = folder / name
    if target.exists() and _sha256(target.read_bytes()) == sha256:
        return
    address = f"{source.rstrip('/')}/{name}"
    try:
        if "://" in source:
            with urllib.request.urlopen(address, timeout=30) as response:
                content = response.read()
        else:
            content = Path(address).read_bytes()
    except OSError as error:
        raise Unavailable(f"{address}: {error}") from error
    if _sha256(content) != sha256:
        raise Unavailable(f"{address} has sha256 {_sha256(content)}, not {sha256}")
    folder.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _sha256(content):
    return hashlib.sha256(content).hexdigest()
