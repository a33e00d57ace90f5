"""No shape of a conversation fails in a template: whatever an answer has of thoughts, words and calls."""

from __future__ import annotations

import chat_templates
import pytest
from conversation_shapes import check_shapes

OWN = {
    "gemma 3": chat_templates.GEMMA3,
    "phi-4-mini": chat_templates.PHI4_MINI,
    "pythonic": chat_templates.PYTHONIC,
    "qwen 2.5": chat_templates.QWEN25,
    "qwen 3": chat_templates.QWEN3,
    "smollm3": chat_templates.SMOLLM3,
    "without tools": chat_templates.WITHOUT_TOOLS,
    "thoughts or words": chat_templates.THOUGHTS_OR_WORDS,
    **{what: source for what, (_, source) in chat_templates.MISPRINTED.items()},
}


@pytest.mark.parametrize("name", OWN)
def test_all_shapes_of_two_answers(name):
    check_shapes(OWN[name])
