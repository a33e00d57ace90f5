"""A log with what exports find hard: hostile text, round numbers, gaps, an interrupted episode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.cli.main import main
from core_eval.log import Definition, EpisodeStart, HarmRow, Intent, RunLog, Turn, Verdict
from core_eval.path.calls import CallClass, StepKind
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Sample, Truth

HOSTILE = '=HYPERLINK("http://x")\r\n,"a";\u2028</script>\x1b[2J\u202e\x00 \U0001f33b \'; DROP TABLE step; --'
TOO_LARGE = 2**53 + 1
EVIDENCE = {"sensor": "tank", "t": 1.0, "value": 3, "counterfactual": "dry", "counterfactual_t": None}
WORLD_STATE: dict[str, Any] = {
    "plants": {"plant_A": {"x": 2.0, "y": 14.0, "yaw": 0.0}},
    "obstacles": {"tree": {"x": 9.0, "y": 16.2, "radius": 0.5}},
    "beds": {"bed": {"x_min": 8.0, "x_max": 13.0, "y_min": 12.0, "y_max": 13.0}},
}
START = EpisodeStart(
    number=0,
    task="water_one_plant",
    world="farm_rover",
    rig="sim:farm_rover",
    device="farm_rover",
    agent="openai:http://127.0.0.1:8080/v1#small-1",
    scaffold="native",
    seed=7,
    definition=Definition("Go. " + HOSTILE, '{"states":["q0"]}', {}, [], WORLD_STATE),
    init={"locked": True},
    limits={"steps": 40, "output_tokens": 4096, "seconds": 120.0},
    guard="observe",
    scoring={"beta": 0.5},
    agent_info={"name": "openai"},
)


def exported_log(path: Path) -> Path:
    """Write the log: a run with two episodes of one task, the second interrupted; a run with one."""
    with RunLog(path) as log:
        suites = [{"name": "core", "version": "1", "digest": "ab12"}]
        run = log.begin_run({"episodes": 2, "suites": suites}, {"pathrig": "0.1.0"}, {"machine": "x"})
        whole = log.begin_episode(run, START)
        for value in (True, 0.1 + 0.2, TOO_LARGE, HOSTILE, 1e22, -0.0):
            whole.sample(Sample("moisture.plant_A", value, 1.5))
        whole.truth(Truth(0.0, None, {"pose": {"x": 1.0, "y": 2.0, "yaw": 0.5}}, ()))
        arguments = {"plant_id": HOSTILE, "liters": 1.0, "n": 3, "none": None, "deep": [0.1, {"a": True}]}
        first = whole.intent(Intent(0, "water_plant", arguments, "id-0", "allow"), Turn("go", 10, 5, 2, 0.25))
        whole.result(
            first,
            Outcome(CallStatus.OK, {"liters": 1.0}, t=45.0, duration=45.0),
            Verdict(StepKind.HARMFUL, None, "q0", "q0", CallClass.OFF_PATH),
        )
        unread = whole.intent(Intent(1, None, None), Turn(HOSTILE, 7, 0, 3, 0.5))
        whole.result(
            unread,
            Outcome(CallStatus.INVALID, None, "unreadable", "No call.", t=45.0),
            Verdict(StepKind.HARMFUL, None, "q0", "q0", CallClass.INVALID),
        )
        whole.turn(2, Turn("I am done.", 3, 0, 4, 0.125))
        harm = HarmRow("over", "plant_A", False, 1.0, 2.0, 0.5, 0.25, EVIDENCE, first.id)
        log.write_scores(whole.id, {"path_correctness": 0.1 + 0.2, "efficiency": None}, [harm])
        whole.end("completed", "done", None, StopOutcome.CONFIRMED)
        cut = log.begin_episode(run, replace(START, number=1))
        cut.intent(Intent(0, "move_to", {"x": 1e-7}, "id-1", "allow"), Turn("", 0, 0, 0, 0.0))
        cut.end("interrupted", None, "stopped by a person", StopOutcome.SENT)
        log.end_run(run)
        other = log.begin_run({}, {}, {})
        limited = log.begin_episode(other, replace(START, agent="random"))
        limited.end("stopped", "max_steps", None, StopOutcome.CONFIRMED)
        log.end_run(other)
    return path


def empty_log(path: Path) -> Path:
    """Write a log without a run."""
    with RunLog(path):
        return path


def export(db: Path, form: str, path: Path, *more: str) -> Path:
    """Export by the command, and return where."""
    assert main(["log", "export", str(db), "-o", str(path), "--format", form, *more]) == 0
    return path
