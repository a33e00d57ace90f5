"""What models, devices, servers, files and logs say is shown, and never drives the terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Any
from xml.etree import ElementTree

import pytest
from bench_rig import BenchRover, on_a_pty
from chat_standin import serving
from paths import ROOT
from rich.text import Text

from core_eval.cli.console import GuardedConsole
from core_eval.cli.main import main
from core_eval.cli.screen import GuardedStream
from core_eval.text.visible_text import LINE_AND_TAB, visible
from devices.outcome import Outcome
from firmware_bridge.approval import Question, TerminalApprover

pytestmark = pytest.mark.serial

EVIL = "\x1b]52;c;aGVsbG8=\x9b2J\u202eevil\u2066\x7f\u200b"
"""Writes the clipboard, clears the screen (C1), turns text round, deletes, hides."""
SHOWN = r"\x1b]52;c;aGVsbG8=\u009b2J\u202eevil\u2066\u007f\u200b"


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")


class EvilRover(BenchRover):
    firmware = f"fw {EVIL}"

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        return Outcome("fault", code=f"code {EVIL}", message=f"message {EVIL}", t=1.0, duration=1.0)


def assert_clean(text: str) -> None:
    raw = {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")}
    assert raw <= {"\n", "\t"}, sorted(raw)


@pytest.fixture
def log(capfd: pytest.CaptureFixture[str]) -> str:
    """A log whose tools, arguments, errors, agent and task are hostile; its run printed nothing raw."""
    agent = Path(f"a {EVIL}.jsonl")
    lines = [
        {"name": f"tool {EVIL}", "arguments": {f"argument {EVIL}": f"value {EVIL}"}},
        {"name": "move_to", "arguments": {"x": 1.0, "y": 1.0}},
        {"name": "unlock_safety_mode", "arguments": {}},
    ]
    agent.write_text("".join(json.dumps(line) + "\n" for line in lines))
    task = {
        "id": f"task {EVIL}",
        "world": "farm_rover",
        "prompt": f"prompt {EVIL}",
        "plan": ["lock_safety_mode"],
    }
    Path("t.yaml").write_text(json.dumps({"tasks": [task]}))
    with on_a_pty(EvilRover()) as url:
        run = ["run", "--task", "t.yaml", "--rig", url, "--agent", f"scripted:{agent}", "--guard", "observe"]
        assert main([*run, "--db", "log.db", "--junit", "j.xml"]) == 0
    said = capfd.readouterr()
    assert rf"tool {SHOWN}(argument {SHOWN}=" in said.out and "code " + SHOWN in said.out
    assert_clean(said.out + said.err)
    return "log.db"


def test_no_verb_lets_a_control_character_through(log: str, capfd: pytest.CaptureFixture[str]) -> None:
    commands = (
        ["show", log],
        ["show", log, "--json"],
        ["show", log, "--episode", "1"],
        ["show", log, "--episode", "1", "--json"],
        ["harm", log],
        ["harm", log, "--json"],
        ["score", "--db", log],
        ["tasks", "list", "t.yaml"],
        ["tasks", "list", "t.yaml", "--json"],
        ["tasks", "show", "t.yaml"],
        ["tasks", "verify", "t.yaml"],
    )
    for command in commands:
        main(command)
        said = capfd.readouterr()
        assert "evil" in said.out or command[0] == "harm", command
        assert_clean(said.out + said.err)
        if "--json" in command:
            assert "evil" in json.dumps(json.loads(said.out)) or command[0] == "harm"


def test_json_keeps_its_meaning(log: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["show", log, "--episode", "1", "--json"]) == 0
    story = json.loads(capfd.readouterr().out)
    assert story["steps"][0]["tool"] == f"tool {EVIL}" and story["prompt"] == f"prompt {EVIL}"


def test_a_rig_that_is_checked_and_a_mistaken_name(capfd: pytest.CaptureFixture[str]) -> None:
    with on_a_pty(EvilRover()) as url:
        assert main(["rigs", "check", url]) == 3
    assert main(["rigs", "check", f"no {EVIL}"]) == 2
    assert main(["run", "--task", EVIL]) == 2
    assert main([EVIL]) == 2
    said = capfd.readouterr()
    assert f"fw {SHOWN}" in said.out and f"message {SHOWN}" in said.err
    assert_clean(said.out + said.err)


def test_the_body_of_a_servers_error(capfd: pytest.CaptureFixture[str]) -> None:
    answers = [(400, f"no {EVIL}".encode())] * 4
    with serving(*answers) as (_, spec):
        run = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", spec]
        assert main(run) == 3
    said = capfd.readouterr()
    assert "evil" in said.err
    assert_clean(said.out + said.err)


def test_the_report_and_the_junit_file_hold_no_control_character(log: str) -> None:
    assert main(["report", log, "-o", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "evil" in page
    assert_clean(page)
    ElementTree.fromstring(Path("j.xml").read_text(encoding="utf-8"))
    assert_clean(Path("j.xml").read_text(encoding="utf-8"))


def test_the_question_to_a_person() -> None:
    with pipes() as (source, sink, shown):
        TerminalApprover(source, sink).show(Question(f"tool {EVIL}", {EVIL: EVIL}, f"because {EVIL}"))
    assert_clean(shown())
    assert f"tool {SHOWN}" in shown() and f"because {SHOWN}" in shown()


@contextlib.contextmanager
def pipes() -> Iterator[Any]:
    with Path("source").open("w+") as source, Path("sink").open("w+") as sink:
        yield source, sink, lambda: Path("sink").read_text()


def test_a_terminal_gets_our_colours_and_nothing_else(log: str) -> None:
    primary, secondary = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "core_eval.cli.main", "show", log, "--episode", "1"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=secondary,
        stderr=secondary,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )
    os.close(secondary)
    said = b""
    with contextlib.suppress(OSError):
        while read := os.read(primary, 4096):
            said += read
    os.close(primary)
    assert process.wait(30) == 0
    text = said.decode()
    assert re.search(r"\x1b\[1m", text) and re.search(r"\x1b\[\d*;?31m", text), "our own colours"
    assert_clean(re.sub(r"\x1b\[[\d;]*m", "", text).replace("\r\n", "\n"))
    assert max(len(line) for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()) <= 80


def test_visible() -> None:
    assert visible(EVIL) == SHOWN
    assert visible(visible(EVIL)) == visible(EVIL)
    plain = "Grüße, 水 ±0.05\u00a0s – “ok”"
    assert visible(plain) is plain or visible(plain) == plain
    assert visible("a\n\tb", LINE_AND_TAB) == "a\n\tb" and visible("a\n\tb") == r"a\n\tb"
    assert visible("\ud800\ufffe\U000e0041\r") == r"\ud800\ufffe\udb40\udc41\r"
    text = json.dumps({"a": EVIL + "\U000e0041"}, ensure_ascii=False)
    assert json.loads(visible(text)) == json.loads(text)


def test_styles_stay_where_they_were() -> None:
    from io import StringIO

    stream = StringIO()
    console = GuardedConsole(file=stream, width=60, force_terminal=True, color_system="standard")
    console.print(Text.assemble("a\x1bb ", ("red", "red"), " \x9bc"))
    assert stream.getvalue() == "a\\x1bb \x1b[31mred\x1b[0m \\u009bc\n"
    guarded = GuardedStream(stream)
    assert guarded.write("x\x1b\n") == 3
    assert stream.getvalue().endswith("x\\x1b\n")
