"""One agent's failure ends its own episodes, not the run (`--keep-going`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_standin import DONE, serving

from agents.agent import Agent, BackendError, StopAction
from agents.backends import chat_server
from core_eval.cli.main import main
from core_eval.log import LogReader, RunLog, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run

RUN = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--episodes", "2", "--db", "log.db"]
BROKEN = (500, {"error": "no template"})


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chat_server, "BACK_OFF_SECONDS", 0.001)


def rows() -> list[tuple[str, int, str]]:
    with LogReader(Path("log.db")) as reader:
        return [(row.agent.partition(":")[0], row.number, row.status) for row in reader.episodes()]


def ended() -> bool:
    with LogReader(Path("log.db")) as reader:
        return not reader.unfinished_runs()


def test_the_other_agents_go_on_and_the_end_tells(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(BROKEN) as (server, spec):
        agents = ["--agent", spec, "--agent", "oracle", "--fail-under", "path_correctness=1"]
        assert main([*RUN, *agents, "--junit", "junit.xml"]) == 3
        assert len(server.requests) == 1 + chat_server.RETRIES
    assert rows() == [("qwen3", 0, "error"), ("oracle", 2, "completed"), ("oracle", 3, "completed")]
    assert not ended()
    out, err = capsys.readouterr()
    last = err.strip().splitlines()[-1]
    assert last.startswith("pathrig: agent qwen3 failed: water_one_plant: http://127.0.0.1:")
    assert last.endswith(
        'status 500: {"error": "no template"} (1 of its episodes were not run); --resume runs what is missing'
    )
    assert "oracle" in out and "status 500" in out
    xml = Path("junit.xml").read_text()
    assert xml.count("<error") == 1 and xml.count("not run:") == 1 and xml.count("not judged:") == 1
    assert "path_correctness&gt;=1 (oracle)" in xml and "<failure" not in xml


def test_json_has_what_was_run(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(BROKEN) as (_, spec):
        assert main([*RUN, "--agent", spec, "--agent", "oracle", "--json"]) == 3
    printed = json.loads(capsys.readouterr().out)
    assert [episode["status"] for episode in printed["episodes"]] == ["error", "completed", "completed"]


def test_resume_runs_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(*[BROKEN] * (1 + chat_server.RETRIES), (200, DONE)) as (_, spec):
        assert main([*RUN, "--agent", spec, "--agent", "oracle"]) == 3
        assert main(["run", "--resume", "--db", "log.db"]) == 0
    assert rows()[3:] == [("qwen3", 0, "completed"), ("qwen3", 1, "completed")]
    assert ended()


def test_no_keep_going_ends_the_run_as_for_one_agent(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(BROKEN) as (_, spec):
        assert main([*RUN, "--agent", spec, "--agent", "oracle", "--no-keep-going"]) == 3
        assert rows() == [("qwen3", 0, "error")]
        assert "--resume" not in capsys.readouterr().err
        assert main([*RUN, "--agent", spec]) == 3
    assert rows() == [("qwen3", 0, "error")] * 2


def test_keep_going_with_one_agent_ends_its_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(BROKEN) as (_, spec):
        assert main([*RUN, "--agent", spec, "--keep-going"]) == 3
    assert rows() == [("qwen3", 0, "error")]
    assert "(1 of its episodes were not run)" in capsys.readouterr().err


class Unready(Agent):
    """An agent whose model cannot be loaded when its turn comes."""

    name, scaffold = "unready", "native"

    def check(self, context) -> None:
        raise BackendError("llama-server ended (exit status 1)")

    def start(self, context) -> None:
        pytest.fail("it is not ready")

    def act(self, observation) -> StopAction:
        return StopAction("done")

    def close(self) -> None:
        pass


def run(*agents: str) -> Run:
    cells = tuple(Cell(task="water_one_plant", rig="sim:farm_rover", agent=agent) for agent in agents)
    config = RunConfig(cells=cells)
    made = {agent: Unready() for agent in agents if agent.startswith("unready")}
    with RunLog(Path("log.db")) as log:
        the_run = Run(config, load_parts(config, made), log, ignore)
        the_run.start()
    return the_run


def test_an_agent_that_cannot_begin_has_no_episode() -> None:
    the_run = run("unready", "oracle")
    assert the_run.failed == {"unready": "llama-server ended (exit status 1)"}
    assert rows() == [("oracle", 1, "completed")]
    assert not ended()


def test_a_run_in_which_no_agent_can_begin_is_none() -> None:
    with pytest.raises(BackendError, match="llama-server ended"):
        run("unready", "unready2")
    assert rows() == [] and ended()


def test_the_log_has_remarks_on_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with serving((200, {"choices": [{"message": {"content": None}}], "usage": {"prompt_tokens": 100}})) as (
        _,
        spec,
    ):
        assert main([*RUN, "--agent", spec]) == 0
    with LogReader(Path("log.db")) as reader:
        (first, empty), (second, cut) = reader.remarks(1)
    assert (first, second, empty) == (0, 0, "the answer is empty")
    assert "counts 100 prompt tokens" in cut
    printed = " ".join(capsys.readouterr().out.split())
    assert "counts 100 prompt tokens" in printed
    assert main(["show", "log.db", "--episode", "1"]) == 0
    assert "answer 0: the answer is empty" in capsys.readouterr().out
