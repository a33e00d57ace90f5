"""Each pinned version lies in the range that pyproject.toml asks for."""

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from paths import ROOT


# constraints-frameworks.txt is of a venv without the kit.
@pytest.mark.parametrize("name", ["constraints.txt", "constraints-interop.txt"])
def test_no_pin_is_outside_its_range(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version
        for pin in (Requirement(line) for line in lines if line.partition("#")[0].strip())
    }
    ranges = [one for one in map(Requirement, asked) if canonicalize_name(one.name) in pins]
    assert len(ranges) > 20
    assert [
        f"{one} is pinned to {pins[canonicalize_name(one.name)]}"
        for one in ranges
        if pins[canonicalize_name(one.name)] not in one.specifier
    ] == []
