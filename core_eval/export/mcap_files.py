"""MCAP: a folder with a file per episode, channels of JSON with schemas, and the map for Foxglove.

`log_time` is the episode's start plus device time, so that players show the machine's own time.
`publish_time` is the host's time where the log has it, at the calls; elsewhere it is `log_time`. Each message
also has the device time as the log has it. A harm event that begins after the record's end is on a topic of
its own, at that end: the recording is as long as what was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

from core_eval.export import scene
from core_eval.export.common import nanoseconds
from core_eval.export.tables import EPISODE, HARM, STEP, Kind
from core_eval.log import EpisodeRow, LogReader, Tracked
from core_eval.log.row_map import named
from core_eval.text.json_text import json_text
from sims.world_shapes import pose_of

OBJECT: Mapping[str, Any] = {"type": "object"}
JSON_TYPES: Mapping[Kind, list[str]] = {
    "integer": ["integer", "null"],
    "real": ["number", "null"],
    "flag": ["boolean", "null"],
    "text": ["string", "null"],
    "json": ["object", "array", "string", "number", "boolean", "null"],
}
SAMPLE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"t": {"type": "number"}, "value": {"type": ["number", "string"]}},
}
TRUTH: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "t": {"type": "number"},
        "call_id": {"type": ["string", "null"]},
        "state": OBJECT,
        "events": {"type": "array"},
    },
}


def write(log: LogReader, ids: Sequence[int], folder: Path, tracked: Tracked) -> None:
    """Write a file per episode."""
    for episode_id in tracked("writing episodes", ids, len(ids)):
        episode = log.episode(episode_id)
        with (folder / f"episode-{episode_id:06}.mcap").open("wb") as file:
            _write_episode(log, episode, file)


def _write_episode(log: LogReader, episode: EpisodeRow, file: IO[bytes]) -> None:
    out = _Channels(file, episode.started)
    head = {key: value for key, value in asdict(episode).items() if key in EPISODE or key == "definition"}
    head |= {"episode_id": episode.id, "suites": log.run(episode.run_id).suites or None}
    out.add("/episode", "pathrig.Episode", _schema(EPISODE), 0.0, head)
    device = 0.0
    samples, truth = log.samples(episode.id), log.truth(episode.id)
    for step in log.steps(episode.id):
        # A call whose result never came has no device time: it follows the call before.
        device = device if step.t_device is None else step.t_device
        host = step.t_intent if step.t_result is None else step.t_result
        out.add("/steps", "pathrig.Step", _schema(STEP), device, named(step), host)
    end = max([device, *(row.t for row in samples), *(row.t for row in truth)])
    for sample in samples:
        topic = f"/samples/{sample.sensor}"
        out.add(topic, "pathrig.Sample", SAMPLE, sample.t, {"t": sample.t, "value": sample.value})
    for event in log.harm(episode.id):
        topic = "/harm" if event.t_start <= end else "/harm_forecast"
        out.add(topic, "pathrig.HarmEvent", _schema(HARM), min(event.t_start, end), asdict(event))
    fixed = scene.places(episode)
    if fixed:
        out.add_scene(0.0, fixed)
    for row in truth:
        out.add("/truth", "pathrig.Truth", TRUTH, row.t, asdict(row))
        at = pose_of(row.state) if fixed else None
        if at is not None:
            out.add_scene(row.t, [scene.machine(at)])
    out.finish()


def _schema(columns: Mapping[str, Kind]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": JSON_TYPES[kind]} for name, kind in columns.items()},
    }


class _Channels:
    """The channels of one file, registered when they are first used."""

    def __init__(self, file: IO[bytes], started: float) -> None:
        from mcap.writer import Writer

        self._writer = Writer(file)
        self._writer.start(profile="", library="pathrig")
        self._started = Fraction(started)
        self._channels: dict[str, int] = {}
        self._schemas: dict[str, int] = {}
        self._sequence = 0

    def add(
        self,
        topic: str,
        name: str,
        schema: Mapping[str, Any],
        device: float,
        message: Mapping[str, Any],
        host: float | None = None,
    ) -> None:
        """Add a message at a device time, s, with the host's time where it is known."""
        if topic not in self._channels:
            self._channels[topic] = self._register(topic, name, schema)
        at = self._time(device)
        published = at if host is None else nanoseconds(host)
        data = json_text(message).encode()
        self._writer.add_message(self._channels[topic], at, data, published, self._sequence)
        self._sequence += 1

    def add_scene(self, device: float, entities: list[dict[str, Any]]) -> None:
        """Add entities of the map at a device time, s."""
        message = scene.update(entities, self._time(device))
        self.add("/scene", scene.SCHEMA_NAME, scene.SCHEMA, device, message)

    def finish(self) -> None:
        """Write the index."""
        self._writer.finish()

    def _time(self, device: float) -> int:
        return nanoseconds(self._started + Fraction(device))

    def _register(self, topic: str, name: str, schema: Mapping[str, Any]) -> int:
        if name not in self._schemas:
            data = json.dumps({"title": name, **schema}).encode()
            self._schemas[name] = self._writer.register_schema(name, "jsonschema", data)
        channel: int = self._writer.register_channel(topic, "json", self._schemas[name])
        return channel
