"""Combines a run's live page: observer, approver and stop, served until the run is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from core_eval.harness.stop_button import StopButton
from core_eval.live.access import Address, Authorizer
from core_eval.live.approvals import ApprovalQueue
from core_eval.live.history import History
from core_eval.live.recorder import LiveRecorder
from core_eval.live.server import LivePage, serve_page
from firmware_bridge.approval import TerminalApprover

ANSWER_SECONDS = 120.0


@dataclass(frozen=True)
class LiveRun:
    """The parts of the live page that a run uses.

    Attributes:
        url: the page's address with its token.
        recorder: receives the run's events.
        approver: asks a person in guard mode `confirm`.
        stop_button: pressed by the page's stop.
    """

    url: str
    recorder: LiveRecorder
    approver: ApprovalQueue
    stop_button: StopButton


@contextmanager
def live_run(
    address: Address, scoring: Mapping[str, Any], *, answer_seconds: float = ANSWER_SECONDS
) -> Iterator[LiveRun]:
    """Serve a live page while the context lasts; its threads always end with it.

    Raises:
        OSError: the address cannot be bound.
    """
    authorizer, history, button = Authorizer(address), History(), StopButton()
    recorder = LiveRecorder(history, scoring)
    approvals = ApprovalQueue(recorder.publish, answer_seconds, TerminalApprover())

    def stop() -> None:
        recorder.publish("stop", {}, "stop")
        button.press()
        approvals.stop()

    # The recorder ends first, so that open pages receive the end of the run.
    with (
        serve_page(address, LivePage(authorizer, history, approvals.answer, stop), authorizer) as url,
        recorder,
    ):
        yield LiveRun(url, recorder, approvals, button)
