"""Agents' names from the command to the log, and what leaves the machine: no path of a file."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader

DATA = Path(__file__).parents[2] / "support/data"
CALL = '{"name": "unlock_safety_mode", "arguments": {}}\n'
FORMATS = ("csv", "jsonl", "otel", "inspect", "mcap", "datasette")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def names(db: str = "pathrig.db") -> list[str]:
    with LogReader(Path(db)) as reader:
        return [row.agent for row in reader.episodes()]


def test_nothing_that_is_handed_on_holds_a_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    private = tmp_path / "private folder" / "notes"
    private.mkdir(parents=True)
    (private / "eager.jsonl").write_text(CALL)
    (private / "night.yaml").write_text("base: farm_rover\n")
    task = private / "mine.yaml"
    task.write_text("tasks:\n  - {id: one, world: farm_rover, prompt: Do it., plan: [unlock_safety_mode]}\n")
    run = ["run", "--task", f"{task}#one", "--rig", f"sim:{private}/night.yaml"]
    agent = ["--agent", f"scripted:{private}/eager.jsonl", "--agent", "oracle"]
    assert main([*run, *agent, "--junit", "junit.xml", "--report", "report", "--json"]) == 0
    assert names() == ["scripted:eager", "oracle"]
    assert main(["compare", "pathrig.db", "-o", "compare.html"]) in (0, 1)
    for command in (
        ["show", "pathrig.db"],
        ["show", "pathrig.db", "--json"],
        ["score", "--db", "pathrig.db"],
    ):
        assert main(command) == 0
    for form in FORMATS:
        to = f"out-{form}"
        assert main(["log", "export", "pathrig.db", "--format", form, "-o", to]) == 0, form
    capsys.readouterr()
    written = [path for path in tmp_path.rglob("*") if path.is_file() and "pathrig.db" not in path.name]
    written = [path for path in written if private not in path.parents]
    assert len(written) > len(FORMATS) + 2
    for path in written:
        assert b"private folder" not in path.read_bytes(), path
    main(["show", "pathrig.db", "--json"])
    assert "private folder" not in capsys.readouterr().out


def test_old_logs_show_names_without_paths(capsys: pytest.CaptureFixture[str]) -> None:
    old = Path("old.db")
    old.write_bytes(gzip.decompress((DATA / "first_streams.db.gz").read_bytes()))
    specs = (
        "llama:/home/me/a/x.gguf?tools=full",
        "llama:/home/me/b/x.gguf?tools=full",
        "openai:http://h/v1#org/m",
    )
    with sqlite3.connect(old) as connection:
        for episode, spec in enumerate(specs, 1):
            connection.execute("UPDATE episode SET agent = ? WHERE id = ?", (spec, episode))
    connection.close()
    assert names("old.db") == ["x?tools=full", "x?tools=full (2)", "org/m", "random", "mutated:1:repeat"]
    assert main(["show", "old.db", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "/home/me" not in json.dumps(shown["episodes"])


def test_two_agents_of_a_run_never_share_a_name() -> None:
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "eager.jsonl").write_text(CALL * (1 if folder == "a" else 2))
    agents = ["--agent", "scripted:a/eager.jsonl", "--agent", "scripted:b/eager.jsonl"]
    assert main(["run", "--task", "water_one_plant", "--rig", "sim", *agents]) == 0
    assert names() == ["scripted:eager", "scripted:eager (2)"]
