"""The live page over real HTTP: what it shows, what its buttons do, and that nothing of it is left."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty
from forgotten_modules import forget_modules
from live_browser import Browser, open_page
from live_on_a_rig import CALLS, LOCAL, LiveOnARig
from paths import ROOT
from tapped_rig import TappedPort, tapped, tools_on

from core_eval.cli.main import main
from core_eval.live.live_run import live_run
from core_eval.live.server import PAGE
from core_eval.log import LogReader, RunLog, ignore
from core_eval.rig.signals import StoppedByPerson
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run

pytestmark = [pytest.mark.serial, pytest.mark.browser]


@pytest.fixture(autouse=True)
def leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in threading.enumerate() if thread not in before and thread.is_alive()]
    assert not [name for name in left if "live page" in name], left


@contextmanager
def asked(tmp_path: Path, port: TappedPort, *calls: str, seconds: float = 30.0) -> Iterator[
    tuple[LiveOnARig, Browser]
]:  # fmt: skip
    with (
        live_run(LOCAL, answer_seconds=seconds) as page,
        open_page(page.url) as browser,
        LiveOnARig(tmp_path, f"serial://{port.path}", page, *calls) as run,
    ):
        yield run, browser


# The buttons, and what they let reach the rig.


@pytest.mark.parametrize(
    ("answer", "on_the_link", "status"),
    [
        ("approve", ["unlock_safety_mode", "spray_pesticide"], "ok"),
        ("refuse", ["unlock_safety_mode"], "blocked"),
    ],
)
def test_a_person_approves_or_refuses_on_the_page(
    tmp_path: Path, answer: str, on_the_link: list[str], status: str
) -> None:
    with tapped() as port:
        with asked(tmp_path, port, "unlock", "bad", "move") as (run, browser):
            question = browser.question(1)
            assert (
                question["call"].startswith("spray_pesticide(") and "harmful in state" in question["reason"]
            )
            assert tools_on(port) == ["unlock_safety_mode"]
            assert browser.answer(1, answer) == 200
            episodes, steps = run.story()
        assert tools_on(port) == [*on_the_link, "move_to"]
    assert [step.status for step in steps] == ["ok", status, "ok"]
    assert (episodes[0].status, episodes[0].guard) == ("completed", "confirm")
    by_page = "approved by a person" if answer == "approve" else "not approved"
    assert steps[1].guard_reason is not None and steps[1].guard_reason.startswith(by_page)


def test_an_answer_of_stop_stops_the_rig_and_the_episode(tmp_path: Path) -> None:
    with tapped() as port:
        with asked(tmp_path, port, "unlock", "bad", "move") as (run, browser):
            browser.question(1)
            assert browser.answer(1, "stop") == 200
            episodes, _ = run.story()
        assert tools_on(port) == ["unlock_safety_mode"]
        assert b"\x18" in bytes(port.came).split(b"unlock_safety_mode")[1]
    assert (episodes[0].status, episodes[0].stop_reason) == ("stopped", "person")
    assert isinstance(run.raised, StoppedByPerson)


def test_a_question_that_nobody_answers_is_refused(tmp_path: Path) -> None:
    with tapped() as port:
        with asked(tmp_path, port, "unlock", "bad", "move", seconds=0.2) as (run, browser):
            said = browser.wait(lambda kind, data: kind == "answered")
            assert (said["answer"], said["by"]) == ("refuse", "timeout")
            assert browser.answer(1, "approve") == 409
            run.story()
        assert tools_on(port) == ["unlock_safety_mode", "move_to"]


def test_of_two_pages_the_first_answer_counts_and_both_are_told(tmp_path: Path) -> None:
    with tapped() as port, asked(tmp_path, port, "unlock", "bad", "bad") as (run, first):
        first.question(1)
        with open_page(run.page.url) as second:
            assert second.question(1)["reason"] == first.question(1)["reason"]
            assert second.answer(1, "refuse") == 200
            assert first.answer(1, "approve") == 409
            # The next question takes the place of the one that was answered.
            for browser in (second, first):
                browser.question(2)
            assert first.answer(2, "refuse") == 200
            for browser in (second, first):
                said = browser.wait(lambda kind, data: kind == "answered" and data["number"] == 2)
                assert (said["answer"], said["by"]) == ("refuse", "the live page")
            run.story()
        assert tools_on(port) == ["unlock_safety_mode"]


def test_the_stop_acts_in_mid_call_and_nothing_more_is_begun(tmp_path: Path) -> None:
    rover = BenchRover("move_to")
    with (
        on_a_pty(rover) as url,
        live_run(LOCAL) as page,
        open_page(page.url) as browser,
        LiveOnARig(tmp_path, url, page, "unlock", "move", "lock", episodes=3) as run,
    ):
        assert rover.running.wait(20.0)
        assert browser.press("/stop") == 200
        assert rover.made_safe.wait(20.0)
        episodes, steps = run.story()
        browser.wait(lambda kind, data: kind == "stop")
    assert isinstance(run.raised, StoppedByPerson)
    assert [(episode.status, episode.stop_reason) for episode in episodes] == [("stopped", "person")]
    assert episodes[0].scores and [row.label for row in episodes[0].failures] == [
        "device_fault",
        "guard_stop",
    ]
    assert [step.status for step in steps] == ["ok", "fault"]
    assert rover.calls == ["unlock_safety_mode", "move_to"]
    rover.slow = ()
    with on_a_pty(rover) as url, RunLog(run.db) as log:
        cell = run.config.cells[0].model_copy(update={"rig": url})
        config = run.config.model_copy(update={"cells": (cell,)})
        Run(config, load_parts(config), log, ignore).resume(1)
    with LogReader(run.db) as reader:
        assert [episode.number for episode in reader.episodes()] == [0, 1, 2]


def test_the_stop_ends_a_question_too(tmp_path: Path) -> None:
    with tapped() as port, asked(tmp_path, port, "unlock", "bad", "move") as (run, browser):
        browser.question(1)
        assert browser.press("/stop") == 200
        episodes, _ = run.story()
        assert tools_on(port) == ["unlock_safety_mode"]
        assert browser.wait(lambda kind, data: kind == "answered")["answer"] == "stop"
    assert isinstance(run.raised, StoppedByPerson) and episodes[0].status == "stopped"


def test_a_stop_before_the_first_episode_begins_none(tmp_path: Path) -> None:
    with on_a_pty(BenchRover()) as url, live_run(LOCAL) as page:
        assert Browser(page.url).press("/stop") == 200
        with LiveOnARig(tmp_path, url, page, "unlock") as run:
            pass
        with LogReader(run.db) as reader:
            assert not reader.episodes()
    assert isinstance(run.raised, StoppedByPerson)


# What a page shows.


def test_a_page_that_is_opened_late_shows_what_was(tmp_path: Path) -> None:
    with tapped() as port, asked(tmp_path, port, "unlock", "bad") as (run, browser):
        browser.question(1)
        with open_page(run.page.url) as late:
            late.question(1)
            assert [k for k in late.kinds() if k in ("episode", "step")] == ["episode", "step"]
            begun = late.wait(lambda kind, data: kind == "episode")
            assert begun["task"] == "water_one_plant" and begun["prompt"]
            rig = late.wait(lambda kind, data: kind == "rig")
            assert (rig["device"], rig["guard"]) == ("farm_rover", "confirm")
            last = late.ids[-1]
        with open_page(run.page.url, last_id=last) as again:
            assert browser.answer(1, "refuse") == 200
            step = again.wait(lambda kind, data: kind == "step")
            assert (step["k"], step["status"], step["kind"]) == (1, "blocked", "harmful")
            assert all(number > last for number in again.ids)
            past = again.wait(lambda kind, data: kind == "past")
            assert past["status"] == "completed" and past["scores"][0][0] == "PC"


def test_open_pages_are_told_that_the_run_is_over() -> None:
    with ExitStack() as pages:
        with live_run(LOCAL) as page:
            browser = pages.enter_context(open_page(page.url))
            browser.wait(lambda kind, data: kind == "clock")
        assert browser.ended.wait(20.0) and browser.kinds()[-1] == "over"


def test_an_exception_ends_the_page_as_well() -> None:
    with pytest.raises(ValueError, match="of the run"), live_run(LOCAL) as page:
        url = page.url
        raise ValueError("of the run")
    with pytest.raises(OSError):
        Browser(url).request("GET", "/")


def test_the_page_needs_nothing_from_elsewhere_and_holds_no_word_of_a_model() -> None:
    with live_run(LOCAL) as page:
        browser = Browser(page.url)
        status, text, headers = browser.request("GET", f"/?token={browser.token}")
    assert status == 200
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text) and "://" not in text
    assert "innerHTML" not in text and ":hover" not in (PAGE / "live.css").read_text()
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    (nonce,) = set(re.findall(r'nonce="([^"]+)"', text))
    assert f"script-src 'nonce-{nonce}'" in policy
    assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
    assert 'name="viewport"' in text and "prefers-color-scheme: dark" in text


# Who is not let in.


def test_without_the_token_there_is_no_page_and_no_button(tmp_path: Path) -> None:
    with tapped() as port, asked(tmp_path, port, "unlock", "bad") as (run, browser):
        browser.question(1)
        for path in ("/", "/events", "/?token=", "/events?token=wrong"):
            assert browser.request("GET", path)[0] == 403
        answer = {"number": 1, "answer": "approve"}
        assert browser.request("POST", "/answer", answer)[0] == 403
        assert browser.request("POST", f"/answer?token={browser.token}", answer)[0] == 403
        assert browser.request("POST", "/stop")[0] == 403
        assert browser.press("/answer", answer, origin="http://evil.example") == 403
        assert browser.press("/answer", answer, host="evil.example") == 403
        assert browser.press("/stop", sec_fetch_site="cross-site") == 403
        assert browser.request("GET", f"/answer?token={browser.token}")[0] == 405
        for body in ("no JSON", {"number": "1", "answer": "approve"}, {"number": 1}, [1], "x" * 5000):
            assert browser.press("/answer", body) == 400
        assert not run.page.stop_button.pressed
        home = f"http://127.0.0.1:{browser.port}"
        assert browser.press("/answer", {"number": 1, "answer": "refuse"}, origin=home) == 200
        run.story()
        assert tools_on(port) == ["unlock_safety_mode"]


# The command line.


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.jsonl").write_text(CALLS["unlock"] + "\n")
    return tmp_path


def command(url: str, *more: str) -> list[str]:
    return [
        "run", "--task", "water_one_plant", "--rig", url, "--agent", "scripted:calls.jsonl", *more
    ]  # fmt: skip


@pytest.mark.parametrize("more", [["--live"], ["--live", "--json"], ["--live", "127.0.0.1:0", "--json"]])
def test_the_address_is_printed(in_tmp: Path, more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with on_a_pty(BenchRover()) as url:
        assert main(command(url, *more)) == 0
    errors = capsys.readouterr().err
    assert re.search(r"the live page is http://127\.0\.0\.1:\d+/\?token=\S{20,}", errors)


def test_a_page_for_the_whole_network_is_warned_of(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with on_a_pty(BenchRover()) as url:
        assert main(command(url, "--live", "0.0.0.0:0")) == 0
    assert "it is not encrypted" in capsys.readouterr().err


def test_a_port_that_is_taken_and_an_address_that_is_none(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(command("mqtt://127.0.0.1:1/r", "--live", f"127.0.0.1:{port}")) == 2
    assert "Address already in use" in capsys.readouterr().err
    assert main(command("mqtt://127.0.0.1:1/r", "--live", "here:now")) == 2
    assert "write HOST:PORT" in capsys.readouterr().err
    assert not os.path.exists("pathrig.db")  # noqa: PTH110


def test_without_the_library_the_line_says_what_to_install(
    in_tmp: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_modules(monkeypatch, "core_eval.live", "firmware_bridge.http")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(command("mqtt://127.0.0.1:1/r", "--live")) == 2
    assert "pip install 'pathrig[live]'" in capsys.readouterr().err


def test_a_signal_ends_the_run_and_its_page(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    (in_tmp / "calls.jsonl").write_text(CALLS["unlock"] + "\n" + CALLS["move"] + "\n")
    rover = BenchRover("move_to")
    with on_a_pty(rover) as url:
        child = subprocess.Popen(
            [sys.executable, "-m", "core_eval.cli.main", *command(url, "--live")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stderr is not None
        address = child.stderr.readline().split()[-1]
        with open_page(address) as browser:
            assert rover.running.wait(30.0)
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=30.0)
            assert browser.ended.wait(20.0) and browser.kinds()[-1] == "over"
        assert rover.made_safe.wait(20.0)
    assert child.returncode == 130 and "the rig is safe" in errors
