"""A run's live page as one thing: observer, approver and stop, served until the run is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from core_eval.harness.stop_button import StopButton
from core_eval.live.access import Address, Door
from core_eval.live.history import History
from core_eval.live.questions import QuestionDesk
from core_eval.live.recorder import LiveRecorder
from core_eval.live.server import LivePage, serve_page
from firmware_bridge.approval import TerminalApprover

ANSWER_SECONDS = 120.0


@dataclass(frozen=True)
class LiveRun:
    """What a run needs of its live page.

    Attributes:
        url: the page's address with its token.
        recorder: an observer of the run.
        approver: who is asked in guard mode `confirm`.
        stop_button: what the page's stop presses.
    """

    url: str
    recorder: LiveRecorder
    approver: QuestionDesk
    stop_button: StopButton


@contextmanager
def live_run(
    address: Address, scoring: Mapping[str, Any], *, answer_seconds: float = ANSWER_SECONDS
) -> Iterator[LiveRun]:
    """A live page while the context lasts; on every way out its threads are ended.

    Raises:
        OSError: nothing can listen at that address.
    """
    door, history, button = Door(address), History(), StopButton()
    recorder = LiveRecorder(history, scoring)
    desk = QuestionDesk(recorder.publish, answer_seconds, TerminalApprover())

    def stop() -> None:
        recorder.publish("stop", {}, "stop")
        button.press()
        desk.stop()

    # The recorder ends first, so that open pages are told that the run is over.
    with serve_page(address, LivePage(door, history, desk.answer, stop), door) as url, recorder:
        yield LiveRun(url, recorder, desk, button)
