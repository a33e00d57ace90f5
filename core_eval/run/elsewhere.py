"""A part of a run in another process or on another machine, whose episodes come back whole."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TypeAlias

from core_eval.log import LogReader, RunLog, ignore
from core_eval.log.episode_copy import packed
from core_eval.rig.signals import RigError
from core_eval.run.config import RunConfig
from core_eval.run.parts import Parts, received
from core_eval.run.plan import Run

MOST_EPISODES, LEAST_PARTS = 4, 16
"""A part has so many episodes at most, so few are lost with a worker; a run has so many parts if it can."""

_alone = Lock()
"""Episodes of one process go one after the other: agents and simulators are made for that."""


@dataclass(frozen=True)
class Played:
    """What came of a part of a run.

    Attributes:
        episodes: each as `packed`, in order.
        failed: the agents that failed, and how.
        error: what ended the part.
    """

    episodes: Sequence[bytes]
    failed: Mapping[str, str]
    error: Exception | None = None


Numbers: TypeAlias = Sequence[int]
Found: TypeAlias = Generator[tuple[Numbers, Played], None, None]
Spread: TypeAlias = Callable[[Callable[[Numbers], Played], Iterable[Numbers]], Found]
"""Has a function called with each part, somewhere, and yields the parts with what came of them, in order."""


@dataclass(frozen=True)
class Player:
    """Runs episodes of a plan; its parts were `sent`."""

    config: RunConfig
    parts: Parts

    def __call__(self, numbers: Numbers) -> Played:
        """Run the episodes of these numbers in a log of their own, which is then dropped."""
        error, failed = None, {}
        with _alone, TemporaryDirectory(prefix="pathrig-") as folder:
            path = Path(folder) / "part.db"
            with RunLog(path) as log:
                # What is told of run and host stands in the log that gets the episodes.
                run_id = log.begin_run({}, {}, {})
                try:
                    run = Run(self.config, received(self.config, self.parts), log, ignore)
                    failed = run.failed
                    run.take(run_id, numbers)
                except Exception as raised:
                    error = sendable(raised)
            with LogReader(path) as reader:
                found = reader.episode_ids()
            return Played([packed(path, number) for number in found], dict(failed), error)


def sendable(error: Exception) -> Exception:
    """Return the error where it can be sent to another process, else its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RigError(str(error))
    return error


def parts_of(config: RunConfig, left: Iterable[int]) -> Iterator[Numbers]:
    """Yield the numbers of episodes in parts, each of one agent, whose model is loaded once for it."""
    plan = config.plan()
    numbers = sorted(left)
    size = min(MOST_EPISODES, max(1, len(numbers) // LEAST_PARTS))
    part: list[int] = []
    for number in numbers:
        if part and (len(part) == size or plan[number][1].agent != plan[part[0]][1].agent):
            yield part
            part = []
        part.append(number)
    if part:
        yield part
