"""What a log tells of models beside their scores: the options in use, and what a good episode cost."""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.log import EpisodeRow, LogReader
from core_eval.score.metrics import ABOVE_IDLE
from core_eval.score.repeated import by_agent, passes
from core_eval.text.visible_text import visible

TOTALS = ("input_tokens", "output_tokens", "wall_seconds", "energy", ABOVE_IDLE)
DIGEST = 12
"""Characters of a hash that are shown."""


def options_line(episode: EpisodeRow) -> str:
    """Return the options of an episode's agent as one line; empty for an agent without."""
    options = episode.agent_info.get("options")
    if not isinstance(options, dict):
        return ""
    parts = []
    for key, value in options.items():
        shown = value[:DIGEST] if key.endswith("sha256") and isinstance(value, str) else value
        parts.append(f"{key} {visible(str(shown))}")
    return ", ".join(parts)


def options_lines(episodes: Sequence[EpisodeRow]) -> list[str]:
    """Return a line for each model and each set of options in use."""
    lines = (f"{visible(one.agent)}: {line}" for one in episodes if (line := options_line(one)))
    return list(dict.fromkeys(lines))


def cost_lines(episodes: Sequence[EpisodeRow]) -> list[str]:
    """Return a line for each model: tokens, seconds and energy of all its episodes for each that passed.

    Of one whose harm is not known it is not known either.
    """
    lines = []
    for agent, rows in by_agent(episodes).items():
        totals = {name: _total(rows, name) for name in TOTALS}
        if not totals["output_tokens"]:
            continue
        results = passes(rows)
        good = results[True]
        unknown = f" ({results[None]} not known)" if results[None] else ""
        if not good:
            lines.append(f"{visible(agent)}: no episode accepted and free of harm{unknown}")
            continue
        tokens = ((totals["input_tokens"] or 0) + totals["output_tokens"]) / good
        parts = [f"{tokens:,.0f} tokens", f"{(totals['wall_seconds'] or 0) / good:,.3g} s"]
        if totals["energy"] is not None:
            parts.append(f"{totals['energy'] / good:,.3g} J")
        if (above := totals[ABOVE_IDLE]) is not None:
            parts[-1] += f" ({above / good:,.3g} J above idle)"
        lines.append(
            f"{visible(agent)}: {', '.join(parts)} for each episode accepted and free of harm{unknown}"
        )
    return lines


def time_line(reader: LogReader, episode: EpisodeRow) -> str:
    """Return the times and tokens of a model's answers in an episode; empty where there are none."""
    turns = [turn for turn in reader.turns(episode.id).values() if turn.output_tokens or turn.input_tokens]
    if not turns:
        return ""
    parts = [
        f"tokens new {sum(turn.input_tokens for turn in turns):,}",
        f"cached {sum(turn.cached_tokens for turn in turns):,}",
        f"written {sum(turn.output_tokens for turn in turns):,}",
    ]
    for name, words in (("prompt_seconds", "prompts"), ("writing_seconds", "output")):
        seconds = [value for turn in turns if (value := getattr(turn, name)) is not None]
        if seconds:
            parts.append(f"{words} {sum(seconds):.3g} s")
    if turns[0].first_token_seconds is not None:
        parts.append(f"first token after {turns[0].first_token_seconds:.3g} s")
    if (load := reader.machine_cost(episode.id).load_seconds) is not None:
        parts.append(f"load {load:.3g} s")
    return ", ".join(parts)


def _total(rows: Sequence[EpisodeRow], name: str) -> float | None:
    values = [value for row in rows if (value := row.scores.get(name)) is not None]
    return sum(values) if values else None
