"""RRD: a folder with a recording per episode for the Rerun viewer: map, pose, signals, calls, harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core_eval.export import scene
from core_eval.harm.verdict import Thresholds
from core_eval.log import EpisodeRow, LogReader, Tracked
from core_eval.report.tables.texts import call_text
from core_eval.text.visible_text import visible
from sims.world_shapes import pose_of

TIMELINE = "device_time"
LEVELS = {"progress": "INFO", "loop": "DEBUG", "harmful": "ERROR", "fault": "WARN"}


def write(log: LogReader, ids: Sequence[int], folder: Path, tracked: Tracked) -> None:
    """Write a file per episode."""
    for episode_id in tracked("writing episodes", ids, len(ids)):
        _write_episode(log, log.episode(episode_id), folder / f"episode-{episode_id:06}.rrd")


def _write_episode(log: LogReader, episode: EpisodeRow, path: Path) -> None:
    import rerun as rr

    recording = rr.RecordingStream("pathrig", recording_id=f"run-{episode.run_id}-episode-{episode.id}")
    recording.save(path)
    title = f"# {episode.task}, {episode.agent}, seed {episode.seed}\n\n{episode.definition.prompt}"
    if suites := log.run(episode.run_id).suites:
        title += f"\n\nsuite {', '.join(suites)}"
    document = rr.TextDocument(visible(title, "\n"), media_type=rr.MediaType.MARKDOWN)
    recording.log("task", document, static=True)
    fixed = scene.places(episode)
    for entity in fixed:
        _log_place(recording, entity)
    device = 0.0
    for step in log.steps(episode.id):
        # A call whose result never came has no device time: it follows the call before.
        device = device if step.t_device is None else step.t_device
        recording.set_time(TIMELINE, duration=device)
        call = call_text(step.tool, step.arguments or {})
        text = f"{step.k} {call} {step.status or 'no result'} {step.kind or ''}"
        recording.log("calls", rr.TextLog(text, level=LEVELS.get(str(step.kind), "INFO")))
    for sample in log.samples(episode.id):
        recording.set_time(TIMELINE, duration=sample.t)
        name = f"samples/{sample.sensor.replace('.', '/')}"
        if isinstance(sample.value, str):
            recording.log(name, rr.TextLog(visible(sample.value)))
        else:
            recording.log(name, rr.Scalars(float(sample.value)))
    word = Thresholds.of(episode.twin).word
    for event in log.harm(episode.id):
        recording.set_time(TIMELINE, duration=event.t_start)
        text = visible(f"{event.kind} {event.entity} ({word(event)}), until {event.t_end:g} s")
        recording.log("harm", rr.TextLog(text, level="ERROR"))
    points: list[list[float]] = []
    for row in log.truth(episode.id) if fixed else ():
        at = pose_of(row.state)
        if at is not None:
            recording.set_time(TIMELINE, duration=row.t)
            points.append([at["x"], at["y"], at["z"]])
            recording.log(
                "map/machine", rr.Points3D([points[-1]], radii=scene.MACHINE_M / 2, labels=["machine"])
            )
            recording.log("map/path", rr.LineStrips3D([points]))
    recording.flush()
    recording.disconnect()


def _log_place(recording: Any, entity: Mapping[str, Any]) -> None:
    import rerun as rr

    for shape in (*entity["cubes"], *entity["cylinders"]):
        position, size, color = shape["pose"]["position"], shape["size"], shape["color"]
        box = rr.Boxes3D(
            centers=[[position[axis] for axis in "xyz"]],
            sizes=[[size[axis] for axis in "xyz"]],
            colors=[[round(255 * color[part]) for part in "rgba"]],
            labels=[visible(entity["id"].partition("/")[2])],
        )
        recording.log(f"map/{visible(entity['id'])}", box, static=True)
