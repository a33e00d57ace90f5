"""OTLP in JSON: the spans against the log, and the whole against OpenTelemetry's own messages."""

from __future__ import annotations

import base64
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from exported_log import HOSTILE, export, exported_log

from core_eval.log import LogReader


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return exported_log(tmp_path / "log.db")


def traces(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def spans(trace: dict[str, Any]) -> list[dict[str, Any]]:
    (resource,) = trace["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    return list(scope["spans"])


def values(whole: dict[str, Any]) -> dict[str, Any]:
    read = {"intValue": int, "doubleValue": float, "stringValue": str, "boolValue": bool}
    found = {}
    for one in whole["attributes"]:
        ((kind, value),) = one["value"].items()
        found[one["key"]] = read[kind](value)
    return found


def test_a_span_per_turn_and_call(db: Path, tmp_path: Path) -> None:
    read = [spans(trace) for trace in traces(export(db, "otel", tmp_path / "out.jsonl"))]
    names = [[span["name"] for span in of_episode] for of_episode in read]
    assert names[0][1:] == ["chat small-1", "execute_tool water_plant", "chat small-1", "chat small-1"]
    assert names[1][1:] == ["chat small-1", "execute_tool move_to"]
    assert names[2] == ["invoke_agent random"]
    ids = [span["spanId"] for of_episode in read for span in of_episode]
    assert len(set(ids)) == len(ids)
    assert len({span["traceId"] for of_episode in read for span in of_episode}) == 3
    for root, *others in read:
        assert "parentSpanId" not in root
        assert {span["parentSpanId"] for span in others} <= {root["spanId"]}
        for span in (root, *others):
            assert int(root["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
            assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
            assert int(span["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])


def test_attributes_are_the_rows_of_the_log(db: Path, tmp_path: Path) -> None:
    whole, cut, limited = (spans(trace) for trace in traces(export(db, "otel", tmp_path / "out.jsonl")))
    with LogReader(db) as log:
        step = log.steps(1)[0]
    call = values(whole[2])
    assert whole[2]["startTimeUnixNano"] == str(round(Fraction(step.t_intent) * 10**9))
    assert json.loads(call["gen_ai.tool.call.arguments"]) == step.arguments
    assert json.loads(call["gen_ai.tool.call.result"]) == {"liters": 1.0}
    assert (call["gen_ai.operation.name"], call["gen_ai.tool.name"]) == ("execute_tool", "water_plant")
    assert (call["gen_ai.tool.call.id"], call["pathrig.step.t_device"]) == ("id-0", 45.0)
    assert "error.type" not in call and "pathrig.step.symbol" not in call
    (event,) = whole[2]["events"]
    assert values(event)["pathrig.harm.verdict"] == "unobserved"
    turn = values(whole[1])
    # The log counts cached tokens apart, the conventions within the input.
    assert (turn["gen_ai.usage.input_tokens"], turn["gen_ai.usage.cache_read.input_tokens"]) == (15, 5)
    assert (turn["gen_ai.usage.output_tokens"], turn["gen_ai.request.model"]) == (2, "small-1")
    words = json.loads(values(whole[3])["gen_ai.output.messages"])[0]["parts"][0]["content"]
    assert words == HOSTILE
    root = values(whole[0])
    assert root["pathrig.score.path_correctness"] == 0.1 + 0.2
    assert "pathrig.score.efficiency" not in root
    assert (root["gen_ai.usage.input_tokens"], root["gen_ai.usage.output_tokens"]) == (25, 9)
    assert values(cut[2])["error.type"] == "no_result"
    assert (cut[0]["status"]["code"], values(cut[0])["error.type"]) == (2, "interrupted")
    assert limited[0]["status"]["code"] == 1


@pytest.mark.interop
def test_opentelemetry_reads_it(db: Path, tmp_path: Path) -> None:
    trace_pb2 = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    from google.protobuf import json_format

    for trace in traces(export(db, "otel", tmp_path / "out.jsonl")):
        given = spans(trace)
        count = len(given)
        for span in given:
            for name in ("traceId", "spanId", "parentSpanId"):
                if name in span:
                    # OTLP's JSON has ids in hex, protobuf's own in base64.
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        read = json_format.ParseDict(trace, trace_pb2.TracesData())
        found = read.resource_spans[0].scope_spans[0].spans
        assert len(found) == count
        for span, one in zip(given, found, strict=True):
            assert (span["name"], int(span["startTimeUnixNano"])) == (one.name, one.start_time_unix_nano)
            assert (len(one.trace_id), len(one.span_id)) == (16, 8)
            assert len(span["attributes"]) == len(one.attributes)
