"""Traces stream in, scores stream out, in order."""

from __future__ import annotations

import json
import tracemalloc
from itertools import islice, repeat
from random import Random

import pytest
from strategies_core import STATUSES, automaton_of, calls_of, graph, with_loops

from configs.tasks_loader import ScoredTasks
from core_eval.path.calls import Call
from core_eval.path.endings import AskedEnding
from core_eval.path.plan import compile_plan
from core_eval.path.scorer import ScoredTask, score_path
from core_eval.traces import memo
from core_eval.traces.scored_traces import SCORE_NAMES, score_record, score_traces
from core_eval.traces.trace_file import BadTrace, Course, Trace, read_traces

TASKS = {
    "7": ScoredTask(compile_plan(["a", "b"], free_reads=["look"], file="f", task="7")),
    "x": ScoredTask(compile_plan([{"any_order": ["a", "b", "c"]}], free_reads=[], file="f", task="x")),
}


def line(**record):
    return json.dumps({"trace": "t", "task": 7, "calls": [], **record})


def scored(lines, **parameters):
    """The records of a traces file, as they come back from its scores file."""
    found = score_traces(read_traces(lines, file="traces.jsonl"), ScoredTasks(TASKS, {}).find, **parameters)
    return (json.loads(one.line) for one in found)


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
    scores = score_path(TASKS["7"].automaton, path).as_dict()
    assert {name: first[name] for name in SCORE_NAMES} == {name: scores[name] for name in SCORE_NAMES}
    assert (second["trace"], second["task"], second["efficiency"]) == (2, "x", None)


def test_floats_keep_their_last_bit():
    calls = [{"name": name} for name in ("b", "a", "b", "c", "nothing")]
    (record,) = scored([line(task="x", calls=calls)], beta=0.3, lam=0.7)
    scores = score_path(TASKS["x"].automaton, [Call(call["name"], {}) for call in calls], beta=0.3, lam=0.7)
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
    nothing = compile_plan([], free_reads=["look"], file="f", task="no")
    ends = {"decline": "decline", "done": {"done": "fine"}, "limit": "max_steps", "": None}
    lines = [line(task="no", **({"end": end} if end else {})) for end in ends.values()]
    for answer, right in (("decline", "decline"), ("nothing", "done")):
        traces = read_traces(lines, file="f")
        find = ScoredTasks({"no": ScoredTask(nothing, AskedEnding(answer))}, {}).find
        found = [one.scores["accepted"] for one in score_traces(traces, find)]
        assert found == [name in (right, "") for name in ends]
    calls = [{"name": "a"}, {"name": "b"}]
    (record,) = scored([line(calls=calls, end="decline")])
    assert record["accepted"]


def test_identical_traces_have_one_identity():
    same = [
        line(trace=1, calls=[{"name": "a", "arguments": {"x": 1, "y": 2}}]),
        line(trace=2, calls=[{"name": "a", "arguments": {"y": 2, "x": 1}, "status": "ok"}]),
    ]
    others = [
        line(calls=[{"name": "a", "arguments": {"x": 1}}]),
        line(calls=[{"name": "a", "arguments": {"x": 1, "y": 2}, "status": "fault"}]),
        line(calls=[{"name": "a", "arguments": {"x": 1, "y": 2}, "result": 3}]),
        line(calls=[{"name": "a", "arguments": {"x": 1, "y": 2}}], end="done"),
    ]
    traces = read_traces([*same, *others], file="f")
    numbers = [
        one.identity
        for one in score_traces(traces, ScoredTasks({**TASKS, "x": TASKS["7"]}, {}).find, identified=True)
    ]
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 1 + len(others)


def test_read_traces_gives_calls():
    good, bad = read_traces([line(calls=[{"name": "a"}]), "{"], file="f")
    assert good == Trace("t", 7, Course((Call("a", {}, "ok"),)))
    assert isinstance(bad, BadTrace)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file():
    text = line(calls=[{"name": "a"}, {"name": "look"}, {"name": "nothing"}, {"name": "b"}])
    scores = score_traces(read_traces(repeat(text), file="f"), ScoredTasks(TASKS, {}).find)
    list(islice(scores, 5000))
    tracemalloc.start()
    for _ in islice(scores, 1000):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("kept", [3, 1000])
def test_traces_that_repeat_have_the_scores_of_traces_alone(monkeypatch, kept):
    """Results are kept by what was called, and by the path of tokens; `True` and `1` are told apart."""
    monkeypatch.setattr(memo, "MOST_KEPT", kept)
    rng = Random(kept)
    tasks = {str(n): with_loops(rng, graph(rng, cyclic=n % 2 == 1)) for n in range(6)}
    automata = {name: automaton_of(task) for name, task in tasks.items()}
    lines, alone = [], []
    for _ in range(400):
        name = rng.choice(list(automata))
        calls = calls_of([(rng.choice(["A", "B", "C", "R", None]), rng.choice(STATUSES)) for _ in range(3)])
        alone.append(score_record(score_path(automata[name], calls)))
        told = [
            {"name": one.name, "status": one.status, "result": rng.choice([True, 1, 1.0])} for one in calls
        ]
        lines.append(line(task=name, calls=told))
    found = [
        dict(one.scores)
        for one in score_traces(read_traces(lines, file="f"), lambda name: ScoredTask(automata[name]))
    ]
    assert found == alone


def test_arguments_of_other_types_are_other_calls():
    task = ScoredTask(compile_plan([{"a": {"x": True}}], free_reads=[], file="f", task="t"))
    lines = [line(task="t", calls=[{"name": "a", "arguments": {"x": x}}]) for x in (1, True, 1.0, True, 1)]
    found = [one.scores["accepted"] for one in score_traces(read_traces(lines, file="f"), lambda _: task)]
    assert found == [False, True, False, True, False]


@pytest.mark.parametrize("reading", [1, 2])
def test_scores_kept_by_symbols_are_those_of_the_calls(reading):
    chance = Random(reading)
    lines, wanted = [], []
    for number in range(600):
        # Each line has arguments of its own, so that only its symbols repeat.
        given = {"look": {"x": number}, "d": {"x": number}}
        names = chance.choices(["a", "b", "c", "look", "d"], k=chance.randint(0, 3))
        calls = [(name, given.get(name, {}), chance.choice(STATUSES)) for name in names]
        told = [{"name": name, "arguments": one, "status": status} for name, one, status in calls]
        task = chance.choice([*TASKS])
        lines.append(line(task=task, calls=told))
        scores = score_path(TASKS[task].automaton, [Call(*one) for one in calls], reading=reading)
        wanted.append({name: getattr(scores, name) for name in SCORE_NAMES})
    found = [{name: one[name] for name in SCORE_NAMES} for one in scored(lines, reading=reading)]
    assert found == wanted
