"""A run's live page: follower of its log, approver, stop and report, served until the run is over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from core_eval.live.approvals import ApprovalQueue
from core_eval.live.history import History
from core_eval.live.log_follower import LogFollower
from core_eval.live.server import LivePage
from core_eval.live.serving import Address, Authorizer, serve_page
from core_eval.log import LogError, LogReader
from core_eval.log.episode_filter import EpisodeFilter
from core_eval.report.page.report import html_pages
from core_eval.rig.signals import StopButton
from core_eval.score.aggregate import load_aggregate
from firmware_bridge.approval import TerminalApprover

ANSWER_SECONDS = 120.0
REPORT_SECONDS = 5.0
"""Time in which open pages read the report after the end, s."""


class LiveRun:
    """The live page of a run, as `live_run` serves it.

    Attributes:
        url: the page's address with its token.
        approver: asks a person in guard mode `confirm`.
        stop_button: pressed by the page's stop.
    """

    def __init__(
        self, url: str, approver: ApprovalQueue, stop_button: StopButton, start: Callable[[Path], LogFollower]
    ) -> None:
        self.url, self.approver, self.stop_button = url, approver, stop_button
        self._start = start
        self._follower: LogFollower | None = None

    @property
    def trouble(self) -> str | None:
        """Why the page was incomplete; None if it was not."""
        return None if self._follower is None else self._follower.trouble

    def follow(self, log: Path) -> None:
        """Show the episodes that are added to a log from now on."""
        self._follower = self._start(log)

    def report(self) -> str | None:
        """Return the report of the run that was shown; None without one."""
        follower = self._follower
        if follower is None or follower.shown is None:
            return None
        with suppress(LogError):
            with LogReader(follower.path) as reader:
                run = reader.episode(follower.shown).run_id
            return run_report(follower.path, run)
        return None


@contextmanager
def live_run(address: Address, *, answer_seconds: float = ANSWER_SECONDS) -> Iterator[LiveRun]:
    """Serve a live page while the context lasts; its threads always end with it.

    Pages that are open at the end go on to the run's report, for which the server waits a few seconds.

    Args:
        address: where it is served.
        answer_seconds: the time limit of an answer, s.

    Raises:
        OSError: the address cannot be bound.
    """
    authorizer, history, button = Authorizer(address), History(), StopButton()
    approvals = ApprovalQueue(answer_seconds, TerminalApprover())

    def stop() -> None:
        button.press()
        approvals.stop()
        history.add("stop", {}, "stop")

    page = LivePage(authorizer, {"run": history}, approvals.answer, stop)
    with serve_page(address, page, authorizer) as url:
        with ExitStack() as following:

            def start(log: Path) -> LogFollower:
                with LogReader(log) as reader:
                    last = max(reader.episode_ids(), default=0)
                return following.enter_context(LogFollower(log, history, page.allow_camera, after=last))

            run = LiveRun(url, approvals, button, start)
            try:
                yield run
            finally:
                following.close()
                report = run.report() if history.watched else None
                if report is not None:
                    page.show_report(report)
                history.add("over", {"report": report is not None}, "over")
                history.close()
        page.wait_for_readers(REPORT_SECONDS)


def run_report(log: Path, run: int) -> str:
    """Return the report.

    Raises:
        LogError: the log has no such run, or cannot be read.
    """
    with LogReader(log) as reader:
        wanted = EpisodeFilter(run=reader.run(run).id)
        (page,) = html_pages(reader, load_aggregate(None), in_one=sys.maxsize, wanted=wanted)
        return page.text
