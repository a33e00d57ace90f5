"""A worker process of a run whose episodes go side by side."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from core_eval.log import EpisodePlanned, Event, RunLog
from core_eval.rig.signals import StopRequested
from core_eval.run.config import RunConfig
from core_eval.run.elsewhere import sendable
from core_eval.run.parts import Parts
from core_eval.run.plan import Run
from devices.sensors import Sample
from firmware_bridge.process_keeper import watch_parent


@dataclass(frozen=True)
class Ended:
    """What a worker tells after an episode: its events, and the agents that failed so far."""

    events: Sequence[Event]
    failed: Mapping[str, str]


def work(
    config: RunConfig,
    parts: Parts,
    path: Path,
    run_id: int,
    pipe: Connection,
    others: Sequence[Connection],
) -> None:
    """Run the episodes whose numbers come through the pipe, until it closes; the main of a worker.

    `others` are the parent's ends, which a fork leaves open: no pipe would ever close.
    """
    for other in others:
        other.close()
    watch_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    seen: list[Event] = []

    def emit(event: Event) -> None:
        if not isinstance(event, Sample | EpisodePlanned):
            seen.append(event)

    try:
        with RunLog(path) as log:
            run = Run(config, parts, log, emit)

            def numbers() -> Iterator[int]:
                with suppress(EOFError, OSError):
                    while True:
                        yield pipe.recv()
                        pipe.send(Ended(tuple(seen), dict(run.failed)))
                        seen.clear()

            run.take(run_id, numbers())
    except StopRequested:
        pass
    except Exception as error:
        with suppress(OSError):
            pipe.send(sendable(error))
