"""Traces stream in, scores stream out, in order."""

from __future__ import annotations

import json
import tracemalloc
from itertools import islice, repeat

import pytest

from core_eval.path import Call, compile_plan, score_path
from core_eval.path.endings import AskedEnding
from core_eval.text.json_text import json_text
from core_eval.traces.trace_file import SCORE_NAMES, BadTrace, Trace, read_traces, score_traces

TASKS = {
    "7": compile_plan(["a", "b"], free_reads=["look"], file="f", task="7"),
    "x": compile_plan([{"any_order": ["a", "b", "c"]}], free_reads=[], file="f", task="x"),
}


def line(**record):
    return json.dumps({"trace": "t", "task": 7, "calls": [], **record})


def scored(lines, **parameters):
    """The records of a traces file, as they come back from its scores file."""
    found = score_traces(read_traces(lines, file="traces.jsonl"), TASKS, **parameters)
    return (json.loads(json_text(record)) for _, record in found)


def test_a_line_in_a_line_out():
    calls = [
        {"name": "a", "arguments": {}},
        {"name": "look", "arguments": {"x": 1}, "status": "ok"},
        {"name": "b", "status": "rejected"},
    ]
    lines = [line(trace="one", calls=calls), "\n", line(trace=2, task="x")]
    first, second = scored(lines)
    assert list(first) == ["trace", "task", *SCORE_NAMES]
    assert (first["trace"], first["task"]) == ("one", 7)
    path = [Call("a", {}), Call("look", {"x": 1}), Call("b", {}, "rejected")]
    scores = score_path(TASKS["7"], path).as_dict()
    assert {name: first[name] for name in SCORE_NAMES} == {name: scores[name] for name in SCORE_NAMES}
    assert (second["trace"], second["task"], second["efficiency"]) == (2, "x", None)


def test_floats_keep_their_last_bit():
    calls = [{"name": name} for name in ("b", "a", "b", "c", "nothing")]
    (record,) = scored([line(task="x", calls=calls)], beta=0.3, lam=0.7)
    scores = score_path(TASKS["x"], [Call(call["name"], {}) for call in calls], beta=0.3, lam=0.7)
    for name in ("path_correctness", "pc_ktc", "prefix_criticality", "harmful_call_rate"):
        assert record[name] == getattr(scores, name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "no JSON"),
        ("[]", "must be an object"),
        (line(extra=1), "unknown key 'extra'"),
        (line(calls={}), "'calls' must be a list"),
        (line(calls=[3]), "call 0: must be an object"),
        (line(calls=[{"name": "a"}, {"arguments": {}}]), "call 1: must be an object with the tool's 'name'"),
        (line(calls=[{"name": "a", "args": {}}]), "call 0: unknown key 'args'"),
        (line(calls=[{"name": "a", "arguments": []}]), "call 0: 'arguments' must be an object"),
        (line(calls=[{"name": "a", "status": "fine"}]), "call 0: 'status' must be one of ok, rejected"),
        (line(trace=None), "'trace' must be"),
        (line(calls=[{"name": "a", "status": []}]), "call 0: 'status' must be one of ok, rejected"),
        (line(calls=[{"name": "a", "effect": "none"}]), "call 0: 'effect' must be one of read, write"),
        (line(calls=[{"name": "a", "group": [1]}]), "call 0: 'group' must be a string or a number"),
        (line(end="finished"), "'end' must be one of done, decline, limit"),
        (line(end={"decline": 3}), "'end' must be one of"),
        (line(end={"done": 1, "decline": "no"}), "'end' must be one of"),
        (line(end=None), "'end' must be one of"),
    ],
)
def test_a_bad_line_is_an_error_record_that_names_it(text, said):
    records = list(scored(["", text, line()]))
    assert set(records[0]) == {"trace", "task", "error"}
    assert "traces.jsonl, line 2" in records[0]["error"]
    assert said in records[0]["error"]
    assert "error" not in records[1]


def test_a_task_that_is_not_there():
    (record,) = scored([line(task="8")])
    assert record == {
        "trace": "t",
        "task": "8",
        "error": "task '8' is not in the task file",
    }


def test_what_a_trace_may_say_besides_leaves_its_scores_as_they_are():
    calls = [{"name": "a"}, {"name": "b"}]
    told = [
        {"name": "a", "effect": "read", "group": 1, "result": {"moist": [0.3]}},
        {"name": "b", "effect": "motion", "group": "x", "result": None},
    ]
    ends = ["done", {"done": {"answer": 3}}, {"decline": "no such plant"}, "decline", "max_steps", "limit"]
    plain, *others = scored([line(calls=calls), *(line(calls=told, end=end) for end in ends)])
    assert all(other == plain for other in others)


def test_of_a_task_that_asks_for_no_call_the_end_decides():
    tasks = {"7": TASKS["7"]}
    nothing = compile_plan([], free_reads=["look"], file="f", task="no")
    ends = {"decline": "decline", "done": {"done": "fine"}, "limit": "max_steps", "": None}
    lines = [line(task="no", **({"end": end} if end else {})) for end in ends.values()]
    for answer, right in (("decline", "decline"), ("nothing", "done")):
        traces = read_traces(lines, file="f")
        found = [
            record["accepted"]
            for _, record in score_traces(traces, {"no": nothing}, endings={"no": AskedEnding(answer)})
        ]
        assert found == [name in (right, "") for name in ends]
    calls = [{"name": "a"}, {"name": "b"}]
    (record,) = scored([line(calls=calls, end="decline")])
    assert record["accepted"] and tasks


def test_identical_traces_have_one_identity():
    same = [
        line(trace=1, calls=[{"name": "a", "arguments": {"x": 1, "y": 2}}]),
        line(trace=2, calls=[{"name": "a", "arguments": {"y": 2, "x": 1}, "status": "ok"}]),
    ]
    others = [
        line(calls=[{"name": "a", "arguments": {"x": 1}}]),
        line(task="x", calls=[{"name": "a", "arguments": {"x": 1, "y": 2}}]),
        line(calls=[{"name": "a", "arguments": {"x": 1, "y": 2}, "status": "fault"}]),
        line(calls=[{"name": "a", "arguments": {"x": 1, "y": 2}, "result": 3}]),
        line(calls=[{"name": "a", "arguments": {"x": 1, "y": 2}}], end="done"),
    ]
    numbers = [trace.identity() for trace in read_traces([*same, *others], file="f")]
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 1 + len(others)


def test_read_traces_gives_calls():
    good, bad = read_traces([line(calls=[{"name": "a"}]), "{"], file="f")
    assert good == Trace("t", 7, (Call("a", {}, "ok"),))
    assert isinstance(bad, BadTrace)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file():
    text = line(calls=[{"name": "a"}, {"name": "look"}, {"name": "nothing"}, {"name": "b"}])
    scores = score_traces(read_traces(repeat(text), file="f"), TASKS)
    list(islice(scores, 5000))
    tracemalloc.start()
    for _ in islice(scores, 1000):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000
