"""Verifies many tasks by all checks, in several processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace

from configs.errors import ConfigError
from configs.suite_manifest import task_digest
from configs.task import Task
from configs.tasks_loader import Instances, TaskFile
from core_eval.verify.argument_ranges import check_ranges
from core_eval.verify.evidence import check_evidence
from core_eval.verify.goal_strength import check_goal
from core_eval.verify.other_rigs import check_other_rigs
from core_eval.verify.search import check_complete
from core_eval.verify.static_checks import Site, check_conditions, verify_static
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
DRAWN_CHECKS = (check_evidence, check_conditions, check_wording)
DRAWN_PATHS = 8
"""Golden paths, and mutants, of an instance that is drawn."""
Verify = Callable[[Task], Verification]

_shared: tuple[Sequence[Task], Verify] | None = None
"""Input of the child processes. They are forked, because a task cannot be pickled."""


def verifier(found: TaskFile, seed: int, site: Site, *, static: bool, nominal: bool, drawn: int) -> Verify:
    """Return what verifies one of these tasks; those of a device file are checked as with `static`.

    Args:
        seed: of worlds and samples.
        site: where the golden paths must be allowed, with `static`.
        static: run nothing.
        nominal: do not run golden paths on rigs with other hidden parameters.
        drawn: so many instances of each template are drawn and run, too.
    """
    checks = CHECKS if nominal else (*CHECKS, check_other_rigs)
    shared = shared_paraphrases(found.tasks)

    def verified(task: Task) -> Verification:
        if static or task.device.rules is not None:
            return verify_static(task, site, seed)
        result = verify_task(task, seed, checks)
        faults = [*result.faults, *shared.get(task.id, ())]
        return replace(
            result, faults=(*faults, *(() if faults else _drawn_faults(task, found.instances, seed, drawn)))
        )

    return verified


def _drawn_faults(task: Task, instances: Mapping[str, Instances], seed: int, count: int) -> Iterator[str]:
    """Yield what is wrong with instances of a task's template that the seeds after `seed` draw."""
    known = {task_digest(task)}
    for number in range(seed + 1, seed + 1 + count) if task.id in instances else ():
        try:
            drawn = instances[task.id](number)({})
        except ConfigError as error:
            yield f"instance {task.id}@{number}: {error}"
            continue
        if task_digest(drawn) not in known:
            known.add(task_digest(drawn))
            result = verify_task(drawn, seed, DRAWN_CHECKS, bound=DRAWN_PATHS)
            yield from (f"instance {drawn.id}: {fault}" for fault in result.faults)


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
