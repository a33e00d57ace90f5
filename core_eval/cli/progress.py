"""Progress on standard error with the time left: a bar on a terminal, and lines on a pipe if asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from core_eval.text.visible_text import seconds_text

T = TypeVar("T")
Advance = Callable[[int], None]
SHOWN_AFTER_SECONDS = 1.0
"""A bar of shorter work is not shown."""
LINE_SECONDS = 5.0
"""Interval of lines on a pipe."""
_on_pipes = False


def show_on_pipes(asked: bool) -> None:
    """Set whether progress is also printed where standard error is no terminal."""
    global _on_pipes
    _on_pipes = asked


def is_shown() -> bool:
    """Return whether progress is shown on standard error."""
    return _on_pipes or sys.stderr.isatty()


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """Show how much of `total` is done; call the yielded function with what has been done since.

    Args:
        what: names the work.
        total: the units of work.
    """
    if sys.stderr.isatty():
        with _bar(what, total) as advance:
            yield advance
    elif _on_pipes:
        yield _Lines(what, total)
    else:
        yield lambda _: None


def tracked(what: str, items: Iterable[T], total: int) -> Iterator[T]:
    """Yield the items and show how many are done."""
    with progress(what, total) as advance:
        for item in items:
            yield item
            advance(1)


@contextmanager
def _bar(what: str, total: int) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from core_eval.cli.console import console

    columns = [
        TextColumn(what),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    ]
    bar = Progress(*columns, console=console(stderr=True), transient=True)
    shown = bar.add_task("", total=total)
    began = time.monotonic()

    def advance(count: int) -> None:
        bar.advance(shown, count)
        # Not at the beginning: verification forks then, and a fork must not copy the bar's thread.
        if time.monotonic() - began > SHOWN_AFTER_SECONDS:
            bar.start()

    try:
        yield advance
    finally:
        bar.stop()


class _Lines:
    def __init__(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._done = 0
        self._began = self._printed = time.monotonic()

    def __call__(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if now - self._printed < LINE_SECONDS and self._done < self._total:
            return
        self._printed = now
        left = (now - self._began) / self._done * max(0, self._total - self._done) if self._done else 0.0
        words = f"{self._done} of {self._total}, about {seconds_text(left)} left"
        print(f"pathrig: {self._what}: {words}", file=sys.stderr, flush=True)
