"""Modules that a test lets Python forget, so that the next import runs them again."""

import sys

import pytest


def forget_modules(monkeypatch: pytest.MonkeyPatch, *prefixes: str) -> None:
    """Forget the loaded modules whose names begin with one of `prefixes` until the test ends.

    A package holds its modules as attributes, too: these are forgotten with them. Otherwise the
    package would keep, after the test, what the test imported in place of what others hold.
    """
    for name in [name for name in sys.modules if name.startswith(prefixes)]:
        package, _, module = name.rpartition(".")
        if package in sys.modules:
            monkeypatch.delattr(sys.modules[package], module, raising=False)
        monkeypatch.delitem(sys.modules, name)
