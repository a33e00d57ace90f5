"""How values, calls, steps and episodes are written in tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from core_eval.log import EpisodeRow
from core_eval.path.automaton import TaskAutomaton
from core_eval.report.tables.values import cell
from core_eval.score.episodes import MARK, NO_CALL, counted, is_inexact, marked, no_call
from core_eval.score.metrics import BY_NAME
from core_eval.score.repeated import spread
from core_eval.statistics.estimates import Estimate
from core_eval.text.visible_text import visible

KIND_STYLES = {"progress": "green", "loop": "cyan", "harmful": "bold red", "fault": "yellow"}
MOST_EXPECTED = 4


def difference_text(difference: Estimate, name: str, between: str = " ") -> str:
    """Return a difference with its interval."""
    if difference.mean is None:
        return "-"
    return f"{difference.mean:+{_form(name)}}{between}{interval_text(difference, '+' + _form(name))}"


def interval_text(one: Estimate, form: str) -> str:
    """Return an interval, or why there is none."""
    if one.low is None or one.high is None:
        return one.why_none
    return f"[{one.low:{form}}, {one.high:{form}}]"


def detectable_text(name: str, value: float | None) -> str:
    """Return a difference that would be told; `none` where it is beyond the possible, a dash if not known."""
    if value is None:
        return "-"
    most = BY_NAME[name].difference_limits[1]
    return f"{value:{_form(name)}}" if most is None or value <= most else "none"


def p_text(p: float | None) -> str:
    """Return a p-value; a dash where nothing was tested."""
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def step_line(
    k: int, tool: str | None, arguments: Mapping[str, Any], status: str, kind: str, note: str
) -> Text:
    """Return one step as one line: number, call, status and kind, and what a refusal said."""
    line = Text(f"{k:3}  ")
    line.append(call_text(tool, arguments), style=None if kind != "harmful" else "bold")
    line.append(f"  {status}" if status != "ok" else "  ok", style="dim" if status == "ok" else "yellow")
    line.append(f"  {kind}", style=KIND_STYLES.get(kind, ""))
    if note:
        line.append(f"  {note}", style="dim")
    return line


def call_text(tool: str | None, arguments: Mapping[str, Any]) -> str:
    """Return a call as Python would write it, in one line."""
    if tool is None:
        return "(no call)"
    inside = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
    return visible(" ".join(f"{tool}({inside})".split()))


def status_text(episode: EpisodeRow) -> Text:
    """Return an episode's status and why it ended."""
    reason = episode.stop_reason
    shown = episode.status if reason in (None, "done", "signal") else f"{episode.status} ({reason})"
    style = "" if episode.status == "completed" else "yellow"
    return Text(f"{shown}, {NO_CALL}", style="yellow") if no_call(episode) else Text(shown, style=style)


def score_cell(scores: Mapping[str, float | None], name: str) -> str:
    """Return an episode's score, marked where it is only a bound."""
    return f"{MARK * is_inexact(scores, name)}{cell(name, scores.get(name), 1)}"


def mean_cell(episodes: Sequence[EpisodeRow], name: str) -> str:
    """Return a mean, below it its interval, or why there is none; and over how many episodes it is, if
    fewer than its neighbours.
    """
    rows = counted(episodes, name)
    if len(rows) == 1:
        return score_cell(rows[0].scores, name) if rows[0].scores.get(name) is not None else "-"
    summary = spread(rows, name)
    if summary.mean is None:
        return "-"
    text = f"{summary.mean:{_form(name)}}\n{interval_text(summary, _form(name))}"
    return marked(f"{text}\nof {summary.defined}" if summary.defined < summary.episodes else text, summary)


def _form(name: str) -> str:
    kind = BY_NAME[name].kind
    return "z.0%" if kind == "flag" else "z.1f" if kind == "count" else "z.2f"


def _short(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def expected_calls(automaton: TaskAutomaton, state: str | None) -> str:
    """Return which calls lead on from a state, or end there; empty where none does."""
    symbols = [symbol for symbol, _ in automaton.progress.get(state or "", ())]
    if len(symbols) > MOST_EXPECTED:
        symbols = [*symbols[:MOST_EXPECTED], f"{len(symbols) - MOST_EXPECTED} others"]
    end = ["no further call"] if state in automaton.accepting else []
    return ", or ".join([*end, *([" or ".join(symbols)] if symbols else [])])


def rule_line(logged: Mapping[str, Any]) -> str:
    """Return a logged violation in words."""
    how = "violated as the episode ended" if logged.get("k") is None else logged.get("tier")
    evidence = logged.get("evidence")
    return f"rule {logged.get('rule')}, {how}: {logged.get('sentence')}" + (
        f" ({evidence})" if evidence else ""
    )
