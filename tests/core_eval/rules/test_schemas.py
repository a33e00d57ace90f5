"""Rules that hold a call's arguments against a JSON schema, by files of traces and by rule."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from core_eval.cli.main import main
from core_eval.path.calls import Call
from core_eval.rules.calls import in_groups
from core_eval.rules.grounds import Told
from core_eval.rules.monitor import violations
from core_eval.rules.rule_file import Rule

BOOK = {
    "type": "object",
    "properties": {
        "flights": {"type": "array", "items": {"$ref": "#/$defs/flight"}, "minItems": 1},
        "cabin": {"enum": ["economy", "business"]},
    },
    "required": ["flights"],
    "additionalProperties": False,
    "$defs": {"flight": {"type": "object", "properties": {"seats": {"type": "integer"}}}},
}


def rule(schemas: Any) -> Rule:
    return Rule.model_validate({"id": "r", "sentence": "As declared.", "schemas": schemas})


def evidence(schemas: Any, arguments: dict[str, Any], own: Any = None) -> list[str]:
    told = Told("", [] if own is None else [{"function": {"name": "book", "parameters": own}}])
    return [one.evidence for one in violations([rule(schemas)], in_groups([Call("book", arguments)]), told)]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"flights": [{"seats": 2}], "cabin": "economy"}, []),
        ({"flights": [{"seats": 2.0}]}, []),
        ({"flights": [{"seats": "2"}]}, ["flights[0].seats: '2' is not of type 'integer'"]),
        ({"flights": [{"seats": True}]}, ["flights[0].seats: True is not of type 'integer'"]),
        ({"flights": [{}], "cabin": "first"}, ["cabin: 'first' is not one of ['economy', 'business']"]),
        ({"cabin": "economy"}, ["'flights' is a required property"]),
        (
            {"flights": [{}], "price": 3},
            ["Additional properties are not allowed ('price' was unexpected)"],
        ),
    ],
)
def test_arguments_are_held_against_the_rule_s_or_the_tool_s_schema(
    arguments: dict[str, Any], fault: list[str]
) -> None:
    assert evidence({"book": BOOK}, arguments) == fault
    assert evidence("*", arguments, own=BOOK) == fault
    assert evidence({"book": "own"}, arguments, own=BOOK) == fault
    assert evidence({"other": "own"}, arguments, own=BOOK) == []


@pytest.mark.parametrize(
    "own",
    [
        None,
        {"type": "objekt"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#"},
        {"$ref": "#/$defs/none"},
        {"$schema": ["x"]},
        True,
        [1],
        json.loads('{"not": ' * 400 + "{}" + "}" * 400),
    ],
    ids=["none", "no-schema", "remote", "circle", "nowhere", "odd", "true", "list", "deep"],
)
def test_a_schema_of_a_trace_that_cannot_be_used_judges_nothing(own: Any) -> None:
    assert evidence("*", {"cabin": 5}, own=own) == []


def test_an_expression_of_a_trace_is_not_run() -> None:
    slow = "^(([a-z])+.)+[A-Z]([a-z])+$"
    own = {
        "properties": {"cabin": {"pattern": slow}},
        "patternProperties": {slow: {"type": "string"}},
        "additionalProperties": False,
        "unevaluatedProperties": False,
    }
    begin = time.process_time()
    assert evidence("*", {"cabin": "a" * 60, "a" * 60: 1}, own=own) == []
    assert time.process_time() - begin < 5
    assert evidence({"book": {"properties": {"cabin": {"pattern": "^e"}}}}, {"cabin": "x"}) == [
        "cabin: 'x' does not match '^e'"
    ]


@pytest.mark.parametrize(
    ("schemas", "fault"),
    [
        ("all", "needs '*', or {tool: JSON schema, or own}"),
        ({}, "needs '*', or {tool: JSON schema, or own}"),
        ({"book": 3}, "book needs a JSON schema, or own, not 3"),
        ({"book": {"type": "objekt"}}, "book: no JSON schema: type: 'objekt' is not valid"),
        ({"book": {"properties": {"a": {"pattern": "("}}}}, "'(' is not a 'regex'"),
        ({"book": {"properties": {"a": {"$ref": "#/$defs/x"}}}}, "book: no place in this schema: $ref"),
        ({"book": {"$ref": "http://127.0.0.1:9/s"}}, "book: no place in this schema: $ref"),
        ({"book": {"$ref": "#"}}, "book: a $ref leads back to itself"),
    ],
)
def test_a_wrong_schema_of_a_rule_file_is_one_line(
    schemas: Any, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(json.dumps({"rules": [{"id": "r", "sentence": "s", "schemas": schemas}]}))
    assert main(["rules", "check", str(path)]) == 2
    err = capsys.readouterr().err
    assert fault in err and "rules.yaml:1: rules.0.schemas: " in err and err.count("\n") == 1


def test_traces_are_judged_by_the_schemas_that_they_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.yaml").write_text("rules: [{id: r, sentence: s, schemas: '*'}]")
    calls = [{"name": "book", "arguments": {"cabin": "first"}}, {"name": "look", "arguments": {"x": 1}}]
    calls.append({**calls[0], "status": "rejected"})
    trace = {"trace": "a", "task": 1, "tools": [{"name": "book", "parameters": BOOK}], "calls": calls}
    Path("traces.jsonl").write_text(json.dumps(trace))
    assert main(["score", "--rules", "rules.yaml", "--traces", "traces.jsonl", "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    found = judged["violations"]
    assert judged["without_schema"] == ["look"]
    assert main(["score", "--rules", "rules.yaml", "--traces", "traces.jsonl", "--jobs", "2"]) == 0
    assert "calls of look are not judged by a schema: none is known" in capsys.readouterr().out
    assert [(one["outcome"], one["count"]) for one in found] == [("for_good", 1), ("prevented", 1)]
    assert "first" in found[0]["first"]["evidence"] or "flights" in found[0]["first"]["evidence"]
