"""Verifies many tasks in several processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from configs.tasks_loader import Task
from core_eval.verify.task import Verification

Verify = Callable[[Task], Verification]

_shared: tuple[Sequence[Task], Verify] | None = None
"""Input of the child processes. They are forked, because a task cannot be pickled."""


def verify_all(
    tasks: Sequence[Task], verify: Verify, *, jobs: int, on_done: Callable[[Verification], None]
) -> list[Verification]:
    """Return the verifications of tasks, in their order.

    Args:
        jobs: processes; 1: none but this one.
        on_done: called in this process with each verification as it comes.
    """
    global _shared
    if jobs <= 1 or len(tasks) <= 1:
        results = []
        for task in tasks:
            results.append(verify(task))
            on_done(results[-1])
        return results
    _shared = tasks, verify
    found: dict[int, Verification] = {}
    pool = ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=multiprocessing.get_context("fork"))
    try:
        futures = {pool.submit(_verify, index): index for index in range(len(tasks))}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            on_done(future.result())
    finally:
        pool.shutdown(cancel_futures=True)
        _shared = None
    return [found[index] for index in range(len(tasks))]


def _verify(index: int) -> Verification:
    assert _shared is not None, "set before the fork"
    tasks, verify = _shared
    return verify(tasks[index])
