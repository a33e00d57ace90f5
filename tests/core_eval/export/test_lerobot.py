"""A log as a dataset of LeRobot: by the documented schema, and by its own library where that is installed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exported_log import START, export

from core_eval.call_status import CallStatus
from core_eval.cli.main import main
from core_eval.log import Definition, Intent, RunLog, Turn, Verdict
from core_eval.path.calls import CallClass, StepKind
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Sample

pa = pytest.importorskip("pyarrow")
FEATURES = ["observation.state", "action", "timestamp", "frame_index", "episode_index", "index", "task_index"]


def write_episode(log: RunLog, run: int, number: int, prompt: str, device: str = "joint_arm") -> None:
    definition = Definition(prompt, "{}", {}, [], {})
    episode = log.begin_episode(run, replace(START, number=number, device=device, definition=definition))
    for t, pan, closed in ((0.0, 0.5, False), (0.3, 0.75, True), (0.6, 1.0, True)):
        episode.sample(Sample("pan.pos", pan, t))
        episode.sample(Sample("gripper_closed", closed, t))
        episode.sample(Sample("mood", "fine", t))
    episode.sample(Sample(f"only.{number}", 1.0, 0.0))
    calls: list[tuple[str, dict[str, Any], CallStatus, float, float]] = [
        ("unlock", {}, CallStatus.OK, 0.1, 0.1),
        ("move_joints", {"joints": {"pan": 1.0, "name": "x"}, "fast": True}, CallStatus.OK, 0.6, 0.4),
        ("move_joints", {"joints": {"pan": 9.0}}, CallStatus.REJECTED, 0.6, 0.0),
        ("wait", {"seconds": 0.2}, CallStatus.OK, 0.8, 0.2),
    ]
    for k, (tool, arguments, status, t, duration) in enumerate(calls):
        step = episode.intent(Intent(k, tool, arguments, f"id-{k}", "allow"), Turn("", 1, 1, 1, 0.1))
        verdict = Verdict(StepKind.PROGRESS, None, "q0", "q0", CallClass.PROGRESS)
        episode.result(step, Outcome(status, {}, t=t, duration=duration), verdict)
    episode.end("completed", "done", None, StopOutcome.CONFIRMED)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    with RunLog(path) as log:
        run = log.begin_run({"episodes": 3}, {"pathrig": "0.1.0"}, {"machine": "x"})
        for number, prompt in enumerate(("Turn the pan.", "Turn it back.", "Turn the  pan.")):
            write_episode(log, run, number, prompt)
        write_episode(log, log.begin_run({}, {}, {}), 0, "Other.", "farm_rover")
    return path


@pytest.fixture
def dataset(db: Path, tmp_path: Path) -> Path:
    return export(db, "lerobot", tmp_path / "out", "--run", "1")


def test_the_files_are_those_of_the_format(dataset: Path) -> None:
    from pyarrow.parquet import read_table

    info = json.loads((dataset / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["robot_type"]) == ("v3.0", 10, "joint_arm")
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (3, 27, 2)
    assert list(info["features"]) == FEATURES
    assert info["features"]["observation.state"]["names"] == ["gripper_closed", "pan.pos"]
    names = ["move_joints", "unlock", "wait", "move_joints.joints.pan", "wait.seconds"]
    assert info["features"]["action"] == {"dtype": "float32", "shape": [5], "names": names}
    frames = read_table(dataset / info["data_path"].format(chunk_index=0, file_index=0)).to_pylist()
    assert list(frames[0]) == FEATURES
    assert [frame["index"] for frame in frames] == list(range(27))
    first = frames[:9]
    assert [frame["timestamp"] for frame in first] == pytest.approx([k / 10 for k in range(9)])
    # Its readings are of 0, 0.3 and 0.6 s, its calls of 0, 0.2 and 0.6 s: each holds until the next one.
    assert [frame["observation.state"][1] for frame in first] == [0.5] * 3 + [0.75] * 3 + [1.0] * 3
    assert [frame["action"][3] for frame in first] == [0.0] * 2 + [1.0] * 7
    assert [frame["action"].index(1.0) if 1.0 in frame["action"][:3] else None for frame in first] == [
        1, None, 0, 0, 0, 0, 2, 2, None,
    ]  # fmt: skip
    episodes = read_table(dataset / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert [(one["dataset_from_index"], one["dataset_to_index"]) for one in episodes] == [
        (0, 9), (9, 18), (18, 27),
    ]  # fmt: skip
    assert [frame["task_index"] for frame in frames[::9]] == [0, 1, 0]
    stats = json.loads((dataset / "meta/stats.json").read_text())
    assert stats["observation.state"]["max"] == [1.0, 1.0] and stats["action"]["count"] == [27]
    assert episodes[0]["stats/observation.state/mean"] == pytest.approx([6 / 9, 0.75])


def test_pandas_reads_the_tasks_as_an_index(dataset: Path) -> None:
    pandas = pytest.importorskip("pandas")
    tasks = pandas.read_parquet(dataset / "meta/tasks.parquet")
    assert tasks.index.tolist() == ["Turn the pan.", "Turn it back."]
    assert tasks.loc["Turn it back."].task_index == 1


def test_a_dataset_is_replaced_as_a_whole_and_nothing_else_is(
    db: Path, dataset: Path, tmp_path: Path
) -> None:
    stale = dataset / "data/chunk-000/file-001.parquet"
    stale.write_bytes(b"of an export with more episodes")
    export(db, "lerobot", dataset, "--run", "1")
    assert not stale.exists()
    (tmp_path / "mine/data").mkdir(parents=True)
    command = ["log", "export", str(db), "--format", "lerobot", "--run", "1", "-o", str(tmp_path / "mine")]
    assert main(command) == 2
    assert (tmp_path / "mine/data").is_dir()


def test_what_is_no_dataset_is_said_in_a_line(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["log", "export", "--format", "lerobot", "-o", str(tmp_path / "out")]
    assert main([*command, str(db)]) == 2
    assert "takes one device, and there are farm_rover, joint_arm: give --run" in capsys.readouterr().err
    with RunLog(tmp_path / "empty.db") as log:
        log.begin_run({}, {}, {})
    assert main([*command, str(tmp_path / "empty.db")]) == 2
    assert "needs a sensor of numbers that is read in every episode" in capsys.readouterr().err


@pytest.mark.interop
def test_lerobot_itself_reads_it(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    module = pytest.importorskip("lerobot.datasets.lerobot_dataset")
    read = module.LeRobotDataset("me/mine", root=dataset)
    assert (len(read), read.num_episodes, read.fps) == (27, 3, 10)
    frame = read[9]
    assert frame["task"] == "Turn it back." and frame["observation.state"].tolist() == [0.0, 0.5]
    assert read.meta.stats["action"]["max"].tolist() == pytest.approx([1.0, 1.0, 1.0, 1.0, 0.2])
