"""The scripts of docs/agent-frameworks.md drive a rig: each framework with its own MCP client."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_standin import completion, serving, tool_call
from paths import ROOT

from core_eval.cli.main import main
from core_eval.log import LogReader

PYTHON = ROOT / "build" / "frameworks" / "bin" / "python"
pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="`make test-interop` installs them"),
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    # Refused: the safety is locked. The framework must hand that to the model, and go on.
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    ("lock_safety_mode", {}),
]
PAGE = (ROOT / "docs" / "agent-frameworks.md").read_text(encoding="utf-8")
SCRIPTS = dict(re.findall(r"```python (\S+)\n(.*?)```", PAGE, re.DOTALL))


def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The next call of a model that makes the calls above, then says that it is done."""
    made = sum(message["role"] == "assistant" for message in body["messages"])
    system, first, *_ = body["messages"]
    assert "operate a machine" in str(system) and "plant_B" in str(first)
    name, arguments = CALLS[made] if made < len(CALLS) else ("final_answer", {"answer": "It is watered."})
    offered = {tool["function"]["name"] for tool in body["tools"]}
    message: dict[str, Any] = {"role": "assistant", "content": "It is watered."}
    if name in offered:
        call = tool_call(name, json.dumps(arguments), f"call_{made}")
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    reply = completion(message, "tool_calls" if name in offered else "stop", usage)
    reply["choices"][0]["index"] = 0
    return 200, {"id": "1", "object": "chat.completion", "created": 1, "model": "m", **reply}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_of_the_page_is_one_episode(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / script).write_text(SCRIPTS[script])
    (tmp_path / "pathrig").write_text(f'#!/bin/sh\nexec {sys.executable} -m core_eval.cli.main "$@"\n')
    (tmp_path / "pathrig").chmod(0o755)
    db = tmp_path / "run.db"
    with serving(answer) as (server, _):
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("MODEL", "m")
        # The framework's environment is not ours.
        monkeypatch.delenv("PYTHONPATH", raising=False)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        agent = f"command:{shlex.join([str(PYTHON), str(tmp_path / script)])}"
        given = ["--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", agent, "--db", str(db)]
        assert main(["run", *given]) == 0
    with LogReader(db) as reader:
        (episode,) = reader.episodes()
        steps = reader.steps(episode.id)
    assert (episode.status, episode.stop_reason) == ("completed", "done")
    assert [step.tool for step in steps] == [name for name, _ in CALLS]
    assert [step.status for step in steps] == ["rejected", "ok", "ok", "ok", "ok"]


def test_the_page_has_a_script_for_each_framework() -> None:
    imports = {"langchain_mcp_adapters", "agents.mcp", "pydantic_ai.mcp", "smolagents"}
    assert {name for name in imports if any(f"from {name}" in text for text in SCRIPTS.values())} == imports
