"""CORE's JSON: what loads, and how a fault is named."""

from __future__ import annotations

import json
from copy import deepcopy
from time import process_time

import pytest

from core_eval.path.automaton import AutomatonError
from core_eval.path.calls import Call
from core_eval.path.core_json import parse_core_json
from core_eval.path.scorer import score_path


def argument(value=None, excluded=None, kind="string"):
    return {"name": "x", "value": value, "excluded_values": excluded, "type": kind}


GOOD = {
    "prompt_id": 7,
    "world": "farm",
    "prompt": "Go to 14.",
    "nodes": [
        {
            "name": "start",
            "is_final": False,
            "transitions": [
                {"symbols": ["go14"], "from": "start", "to": "there"},
                {"symbols": ["look", "other"], "from": "start", "to": "start"},
            ],
        },
        {"name": "there", "is_final": True, "transitions": []},
    ],
    "alphabet": {
        "go14": {"name": "go", "arguments": {"x": argument(14, kind="integer")}},
        "other": {"name": "go", "arguments": {"x": argument(None, [14, 15], kind="whatever")}},
        "look": {"name": "look", "arguments": {"x": argument()}},
        "ping": {"name": "ping", "arguments": {}},
    },
}


@pytest.fixture
def load():
    def as_text_and_back(*records):
        return parse_core_json(json.dumps(list(records)), "tasks.json")

    return as_text_and_back


def changed(change):
    record = deepcopy(GOOD)
    record["prompt_id"] = 8
    change(record)
    return record


def test_a_sound_task(load):
    content = load(GOOD)
    assert content.faults == ()
    (task,) = content.tasks
    assert (task.id, task.world, task.prompt) == ("7", "farm", "Go to 14.")
    automaton = task.automaton
    assert automaton.start == "start"
    assert automaton.accepting == {"there"}
    assert automaton.warnings == ()

    def symbol(name, **arguments):
        return automaton.symbol_of(Call(name, arguments))

    assert symbol("go", x=14.0) == "go14"
    assert symbol("go", x=15) is None
    assert symbol("go", x=True) == "other"
    assert symbol("go") is None
    assert symbol("look") == "look"
    assert symbol("look", x=None, y=3) == "look"
    assert symbol("ping") == "ping"
    assert symbol("ping", x=1) is None
    assert list(automaton.golden_paths()) == [("go14",)]
    scores = score_path(automaton, [Call("look", {}), Call("go", {"x": 14})])
    assert (scores.path_correctness, scores.accepted, scores.efficiency) == (1.0, True, 0.5)


def test_a_transition_may_leave_out_its_source(load):
    content = load(changed(lambda r: r["nodes"][0]["transitions"][0].pop("from")))
    assert content.faults == ()


def test_states_may_be_numbers(load):
    def change(record):
        for node, name in zip(record["nodes"], (0, 1), strict=True):
            node["name"] = name
            for edge in node["transitions"]:
                edge["from"] = 0
                edge["to"] = {"start": 0, "there": 1}[edge["to"]]

    content = load(changed(change))
    assert content.faults == ()
    assert content.tasks[0].automaton.states == ("0", "1")


def drop(*keys):
    def change(record):
        for key in keys[:-1]:
            record = record[key]
        del record[keys[-1]]

    return change


def put(value, *keys):
    def change(record):
        for key in keys[:-1]:
            record = record[key]
        record[keys[-1]] = value

    return change


EDGE = ("nodes", 0, "transitions", 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(1, "extra"), ["task 8", "unknown key 'extra'"]),
        (drop("nodes"), ["task 8", "'nodes'"]),
        (put([], "nodes"), ["task 8", "'nodes'"]),
        (drop("alphabet"), ["'alphabet'"]),
        (put("nowhere", *EDGE, "to"), ["state 'start'", "'go14'", "'nowhere'", "not declared"]),
        (put("there", *EDGE, "from"), ["state 'start'", "'go14'", "from 'there'"]),
        (put(["fly"], *EDGE, "symbols"), ["state 'start'", "symbol 'fly'", "alphabet"]),
        (put(["go14", "look"], *EDGE, "symbols"), ["state 'start'", "symbol 'look'", "'there'", "'start'"]),
        (put("go14", *EDGE, "symbols"), ["state 'start'", "'symbols'"]),
        (put(1, *EDGE, "weight"), ["state 'start'", "unknown key 'weight'"]),
        (put("start", "nodes", 1, "name"), ["state 'start'", "declared twice"]),
        (put(False, "nodes", 1, "is_final"), ["state 'start'", "no golden path"]),
        (put("yes", "nodes", 1, "is_final"), ["state 'there'", "'is_final'"]),
        (put(14, "alphabet", "other", "arguments", "x", "excluded_values"), ["'other'", "'x'", "excluded"]),
        (put(1, "alphabet", "other", "arguments", "x", "unit"), ["'other'", "'x'", "unknown key 'unit'"]),
        (drop("alphabet", "ping", "name"), ["symbol 'ping'", "'name'"]),
        (put([1], "alphabet", "ping", "arguments"), ["symbol 'ping'", "'arguments'"]),
        (put(5, "prompt"), ["'prompt'"]),
    ],
)
def test_a_fault_is_named_and_the_others_load(load, change, words):
    content = load(changed(change), GOOD)
    assert [task.id for task in content.tasks] == ["7"]
    assert content.faults
    assert all(fault.count("\n") == 0 and "tasks.json: task 8" in fault for fault in content.faults)
    assert any(all(word in fault for word in words) for fault in content.faults), content.faults


@pytest.mark.parametrize(("record", "words"), [(5, "record 0"), ({"prompt_id": None}, "record 0")])
def test_a_record_without_a_name_is_named_by_its_place(load, record, words):
    content = load(record, GOOD)
    assert words in content.faults[0]
    assert len(content.tasks) == 1


def test_a_prompt_id_used_twice(load):
    content = load(GOOD, GOOD)
    assert len(content.tasks) == 1
    assert "used twice" in content.faults[0]


def test_warnings_for_a_cycle_a_tie_and_a_lost_state(load):
    def change(record):
        record["nodes"][1]["transitions"] = [{"symbols": ["ping"], "from": "there", "to": "start"}]
        record["nodes"].append({"name": "lost", "is_final": False, "transitions": []})
        record["alphabet"]["twin"] = {"name": "go", "arguments": {"x": argument(14)}}

    content = load(changed(change))
    assert content.faults == ()
    text = "\n".join(content.tasks[0].automaton.warnings)
    assert "tasks.json: task 8" in text
    assert "cycle through ['start', 'there']" in text
    assert "'lost'" in text
    assert "'go14' and 'twin'" in text


@pytest.mark.parametrize("text", ["{}", "nonsense", "3"])
def test_a_text_that_holds_no_array(text):
    with pytest.raises(AutomatonError, match=r"tasks\.json") as caught:
        parse_core_json(text, "tasks.json")
    assert len(caught.value.faults) == 1


@pytest.mark.slow
@pytest.mark.parametrize("symbols", ["one", "of one tool"])
def test_the_time_to_load_grows_with_the_states_and_not_with_their_square(symbols):
    def name(step):
        return "go" if symbols == "one" else f"go{step}"

    def seconds(states):
        nodes = [
            {
                "name": f"q{n}",
                "is_final": n == states,
                "transitions": [{"symbols": [name(n)], "to": f"q{n + 1}"}] if n < states else [],
            }
            for n in range(states + 1)
        ]
        alphabet = {name(n): {"name": "go", "arguments": {"x": argument(n + 1)}} for n in range(states)}
        text = json.dumps([{"prompt_id": 1, "nodes": nodes, "alphabet": alphabet}])
        start = process_time()
        content = parse_core_json(text, "tasks.json")
        assert len(content.tasks[0].automaton.states) == states + 1
        return process_time() - start

    # Eight times the states: eight times the time, or sixty-four where each is held against each other one.
    assert min(seconds(4_000) for _ in range(3)) < 30 * min(seconds(500) for _ in range(3))
