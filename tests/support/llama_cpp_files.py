"""Chat templates and vocabularies that llama.cpp ships, as `make test` unpacks them from its source."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import ROOT

FOLDER = ROOT / "build" / "llama_cpp_templates"


def llama_cpp_file(name: str) -> Path:
    """One of them; the test is skipped where they were not unpacked."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(
            "run `python packaging/llama_templates.py build/llama_cpp_templates` first, as `make test` does"
        )
    return path
