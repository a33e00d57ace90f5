"""`pathrig watch`: what a page of logs and rigs shows, and how a live page goes on to its report."""

from __future__ import annotations

import re
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty
from live_browser import Browser, open_page
from live_on_a_rig import LOCAL, LiveOnARig
from real_browser import chromium

from configs.rig_config import RigConfig
from core_eval.cli.main import main
from core_eval.live.history import History
from core_eval.live.live_run import live_run, run_report
from core_eval.live.log_follower import FollowedRun, LogFollower
from core_eval.live.rig_watcher import watched_rig
from core_eval.live.server import LivePage
from core_eval.live.serving import Authorizer, serve_page
from core_eval.log import Event, LogReader, RunLog, StepRow, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run

pytestmark = [pytest.mark.serial, pytest.mark.browser]


def run_oracle(db: Path, *, episodes: int = 1) -> None:
    cell = Cell(task="water_one_plant", rig="sim:farm_rover", agent="oracle")
    config = RunConfig(cells=(cell,), episodes=episodes)
    with RunLog(db) as log:
        Run(config, load_parts(config), log, ignore).start()


def test_a_log_is_followed_while_another_process_writes_it(tmp_path: Path) -> None:
    db = tmp_path / "log.db"
    run_oracle(db)
    history, authorizer = History(), Authorizer(LOCAL)
    page = LivePage(authorizer, {"log.db": history})
    with serve_page(LOCAL, page, authorizer) as url, LogFollower(db, history), open_page(url) as browser:
        first = browser.wait(lambda kind, data: kind == "episode")
        assert (first["task"], first["place"]) == ("water_one_plant", "episode 1 of 1")
        browser.wait(lambda kind, data: kind == "past" and data["id"] == 1)
        run_oracle(db, episodes=2)
        last = browser.wait(lambda kind, data: kind == "episode" and data["id"] == 3)
        assert re.fullmatch("episode 2 of 2(, about .+ left)?", last["place"])
        done = browser.wait(lambda kind, data: kind == "scores" and data["accepted"])
        assert done["expects"] == "the task expects no further call"
        pictures = browser.wait(lambda kind, data: kind == "pictures")
        assert "plant_B" in pictures["map"] and pictures["rows"][0]["name"] == "calls"
        # The truth of a simulator stands in the log; the page shows none of it before the end.
        assert {row["name"] for row in pictures["rows"]} <= {"calls", *sensors(browser)}
        assert browser.press("/stop") == 404


def test_a_followed_log_tells_the_rig_the_time_left_and_the_camera(tmp_path: Path) -> None:
    db, rig = tmp_path / "log.db", tmp_path / "seen.yaml"
    camera = "http://camera.example:8080/picture.jpg"
    rig.write_text(f"name: seen\nurl: sim:farm_rover\ncamera: {camera}\n")
    cell = Cell(task="water_one_plant", rig=str(rig), agent="oracle")
    config = RunConfig(cells=(cell,), episodes=3)
    history, authorizer = History(), Authorizer(LOCAL)
    page = LivePage(authorizer, {"log.db": history}, reports={"log.db": partial(run_report, db)})
    with RunLog(db):
        pass
    places: list[str] = []

    def look(event: Event) -> None:
        if isinstance(event, StepRow) and event.k == 1:
            with LogReader(db) as reader:
                row = reader.episodes()[-1]
                places.append(FollowedRun(reader, row.run_id).place(row))

    with (
        serve_page(LOCAL, page, authorizer) as url,
        LogFollower(db, history, page.allow_camera),
        chromium(url) as tab,
    ):
        with RunLog(db) as log:
            Run(config, load_parts(config), log, look).start()
        assert places[0] == "episode 1 of 3"
        assert re.fullmatch(r"episode 2 of 3, about .+ left", places[1])
        tab.wait("document.querySelectorAll('#past li').length === 3")
        tab.wait("document.querySelector('#status').textContent.includes('stop confirmed')")
        # The page was opened before it was known whose pictures it may load.
        tab.wait(f"document.querySelector('#camera').src === '{camera}'")
        lines = Browser(url)
        headers = lines.request("GET", f"/?token={authorizer.token}")[2]
        for wrong in ("run=7", "run=x", "run=1&source=3"):
            assert lines.request("GET", f"/report?token={authorizer.token}&{wrong}")[0] == 404
        # The run is over: the page leads to its report.
        tab.wait("!document.querySelector('#ended').hidden")
        tab.run("document.querySelector('#ended-link').click()")
        tab.wait("location.pathname === '/report' && document.body?.innerText.includes('3 of 3 passed')")
    assert "img-src data: http://camera.example:8080;" in headers["content-security-policy"]


def sensors(browser: Browser) -> set[str]:
    return {data["sensor"] for kind, data in browser.seen if kind == "sample"}


def test_the_page_says_what_the_task_expects(tmp_path: Path) -> None:
    with (
        on_a_pty(BenchRover()) as rig,
        live_run(LOCAL) as page,
        chromium(page.url) as tab,
        LiveOnARig(tmp_path, rig, page, "unlock", "move") as run,
    ):
        tab.wait("document.querySelector('#connection').textContent === 'live'")
        run.story()
        tab.wait("document.querySelector('#expects').textContent.startsWith('the task expects water_plant')")
        assert tab.run("document.querySelector('#place').textContent").startswith("episode 1 of 1")
        tab.wait("document.querySelector('#way svg .taken') !== null")
        lines = Browser(page.url)
        assert lines.request("GET", f"/report?token={lines.token}")[0] == 404
        assert lines.request("GET", "/report")[0] == 403


def test_an_open_page_goes_on_to_the_report_at_the_end(tmp_path: Path) -> None:
    with ExitStack() as stack:
        rig = stack.enter_context(on_a_pty(BenchRover()))
        with live_run(LOCAL) as page:
            tab = stack.enter_context(chromium(page.url))
            tab.wait("document.querySelector('#connection').textContent === 'live'")
            with LiveOnARig(tmp_path, rig, page, "unlock", "move") as run:
                run.story()
        # The server has ended; the page stays.
        tab.wait("location.pathname === '/report' && document.body.innerText.includes('water_one_plant')")


def test_several_sources_share_a_page_without_buttons(tmp_path: Path) -> None:
    db = tmp_path / "log.db"
    run_oracle(db)
    rover = BenchRover()
    camera = "http://camera.example:8080/stream?x=1"
    first, second, authorizer = History(), History(), Authorizer(LOCAL)
    page = LivePage(authorizer, {"log.db": first, "bench": second}, cameras=[camera])
    with on_a_pty(rover) as url:
        config = RigConfig(name="bench", url=url, device="farm_rover", camera=camera)
        with (
            watched_rig(config, second),
            serve_page(LOCAL, page, authorizer) as address,
            LogFollower(db, first),
            chromium(address) as tab,
        ):
            tab.wait("document.querySelector('#task').textContent === 'water_one_plant'")
            tab.wait("document.querySelector('#task-1').textContent === 'bench'")
            assert tab.run("document.querySelector('#stop')") is None
            assert tab.run("document.querySelector('#camera-1').src") == camera
            assert tab.run("document.querySelector('#camera').hidden")
            tab.wait("document.querySelector('#map svg') !== null")
            assert tab.run("document.documentElement.scrollWidth <= innerWidth")
            headers = Browser(address).request("GET", f"/?token={authorizer.token}")[2]
        assert not rover.calls and not rover.made_safe.is_set()
    assert "img-src data: http://camera.example:8080;" in headers["content-security-policy"]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "http://a; script-src *"])
def test_a_camera_is_an_http_address(url: str) -> None:
    with pytest.raises(ValueError, match="camera"):
        RigConfig(name="x", url="sim:farm_rover", camera=url)


def test_what_cannot_be_watched_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.db").write_text("no log")
    assert main(["watch", str(tmp_path / "no.db")]) == 2
    assert "no.db" in capsys.readouterr().err
    assert main(["watch", "sim:farm_rover"]) == 2
    assert "watch the run's log" in capsys.readouterr().err
