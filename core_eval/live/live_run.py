"""Combines a run's live page: observer, approver and stop, served until the run is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core_eval.live.access import Address, Authorizer
from core_eval.live.approvals import ApprovalQueue
from core_eval.live.history import History
from core_eval.live.recorder import LiveRecorder
from core_eval.live.run_report import run_report
from core_eval.live.server import LivePage, serve_page
from core_eval.log import LogError, LogReader
from core_eval.rig.stop_button import StopButton
from firmware_bridge.approval import TerminalApprover

ANSWER_SECONDS = 120.0
REPORT_SECONDS = 5.0
"""Time in which open pages read the report after the end, s."""


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
    address: Address,
    scoring: Mapping[str, Any],
    *,
    answer_seconds: float = ANSWER_SECONDS,
    log: Path | None = None,
    cameras: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[LiveRun]:
    """Serve a live page while the context lasts; its threads always end with it.

    Pages that are open at the end go on to the run's report, for which the server waits a few seconds.

    Args:
        address: where it is served.
        scoring: the scorer's options.
        answer_seconds: the time limit of an answer, s.
        log: the run's log, for drawings and the report.
        cameras: the addresses of pictures, by the names of rigs.

    Raises:
        OSError: the address cannot be bound.
    """
    authorizer, history, button = Authorizer(address), History(), StopButton()
    recorder = LiveRecorder(history, scoring, log, cameras)
    approvals = ApprovalQueue(recorder.publish, answer_seconds, TerminalApprover())

    def stop() -> None:
        recorder.publish("stop", {}, "stop")
        button.press()
        approvals.stop()

    # The recorder ends first, so that open pages receive the end of the run.
    page = LivePage(authorizer, {"run": history}, approvals.answer, stop, cameras.values())
    with serve_page(address, page, authorizer) as url:
        with recorder:
            try:
                yield LiveRun(url, recorder, approvals, button)
            finally:
                if log is not None and recorder.episode is not None and history.watched:
                    with suppress(LogError):
                        page.show_report(_report(log, recorder.episode))
                        recorder.has_report = True
        page.wait_for_readers(REPORT_SECONDS)


def _report(log: Path, episode: int) -> str:
    """Return the report of an episode's run."""
    with LogReader(log) as reader:
        run = reader.episode(episode).run_id
    return run_report(log, run)
