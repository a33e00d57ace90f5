"""Small files of each format of traces, written here in the shape that others write them in."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from core_eval.imports.record import BrokenRecord, ImportedTrace
from core_eval.imports.registry import read_traces


def call(ident: str | None, tool: str, arguments: Any) -> dict[str, Any]:
    """A call as the OpenAI API has it, its arguments as JSON text."""
    return {"id": ident, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}


def answer(ident: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": ident, "content": content, **more}


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Book it for anna_lee_12."}, *messages], **more}


def asks(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def simulation(number: int, task: str, gold: str, user: str, **more: Any) -> dict[str, Any]:
    """A simulation of tau2 in which a user is served whom the gold of `gold` names, or another one."""
    made = {"id": "c", "name": "cancel", "arguments": {"user_id": user}, "requestor": "assistant"}
    check = {"action": {"action_id": f"{gold}_0", **action(gold)}, "action_match": True, "tool_type": "write"}
    return {
        "id": f"s{number}",
        "task_id": task,
        "termination_reason": "user_stop",
        "reward_info": {"reward": 1.0, "action_checks": [check]},
        "messages": [
            {"role": "assistant", "content": "How can I help?", "tool_calls": None},
            {"role": "user", "content": f"I am {user}."},
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "id": "c", "content": "Error: no", "requestor": "assistant", "error": False},
        ],
        **more,
    }


def action(task: str) -> dict[str, Any]:
    return {"name": "cancel", "arguments": {"user_id": f"user_of_{task}"}, "compare_args": ["user_id"]}


def tau2(simulations: list[dict[str, Any]], tasks: int = 3) -> dict[str, Any]:
    """A file of simulations; the gold of task N names `user_of_N`."""
    return {
        "info": {
            "agent_info": {"llm": "m"},
            "environment_info": {"domain_name": "air", "policy": "Be kind."},
        },
        "tasks": [
            {
                "id": str(number),
                "user_scenario": {"instructions": {"reason_for_call": "Cancel."}},
                "evaluation_criteria": {"actions": [action(str(number))]},
            }
            for number in range(tasks)
        ],
        "simulations": simulations,
    }


def inspect_sample(**more: Any) -> dict[str, Any]:
    made = {"id": "a", "function": "book", "arguments": {"user": "anna"}, "type": "function"}
    return {
        "id": 3,
        "epoch": 1,
        "input": "Book.",
        "messages": [
            {"role": "user", "content": "attachment://f1"},
            {"role": "assistant", "content": [{"type": "text", "text": "I book."}], "tool_calls": [made]},
            {
                "role": "tool",
                "tool_call_id": "a",
                "content": "",
                "function": "book",
                "error": {"type": "timeout", "message": "too slow"},
            },
        ],
        "attachments": {"f1": "Book for anna."},
        "scores": {"match": {"value": "C"}},
        "started_at": "2026-01-01T00:00:00+00:00",
        "total_time": 2.5,
        **more,
    }


def eval_zip(path: Path, samples: list[Any]) -> Path:
    """A `.eval` file of Inspect."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "shop", "model": "m"}, "plan": {}}))
        for place, sample in enumerate(samples):
            archive.writestr(f"samples/{place}_epoch_1.json", json.dumps(sample))
    return path


def span(trace: str, start: int, operation: str, **values: Any) -> dict[str, Any]:
    """A span of OTLP's JSON; dots of the attributes' names are double underscores here."""
    named = {"gen_ai.operation.name": operation} | {
        f"gen_ai.{key.replace('__', '.')}": value for key, value in values.items() if key != "failed"
    }
    return {
        "traceId": trace,
        "spanId": f"{start:016x}",
        "startTimeUnixNano": str(start * 10**9),
        "endTimeUnixNano": str((start + 1) * 10**9),
        "status": {"code": 2, "message": "refused"} if values.get("failed") else {},
        "attributes": [
            {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
            for key, value in named.items()
        ],
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def write_lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def read(path: Path, form: str | None = None, join: str | None = None) -> list[ImportedTrace]:
    """The traces of a file, of which no record is broken."""
    found = list(read_traces(path, form, join))
    assert not [one for one in found if isinstance(one, BrokenRecord)]
    return [one for one in found if isinstance(one, ImportedTrace)]


def broken(path: Path, form: str | None = None) -> list[tuple[int, str]]:
    """The broken records of a file: number and fault."""
    return [(one.number, one.why) for one in read_traces(path, form) if isinstance(one, BrokenRecord)]
