"""Logs that Inspect itself writes."""

from pathlib import Path
from typing import Any

import foreign_traces as files
import pytest


@pytest.mark.interop
@pytest.mark.parametrize("suffix", ["eval", "json"])
def test_what_inspect_writes_is_read(tmp_path: Path, suffix: str) -> None:
    log: Any = pytest.importorskip("inspect_ai.log")
    model: Any = pytest.importorskip("inspect_ai.model")
    tool: Any = pytest.importorskip("inspect_ai.tool")
    scorer: Any = pytest.importorskip("inspect_ai.scorer")
    calls = [
        tool.ToolCall(id=ident, function=name, arguments={"user": "anna"})
        for ident, name in (("a", "book"), ("b", "bok"))
    ]
    sample = log.EvalSample(
        id="s1",
        epoch=2,
        input="Book for anna.",
        target="done",
        messages=[
            model.ChatMessageSystem(content="Be kind."),
            model.ChatMessageUser(content="Book for anna."),
            model.ChatMessageAssistant(content="Both.", tool_calls=calls),
            model.ChatMessageTool(content="booked", tool_call_id="a", function="book"),
            model.ChatMessageTool(
                content="",
                tool_call_id="b",
                function="bok",
                error=tool.ToolCallError("parsing", "Tool bok not found"),
            ),
            model.ChatMessageAssistant(content="done"),
        ],
        scores={"includes": scorer.Score(value="C")},
    )
    spec = log.EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="shop",
        model="mockllm/model",
        dataset=log.EvalDataset(),
        config=log.EvalConfig(),
    )
    path = tmp_path / f"2026-01-01T00-00-00_shop_x.{suffix}"
    log.write_eval_log(log.EvalLog(eval=spec, samples=[sample], status="success"), str(path))
    (trace,) = files.read(path)
    assert (trace.task, trace.agent, trace.reward, trace.seed) == ("shop/s1", "mockllm/model", 1.0, 2)
    assert (trace.system, trace.prompt) == ("Be kind.", "Book for anna.")
    assert [(c.name, c.status, c.status_from, c.group) for c in trace.calls] == [
        ("book", "ok", "answered", 2),
        ("bok", "invalid", "key error", 2),
    ]
