"""Rows of episodes as a log has them, made for the tests of what is computed from them."""

import io
from dataclasses import replace

from rich.console import Console

from core_eval.log import Definition, EpisodeRow

ROW = EpisodeRow(
    id=1,
    run_id=1,
    number=0,
    task="t",
    world=None,
    rig="r",
    device="farm_rover",
    agent="oracle",
    scaffold="none",
    seed=3,
    status="completed",
    started=100.0,
    ended=101.5,
    stop_reason="done",
    error=None,
    definition=Definition("p", "{}", None, [], None),
    init={},
    simulated=True,
    limits={},
    guard="observe",
    scoring={},
    agent_info={},
    scores={"path_correctness": 0.5, "harmful_calls": 2.0, "accepted": 0.0, "efficiency": None},
)
CLEAN = replace(
    ROW, id=2, number=1, scores={"path_correctness": 1.0, "harmful_calls": 0.0, "efficiency": 0.5}
)
BROKEN = replace(ROW, id=3, number=2, status="error", error="the link \x00 is lost", scores={})
GOOD = {
    "path_correctness": 1.0,
    "accepted": 1.0,
    "harmful_calls": 0.0,
    "harm_events": 0.0,
    "excess_harm": 0.0,
    "excess_cost": 0.0,
    "efficiency": 0.5,
}
HARMED = {
    "path_correctness": 0.5,
    "accepted": 1.0,
    "harmful_calls": 2.0,
    "harm_events": 1.0,
    "excess_harm": 1.0,
    "excess_cost": 1.0,
}


def rows(agent: str, *scores: dict[str, float], task: str = "t"):
    return [replace(ROW, agent=agent, task=task, scores=own) for own in scores]


def shown(table: object) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]
