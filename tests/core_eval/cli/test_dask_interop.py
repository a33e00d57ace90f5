"""Traces are scored on the workers of a real Dask cluster, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from core_eval.cli import file_parts, score_traces
from core_eval.cli.main import main

TASK = {
    "prompt_id": 7,
    "world": "w",
    "prompt": "p",
    "nodes": [
        {"name": "a", "is_final": False, "transitions": [{"symbols": ["go"], "from": "a", "to": "b"}]},
        {"name": "b", "is_final": True, "transitions": []},
    ],
    "alphabet": {"go": {"name": "go", "arguments": {}}},
}


@pytest.mark.interop
def test_a_killed_workers_parts_are_scored_by_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(file_parts, "PART_BYTES", 2000)
    Path("tasks.json").write_text(json.dumps([TASK]))
    lines = [{"trace": n, "task": 7, "calls": [{"name": "go"}] * (n % 4)} for n in range(2000)]
    Path("traces.jsonl").write_text("\n".join(map(json.dumps, [*lines[:7], {"trace": "x"}, *lines[7:]])))
    given = ["score", "--tasks", "tasks.json", "--traces", "traces.jsonl"]
    Path("rules.yaml").write_text("rules: [{id: once, sentence: Go once., absence: go, times: 2}]")
    ruled = ["score", "--rules", "rules.yaml", "--traces", "traces.jsonl"]
    wanted = []
    for one in (given, ruled):
        assert main([*one, "--json"]) == 1
        wanted.append(capsys.readouterr().out)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster:
        pids = [worker.pid for worker in cluster.workers.values()]
        left = iter(pids[:1])

        def kill(_bytes: int) -> None:
            for pid in left:
                os.kill(pid, signal.SIGKILL)

        monkeypatch.setattr(score_traces, "_progress_of_parts", lambda *_: kill)
        assert main([*given, "--json", "--dask", cluster.scheduler_address]) == 1
        assert next(left, None) is None
        assert capsys.readouterr().out == wanted[0]
        assert main([*ruled, "--json", "--dask", cluster.scheduler_address]) == 1
        assert capsys.readouterr().out == wanted[1]
    assert main([*given, "--dask", "tcp://127.0.0.1:9"]) == 2
    assert "no scheduler answers" in capsys.readouterr().err
