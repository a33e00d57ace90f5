"""CSV and Parquet, read back by the standard library and by pyarrow, against the log's rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from exported_log import TOO_LARGE, empty_log, export, exported_log

from core_eval.cli.main import main
from core_eval.export.tables import EPISODE, HARM, SCORES, STEP, TABLES
from core_eval.log import EpisodeRow, HarmRow, LogReader, StepRow, Turn
from core_eval.log.row_map import named
from core_eval.score.metrics import METRICS, json_value

KINDS = {table.name: table.columns for table in TABLES}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return exported_log(tmp_path / "log.db")


def csv_table(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a file, their cells read as the columns' kinds."""
    readers = {
        "integer": int,
        "real": float,
        "flag": lambda cell: cell == "True",
        "text": str,
        "json": json.loads,
    }
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            {key: readers[KINDS[name][key]](cell) if cell else None for key, cell in row.items()}
            for row in csv.DictReader(file)
        ]


def parquet_table(folder: Path, name: str) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(folder / f"{name}.parquet").to_pylist()
    whole = [{**row} for row in rows]
    for row in whole:
        row |= {key: json.loads(row[key]) for key, kind in KINDS[name].items() if kind == "json" and row[key]}
    return whole


READERS = {"csv": csv_table, "parquet": parquet_table}


def logged_steps(log: LogReader) -> Iterator[dict[str, Any]]:
    for episode in log.episodes():
        of_episode = {"run_id": episode.run_id, "episode_id": episode.id}
        steps = log.steps(episode.id)
        for step in steps:
            assert step.turn is not None
            yield {**of_episode, **named(step), **asdict(step.turn)}
        for k, turn in log.turns(episode.id).items():
            if k >= len(steps):
                yield {**dict.fromkeys(STEP), **of_episode, "k": k, **asdict(turn)}


@pytest.mark.parametrize("form", READERS)
def test_steps_are_those_of_the_log(db: Path, tmp_path: Path, form: str) -> None:
    read = READERS[form](export(db, form, tmp_path / "out"), "steps")
    with LogReader(db) as log:
        expected = list(logged_steps(log))
        turns = [turn for row in log.episodes() for turn in log.turns(row.id).values()]
    assert len(read) == 4
    for row, logged, turn in zip(read, expected, turns, strict=True):
        # CSV has no difference between an empty text and none.
        texts = {"text": turn.text, "reasoning": turn.reasoning}
        told = {name: text or None if form == "csv" else text for name, text in texts.items()}
        assert row == {name: logged.get(name) for name in STEP} | told
    assert [row["kind"] for row in read] == ["harmful", "harmful", None, None]


@pytest.mark.parametrize("form", READERS)
def test_samples_keep_numbers_and_words_apart(db: Path, tmp_path: Path, form: str) -> None:
    read = READERS[form](export(db, form, tmp_path / "out"), "samples")
    with LogReader(db) as log:
        logged = log.samples(1)
    assert len(read) == 6
    for row, sample in zip(read, logged, strict=True):
        assert (row["sensor"], row["t"], row["run_id"], row["episode_id"]) == (sample.sensor, sample.t, 1, 1)
        if sample.value == TOO_LARGE:
            assert (row["number"], row["text"]) == (None, str(TOO_LARGE))
        elif isinstance(sample.value, str):
            assert (row["number"], row["text"]) == (None, sample.value)
        else:
            assert (repr(float(row["number"])), row["text"]) == (repr(float(sample.value)), None)


@pytest.mark.parametrize("form", READERS)
def test_harm_and_episodes_are_those_of_the_log(db: Path, tmp_path: Path, form: str) -> None:
    out = export(db, form, tmp_path / "out")
    harm, episodes = READERS[form](out, "harm"), READERS[form](out, "episodes")
    with LogReader(db) as log:
        (event,) = log.harm(1)
        logged = log.episodes()
    assert harm == [{"run_id": 1, "episode_id": 1, **asdict(event)}]
    for row, episode in zip(episodes, logged, strict=True):
        special = {"run_id", "episode_id", "prompt", "failures", "pairs", "scores", "scorings", "suites"}
        assert {name: row[name] for name in EPISODE if name not in special} == {
            name: getattr(episode, name) for name in EPISODE if name not in special
        }
        assert (row["episode_id"], row["prompt"]) == (episode.id, episode.definition.prompt)
    assert [row["status"] for row in episodes] == ["completed", "interrupted", "stopped"]
    assert (episodes[0]["path_correctness"], episodes[0]["efficiency"]) == (0.1 + 0.2, None)
    assert episodes[0]["passed"] is False


@pytest.mark.parametrize("form", READERS)
def test_each_metric_is_a_typed_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(tmp_path)
    run = ["run", "--task", "water_one_plant", "--rig", "sim", "--agent", "oracle", "--db", "log.db"]
    assert main(run) == 0
    (row,) = READERS[form](export(tmp_path / "log.db", form, tmp_path / "out"), "episodes")
    with LogReader(Path("log.db")) as log:
        (episode,) = log.episodes()
    assert row["passed"] is True and (row["path_correctness"], row["harmful_calls"]) == (1.0, 0)
    for metric in METRICS:
        value = json_value(metric.name, episode.scores.get(metric.name))
        assert (row[metric.name], type(row[metric.name])) == (value, type(value)), metric.name
    assert row["other_scores"] is None
    assert not SCORES.keys() & EPISODE.keys(), "no metric takes the place of a column"


def test_round_numbers_stay_what_they_are(db: Path, tmp_path: Path) -> None:
    out = export(db, "csv", tmp_path / "out")
    with (out / "steps.csv").open(encoding="utf-8", newline="") as file:
        first = next(csv.DictReader(file))
    assert first["t_device"] == "45.0"
    assert '"liters":1.0,"n":3,"none":null' in first["arguments"]


def test_every_column_of_the_log_has_one_here() -> None:
    assert {field.name.removesuffix("_") for field in fields(StepRow)} | {
        field.name for field in fields(Turn)
    } <= {
        *STEP,
        "turn",
    }
    assert {field.name for field in fields(HarmRow)} <= HARM.keys()
    assert HARM["blame"] == "json"
    assert {field.name.removesuffix("_") for field in fields(EpisodeRow)} <= {
        *EPISODE,
        *SCORES,
        "id",
        "definition",
        "streams",
    }


@pytest.mark.parametrize("form", READERS)
def test_an_empty_log_gives_tables_without_rows(tmp_path: Path, form: str) -> None:
    out = export(empty_log(tmp_path / "empty.db"), form, tmp_path / "out")
    for table in TABLES:
        assert READERS[form](out, table.name) == []
        assert (out / f"{table.name}.{form}").stat().st_size > 0


def test_many_rows_are_written_in_batches(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from core_eval.export import parquet

    whole = parquet_table(export(db, "parquet", tmp_path / "one"), "samples")
    monkeypatch.setattr(parquet, "BATCH_ROWS", 2)
    out = export(db, "parquet", tmp_path / "two")
    assert parquet_table(out, "samples") == whole
    file = pytest.importorskip("pyarrow.parquet").ParquetFile(out / "samples.parquet")
    assert file.num_row_groups == 3
