"""The packages as they are packed for the browser."""

import wheels
from wheels import Package

INFO = {
    "some_package-1.2.dist-info/METADATA": b"Name: some-package\nVersion: 1.2\n",
    "some_package-1.2.dist-info/WHEEL": b"Tag: py2-none-any\nTag: py3-none-any\n",
}


def package(**files):
    files = {name.replace("__", "/") + ".py": b"1" for name in files}
    return Package(INFO | files, [])


def test_a_package_is_named_by_its_metadata():
    described = package(some__module="")
    assert (described.name, described.version) == ("some-package", "1.2")
    assert described.wheel == "some_package-1.2-py3-none-any.whl"
    assert described.imports == ["some"]


def test_tests_and_stale_bytecode_are_left_out():
    files = {
        name: b""
        for name in [
            "some/module.py", "some/testing/kit.py", "some/latest.py",
            "some/tests/test_module.py", "tests/test_all.py", "some/module.pyi",
            "some/__pycache__/module.cpython-311.pyc", "../../bin/some",
        ]
    }
    kept = Package(INFO | files, []).files.keys() - INFO.keys()
    assert kept == {"some/module.py", "some/testing/kit.py", "some/latest.py"}


def test_a_wheel_is_made_anew_when_a_file_changes():
    before, after = Package(INFO | {"a.py": b"1"}, []), Package(INFO | {"a.py": b"2"}, [])
    moved = Package(INFO | {"b.py": b"1"}, [])
    assert len({before.key(), after.key(), moved.key()}) == 3
    assert Package(INFO | {"a.py": b"1"}, ["numpy"]).key() == before.key()


def test_another_content_has_another_address(tmp_path):
    wheel = tmp_path / "some_package-1.2-py3-none-any.whl"
    addresses = set()
    for content in (b"1", b"2"):
        wheel.write_bytes(content)
        addresses.add(wheels.address(wheel))
    assert len(addresses) == 2
    assert all(address.endswith(f"/{wheel.name}") for address in addresses)
