"""The file of a snapshot: the answers and the telemetry of episodes, as JSON with a checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from configs.errors import ConfigError
from core_eval.call_status import CallStatus
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.json_text import json_text
from core_eval.text.streams import world_stream

FORMAT: Final = "pathrig snapshot"
MOST_BYTES = 1 << 28

RecordedSample = tuple[StrictStr, StrictInt | StrictFloat | StrictStr, float]
"""Sensor, value and device time, s."""


class Part(BaseModel):
    """Base of the parts of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RecordedTruth(Part):
    """The ground truth that a simulator gave after a call, or after its init."""

    t: float
    state: dict[str, Any]
    events: list[dict[str, Any]]


class RecordedCall(Part):
    """A call that reached the rig, its answer, and the samples that came with it."""

    tool: str
    arguments: dict[str, Any]
    status: CallStatus
    value: Any = None
    code: str | None = None
    message: str | None = None
    t: float | None
    duration: float | None
    answered: bool = Field(description="false: the fault is the host's own, and it may have been executed")
    samples: list[RecordedSample] = []
    truth: RecordedTruth | None = None


class RecordedTwin(Part):
    """The model that goes on where an agent leaves the record.

    Attributes:
        world: its name.
        state: its initial state, of the model of the device's world.
        init: the overrides of that state for this episode.
        exact: it is the simulator that was recorded, so that it repeats every answer.
    """

    world: str
    state: dict[str, Any]
    init: dict[str, Any]
    exact: bool


class RecordedEpisode(Part):
    """An episode.

    Attributes:
        source: the log and the episode's id in it, for messages.
        init, seed, streams: with which a simulator began it; the version of the random streams.
        samples: those before the first call.
        trailing: those after the last call.
        truth: a simulator's, before the first call.
        twin: None if the kit has no world of the device, or cannot repeat the episode.
    """

    source: str
    task: str
    rig: str
    simulated: bool
    init: dict[str, Any]
    seed: int
    streams: int = 1
    samples: list[RecordedSample]
    calls: list[RecordedCall]
    trailing: list[RecordedSample]
    truth: RecordedTruth | None = None
    twin: RecordedTwin | None = None

    @property
    def world_seed(self) -> int:
        """The seed with which a simulator began it."""
        return world_stream(self.streams, self.seed, self.task)


class Snapshot(Part):
    """Episodes of one rig.

    Attributes:
        scoring_twin: the configuration of the twin that assesses the harm of a rig without truth, as logged.
    """

    device: str
    scoring_twin: dict[str, Any] | None = None
    episodes: Annotated[list[RecordedEpisode], Field(min_length=1)]


class SnapshotFile(Part):
    """What the file holds."""

    format: Literal["pathrig snapshot"] = FORMAT
    version: Literal[1] = 1
    sha256: str
    snapshot: Snapshot


def snapshot_text(snapshot: Snapshot) -> str:
    """Return the text of a snapshot's file."""
    content = snapshot.model_dump(mode="json")
    return json_text(
        {"format": FORMAT, "version": 1, "sha256": _checksum(content), "snapshot": content}, indent=1
    )


def load_snapshot(path: Path) -> Snapshot:
    """Read a snapshot's file.

    Raises:
        ConfigError: it cannot be read, is no snapshot, or was changed or damaged.
    """
    try:
        data = parse_json(path.read_bytes(), max_bytes=MOST_BYTES)
    except OSError as error:
        raise ConfigError(f"no snapshot can be read: {error.strerror}", file=path) from None
    except ForeignJsonError as error:
        raise ConfigError(f"is no snapshot, or damaged: {error}; record it again", file=path) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ConfigError("is no snapshot: write one with `pathrig log record`", file=path)
    if data.get("version") != 1:
        raise ConfigError(f"is of version {data.get('version')!r}, and this program reads 1", file=path)
    if data.get("sha256") != _checksum(data.get("snapshot")):
        raise ConfigError("was changed or is damaged: its checksum does not fit; record it again", file=path)
    try:
        return SnapshotFile.model_validate(data).snapshot
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{place}: {first['msg']}; record it again", file=path) from None


def _checksum(content: Any) -> str:
    return hashlib.sha256(json_text(content).encode()).hexdigest()
