"""Connections to the live page are bounded, so that strangers cannot take the run's descriptors."""

from __future__ import annotations

import logging
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from episode_start import START
from live_browser import Browser, open_page

from core_eval.live.history import History, PageEvent
from core_eval.live.live_run import LiveRun, live_run
from core_eval.live.server import LivePage
from core_eval.live.serving import Address, Authorizer, serve_page
from core_eval.log import RunLog
from firmware_bridge import http_server

pytestmark = pytest.mark.browser

LOCAL = Address("127.0.0.1", 0)
RESET = struct.pack("ii", 1, 0)


@contextmanager
def idle(url: str, count: int, said: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections that bring no whole request."""
    parts = urlsplit(url)
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20)
            opened.append(stack.enter_context(connection))
            if said:
                connection.sendall(said)
        yield opened


def closed(connection: socket.socket) -> bool:
    """Whether the server closes it; waits for that."""
    with suppress(ConnectionResetError):
        while connection.recv(4096):
            pass
    return True


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def begin_an_episode(page: LiveRun, folder: Path) -> None:
    """Let the page tell something."""
    with RunLog(folder / "log.db") as log:
        page.follow(log.path)
        log.begin_episode(log.begin_run({}, {}, {}), START)


@pytest.fixture
def page() -> Iterator[LiveRun]:
    with live_run(LOCAL) as served:
        yield served


@pytest.mark.parametrize("part", ["nothing", "half the headers", "half the body"])
def test_a_request_that_does_not_come_to_its_end_is_not_waited_for(
    page: LiveRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, part: str
) -> None:
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 1.0)
    headers = f"POST /answer HTTP/1.1\r\nHost: localhost\r\nX-Pathrig-Token: {Browser(page.url).token}\r\n"
    body = headers + "Content-Length: 100\r\n\r\n{"
    said = {"nothing": "", "half the headers": headers, "half the body": body}[part]
    with idle(page.url, 3, said.encode()) as opened:
        assert all(map(closed, opened))
    assert Browser(page.url).request("GET", "/")[0] == 403
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_second_request_on_one_connection_has_its_time_too(
    page: LiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 1.0)
    with idle(page.url, 1, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") as (connection,):
        assert b"403" in connection.recv(4096)
        connection.sendall(b"GET / HTTP/1.1\r\n")
        assert closed(connection)


def test_events_go_on_longer_than_a_request_may_take(
    page: LiveRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 1.0)
    with open_page(page.url) as browser:
        browser.wait(lambda kind, data: kind == "clock")
        time.sleep(1.3)
        begin_an_episode(page, tmp_path)
        assert browser.wait(lambda kind, data: kind == "episode")["task"] == START.task


def test_many_idle_connections_take_few_descriptors_and_the_page_stays_open(
    page: LiveRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 8)
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 60.0)
    with open_page(page.url) as watching:
        watching.wait(lambda kind, data: kind == "clock")
        before = descriptors()
        with idle(page.url, 100) as opened:
            # Each of ours is a descriptor of this process as well.
            there = descriptors() - before - len(opened)
            assert there < 8 + 3 * http_server.ACCEPTED_AT_ONCE
            browser = Browser(page.url)
            assert browser.request("GET", f"/?token={browser.token}")[0] == 200
            assert browser.press("/stop") == 200
            # The oldest ones had to go, and nobody who was served.
            assert closed(opened[0]) and closed(opened[50])
        begin_an_episode(page, tmp_path)
        assert watching.wait(lambda kind, data: kind == "episode")["task"] == START.task


def test_a_run_with_few_descriptors_survives_idle_connections(tmp_path: Path) -> None:
    command = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "random"]
    run = subprocess.Popen(
        [sys.executable, "-m", "core_eval.cli.main", *command, "--episodes", "15", "--live"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160)),
    )
    assert run.stderr is not None
    try:
        address = run.stderr.readline().split()[-1]
        with idle(address, 300):
            errors = run.communicate(timeout=100)[1]
    finally:
        run.kill()
        run.wait()
    assert (run.returncode, errors) == (0, "")


def test_the_limit_of_descriptors_is_raised_as_far_as_it_is_of_use(monkeypatch: pytest.MonkeyPatch) -> None:
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: changed.append(limits))
    for limits in ((256, 4096), (256, 512), (1024, 4096), (256, resource.RLIM_INFINITY)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, limits=limits: limits)
        http_server.raise_descriptor_limit()
    assert changed == [(1024, 4096), (512, 512), (1024, resource.RLIM_INFINITY)]


class SlowHistory(History):
    """Takes its time to tell what was, so that the browser is gone before the first event is written."""

    def since(self, last: int) -> list[PageEvent]:
        time.sleep(0.5)
        return super().since(last)


def test_a_browser_that_vanishes_is_no_news_for_the_terminal(caplog: pytest.LogCaptureFixture) -> None:
    authorizer, history = Authorizer(LOCAL), SlowHistory()
    for number in range(150):
        history.add("past", {"id": number})
    with (
        caplog.at_level(logging.DEBUG, "asyncio"),
        serve_page(
            LOCAL,
            LivePage(authorizer, {"run": history}, lambda number, answer: False, lambda: None),
            authorizer,
        ) as url,
    ):
        request = f"GET /events?token={authorizer.token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        with idle(url, 3, request) as opened:
            for connection in opened:
                connection.recv(12)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        assert Browser(url.replace("127.0.0.1", "localhost")).request("GET", "/")[0] == 403
        history.add("past", {"id": 151})
        history.close()
    assert not [record for record in caplog.records if "socket.send()" in record.getMessage()]
