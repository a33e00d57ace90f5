"""Scores ranges of a plain file of traces in several processes."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from io import BytesIO
from pathlib import Path

from core_eval.cli.output import UsageError
from core_eval.cli.score_parts import Job, Part
from core_eval.text.foreign_text import GZIP, MOST_BYTES, STDIN, UTF_16, ForeignTextError, open_lines

PART_BYTES = 1 << 22
"""Bytes of a part of another process."""
WAITING = 2
"""Parts that each process may be ahead of what is written."""

_job: tuple[Job, Path] | None = None
"""The input of the child processes. They are forked, because automata are large."""


def parts_of_file(job: Job, path: Path, jobs: int, on_bytes: Callable[[int], None]) -> Iterator[Part]:
    """Score a file in several processes, by ranges of its bytes, and yield the parts in order.

    Args:
        on_bytes: called with the number of bytes of each part that is done.

    Raises:
        UsageError: the file is no plain text in a file, or a process was killed.
    """
    global _job
    _job = job, path
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"))
    waiting: deque[tuple[int, Future[Part]]] = deque()
    try:
        for start, size, first in _ranges(path):
            waiting.append((size, pool.submit(_part, start, size, first)))
            while len(waiting) > WAITING * jobs:
                yield _done(waiting, on_bytes)
        while waiting:
            yield _done(waiting, on_bytes)
    except BrokenProcessPool:
        raise UsageError("a process of --jobs was killed, perhaps for want of memory; use fewer") from None
    finally:
        pool.shutdown(cancel_futures=True)
        _job = None


def _done(waiting: deque[tuple[int, Future[Part]]], on_bytes: Callable[[int], None]) -> Part:
    size, future = waiting.popleft()
    part = future.result()
    on_bytes(size)
    return part


def _ranges(path: Path) -> Iterator[tuple[int, int, int]]:
    """Yield start, size and first line number of each part; each ends with a line."""
    if path == STDIN:
        raise UsageError("--jobs needs a file, not standard input: the processes read ranges of its bytes")
    start, first = 0, 1
    try:
        with open_lines(path) as found:
            next(found.lines, None)
    except ForeignTextError as error:
        raise UsageError(f"--traces {path}: {error}") from None
    with path.open("rb") as file:
        head = file.read(2)
        if head == GZIP or head in UTF_16:
            raise UsageError(
                f"--jobs: {path} is compressed, or UTF-16: make it plain UTF-8, or use one process"
            )
        file.seek(0)
        while block := file.read(PART_BYTES):
            block += file.readline(MOST_BYTES)
            yield start, len(block), first
            start += len(block)
            first += block.count(b"\n")


def _part(start: int, size: int, first: int) -> Part:
    assert _job is not None, "set before the fork"
    job, path = _job
    with path.open("rb") as file:
        file.seek(start)
        lines = BytesIO(file.read(size))
    summary = None if job.summary is None else job.summary()
    parts = list(job.scored(lines, first, summary))
    failed = sum(one.failed for one in parts)
    return Part("".join([one.text for one in parts]), len(parts) - failed, failed, summary)
