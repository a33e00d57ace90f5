"""`reset` and `check` of an `mcp:` rig: each episode begins alike, and the user's program judges its goal."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log import EpisodeRow, LogReader

pytestmark = pytest.mark.slow
SERVER = """
import json, sys
from pathlib import Path

file = Path(sys.argv[1])
# As servers with a memory do: read when it starts, written when it ends.
notes = file.read_text().splitlines() if file.exists() else []
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOL = {"name": "write_note", "description": "Write a note that is not there yet.", "inputSchema": TEXT}

def write_note(text):
    if text in notes:
        return {"content": [{"type": "text", "text": "it is there already"}], "isError": True}
    notes.append(text)
    file.write_text("\\n".join(notes))
    return {"content": [{"type": "text", "text": "written"}]}

for line in sys.stdin:
    asked = json.loads(line)
    said = {"jsonrpc": "2.0", "id": asked.get("id")}
    match asked:
        case {"method": "initialize", "params": {"protocolVersion": version}}:
            about = {"name": "notes", "version": "1"}
            said["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case {"method": "tools/list"}:
            said["result"] = {"tools": [TOOL]}
        case {"method": "tools/call", "params": {"arguments": arguments}}:
            said["result"] = write_note(**arguments)
        case {"id": _}:
            said["error"] = {"code": -32601, "message": "no such method"}
        case _:
            continue
    print(json.dumps(said), flush=True)
file.write_text("\\n".join(notes))
"""
TASKS = """
tasks:
  - {id: remember_milk, device: notes-tools.yaml, prompt: Note milk., plan: [{write_note: {text: milk}}]}
  - {id: remember_bread, device: notes-tools.yaml, prompt: Note bread., plan: [{write_note: {text: bread}}]}
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a rig, as its server was asked for its tools."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "server.py").write_text(SERVER)
    server = f"{sys.executable} {folder / 'server.py'} {folder / 'notes'}"
    assert main(["rigs", "new", str(folder / "notes.yaml"), "--name", "notes", "--mcp", server]) == 0
    return folder


@pytest.fixture
def notes(asked: Path, tmp_path: Path) -> Path:
    """A folder with a rig of notes, its tools, and tasks."""
    for name in ("server.py", "notes.yaml", "notes-tools.yaml"):
        text = (asked / name).read_text()
        (tmp_path / name).write_text(text.replace(str(asked), str(tmp_path)))
    (tmp_path / "tasks.yaml").write_text(TASKS)
    return tmp_path


def run(folder: Path, *keys: str, episodes: int = 2) -> tuple[int, list[EpisodeRow]]:
    rig = folder / "rig.yaml"
    rig.write_text((folder / "notes.yaml").read_text() + "".join(f"{key}\n" for key in keys))
    given = ["--task", f"{folder / 'tasks.yaml'}#remember_milk", "--rig", str(rig), "--agent", "oracle"]
    given += ["--episodes", str(episodes), "--db", str(folder / "run.db")]
    status = main(["run", "--allow-programs", *given])
    with LogReader(folder / "run.db") as reader:
        return status, reader.episodes()


def test_without_a_reset_an_episode_finds_what_the_last_one_left(notes: Path) -> None:
    status, episodes = run(notes)
    assert status == 0
    first, second = episodes
    assert first.scores["path_correctness"] == 1.0 > second.scores["path_correctness"]
    assert [one.scores.get("goal_met") for one in episodes] == [None, None]


def test_each_episode_begins_alike_and_its_goal_is_judged(notes: Path) -> None:
    (notes / "notes").write_text("milk")
    file = notes / "notes"
    status, episodes = run(notes, f"reset: rm -f {file}", f"check: grep -q milk {file}")
    assert status == 0
    assert [one.scores["path_correctness"] for one in episodes] == [1.0, 1.0]
    assert [(one.scores["goal_met"], one.scores["final_state_ok"]) for one in episodes] == [(1.0, 1.0)] * 2
    # The verdict is in the log: it is scored again without the rig.
    file.unlink()
    assert main(["score", "--db", str(notes / "run.db")]) == 0


@pytest.mark.parametrize(
    ("check", "met"),
    [("grep -q bread {file}", 0.0), ("sh -c 'exit 7'", None), ("sh -c 'kill -9 $$'", None)],
)
def test_what_a_check_answers(notes: Path, check: str, met: float | None) -> None:
    file = notes / "notes"
    status, (episode,) = run(notes, f"reset: rm -f {file}", f"check: {check.format(file=file)}", episodes=1)
    assert status == 0
    assert (episode.scores["goal_met"], episode.scores["final_state_ok"]) == (met, met)
    assert episode.scores["path_correctness"] == 1.0


def test_both_are_told_task_and_seed(notes: Path) -> None:
    told = notes / "told"
    tell = "sh -c 'echo $0 $PATHRIG_TASK $PATHRIG_SEED >> TOLD'".replace("TOLD", str(told))
    run(notes, f"reset: {tell} reset", f"check: {tell} check", episodes=2)
    lines = [f"{name} remember_milk {seed}" for seed in (0, 1) for name in ("reset", "check")]
    assert told.read_text().splitlines() == lines


def test_a_reset_that_fails_ends_the_run_in_one_line(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, (episode,) = run(notes, "reset: sh -c 'echo disk is full; exit 4'")
    assert (status, episode.status, episode.calls_made) == (3, "error", 0)
    (line,) = [one for one in capsys.readouterr().err.splitlines() if "reset" in one]
    assert line.endswith("failed: exit status 4: disk is full")


def test_a_reset_that_does_not_end_is_ended_with_what_it_started(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("core_eval.rig.programs.PROGRAM_SECONDS", 0.5)
    began = time.monotonic()
    status, _ = run(notes, "reset: sh -c 'sleep 50 & sleep 50'")
    assert status == 3 and time.monotonic() - began < 40
    assert "no end within 0.5 s" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["reset", "check"])
@pytest.mark.parametrize(
    ("url", "command", "says"),
    [
        ("sim:farm_rover", "true", "only a rig of an MCP server"),
        ("mcp:true", "no-such-program-here", "there is no program 'no-such-program-here'"),
        ("mcp:true", '"', "No closing quotation"),
    ],
)
def test_a_wrong_program_is_one_line_of_its_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, url: str, command: str, says: str
) -> None:
    (tmp_path / "rig.yaml").write_text(f"name: x\nurl: {url}\n{key}: '{command}'\n")
    given = ["--task", "water_one_plant", "--rig", str(tmp_path / "rig.yaml"), "--agent", "oracle"]
    assert main(["run", "--allow-programs", *given, "--db", str(tmp_path / "x.db")]) == 2
    said = capsys.readouterr().err
    assert key in said and says in said and said.count("\n") == 1
