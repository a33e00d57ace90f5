"""The words of an agent and the results of its calls as lines for a terminal; long ones are folded."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.text import Text

from core_eval.log.rows import StepRow, Turn
from core_eval.report.tables.fitted_table import Hanging
from core_eval.text.visible_text import visible

FOLDED = 240
"""Characters of a text that are shown, unless it is printed whole."""
INDENT = 7


def turn_lines(turn: Turn | None, *, whole: bool = False) -> Iterator[Hanging]:
    """Yield the thoughts and the words of a turn; the words hold the thoughts where they are the same."""
    if turn is None:
        return
    if turn.reasoning and turn.reasoning not in turn.text:
        yield _line("thinks", turn.reasoning, whole)
    if turn.text.strip():
        yield _line("says", turn.text, whole)


def result_line(step: StepRow, *, whole: bool = False) -> Hanging | None:
    """Return what the tool returned; None where it returned nothing."""
    if step.result in (None, {}, []):
        return None
    return _line("returned", json.dumps(step.result, ensure_ascii=False), whole)


def folded(text: str) -> str:
    """Return the beginning of a long text, and how many characters more it has."""
    left = len(text) - FOLDED
    return text if left <= FOLDED // 10 else f"{text[:FOLDED]} ... {left} characters more (--whole)"


def _line(what: str, text: str, whole: bool) -> Hanging:
    words = visible(" ".join(text.split()))
    return Hanging(
        Text(f"{' ' * (INDENT - 2)}{what}: {words if whole else folded(words)}", style="dim"), INDENT
    )
