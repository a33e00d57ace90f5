"""The live page's own JavaScript, in a real browser."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from live_on_a_rig import LOCAL, LiveOnARig
from page_measures import measured
from real_browser import Tab, chromium
from tapped_rig import tapped, tools_on

from core_eval.live.live_run import live_run

pytestmark = pytest.mark.browser

CLICKABLE = (
    "!document.querySelector('[data-answer={0}]').disabled && !document.querySelector('#question').hidden"
)


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())


def click(tab: Tab, answer: str) -> None:
    tab.wait(CLICKABLE.format(answer))
    tab.run(f"document.querySelector('[data-answer={answer}]').click()")


def test_a_person_at_a_real_browser_is_asked_answers_and_sees_what_became_of_it(tmp_path: Path) -> None:
    with (
        tapped() as port,
        live_run(LOCAL, answer_seconds=60.0) as page,
        chromium(page.url) as tab,
    ):
        tab.wait("document.querySelector('#connection').textContent === 'live'")
        with LiveOnARig(tmp_path, f"serial://{port.path}", page, "unlock", "bad", "bad", "move") as run:
            # A button that is not reached by the network can be pressed again.
            tab.wait(CLICKABLE.format("refuse"))
            assert tools_on(port) == ["unlock_safety_mode"]
            tab.run(
                "window.realFetch = fetch; window.fetch = () => Promise.reject(new TypeError('no network'))"
            )
            click(tab, "refuse")
            tab.wait("document.querySelector('#notice').textContent.includes('cannot be reached')")
            tab.run("window.fetch = window.realFetch; 0")
            # Twice: the second one must not answer the next question.
            click(tab, "refuse")
            tab.run("document.querySelector('[data-answer=refuse]').click()")
            tab.wait("document.querySelector('#step-1')?.innerText.includes('blocked')")
            # A question, map, time line and automaton on a phone and on a screen.
            tab.wait(CLICKABLE.format("approve"))
            tab.wait("document.querySelector('#way svg') !== null")
            assert (found := measured(tab, width=390)).good, found
            assert (found := measured(tab, width=1400, dark=True)).good, found
            call = tab.run("document.querySelector('#step-1 code').textContent")
            assert "<b>plant</b>" in call and tab.run("document.querySelector('#steps b')") is None
            click(tab, "approve")
            tab.wait("document.querySelector('#step-2')?.innerText.includes('ok')")
            _, steps = run.story()
        assert [step.status for step in steps] == ["ok", "blocked", "ok", "ok"]
        tab.wait("document.querySelector('#past li')?.textContent.includes('completed')")
        assert tools_on(port) == ["unlock_safety_mode", "spray_pesticide", "move_to"]


def test_stop_in_a_real_browser_stops_the_rig(tmp_path: Path) -> None:
    with (
        tapped() as port,
        live_run(LOCAL, answer_seconds=60.0) as page,
        chromium(page.url) as tab,
        LiveOnARig(tmp_path, f"serial://{port.path}", page, "unlock", "bad", "lock") as run,
    ):
        tab.wait(CLICKABLE.format("refuse"))
        tab.run("document.querySelector('#stop').click()")
        tab.wait("document.querySelector('#notice').textContent.includes('STOP was pressed')")
        assert tab.run("document.querySelector('#stop').disabled")
        episodes, _ = run.story()
        assert (episodes[0].status, episodes[0].stop_reason) == ("stopped", "person")
        assert tools_on(port) == ["unlock_safety_mode"]
