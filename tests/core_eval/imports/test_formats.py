"""What is read of each format: calls, what told their status, groups, messages, reward, gold."""

import json
from pathlib import Path

import foreign_traces as files
import pytest

from core_eval.imports.record import Gold, GoldCall
from core_eval.imports.registry import importer_of
from core_eval.imports.source import Source


def told(path: Path, form: str | None = None) -> list[tuple[str, str | None, str]]:
    (trace,) = files.read(path, form)
    return [(call.name or "", call.status, call.status_from) for call in trace.calls]


def test_a_chat_has_calls_of_one_message_as_a_group(tmp_path: Path) -> None:
    one, two = files.call("a", "look", {"x": 1}), files.call("a", "book", {})
    record = files.chat(
        files.asks(one, two, content="Both."),
        files.answer("a", '{"seen": 3}'),
        files.answer("a", "Error: full"),
        files.asks(files.call("b", "look", {})),
        files.answer("b", "fine"),
        {"role": "assistant", "content": "Done."},
        task="t1", id="x", model="m", reward=0.5,
        tools=[{"function": {"name": "look", "parameters": {"a": 1}}}],
    )  # fmt: skip
    (trace,) = files.read(files.write_lines(tmp_path / "c.jsonl", record))
    assert [(c.name, c.status, c.status_from, c.group) for c in trace.calls] == [
        ("look", "ok", "answered", 1),
        ("book", "rejected", 'text "Error"', 1),
        ("look", "ok", "answered", 4),
    ]
    assert trace.calls[0].result == {"seen": 3} and trace.calls[0].words == "Both."
    assert (trace.id, trace.task, trace.agent, trace.reward, trace.end) == ("x", "t1", "m", 0.5, "done")
    assert trace.prompt == "Book it for anna_lee_12." and trace.tools[0].schema == {"a": 1}
    assert [message.calls for message in trace.messages] == [(), (0, 1), (0,), (1,), (2,), (2,), ()]


@pytest.mark.parametrize(
    ("reply", "status", "source"),
    [
        ({"content": "x", "is_error": True}, "rejected", "key is_error"),
        ({"content": '{"error": "no such user"}'}, "rejected", "key result.error"),
        ({"content": '{"success": false}'}, "rejected", "key result.success"),
        ({"content": '{"exit_code": 2}'}, "rejected", "exit code 2"),
        ({"content": "Exit code: 0"}, "ok", "answered"),
        ({"content": "Exit code: 1\nfull"}, "rejected", "exit code 1"),
        ({"content": "x", "status": "error"}, "rejected", "key status"),
        ({"content": "Unknown tool book"}, "invalid", 'text "Unknown tool"'),
        ({"content": "Traceback (most recent call last):"}, "rejected", 'text "Traceback"'),
        ({"content": "Errors are rare here"}, "ok", "answered"),
        ({"content": None}, "ok", "answered"),
        ({"content": '{"error": null, "n": 1}'}, "ok", "answered"),
    ],
)  # fmt: skip
def test_what_tells_a_status(tmp_path: Path, reply: dict[str, object], status: str, source: str) -> None:
    asked = files.asks(files.call("a", "book", {}))
    path = files.write_lines(
        tmp_path / "c.jsonl", files.chat(asked, {"role": "tool", "tool_call_id": "a", **reply})
    )
    assert told(path) == [("book", status, source)]


def test_arguments_that_are_no_object_are_invalid(tmp_path: Path) -> None:
    bad = {"id": "a", "function": {"name": "book", "arguments": "{user: anna"}}
    path = files.write_lines(tmp_path / "c.jsonl", files.chat(files.asks(bad), files.answer("a", "ok")))
    assert told(path) == [("book", "invalid", "key arguments")]


def test_a_call_without_an_answer_is_unknown_unless_the_file_has_no_answers(tmp_path: Path) -> None:
    one, two = files.asks(files.call("a", "look", {})), files.asks(files.call("b", "book", {}))
    path = files.write_lines(tmp_path / "c.jsonl", files.chat(one, files.answer("a", "ok"), two))
    assert told(path)[1] == ("book", None, "no answer")
    path = files.write_lines(tmp_path / "d.jsonl", files.chat(one, two))
    assert {one[1:] for one in told(path)} == {("ok", "no results in the file")}


def test_items_of_a_response_are_messages(tmp_path: Path) -> None:
    item = {"type": "function_call", "name": "look", "arguments": '{"x": 1}'}
    response = {
        "object": "response", "id": "r1", "model": "m", "instructions": "Be kind.", "input": "Go.",
        "output": [
            {"type": "reasoning", "summary": []},
            item | {"call_id": "a"},
            item | {"call_id": "b"},
            {"type": "function_call_output", "call_id": "b", "output": "Error: b"},
            {"type": "function_call_output", "call_id": "a", "output": "fine"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        ],
    }  # fmt: skip
    path = tmp_path / "r.json"
    path.write_text(json.dumps(response, indent=1))
    (trace,) = files.read(path)
    assert [(c.status, c.group) for c in trace.calls] == [("ok", 2), ("rejected", 2)]
    assert (trace.system, trace.prompt, trace.messages[-1].text) == ("Be kind.", "Go.", "Done.")


def test_a_simulation_has_reward_gold_and_policy(tmp_path: Path) -> None:
    more = {"start_time": "2026-01-01T00:00:00", "duration": 7.5, "seed": 11}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(files.tau2([files.simulation(1, "1", "1", "user_of_1", **more)]), indent=2))
    (trace,) = files.read(path)
    assert trace.gold == Gold(
        (GoldCall("cancel", {"user_id": "user_of_1"}, ("user_id",)),), "tasks.evaluation_criteria.actions"
    )
    assert (trace.task, trace.reward, trace.seed, trace.seconds, trace.end) == ("1", 1.0, 11, 7.5, "done")
    assert (trace.system, trace.domain, trace.prompt) == ("Be kind.", "air", "Cancel.")
    assert trace.started == 1767225600.0 and trace.ended is None
    assert [(t.name, t.effect) for t in trace.tools] == [("cancel", "write")]
    assert told(path) == [("cancel", "rejected", 'text "Error"')]


def test_records_of_tau_bench_have_gold_under_kwargs(tmp_path: Path) -> None:
    traj = files.chat(files.asks(files.call("a", "book", {"user": "anna_lee_12"})), files.answer("a", "ok"))
    task = {"actions": [{"name": "book", "kwargs": {"user": "anna_lee_12"}}], "instruction": "You are Anna."}
    idle = {"actions": [], "instruction": "You only ask."}
    records = [
        {"task_id": n, "reward": 1, "info": {"task": one}, "traj": traj["messages"], "trial": 2}
        for n, one in enumerate((task, idle))
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(records))
    one, other = files.read(path)
    assert one.gold == Gold((GoldCall("book", {"user": "anna_lee_12"}),), "info.task.actions")
    assert (one.task, one.seed, one.prompt) == ("0", 2, "You are Anna.")
    assert other.gold == Gold((), "info.task.actions"), "the task asks for no call"


def test_a_user_of_tau2_has_calls_of_its_own(tmp_path: Path) -> None:
    theirs = {"id": "u", "name": "toggle", "arguments": {}, "requestor": "user"}
    one = files.simulation(1, "1", "1", "user_of_1")
    one["messages"][1:1] = [
        {"role": "user", "content": None, "tool_calls": [theirs]},
        {"role": "tool", "id": "u", "content": "on", "requestor": "user"},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(files.tau2([one])))
    assert [name for name, *_ in told(path)] == ["cancel"]


@pytest.mark.parametrize("zipped", [True, False])
def test_a_sample_of_inspect(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "x.eval"
    if zipped:
        files.eval_zip(path, [files.inspect_sample()])
    else:
        head = {"version": 2, "eval": {"task": "shop", "model": "m"}, "plan": {}}
        # Inspect writes NaN where a score is none.
        path.write_text(json.dumps({**head, "samples": [files.inspect_sample(x=float("nan"))]}))
    (trace,) = files.read(path)
    assert (trace.task, trace.agent, trace.reward, trace.seconds) == ("shop/3", "m", 1.0, 2.5)
    assert trace.prompt == "Book for anna." and trace.calls[0].words == "I book."
    assert told(path) == [("book", "fault", "key error")]


def test_spans_of_a_trace_may_stand_in_any_lines(tmp_path: Path) -> None:
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Go."}]}]
    first = files.span("t1", 1, "chat", input__messages=asked, request__model="m", usage__output_tokens="7")
    tool = files.span("t1", 2, "execute_tool", tool__name="look", tool__call__arguments={"x": 1})
    bad = files.span("t1", 3, "execute_tool", tool__name="book", failed=True)
    other = files.span("t2", 1, "execute_tool", tool__name="walk", tool__call__result="Error: no")
    path = files.write_lines(
        tmp_path / "o.jsonl",
        files.otlp(bad, other),
        files.otlp(tool),
        files.otlp(first),
        {"resourceSpans": []},
    )
    one, two = files.read(path)
    assert [(c.name, c.status, c.status_from, c.group) for c in one.calls] == [
        ("look", "ok", "answered", 1),
        ("book", "rejected", "key status.code", 1),
    ]
    assert (one.prompt, one.agent, one.started, one.seconds) == ("Go.", "m", 1.0, 3.0)
    assert [(c.name, c.status) for c in two.calls] == [("walk", "rejected")]


def test_spans_of_tools_may_have_another_word_and_bare_arguments(tmp_path: Path) -> None:
    bare = files.span("t", 1, "tool", tool__name="search", tool__call__arguments="acme revenue")
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "I search."}]}]
    first = files.span("t", 0, "completion", output__messages=said)
    path = files.write_lines(tmp_path / "o.json", files.otlp(bare, first))
    assert told(path) == [("search", "ok", "answered")]
    (call,) = files.read(path)[0].calls
    assert (call.arguments, call.words) == ({"arguments": "acme revenue"}, "I search.")


def test_spans_of_chats_alone_have_their_calls_in_the_messages(tmp_path: Path) -> None:
    asked = {"role": "user", "parts": [{"type": "text", "content": "Go."}]}
    made = {"role": "assistant", "parts": [{"type": "tool_call", "id": "a", "name": "look", "arguments": {}}]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "a", "response": "Error: no"}]}
    done = [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]
    spans = [
        files.span("t", 1, "chat", input__messages=[asked], output__messages=[made]),
        files.span("t", 2, "chat", input__messages=[asked, made, back], output__messages=done),
    ]
    path = files.write_lines(tmp_path / "o.json", files.otlp(*spans))
    assert told(path) == [("look", "rejected", 'text "Error"')]


def test_runs_of_core_say_error_of_what_was_refused(tmp_path: Path) -> None:
    calls = [
        {"name": "pay", "arguments": {"to": "anna"}, "status": "error"},
        {"name": "look", "status": "ok"},
    ]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([{"prompt_id": "transaction_3", "calls": calls}]))
    assert told(path) == [("pay", "rejected", "key status"), ("look", "ok", "key status")]


def test_own_traces_keep_groups_words_and_reads(tmp_path: Path) -> None:
    calls = [
        {"name": "look", "effect": "read", "group": "g", "words": "Let us see."},
        {"name": "book", "group": "g"},
    ]
    path = files.write_lines(tmp_path / "t.jsonl", {"trace": 1, "task": "a", "calls": calls, "end": "done"})
    (trace,) = files.read(path)
    assert [(c.group, c.words, c.reads) for c in trace.calls] == [(0, "Let us see.", True), (0, "", False)]
    assert (trace.id, trace.task, trace.end) == ("1", "a", "done")


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"messages": []}, "openai"),
        ([{"role": "user", "content": "x"}], "openai"),
        ({"simulations": [], "info": {}}, "tau2"),
        ({"task_id": "1", "termination_reason": "", "ticks": [0] * 500, "messages": []}, "tau2"),
        ([{"traj": [], "info": {}, "task_id": 1, "reward": 0}], "tau2"),
        ({"version": 2, "eval": {}, "plan": {}, "samples": []}, "inspect"),
        ({"resourceSpans": [{}]}, "otel"),
        ({"prompt_id": 1, "calls": []}, "core"),
        ({"trace": 1, "task": 2, "calls": []}, "pathrig"),
    ],
)  # fmt: skip
def test_the_format_is_found_by_keys(tmp_path: Path, record: object, name: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(record))
    assert importer_of(Source(path)).name == name
