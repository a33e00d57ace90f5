"""Verifies many tasks by all checks, in several processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace

from configs.task import Task
from core_eval.verify.argument_ranges import check_ranges
from core_eval.verify.conditions import check_conditions
from core_eval.verify.evidence import check_evidence
from core_eval.verify.goal_strength import check_goal
from core_eval.verify.other_rigs import check_other_rigs
from core_eval.verify.search import check_complete
from core_eval.verify.static_checks import Site, verify_static
from core_eval.verify.task import Verification, verify_task
from core_eval.verify.ways import check_ways
from core_eval.verify.wording import check_wording, shared_paraphrases

CHECKS = (
    check_evidence,
    check_conditions,
    check_wording,
    check_goal,
    check_complete,
    check_ways,
    check_ranges,
)
Verify = Callable[[Task], Verification]

_shared: tuple[Sequence[Task], Verify] | None = None
"""Input of the child processes. They are forked, because a task cannot be pickled."""


def verifier(tasks: Sequence[Task], seed: int, site: Site, *, static: bool, nominal: bool) -> Verify:
    """Return what verifies one of these tasks; those of a device file are checked as with `static`.

    Args:
        seed: of worlds and samples.
        site: where the golden paths must be allowed, with `static`.
        static: run nothing.
        nominal: do not run golden paths on rigs with other hidden parameters.
    """
    checks = CHECKS if nominal else (*CHECKS, check_other_rigs)
    shared = shared_paraphrases(tasks)

    def verified(task: Task) -> Verification:
        if static or task.device.rules is not None:
            return verify_static(task, site, seed)
        result = verify_task(task, seed, checks)
        return replace(result, faults=(*result.faults, *shared.get(task.id, ())))

    return verified


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
