"""Prints what a plain `pip install pathrig` needs, and what builds a wheel: one requirement a line."""

from __future__ import annotations

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
for requirement in (*project["project"]["dependencies"], *project["build-system"]["requires"]):
    print(requirement)
