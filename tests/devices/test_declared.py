"""Device files: what they become, what a host knows by them, and what their mistakes are told as."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.baselines.random import RandomAgent
from configs.device_types import load_declared, load_device
from configs.errors import ConfigError
from configs.tasks_loader import list_tasks, load_task
from core_eval.path.calls import Call
from core_eval.path.scorer import OnlineScorer
from core_eval.verify.static_checks import Site, missing_tools, verify_static
from devices.outcome import Outcome
from devices.sensors import Sample
from devices.tool import ArgumentsError, Effect
from firmware_bridge.guard import Envelope, Guard

DEVICE: dict[str, Any] = {
    "name": "still",
    "description": "A still with a burner and a tap.",
    "registers": {
        "burner": {"choices": ["lit", "out"], "after_stop": "out"},
        "level": {"unit": "L"},
    },
    "sensors": {"float": {"unit": "L", "register": "level"}},
    "places": {"tap": {"x": 0.2, "z": 0.1}},
    "reach": 0.01,
    "tools": {
        "light": {
            "description": "Light the burner {really}.",
            "effect": "write",
            "inverse": "douse",
            "sets": {"burner": "lit"},
            "requires": {"level": {"min": 2}},
        },
        "douse": {"description": "Put the burner out.", "effect": "write", "sets": {"burner": "out"}},
        "pour": {
            "description": "Pour from the tap.",
            "effect": "write",
            "arguments": {
                "liters": {"unit": "L", "min": 0.1, "max": 5},
                "times": {"type": "integer", "unit": "1", "min": 1, "max": 9, "default": 1},
                "slow": {"type": "boolean", "default": False, "description": "drop by drop"},
            },
            "requires": [
                {
                    "registers": {"burner": "out"},
                    "when": {"liters": {"min": 1}},
                    "code": "hot",
                    "message": "The burner is lit. Put it out first.",
                }
            ],
            "limits": {"liters": {"max": 3}},
        },
        "move": {
            "description": "Move the cup.",
            "effect": "motion",
            "arguments": {
                "x": {"unit": "m", "description": "x"}, "z": {"unit": "m", "description": "z"},
            },
        },
        "read_level": {
            "description": "Read the level.",
            "effect": "read",
            "result": {"level": {"unit": "L", "resolution": 0.1, "register": "level"}},
        },
    },
}  # fmt: skip


def write(folder: Path, change: Any = None, *tasks: dict[str, Any]) -> Path:
    """The device file, changed, and a file of tasks for it."""
    device = deepcopy(DEVICE)
    if change is not None:
        change(device)
    path = folder / "still.yaml"
    path.write_text(yaml.safe_dump(device, sort_keys=False))
    if tasks:
        entries = [
            {"id": f"t{k}", "device": "still.yaml", "prompt": "Do.", **task} for k, task in enumerate(tasks)
        ]
        (folder / "tasks.yaml").write_text(yaml.safe_dump({"tasks": entries}))
    return path


def test_its_tools_are_as_strict_as_those_in_python(tmp_path: Path):
    device = load_device(str(write(tmp_path)))
    assert [tool.effect for tool in device.tools][-2:] == [Effect.MOTION, Effect.READ]
    assert device.reads == ("read_level",)
    light, pour = (device.by_name[name].schema()["function"] for name in ("light", "pour"))
    assert light["description"] == "Light the burner {really}."
    assert pour["parameters"] == {
        "type": "object",
        "properties": {
            "liters": {"type": "number", "minimum": 0.1, "maximum": 5.0, "description": "in L"},
            "times": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1, "description": ""},
            "slow": {"type": "boolean", "default": False, "description": "drop by drop"},
        },
        "required": ["liters"],
    }
    assert device.validate("pour", {"liters": 2}).model_dump() == {"liters": 2.0, "times": 1, "slow": False}
    for wrong in (
        {}, {"liters": 6.0}, {"liters": "2"}, {"liters": True}, {"liters": float("nan")},
        {"liters": 1.0, "times": 1.5}, {"liters": 1.0, "slow": 1}, {"liters": 1.0, "speed": 1},
    ):  # fmt: skip
        with pytest.raises(ArgumentsError):
            device.validate("pour", wrong)


def test_a_file_is_read_again_when_it_changes(tmp_path: Path):
    path = write(tmp_path)
    first = load_device(str(path))
    assert load_device(str(path)) is first
    write(tmp_path, lambda device: device["tools"].pop("move"))
    assert "move" not in load_device(str(path)).by_name


def test_what_a_host_knows_are_the_registers_that_were_told(tmp_path: Path):
    rules = load_device(str(write(tmp_path))).rules
    assert rules is not None
    unknown = rules.known_state(stopped=False)
    assert unknown.refusal("pour", {"liters": 2.0}) is None
    assert unknown.refusal("light", {}) is None
    known = rules.known_state(stopped=True)
    known.on_sample(Sample("float", 1.5, t=1.0))
    refusal = known.refusal("light", {})
    assert refusal is not None and refusal.code == "not_ready"
    assert refusal.message == "It needs level=2.., and level is 1.5."
    known.on_outcome("read_level", {}, Outcome("ok", {"level": 4.0}, t=3.0))
    known.on_sample(Sample("float", 1.5, t=2.0))
    assert known.refusal("light", {}) is None, "the sample is older than the reading"
    known.on_outcome("light", {}, Outcome("rejected", code="x", t=4.0))
    assert known.refusal("pour", {"liters": 2.0}) is None
    known.on_outcome("light", {}, Outcome("ok", {}, t=5.0))
    hot = known.refusal("pour", {"liters": 2.0})
    assert hot is not None and (hot.code, hot.message) == ("hot", "The burner is lit. Put it out first.")
    assert known.refusal("pour", {"liters": 0.5}) is None, "it is required of large amounts alone"
    known.on_outcome("douse", {}, Outcome("fault", code="timeout", t=6.0))
    assert known.refusal("pour", {"liters": 2.0}) is None, "nobody knows what was done"
    assert (
        known.limit_violation("pour", {"liters": 3.5}) == "pour has liters=3.5, and the limit is liters=..3"
    )
    assert known.limit_violation("pour", {"liters": 3.0}) is None


def test_the_guard_blocks_by_registers_and_limits(tmp_path: Path):
    liters = {"liters": {"min": 0.1, "max": 5}}
    write(tmp_path, None, {"plan": ["light", {"pour": liters}, "douse"]})
    task = load_task(str(tmp_path / "tasks.yaml"))
    assert task.device.rules is not None
    known = task.device.rules.known_state(stopped=True)
    guard = Guard("block", known=known)
    scorer = OnlineScorer(task.automaton)
    light, much, hot = Call("light", {}), Call("pour", {"liters": 4.0}), Call("pour", {"liters": 2.0})
    assert guard.decide(scorer.peek(light), light).action == "allow"
    scorer.step(light)
    known.on_outcome("light", {}, Outcome("ok", {}, t=1.0))
    decision = guard.decide(scorer.peek(hot), hot)
    assert (decision.action, decision.code) == ("block", "hot")
    little = Call("pour", {"liters": 0.5})
    assert guard.decide(scorer.peek(little), little).action == "allow"
    known.on_outcome("douse", {}, Outcome("ok", {}, t=2.0))
    decision = guard.decide(scorer.peek(much), much)
    assert (decision.action, decision.code) == ("block", "limit")


def test_a_plan_names_its_places(tmp_path: Path):
    write(tmp_path, None, {"plan": [{"move": {"at": "tap"}}]}, {"plan": [{"move": {"at": "bin"}}]})
    with pytest.raises(ConfigError, match="no place 'bin'; there are tap"):
        list_tasks(tmp_path / "tasks.yaml")
    (task,) = [load_task(f"{tmp_path / 'tasks.yaml'}#t0")]
    assert task.automaton.symbol_of(Call("move", {"x": 0.205, "z": 0.1})) is not None
    assert task.automaton.symbol_of(Call("move", {"x": 0.22, "z": 0.1})) is None


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (["light", {"pour": {"liters": 2}}], "call 1 (pour) is refused, hot: The burner is lit."),
        ([{"pour": {"liters": 4}}], "call 0 (pour) is beyond a limit: pour has liters=4.0"),
        ([{"pour": {"liters": 7}}], "call 0 (pour) is invalid: pour: liters: Input should be less"),
        ([{"pour": {"litres": 1}}], "call 0 (pour) is invalid: pour: litres: Extra inputs"),
        ([{"pour": {"liters": 2.5}}], "call 0 (pour) leaves the rig's envelope: pour has liters=2.5"),
        ([{"move": {"at": "tap"}}], "call 0 (move) is invalid: there is no tool 'move'"),
        (
            ["light", {"optional": ["douse"]}, {"pour": {"liters": 2}}],
            "golden path light pour(liters=2): call 1 (pour) is refused, hot",
        ),
    ],
)
def test_static_checks_find(tmp_path: Path, plan: list[Any], fault: str):
    write(tmp_path, None, {"plan": plan}, {"plan": ["light", "douse", {"pour": {"liters": 2}}]})
    broken, sound = list_tasks(tmp_path / "tasks.yaml")
    envelope = Envelope({"pour": {"liters": {"max": 2.2}}})
    site = Site(frozenset({"light", "douse", "pour", "read_level"}), envelope)
    found = verify_static(broken, site)
    assert any(fault in line for line in found.faults), found.faults
    assert verify_static(sound, site).faults == ()


def test_what_hardware_lacks_is_only_asked_of_it_where_no_way_does_without(tmp_path: Path):
    either = {"choice": [["light", "douse"], [{"move": {"at": "tap"}}]]}
    write(tmp_path, None, {"plan": [either]}, {"plan": [{"move": {"at": "tap"}}, "light"]})
    choice, fixed = list_tasks(tmp_path / "tasks.yaml")
    tools = frozenset({"light", "douse"})
    assert missing_tools(choice.automaton, tools) == ()
    assert missing_tools(fixed.automaton, tools) == ("move",)
    assert [tool.name for tool in choice.on_hardware(tools).device.tools] == ["light", "douse"]


def put(value: Any, *keys: str) -> Any:
    """A change of the file."""

    def change(device: dict[str, Any]) -> None:
        part: Any = device
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put("farm_rover", "name"), "name: 'farm_rover' is a registered device type"),
        (put("fast", "advise"), "unknown key 'advise', did you mean 'advice'"),
        (put({}, "tools"), "tools: Dictionary should have at least 1 item"),
        (put("heat", "tools", "light", "effect"), "tools.light.effect: Input should be 'read', 'write'"),
        (put("put_out", "tools", "light", "inverse"), "tools.light.inverse: no such tool; there are light"),
        (put("on", "tools", "light", "sets", "burner"), "sets.burner: 'on' is not among the choices"),
        (put(1, "tools", "light", "sets", "flame"), "sets.flame: no register 'flame'; there are burner"),
        (put({"argument": "n"}, "tools", "pour", "sets"), "tools.pour.sets"),
        (put({"lid": 1}, "tools", "light", "requires"), "registers.lid: no register 'lid'"),
        (put({"level": {"least": 1}}, "tools", "light", "requires"), "level: {'least': 1} is not a pattern"),
        (put({"burner": True}, "tools", "light", "requires"), 'True is no text; write "on"'),
        (put({"ml": {"max": 1}}, "tools", "pour", "limits"), "limits.ml: the tool has no argument 'ml'"),
        (put({"liters": 9}, "tools", "pour", "limits"), "limits.liters: 9 is above the greatest, 5"),
        (put({"type": "text"}, "tools", "move", "arguments", "x"), "arguments.x: needs a description"),
        (put(0, "tools", "pour", "arguments", "times", "default"), "times.default: 0 is below the least, 1"),
        (put({"description": "x"}, "tools", "move", "arguments", "x"), "x.unit: a number needs its unit"),
        (put({"unit": "m"}, "tools", "move", "arguments", "model_dump"), "'model_dump' is a reserved name"),
        (put({"unit": "m"}, "tools", "move", "arguments", "to-x"), "'to-x' is no name"),
        (put("lit", "registers", "burner", "min"), "registers.burner.min"),
        (put({"burner": "out"}, "tools", "read_level", "sets"), "read changes nothing"),
        (put("pump", "sensors", "float", "register"), "sensors.float.register: no register 'pump'"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_file_its_key_and_what_to_do(tmp_path: Path, change: Any, says: str):
    path = write(tmp_path, change)
    with pytest.raises(ConfigError) as caught:
        load_declared(str(path))
    assert says in str(caught.value)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("task", "says"),
    [
        ({"device": None}, "a task needs a `world`, or the `device` file"),
        ({"world": "farm_rover"}, "this one has both; leave one out"),
        ({"init": {"level": 1}}, "init: is about a world's state, and the task names none: remove it"),
        ({"goal": {"level": 1}}, "goal: is about a world's state, and the task names none: remove it"),
        ({"device": "stil.yaml"}, "no such device file"),
        ({"plan": ["ignite"]}, "still has no tool 'ignite'"),
    ],
)
def test_a_task_names_a_world_or_a_device_file(tmp_path: Path, task: dict[str, Any], says: str):
    write(tmp_path, None, {"plan": ["light"], **task})
    with pytest.raises(ConfigError, match=r"tasks\.yaml") as caught:
        load_task(str(tmp_path / "tasks.yaml"))
    assert says in str(caught.value)


def test_the_random_agent_makes_calls_of_it(tmp_path: Path):
    from agents.agent import EpisodeContext, Limits, ToolCallAction

    write(tmp_path, None, {"plan": ["light"]})
    task = load_task(str(tmp_path / "tasks.yaml"))
    agent = RandomAgent()
    agent.start(
        EpisodeContext(
            prompt=task.prompt, tools=task.device.tools, seed=1, automaton=task.automaton, limits=Limits(),
            answer=None, advice="",
        )
    )  # fmt: skip
    for _ in range(20):
        action = agent.act(None)
        if isinstance(action, ToolCallAction):
            task.device.validate(action.name, action.arguments)
