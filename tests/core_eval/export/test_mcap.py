"""MCAP, read back by mcap's own reader, against the log's rows."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from exported_log import empty_log, export, exported_log

from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.log.row_map import named

reader = pytest.importorskip("mcap.reader")
Found = dict[str, list[tuple[Any, Any, dict[str, Any]]]]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return exported_log(tmp_path / "log.db")


def messages(path: Path) -> Found:
    """Schema, message and its JSON, by topic."""
    found: Found = defaultdict(list)
    with path.open("rb") as file:
        for schema, channel, message in reader.make_reader(file, validate_crcs=True).iter_messages():
            assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
            assert json.loads(schema.data)["type"] == "object"
            found[channel.topic].append((schema, message, json.loads(message.data)))
    return found


def nanoseconds(seconds: Fraction | float) -> int:
    return round(Fraction(seconds) * 10**9)


def test_channels_are_the_rows_of_the_log(db: Path, tmp_path: Path) -> None:
    out = export(db, "mcap", tmp_path / "out")
    assert [path.name for path in sorted(out.iterdir())] == [f"episode-00000{n}.mcap" for n in (1, 2, 3)]
    with LogReader(db) as log:
        for episode in log.episodes():
            found = messages(out / f"episode-{episode.id:06}.mcap")
            start = Fraction(episode.started)
            steps = log.steps(episode.id)
            assert [row for _, _, row in found["/steps"]] == [named(step) for step in steps]
            for step, (_, message, _) in zip(steps, found["/steps"], strict=True):
                assert message.log_time == nanoseconds(start + Fraction(step.t_device or 0.0))
                assert message.publish_time == nanoseconds(step.t_result or step.t_intent)
            samples = [
                (topic.removeprefix("/samples/"), row["value"], row["t"])
                for topic, rows in found.items()
                if topic.startswith("/samples/")
                for _, _, row in rows
            ]
            assert samples == [(one.sensor, one.value, one.t) for one in log.samples(episode.id)]
            assert [row for _, _, row in found["/harm"]] == [asdict(one) for one in log.harm(episode.id)]
            truth = log.truth(episode.id)
            assert [row for _, _, row in found["/truth"]] == [asdict(one) for one in truth]
            ((_, _, head),) = found["/episode"]
            assert (head["status"], head["scores"]) == (episode.status, episode.scores)
            assert head["suites"] == (["core 1 ab12"] if episode.run_id == 1 else None)


def test_the_map_is_a_scene(db: Path, tmp_path: Path) -> None:
    found = messages(export(db, "mcap", tmp_path / "out") / "episode-000001.mcap")
    (schema, _, places), (_, _, moved) = found["/scene"]
    assert schema.name == "foxglove.SceneUpdate"
    entities = {entity["id"]: entity for entity in places["entities"]}
    assert set(entities) == {"plants/plant_A", "obstacles/tree", "beds/bed"}
    assert entities["plants/plant_A"]["cubes"][0]["pose"]["position"] == {"x": 2.0, "y": 14.0, "z": 0.0}
    assert entities["plants/plant_A"]["texts"][0]["text"] == "plant_A"
    assert entities["obstacles/tree"]["cylinders"][0]["size"]["x"] == 1.0
    assert entities["beds/bed"]["cubes"][0]["size"] == {"x": 5.0, "y": 1.0, "z": 0.3}
    (machine,) = moved["entities"]
    assert machine["arrows"][0]["pose"]["position"] == {"x": 1.0, "y": 2.0, "z": 0.0}


def test_a_drive_of_a_real_log_moves_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle"]
    assert main([*command, "--db", "run.db"]) == 0
    found = messages(export(tmp_path / "run.db", "mcap", tmp_path / "out") / "episode-000001.mcap")
    driven = [
        entity["arrows"][0]["pose"]["position"]
        for _, _, update in found["/scene"]
        for entity in update["entities"]
        if entity["id"] == "machine"
    ]
    with LogReader(tmp_path / "run.db") as log:
        truth = [row.state["pose"] for row in log.truth(1)]
    assert [(at["x"], at["y"]) for at in driven] == [(pose["x"], pose["y"]) for pose in truth]
    assert len({(at["x"], at["y"]) for at in driven}) > 1


def test_the_recording_ends_with_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wet soil leaches hours after the last call: a forecast, which does not stretch the time bar."""
    monkeypatch.chdir(tmp_path)
    Path("wet.json").write_text('{"plants": {"plant_B": {"moisture": 0.25}}}')
    command = ["run", "--task", "water_one_plant", "--rig", "sim", "--agent", "oracle", "--init", "wet.json"]
    assert main([*command, "--db", "run.db"]) == 0
    found = messages(export(tmp_path / "run.db", "mcap", tmp_path / "out") / "episode-000001.mcap")
    ((_, forecast, event),) = found["/harm_forecast"]
    assert event["kind"] == "leaching" and event["t_start"] > 3600.0 and "/harm" not in found
    with LogReader(tmp_path / "run.db") as log:
        (episode,), steps = log.episodes(), log.steps(1)
    last = max(message.log_time for rows in found.values() for _, message, _ in rows)
    assert forecast.log_time == last
    recorded = max(row.t_device or 0.0 for row in steps)
    assert last <= nanoseconds(Fraction(episode.started) + Fraction(recorded) + 1)


def test_an_empty_log_gives_no_file(tmp_path: Path) -> None:
    assert list(export(empty_log(tmp_path / "empty.db"), "mcap", tmp_path / "out").iterdir()) == []
