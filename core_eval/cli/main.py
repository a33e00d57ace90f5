"""The `pathrig` command: its verbs, and what each failure becomes on standard error and as exit status."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
from collections.abc import Sequence

import typer

from core_eval.cli import backup, broker, calibrate, demo, harm, report, rigs, run, score, show, sim, tasks
from core_eval.cli.output import UsageError

app = typer.Typer(
    name="pathrig",
    help="Run agents on rigs, log every call, and score the whole path: not only whether they got there.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("backup")(backup.backup)
app.command("calibrate")(calibrate.calibrate)
app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("report")(report.report)
app.command("harm")(harm.harm)
app.command("score")(score.score)
app.command("show")(show.show)
app.command("sim")(sim.sim)
app.add_typer(tasks.app, name="tasks")
app.add_typer(rigs.app, name="rigs")
app.add_typer(broker.app, name="broker")

# The parser's errors have no public base class; the first class of theirs that words itself is it.
PARSER_ERROR: type[Exception] = [
    kind for kind in typer.BadParameter.__mro__ if hasattr(kind, "format_message")
][-1]
DONE, MISSED, BAD_INPUT, RIG_FAILED = 0, 1, 2, 3
STOPPED = 130
LIVE_ADDRESS = "127.0.0.1:0"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Returns:
        0: done. 1: a threshold was missed. 2: bad usage or input. 3: the rig, the link or the model failed.
        128 plus a signal's number: ended by that signal, with the rig safe and the log consistent.
    """
    for stream in (sys.stdout, sys.stderr):
        # A model may write what the terminal's encoding lacks.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status = app(args=_completed(sys.argv[1:] if arguments is None else arguments), standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # Whoever read our output has seen enough (the parser turns that into an exit of its own); what is
        # still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except PARSER_ERROR as error:
        return _fail(_parser_message(error), BAD_INPUT)
    except BaseException as error:
        return _known_failure(error)
    return status if isinstance(status, int) else DONE


def _completed(arguments: Sequence[str]) -> list[str]:
    """The arguments with the address that `--live` alone means; the parser knows no option of that kind."""
    completed = list(arguments)
    for place, argument in enumerate(arguments):
        following = arguments[place + 1] if place + 1 < len(arguments) else "-"
        if argument == "--live" and following.startswith("-"):
            completed[place] = f"--live={LIVE_ADDRESS}"
    return completed


def _parser_message(error: Exception) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"{message.strip().rstrip('.')}; `pathrig --help` tells what there is"


def _known_failure(error: BaseException) -> int:
    from agents.errors import AgentSpecError, BackendError
    from configs.errors import ConfigError
    from core_eval.harness.episode import EpisodeFailed
    from core_eval.harness.signals import StopRequested
    from core_eval.harness.simulator_process import RigError
    from core_eval.harness.stop_button import StoppedByPerson
    from core_eval.log import LogError
    from firmware_bridge.links import LinkError

    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return STOPPED
    if isinstance(error, StoppedByPerson):
        return _fail(str(error), STOPPED)
    if isinstance(error, StopRequested):
        return _fail(f"{error}; the rig is safe and the log is readable", error.exit_status)
    if isinstance(error, UsageError | ConfigError | AgentSpecError | LogError):
        return _fail(str(error), BAD_INPUT)
    if isinstance(error, RigError | LinkError | EpisodeFailed | BackendError):
        return _fail(str(error), RIG_FAILED)
    if isinstance(error, sqlite3.Error):
        return _fail(f"the log could not be written: {error}", RIG_FAILED)
    # A fault of our own: status 1 would read as a missed threshold.
    traceback.print_exception(error)
    return RIG_FAILED


def _fail(message: str, status: int) -> int:
    print(f"pathrig: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
