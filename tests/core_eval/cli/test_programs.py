"""Programs, classes and keys that files and logs name: nothing of them is used without consent."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_standin import completion, serving, tool_call
from chat_templates import QWEN3
from paths import ROOT
from tiny_gguf import write_tiny_gguf

from core_eval.cli.main import main


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has a list of trusted files, and a working folder, of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("foreign_driver", None)


def touching_rig() -> None:
    Path("rig.yaml").write_text('name: theirs\nurl: "mcp:/usr/bin/touch ran"\ndevice: farm_rover\n')


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.strip()


@pytest.mark.parametrize(
    "verb",
    [
        ["rigs", "check"],
        ["rigs", "announce"],
        ["run", "--task", "water_one_plant", "--agent", "oracle", "--rig"],
        ["mcp", "--http", "0", "--task", "water_one_plant", "--rig"],
        ["watch"],
    ],
    ids=lambda verb: " ".join(verb[:2]),
)
def test_a_rig_file_runs_no_program_unasked(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    touching_rig()
    assert main([*verb, "rig.yaml"]) == 2
    message = said(capsys)
    assert message.startswith("pathrig: rig.yaml:2: url: runs the program '/usr/bin/touch ran'")
    assert "--allow-programs" in message and "pathrig rigs trust rig.yaml" in message
    assert not Path("ran").exists() and not Path("pathrig.db").exists()


@pytest.mark.parametrize("key", ["reset", "check"])
def test_a_program_around_an_episode_is_asked_about(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    touching_rig()
    assert main(["rigs", "trust", "rig.yaml"]) == 0
    Path("rig.yaml").write_text(Path("rig.yaml").read_text() + f"{key}: /usr/bin/touch {key}\n")
    capsys.readouterr()
    assert main(["rigs", "trust", "rig.yaml"]) == 0
    assert f"rig.yaml: {key}: runs the program '/usr/bin/touch {key}'" in capsys.readouterr().out


def test_an_allowed_program_runs() -> None:
    touching_rig()
    # It ends without a word, so it is no server.
    assert main(["rigs", "check", "rig.yaml", "--allow-programs"]) == 3
    assert Path("ran").exists()
    Path("ran").unlink()
    # The permission was for that command.
    assert main(["rigs", "check", "rig.yaml"]) == 2
    assert not Path("ran").exists()


def test_a_program_on_the_command_line_is_not_asked_about() -> None:
    assert main(["rigs", "check", "mcp:/usr/bin/touch ran"]) == 3
    assert Path("ran").exists()


def test_a_trusted_file_runs_until_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    touching_rig()
    assert main(["rigs", "trust", "rig.yaml"]) == 0
    assert "rig.yaml: url: runs the program '/usr/bin/touch ran'" in capsys.readouterr().out
    assert not Path("ran").exists()
    assert main(["rigs", "check", "rig.yaml"]) == 3
    assert Path("ran").exists()
    Path("rig.yaml").write_text(Path("rig.yaml").read_text().replace("ran", "ran_again"))
    assert main(["rigs", "check", "rig.yaml"]) == 2
    assert not Path("ran_again").exists()


def test_a_file_that_names_nothing_needs_no_trust(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rig.yaml").write_text("name: mine\nurl: sim:farm_rover\nworld: farm_rover\n")
    assert main(["rigs", "trust", "rig.yaml"]) == 0
    assert "names nothing that would be asked about" in capsys.readouterr().out
    assert not Path("config").exists()


@pytest.mark.serial
@pytest.mark.parametrize(("answer", "ran"), [(b"n\n", False), (b"y\n", True)])
def test_a_person_is_asked_on_a_terminal(answer: bytes, ran: bool, tmp_path: Path) -> None:
    touching_rig()
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "core_eval.cli.main", "rigs", "check", "rig.yaml"]
    where = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=where) as process:
        os.close(theirs)
        seen = b""
        while b"Allow it this time?" not in seen:
            seen += os.read(ours, 4096)
        assert not Path("ran").exists()
        os.write(ours, answer)
        status = process.wait(timeout=60)
    os.close(ours)
    assert b"rig.yaml: url: runs the program '/usr/bin/touch ran'" in seen
    assert (status, Path("ran").exists()) == (3 if ran else 2, ran)


def test_the_class_of_a_foreign_driver_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("foreign_driver.py").write_text(
        "open('imported', 'w').close()\nclass Pump:\n    execute = stop = standing = reset = close = None\n"
    )
    Path("driver.yaml").write_text(
        "name: pump\nlink: python\npython: foreign_driver:Pump\ndevice: farm_rover\ndescription: a pump\n"
    )
    Path("rig.yaml").write_text("name: theirs\nurl: pump://1\ndriver: driver.yaml\n")
    assert main(["rigs", "check", "rig.yaml"]) == 2
    assert "driver.yaml:3: python: imports and runs the Python class foreign_driver:Pump" in said(capsys)
    assert not Path("imported").exists()
    assert main(["rigs", "trust", "rig.yaml"]) == 0
    assert "driver.yaml: python: imports and runs" in capsys.readouterr().out
    assert Path("imported").exists()


def test_a_model_file_runs_no_server_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    write_tiny_gguf(Path("x.gguf"), template=QWEN3)
    Path("evil.sh").write_text("#!/bin/sh\ntouch ran\n")
    Path("evil.sh").chmod(0o755)
    Path("model.yaml").write_text("model: llama-server:x.gguf\nserver: ./evil.sh\n")
    assert main(["models", "check", "model.yaml"]) == 2
    assert "model.yaml:2: server: runs the program" in said(capsys)
    Path("model.yaml").write_text("model: llama-server:x.gguf?server=./evil.sh\n")
    assert main(["models", "check", "model.yaml"]) == 2
    assert "model.yaml:1: model: runs the program" in said(capsys)
    assert not Path("ran").exists()
    # It ends at once, so it is no server.
    assert main(["models", "check", "model.yaml", "--allow-programs"]) == 2
    assert Path("ran").exists()


ANSWER = completion({"tool_calls": [tool_call("get_plant_pose", '{"plant_id": "plant_A"}')]})


@pytest.mark.parametrize("key", ["api_key_env: {}", 'header: "Authorization: Bearer ${}"'])
def test_a_model_file_takes_no_secret_unasked(
    key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_SECRET", "s3cr3t")
    monkeypatch.setenv("THEIR_API_KEY", "k3y")
    pages = {"/v1/models": {"data": [{"id": "gpt"}]}}
    with serving((200, ANSWER), pages=pages) as (server, spec):
        for variable, says in (("MY_SECRET", "_API_KEY only"), ("THEIR_API_KEY", "sends the environment")):
            Path("model.yaml").write_text(f"model: {spec}\n{key.format(variable)}\n")
            assert main(["models", "check", "model.yaml"]) == 2
            assert says in said(capsys)
        assert not server.requests
        assert main(["models", "check", "model.yaml", "--allow-programs"]) == 0
        assert "k3y" in str(server.requests)
        # A name that is none of a key's is for the command line alone, whatever is allowed.
        Path("model.yaml").write_text(f"model: {spec}\n{key.format('MY_SECRET')}\n")
        assert main(["models", "check", "model.yaml", "--allow-programs"]) == 2


@pytest.mark.parametrize(
    "cell",
    [
        {"agent": "command:/usr/bin/touch ran"},
        {"agent": "llama-server:x.gguf?server=/usr/bin/touch"},
        {"agent": "openai:http://127.0.0.1:1/v1#gpt?api_key_env=MY_SECRET"},
        {"rig": "mcp:/usr/bin/touch ran"},
    ],
    ids=lambda cell: next(iter(cell.values())).partition(":")[0],
)
def test_a_resumed_log_runs_nothing_unasked(
    cell: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_SECRET", "s3cr3t")
    run = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle"]
    assert main([*run, "--episodes", "2", "--db", "log.db"]) == 0
    with sqlite3.connect("log.db") as log:
        config = json.loads(log.execute("SELECT config FROM run").fetchone()[0])
        config["cells"][0] |= cell
        log.execute("UPDATE run SET ended = NULL, config = ?", (json.dumps(config),))
        log.execute("DELETE FROM episode WHERE number = 1")
    log.close()
    assert main(["rigs", "trust", "log.db"]) == 2, "a log cannot be trusted"
    capsys.readouterr()
    assert main(["run", "--resume", "--db", "log.db"]) == 2
    message = said(capsys)
    assert "the plan in log.db " in message and "--allow-programs" in message
    assert ("MY_SECRET" in message) or ("runs the program '" in message)
    assert not Path("ran").exists()
