import json
from pathlib import Path

import pytest
from tiny_gguf import write_tiny_gguf

from agents.backends.gguf_facts import memory_needed
from core_eval.cli.main import main
from core_eval.rig import host_check

RIGS = ("serve.yaml", "serial:///dev/ttyNone7", "mqtt://127.0.0.1:9/x")


def test_a_rig_that_answers_and_one_that_does_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_check, "SCANT_DISK", 0)
    monkeypatch.setattr(host_check, "LEAST_DISK", 0)
    monkeypatch.chdir(tmp_path)
    work = "suites: [navigation], agents: [done]"
    Path("serve.yaml").write_text(f"rigs: ['sim:navigation']\nschedule: [{{name: a, every: 1h, {work}}}]")
    status = main(
        ["doctor", *RIGS, "--json", "--agent", "oracle", "--folder", str(tmp_path)],
    )
    findings = {one["check"]: one for one in json.loads(capsys.readouterr().out)}
    assert status == 1
    assert findings["rig sim:navigation"]["weight"] == "ok"
    gone = findings["rig serial:///dev/ttyNone7"]
    assert gone["weight"] == "fault" and "is the cable in?" in gone["text"]
    unreached = findings["rig mqtt://127.0.0.1:9/x"]
    assert unreached["weight"] == "fault" and "cannot reach the broker" in unreached["text"]
    assert findings["disk"]["weight"] == "ok" and str(tmp_path) in findings["disk"]["text"]


def test_a_table_names_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["doctor", "--agent", "oracle", "--folder", str(tmp_path / "none")]) == 1
    assert "create it" in capsys.readouterr().out


@pytest.mark.llama
def test_the_memory_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf", template=None)
    # 2 layers, 1 head of keys and one of values, 16 wide each; q8_0 has 34 bytes for 32 numbers.
    cache = {n: 2 * 1 * 32 * n * 34 // 32 for n in (1024, 4096)}
    assert memory_needed(path, 4096) == path.stat().st_size + cache[4096] + 64 * 2**20
    assert memory_needed(path, 1024) == path.stat().st_size + cache[1024] + 64 * 2**20
    # It was trained with 4,096 tokens.
    assert memory_needed(path, 100_000) == memory_needed(path, 4096)
    main(["doctor", "--agent", f"llama:{path}", "--json"])
    found = {one["check"]: one["text"] for one in json.loads(capsys.readouterr().out)}
    assert found["memory"].startswith("tiny.gguf needs about 64 MiB")
    assert main(["doctor", "--agent", f"llama:{tmp_path / 'no.gguf'}", "--json"]) == 1
