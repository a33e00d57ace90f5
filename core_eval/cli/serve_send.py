"""The process of `pathrig serve` that sends finished episodes to the collector, and ends."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from core_eval.rig.signals import StopRequested, StopSignals
from core_eval.serve.serve_file import Schedule
from core_eval.serve.transfer import Sender
from firmware_bridge.link import LinkError
from firmware_bridge.process_keeper import watch_parent


def send(file: Path) -> int:
    """Send what is left; return 0, or 3 where the collector did not take all."""
    watch_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    schedule = Schedule(file)
    collector = schedule.keys.collector
    assert collector is not None, "the service asks only then"
    try:
        with StopSignals() as signals, signals.interruptible():
            sender = Sender(collector.url, collector.site, schedule.folder)
            try:
                count = sender.run()
            finally:
                sender.close()
    except LinkError as error:
        print(f"pathrig: {error}", file=sys.stderr)
        return 3
    except StopRequested as stop:
        return stop.exit_status
    for line in sender.refused:
        print(f"pathrig: refused: {line}", file=sys.stderr)
    if count:
        print(f"{count} episodes are with the collector")
    return 3 if sender.refused else 0


if __name__ == "__main__":
    sys.exit(send(Path(sys.argv[1])))
