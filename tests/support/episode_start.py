"""The start of an episode, as a log takes it."""

from core_eval.log import (
    Definition,
    EpisodeStart,
)

START = EpisodeStart(
    number=0,
    task="farm/one",
    world="farm_rover",
    rig="sim-farm-mqtt",
    device="farm_rover",
    agent="scripted",
    scaffold="none",
    seed=7,
    definition=Definition("Go.", '{"states":["q0"]}', {"holds": []}, [], {"tank": 5.0}),
    init={"locked": True},
    limits={"steps": 40},
    guard="observe",
    scoring={"beta": 0.5},
    agent_info={"model": "none"},
)
