"""What is shown while a run goes on: its live page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from math import inf, nan
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from core_eval.cli.output import UsageError
from core_eval.cli.page_address import page_address
from core_eval.cli.workers import HERE, Workers, in_order

if TYPE_CHECKING:
    from core_eval.live.live_run import LiveRun
    from core_eval.run.config import RunConfig
    from core_eval.run.parts import Parts

from core_eval.log import Emit, RunLog
from core_eval.run.plan import Run
from core_eval.run.side_by_side import SideBySide

LEAST_ANSWER_S = 1.0
"""Least time limit of an answer, s."""


@contextmanager
def live_page(live: str | None) -> Iterator[LiveRun | None]:
    """Serve the live page, if `live` gives an address, and print its URL on standard error.

    `live` is as an option gives it: HOST:PORT, and `?answer=SECONDS`, the time limit of an answer.
    """
    if live is None:
        yield None
        return
    try:
        from core_eval.live.live_run import ANSWER_SECONDS, live_run
    except ImportError as error:
        raise UsageError(f"--live needs {error.name}: pip install 'pathrig[live]'") from None
    place, mark, query = live.partition("?")
    address = page_address(place, "--live")
    answer_seconds = _answer_seconds(live, query) if mark else ANSWER_SECONDS
    with ExitStack() as stack:
        try:
            page = stack.enter_context(live_run(address, answer_seconds=answer_seconds))
        except OSError as error:
            raise UsageError(f"--live {live}: {error.strerror or error}") from None
        lines = [f"the live page is {page.url}"]
        if not address.loopback:
            lines.append("it is not encrypted: anyone who reads this network's traffic can use its buttons")
        for line in lines:
            print(f"pathrig: {line}", file=sys.stderr, flush=True)
        yield page
    if page.trouble is not None:
        print(f"pathrig: the live page is incomplete: {page.trouble}", file=sys.stderr)


def _answer_seconds(live: str, query: str) -> float:
    options = dict(parse_qsl(query, keep_blank_values=True))
    try:
        seconds = float(options.pop("answer"))
    except (KeyError, ValueError):
        seconds = nan
    if options or not LEAST_ANSWER_S <= seconds < inf:
        raise UsageError(
            f"--live {live}: after the ? write answer=SECONDS, {LEAST_ANSWER_S:g} or more, such as "
            "127.0.0.1:8421?answer=60"
        )
    return seconds


def shown_run(
    config: RunConfig,
    parts: Parts,
    log: RunLog,
    lines: Emit,
    page: LiveRun | None,
    workers: Workers = HERE,
) -> Run | SideBySide:
    """Return a run that is shown on the terminal and, where there is one, on the page.

    Raises:
        UsageError: episodes that go side by side are asked for, with a page of one episode.
    """
    if workers.several:
        if page is not None:
            option = "--dask" if workers.elsewhere else "--jobs"
            raise UsageError(
                f"{option}: --live is the page of one episode at a time; `pathrig watch` shows logs"
            )
        spread = partial(in_order, workers) if workers.elsewhere else None
        return SideBySide(config, parts, log, lines, workers.jobs, spread)
    if page is None:
        return Run(config, parts, log, lines)
    page.follow(log.path)
    return Run(config, parts, log, lines, page.approver, page.stop_button)
