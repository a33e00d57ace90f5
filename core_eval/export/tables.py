"""The log as flat tables, for CSV and Parquet: one row an episode, a step, a sample, a harm event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from core_eval.log import EpisodeRow, HarmRow, LogReader, StepRow, Turn
from core_eval.log.row_map import column_types, is_word, named
from core_eval.score.metrics import METRICS, json_value
from core_eval.score.repeated import passed
from core_eval.text.json_text import to_json

Kind = Literal["integer", "real", "flag", "text", "json"]
EXACT = 2**53
"""The integers up to here are exact as a float."""


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table.

    Attributes:
        name: of its file.
        columns: name to kind; `json` is text that holds JSON.
        rows: the rows of an episode, with the columns in their order.
    """

    name: str
    columns: Mapping[str, Kind]
    rows: Callable[[LogReader, EpisodeRow], Iterator[list[Any]]]


_KINDS: Mapping[Any, Kind] = {bool: "flag", int: "integer", float: "real", str: "text"}


def _kinds(row: Any) -> dict[str, Kind]:
    """Return the kind of each column of a row's class."""
    return {name: "text" if is_word(of) else _KINDS.get(of, "json") for name, of in column_types(row).items()}


OF_EPISODE: Mapping[str, Kind] = {"run_id": "integer", "episode_id": "integer"}
EPISODE: Mapping[str, Kind] = {
    **OF_EPISODE,
    # An imported reward is one of the scores.
    **{name: kind for name, kind in _kinds(EpisodeRow).items() if name not in ("id", "run_id", "reward")},
    "suites": "json",
    "prompt": "text",
    "scores": "json",
    "failures": "json",
    "pairs": "json",
    "scorings": "json",
}
KINDS: Mapping[str, Kind] = {"flag": "flag", "count": "integer", "bytes": "integer"}
SCORES: Mapping[str, Kind] = {
    "passed": "flag",
    **{metric.name: KINDS.get(metric.kind, "real") for metric in METRICS},
}
"""The columns of an episode's scores, in place of one of JSON."""
EPISODES: Mapping[str, Kind] = {
    **{name: kind for name, kind in EPISODE.items() if name != "scores"},
    **SCORES,
    "other_scores": "json",
}
STEP: Mapping[str, Kind] = {**OF_EPISODE, **_kinds(StepRow), **_kinds(Turn)}
SAMPLE: Mapping[str, Kind] = {
    **OF_EPISODE,
    "sensor": "text",
    "t": "real",
    "number": "real",
    "text": "text",
}
HARM: Mapping[str, Kind] = {
    **OF_EPISODE,
    "step_id": "integer",
    "k": "integer",
    **_kinds(HarmRow),
    "blame": "json",
}


def sample_value(value: int | float | str) -> tuple[int | float | None, str | None]:
    """Return a reading as number and text, one of them None; an integer beyond 2**53 is text."""
    if isinstance(value, str):
        return None, value
    if isinstance(value, int) and abs(value) > EXACT:
        return None, str(value)
    return value, None


def _episode_rows(log: LogReader, episode: EpisodeRow) -> Iterator[list[Any]]:
    values = {name: getattr(episode, name) for name in EPISODE if hasattr(episode, name)}
    values |= {"suites": log.run(episode.run_id).suites or None}
    values |= {"prompt": episode.definition.prompt, "passed": passed(episode)}
    values |= {name: [asdict(row) for row in values[name]] for name in ("failures", "pairs", "scorings")}
    values |= {name: json_value(name, value) for name, value in episode.scores.items()}
    others = {name: value for name, value in episode.scores.items() if name not in SCORES}
    yield _row(EPISODES, episode, values | {"other_scores": others or None})


def _step_rows(log: LogReader, episode: EpisodeRow) -> Iterator[list[Any]]:
    steps = log.steps(episode.id)
    for step in steps:
        values = named(step)
        yield _row(STEP, episode, values | (values.pop("turn") or {}))
    for k, turn in log.turns(episode.id).items():
        if k >= len(steps):
            yield _row(STEP, episode, {"k": k, **asdict(turn)})


def _sample_rows(log: LogReader, episode: EpisodeRow) -> Iterator[list[Any]]:
    for sample in log.samples(episode.id):
        yield [episode.run_id, episode.id, sample.sensor, sample.t, *sample_value(sample.value)]


def _row(columns: Mapping[str, Kind], episode: EpisodeRow, values: Mapping[str, Any]) -> list[Any]:
    whole = {**values, "run_id": episode.run_id, "episode_id": episode.id}
    return [_cell(kind, whole.get(name)) for name, kind in columns.items()]


def _cell(kind: Kind, value: Any) -> Any:
    if value is None:
        return None
    if kind == "json":
        return to_json(value)
    return str(value) if kind == "text" else value


TABLES = (
    ExportTable("episodes", EPISODES, _episode_rows),
    ExportTable("steps", STEP, _step_rows),
    ExportTable("samples", SAMPLE, _sample_rows),
    ExportTable("harm", HARM, lambda log, one: (_row(HARM, one, asdict(it)) for it in log.harm(one.id))),
)
