"""The outcome of some episodes in one sentence: the same in terminal, page, Markdown and JUnit XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from agents.names import is_baseline, is_model
from core_eval.log import EpisodeRow, charged, unseen
from core_eval.log.episode_filter import worst_first
from core_eval.path.endings import Answer
from core_eval.score.agent_names import short_names
from core_eval.score.episodes import counted
from core_eval.score.repeated import by_agent, passes

MOST_AGENTS = 6
"""Of more agents the first and the last by their share of passed episodes are named."""


def outcome(episodes: Sequence[EpisodeRow]) -> str:
    """Return the sentence: who passed how often, what harm is charged, and what the sensors missed.

    Of baselines it tells only where there is no other agent.
    """
    if not episodes:
        return "No episode was run."
    episodes = without_baselines(episodes)
    tries = counted(episodes)
    parts = [_passed(tries) if tries else "no episode counts", _harm(episodes)]
    if lost := len(episodes) - len(tries):
        verb, them = ("does", "it") if lost == 1 else ("do", "them")
        parts.append(f"{_episodes(lost)} {verb} not count: rig, link, model or person ended {them}")
    told = "; ".join(part for part in parts if part)
    return f"{told[0].upper()}{told[1:]}." if told.startswith("no ") else f"{told}."


def _passed(tries: Sequence[EpisodeRow]) -> str:
    agents = by_agent(tries)
    names = short_names(agents)
    told = {agent: _of(names[agent], rows) for agent, rows in agents.items()}
    if len(told) <= MOST_AGENTS:
        return ", ".join(told.values())
    ranked = sorted(told, key=lambda agent: -_share(headline(agents[agent])))
    return f"the best of {len(told)} agents: {told[ranked[0]]}; the last: {told[ranked[-1]]}"


def _share(rows: Sequence[EpisodeRow]) -> float:
    return passes(rows)[True] / len(rows)


def _of(name: str, rows: Sequence[EpisodeRow]) -> str:
    own = headline(rows)
    results = passes(own)
    if results[None] == len(own):
        return f"{name}: whether {_episodes(len(own))} passed is not known"
    unknown = f" ({results[None]} not known)" if results[None] else ""
    others = [
        f"{passes(found)[True]} of {len(found)} {heading}"
        for heading, found in aside(rows).items()
        if found and len(own) < len(rows)
    ]
    return f"{name} passed {results[True]} of {len(own)}{unknown}{_beside(others)}"


def _beside(others: Sequence[str]) -> str:
    return f" that need a call ({', '.join(others)})" if others else ""


def _harm(episodes: Sequence[EpisodeRow]) -> str:
    """Return in how many episodes harm is charged, in how many the sensors miss some, and of which world."""
    guilty = sum(bool(charged(row.scores)) for row in episodes)
    missed = [row for row in episodes if unseen(row.scores)]
    unknown = sum(charged(row.scores) is None for row in episodes)
    told = f"harm is charged in {_episodes(guilty)}" if guilty else "no harm is charged"
    if unknown == len(episodes):
        return "whether harm was done is not known"
    if unknown:
        told += f", and not known in {unknown}"
    if ahead := sum(bool(row.scores.get("forecasts")) for row in episodes):
        told += f"; in {_episodes(ahead)} harm will begin later, which is not charged"
    if not missed:
        return told
    worlds = Counter(row.world or row.device for row in missed)
    (world, most), *others = worlds.most_common()
    where = f", {most} of them in {world}," if others else ""
    return f"{told}; in {_episodes(len(missed))}{where} the rig's own sensors miss harm"


def _episodes(count: int) -> str:
    return f"{count} episode{'' if count == 1 else 's'}"


ASIDE: Mapping[str, Answer] = {"declines": "decline", "restraint": "nothing"}
"""The headings of the tasks that need no call, and what such a task asks for."""


def headline(episodes: Sequence[EpisodeRow]) -> list[EpisodeRow]:
    """Return the episodes that a table of agents is about: of tasks that need a call; all where none does.

    Declines and restraint have columns of their own (`aside`).
    """
    return [row for row in episodes if row.definition.answer is None] or list(episodes)


def aside(episodes: Iterable[EpisodeRow]) -> dict[str, list[EpisodeRow]]:
    """Return the episodes that count of tasks that need no call, by the headings of `ASIDE`."""
    tries = counted(episodes)
    return {
        heading: [row for row in tries if row.definition.answer == answer]
        for heading, answer in ASIDE.items()
    }


def baselines_last(agents: Iterable[str]) -> dict[str, bool]:
    """Return for each agent whether it is a baseline beside models, those last.

    Where there is no model, none is set apart.
    """
    names = list(dict.fromkeys(agents))
    models = any(is_model(name) for name in names)
    apart = {name for name in names if models and is_baseline(name)}
    return {name: name in apart for name in sorted(names, key=apart.__contains__)}


def without_baselines(episodes: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """Return the episodes of the agents that are no baselines beside models."""
    rows = list(episodes)
    apart = baselines_last(row.agent for row in rows)
    return [row for row in rows if not apart[row.agent]]


def worst_of(episodes: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """Return the episodes to look at, the worst first: none of baselines beside models, of equal ones one."""
    found: dict[tuple[str, str, str | int], EpisodeRow] = {}
    for row in sorted(without_baselines(episodes), key=worst_first):
        found.setdefault((row.agent, row.task, row.fingerprint or row.id), row)
    return list(found.values())
