"""A dataset of LeRobot (huggingface.co/docs/lerobot/lerobot-dataset-v3): readings and calls as frames.

Frames are `FPS` a second of device time, from an episode's start to its last result or reading. The state is
the last reading of each numeric sensor; the action is which tool runs, and the last numbers that were sent.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_eval.call_status import CallStatus
from core_eval.export.common import ExportError
from core_eval.log import EpisodeRow, LogReader, Tracked

VERSION = "v3.0"
FPS = 10
SAME = 1e-6
"""Two moments this close are one, s: sums of decimals differ in their last bits."""
EPISODES_A_FILE = 500
FILES_A_CHUNK = 1000
INFO = "meta/info.json"
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
MADE = (CallStatus.OK, CallStatus.FAULT)
"""Calls that may have moved something; others were refused."""
WHOLE = ("frame_index", "episode_index", "index", "task_index")

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Held:
    """A number over device time, s, that holds until the next one."""

    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, t: float, value: float) -> None:
        self.times.append(t)
        self.values.append(value)

    def at(self, t: float, before: float) -> float:
        k = bisect_right(self.times, t)
        return self.values[k - 1] if k else before


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What an episode gives: its signals by name, the spans in which tools ran, and its length, s."""

    task: str
    device: str
    state: Mapping[str, _Held]
    sent: Mapping[str, _Held]
    ran: Mapping[str, list[tuple[float, float]]]
    seconds: float


def write(log: LogReader, ids: Sequence[int], folder: Path, tracked: Tracked) -> None:
    """Write the dataset.

    Raises:
        ExportError: the episodes are of several devices, or no sensor of numbers was read in each of them.
    """
    episodes = [_recorded(log, log.episode(one)) for one in tracked("reading episodes", ids, len(ids))]
    devices = sorted({episode.device for episode in episodes})
    if len(devices) > 1:
        raise ExportError(
            f"--format lerobot takes one device, and there are {', '.join(devices)}: give --run"
        )
    state = sorted(set.intersection(*(set(one.state) for one in episodes))) if episodes else []
    if not state:
        raise ExportError("--format lerobot needs a sensor of numbers that is read in every episode")
    tools = sorted({tool for episode in episodes for tool in episode.ran})
    sent = sorted({name for episode in episodes for name in episode.sent})
    _write(folder, devices[0], episodes, state, tools, sent)


def _recorded(log: LogReader, episode: EpisodeRow) -> _Recorded:
    state: dict[str, _Held] = {}
    sent: dict[str, _Held] = {}
    ran: dict[str, list[tuple[float, float]]] = {}
    end = 0.0
    for sample in sorted(log.samples(episode.id), key=lambda one: one.t):
        if not isinstance(sample.value, str):
            state.setdefault(sample.sensor, _Held()).add(sample.t, float(sample.value))
            end = max(end, sample.t)
    for step in log.steps(episode.id):
        if step.tool is None or step.t_device is None or step.status not in MADE:
            continue
        begun = step.t_device - (step.duration or 0.0)
        ran.setdefault(step.tool, []).append((begun, step.t_device))
        end = max(end, step.t_device)
        for name, value in _numbers(step.tool, step.arguments):
            sent.setdefault(name, _Held()).add(begun, value)
    task = " ".join(episode.definition.prompt.split())
    return _Recorded(task, episode.device, state, sent, ran, end)


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield each number within arguments, by its path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(f"{name}.{key}", inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)


def _frames(
    episode: _Recorded, state: Sequence[str], tools: Sequence[str], sent: Sequence[str]
) -> tuple[Vectors, Vectors, Vectors]:
    """Return states (n, sensors), actions (n, tools + numbers) and timestamps (n, 1) of an episode."""
    times = [k / FPS for k in range(int((episode.seconds + SAME) * FPS) + 1)]
    instants = [t + SAME for t in times]
    observed = [
        [episode.state[name].at(t, episode.state[name].values[0]) for name in state] for t in instants
    ]
    acted = [
        [
            *(float(any(a <= t < b for a, b in episode.ran.get(tool, ()))) for tool in tools),
            *(episode.sent[name].at(t, 0.0) if name in episode.sent else 0.0 for name in sent),
        ]
        for t in instants
    ]
    return _columns(observed), _columns(acted), _columns(times)


def _columns(rows: Sequence[Any]) -> Vectors:
    return np.asarray(rows, dtype=np.float32).reshape(len(rows), -1)


def _write(
    folder: Path,
    device: str,
    episodes: Sequence[_Recorded],
    state: Sequence[str],
    tools: Sequence[str],
    sent: Sequence[str],
) -> None:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter, write_table

    vectors = pa.list_(pa.float32())
    schema = pa.schema(
        [("observation.state", vectors), ("action", vectors), ("timestamp", pa.float32())]
        + [(name, pa.int64()) for name in WHOLE]
    )
    tasks = list(dict.fromkeys(episode.task for episode in episodes))
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in schema.names}
    rows: list[dict[str, Any]] = []
    first = 0
    for start in range(0, len(episodes), EPISODES_A_FILE):
        chunk, file = divmod(start // EPISODES_A_FILE, FILES_A_CHUNK)
        path = folder / DATA.format(chunk_index=chunk, file_index=file)
        path.parent.mkdir(parents=True, exist_ok=True)
        with ParquetWriter(path, schema) as writer:
            for number, episode in enumerate(episodes[start : start + EPISODES_A_FILE], start):
                found: dict[str, NDArray[Any]] = dict(
                    zip(schema.names, _frames(episode, state, tools, sent), strict=False)
                )
                count = len(found["timestamp"])
                counted = (range(count), number, range(first, first + count), tasks.index(episode.task))
                for name, values in zip(WHOLE, counted, strict=True):
                    found[name] = np.broadcast_to(np.asarray(values, np.int64), count).reshape(-1, 1)
                arrays = [
                    pa.array(
                        list(found[one.name]) if one.type == vectors else found[one.name][:, 0], one.type
                    )
                    for one in schema
                ]
                writer.write_table(pa.table(arrays, schema=schema))
                where = {
                    "episode_index": number,
                    "tasks": [episode.task],
                    "length": count,
                    "data/chunk_index": chunk,
                    "data/file_index": file,
                    "dataset_from_index": first,
                    "dataset_to_index": first + count,
                    "meta/episodes/chunk_index": 0,
                    "meta/episodes/file_index": 0,
                }
                for name, of in found.items():
                    columns[name].append(of)
                    where |= {f"stats/{name}/{key}": value for key, value in _stats(of).items()}
                rows.append(where)
                first += count
    episodes_file = folder / "meta/episodes/chunk-000/file-000.parquet"
    episodes_file.parent.mkdir(parents=True)
    write_table(pa.Table.from_pylist(rows), episodes_file)
    write_table(_task_table(tasks), folder / "meta/tasks.parquet")
    stats = {name: _stats(np.concatenate(values)) for name, values in columns.items()}
    _write_json(folder / "meta/stats.json", stats)
    _write_json(folder / INFO, _info(device, len(episodes), first, len(tasks), state, [*tools, *sent]))


def _task_table(tasks: Sequence[str]) -> Any:
    """Return the tasks' table; pandas reads the text as its index, as LeRobot expects."""
    import pyarrow as pa

    described = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": of, "metadata": None}
        for name, kind, of in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    pandas = {"index_columns": ["task"], "column_indexes": [], "columns": described, "creator": {}}
    schema = pa.schema(
        [("task_index", pa.int64()), ("task", pa.string())], {b"pandas": json.dumps(pandas).encode()}
    )
    return pa.table([list(range(len(tasks))), list(tasks)], schema=schema)


def _stats(values: NDArray[Any]) -> dict[str, list[float]]:
    """Return the statistics of each column, and the number of rows."""
    found = {key: getattr(np, key)(values, axis=0).tolist() for key in ("min", "max", "mean", "std")}
    return {**found, "count": [len(values)]}


def _info(
    device: str, episodes: int, frames: int, tasks: int, state: Sequence[str], action: Sequence[str]
) -> dict[str, Any]:
    def feature(dtype: str, names: Sequence[str] | None) -> dict[str, Any]:
        return {"dtype": dtype, "shape": [1 if names is None else len(names)], "names": names}

    return {
        "codebase_version": VERSION,
        "robot_type": device,
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": tasks,
        "chunks_size": FILES_A_CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": FPS,
        "splits": {"train": f"0:{episodes}"},
        "data_path": DATA,
        "video_path": None,
        "features": {
            "observation.state": feature("float32", state),
            "action": feature("float32", action),
            "timestamp": feature("float32", None),
            **{name: feature("int64", None) for name in WHOLE},
        },
    }


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
