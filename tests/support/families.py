"""The formats of tool calls, those of the families that people run first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.formats.format import Format
from agents.formats.registry import formats

BY_NAME = {form.name: form for form in formats()}
OFTEN = frozenset(
    {
        "hermes",  # Qwen 2.5 and 3, SmolLM 3, Granite 4
        "qwen-xml",  # Qwen 3 Coder, 3.5
        "llama-json",  # Llama 3
        "mistral",
        "mistral-args",  # Mistral Small 3.2, Ministral
        "gemma-3",
        "gemma-4",
        "phi-4-mini",
        "deepseek",  # V3, R1
        "harmony",  # gpt-oss
    }
)
"""The ten whose long tests are part of `make test`; those of the others are nightly."""


def nightly_unless_often(form: str, case: str | None = None) -> Any:
    """A case about a format, by default its name."""
    marks = () if form in OFTEN else (pytest.mark.nightly,)
    return pytest.param(case or form, marks=marks, id=case or form)


def families(wanted: Callable[[Format], object] = lambda _: True) -> list[Any]:
    """The names of the formats, or of some, as cases."""
    return [nightly_unless_often(form.name) for form in formats() if wanted(form)]
