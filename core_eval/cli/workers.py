"""Parts of a work in several processes: of this machine, or of a Dask cluster. Results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

from core_eval.cli.output import UsageError

WAITING = 2
"""Parts that each process may be ahead of what is taken."""
SECONDS = 10
"""Within which a cluster must answer."""
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
P = TypeVar("P")


class Awaited(Protocol[T_co]):
    """A result that is being worked out."""

    def result(self) -> T_co:
        """Wait for it."""


class Workers(NamedTuple):
    """Where parts are worked on.

    Attributes:
        jobs: processes of this machine.
        dask: the address of a cluster's scheduler, in place of them.
    """

    jobs: int = 1
    dask: str | None = None

    @property
    def several(self) -> bool:
        """Whether there is more than this process."""
        return self.jobs > 1 or self.elsewhere

    @property
    def elsewhere(self) -> bool:
        """Whether the processes may be of other machines, which do not see this one's files."""
        return self.dask is not None


HERE = Workers()
_work: Callable[[Any], Any] | None = None
"""The work of the child processes. They are forked, because automata are large."""


def in_order(
    workers: Workers, work: Callable[[P], T], parts: Iterable[P]
) -> Generator[tuple[P, T], None, None]:
    """Yield each part with its result, in order; `work` takes a part.

    Raises:
        UsageError: a process was killed, or the cluster cannot be reached or has lost a part too often.
    """
    waiting: deque[tuple[P, Awaited[T]]] = deque()
    opened = _processes(workers.jobs, work) if workers.dask is None else _cluster(workers.dask, work)
    with opened as (submit, count):
        for part in parts:
            waiting.append((part, submit(part)))
            while len(waiting) > WAITING * count:
                done, result = waiting.popleft()
                yield done, result.result()
        while waiting:
            done, result = waiting.popleft()
            yield done, result.result()


@contextmanager
def _processes(jobs: int, work: Callable[[P], T]) -> Iterator[tuple[Callable[[P], Awaited[T]], int]]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    global _work
    _work = work
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"))
    try:
        yield lambda part: pool.submit(_forked, part), jobs
    except BrokenProcessPool:
        raise UsageError("a process of --jobs was killed, perhaps for want of memory; use fewer") from None
    finally:
        pool.shutdown(cancel_futures=True)
        _work = None


def _forked(part: Any) -> Any:
    assert _work is not None, "set before the fork"
    return _work(part)


@contextmanager
def _cluster(address: str, work: Callable[[P], T]) -> Iterator[tuple[Callable[[P], Awaited[T]], int]]:
    """Open a cluster; it gives the part of a worker that was killed to another."""
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise UsageError("--dask needs Dask: pip install 'pathrig[cluster]'") from None
    try:
        client = Client(address, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--dask {address}: no scheduler answers: {error}") from None
    with client:
        count = len(client.nthreads())
        if not count:
            raise UsageError(f"--dask {address}: the scheduler has no workers; start `dask worker {address}`")
        # Once to all workers, and to those that come later.
        known = client.scatter(work, broadcast=True, hash=False)
        try:
            yield lambda part: client.submit(_called, known, part, pure=False), count
        except KilledWorker as error:
            raise UsageError(f"--dask {address}: workers died over one part: {error}") from None


def _called(work: Callable[[P], T], part: P) -> T:
    return work(part)
