"""The examples of docs/traces-and-scores.md are what the command reads and gives."""

import json
import re
from pathlib import Path

import pytest
from paths import ROOT

from core_eval.cli.main import main

PAGE = ROOT / "docs" / "traces-and-scores.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    (command,) = (text.split() for language, _, text in blocks if language == "sh")
    files = {name: text for _, name, text in blocks if name}
    assert set(files) == {"tasks.json", "traces.jsonl", "scores.jsonl"}
    for name in ("tasks.json", "traces.jsonl"):
        Path(name).write_text(files[name], encoding="utf-8")
    assert main(command[1:]) == 1
    captured = capsys.readouterr()
    assert captured.err == "pathrig: 2 scored, 1 could not be scored; see `error` in their lines\n"
    assert "PC-KTC" in captured.out
    assert Path("scores.jsonl").read_text(encoding="utf-8") == files["scores.jsonl"]
    assert main([*command[1:-2], "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["traces"] == [json.loads(line) for line in files["scores.jsonl"].splitlines()]
    page = PAGE.read_text(encoding="utf-8")
    for key in printed["summary"].keys() - printed["traces"][0].keys():
        assert f"`{key}`" in page, key


def test_the_page_names_every_key() -> None:
    from core_eval.call_status import CallStatus
    from core_eval.traces.scored_traces import SCORE_NAMES
    from core_eval.traces.trace_file import BY_AGENT, EFFECTS, LIMITS

    page = PAGE.read_text(encoding="utf-8")
    metrics = PAGE.with_name("metrics.md").read_text(encoding="utf-8")
    keys = ("trace", "task", "calls", "name", "arguments", "status", "end", "result", "effect", "group")
    for word in (*CallStatus, *keys, *EFFECTS, "bounds", "error"):
        assert f"`{word}`" in page, word
    for end in (*BY_AGENT, *LIMITS):
        assert f'`"{end}"`' in page, end
    for name in SCORE_NAMES:
        assert f"`{name}`" in page or f"`{name}`" in metrics, name
