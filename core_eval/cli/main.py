"""The `pathrig` command: its verbs, and what each failure becomes on standard error and as exit status."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

try:
    import sqlite3
    import traceback
    from collections.abc import Sequence
    from importlib.metadata import version
    from typing import Annotated

    import typer

    from core_eval.cli import (
        backup,
        broker,
        calibrate,
        demo,
        harm,
        report,
        rigs,
        run,
        score,
        show,
        sim,
        tasks,
        worlds,
    )
    from core_eval.cli.output import UsageError
    from core_eval.cli.screen import guarded_output
    from core_eval.cli.terminal import survive_hangup
except KeyboardInterrupt:
    # Ctrl-C while the modules are loaded: nothing has begun, so there is nothing to say.
    sys.exit(130)

if TYPE_CHECKING:
    from core_eval.harness.rigs_left import LeftRig

app = typer.Typer(
    name="pathrig",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"pathrig {version('pathrig')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and end."),
    ] = False,
) -> None:
    """Run agents on rigs, log every call, and score the whole path: not only whether they got there."""


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
app.add_typer(worlds.app, name="worlds")
app.add_typer(broker.app, name="broker")

# The parser's errors have no public base class; the first class of theirs that words itself is it.
PARSER_ERROR: type[Exception] = [
    kind for kind in typer.BadParameter.__mro__ if hasattr(kind, "format_message")
][-1]
DONE, MISSED, BAD_INPUT, RIG_FAILED = 0, 1, 2, 3
STOPPED = 130
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The errors of a disk, or a quota, that has no more room."""
LIVE_ADDRESS = "127.0.0.1:0"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Returns:
        0: done. 1: a threshold was missed. 2: bad usage or input. 3: the rig, the link or the model failed,
        or a rig was not stopped, whatever else happened. 128 plus a signal's number: ended by that signal,
        with the log consistent. 130: also stopped by a person.
    """
    try:
        from core_eval.harness.rigs_left import rigs_left
    except KeyboardInterrupt:
        return STOPPED
    survive_hangup()
    with guarded_output():
        with rigs_left() as left:
            status = _run(arguments, left)
        for rig in left:
            # The last word: a table above it must not hide a machine that still moves.
            if line := rig.line():
                _fail(line, status)
    return RIG_FAILED if any(rig.failed for rig in left) else status


def _run(arguments: Sequence[str] | None, left: Sequence[LeftRig]) -> int:
    try:
        given = _completed(sys.argv[1:] if arguments is None else arguments)
        status = app(args=given, prog_name="pathrig", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as leaving:
        if isinstance(leaving, SystemExit) and not leaving.code:
            # A shell has got the completions that it asked for.
            sys.stdout.flush()
            return DONE
        # Whoever read our output has seen enough (the parser turns that into an exit of its own).
        _drop_output()
        return DONE
    except PARSER_ERROR as error:
        return _fail(_parser_message(error), BAD_INPUT)
    except BaseException as error:
        return _known_failure(error, left)
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


def _known_failure(error: BaseException, left: Sequence[LeftRig]) -> int:
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return STOPPED
    from agents.errors import AgentSpecError, BackendError
    from configs.errors import ConfigError
    from core_eval.harness.episode import EpisodeFailed
    from core_eval.harness.signals import StopRequested
    from core_eval.harness.simulator_process import RigError
    from core_eval.harness.stop_button import StoppedByPerson
    from core_eval.log import LogError
    from firmware_bridge.links import LinkError

    safe = bool(left) and all(rig.stop for rig in left)
    if isinstance(error, StoppedByPerson):
        told = "the rig is safe, and " if safe else ""
        return _fail(f"{error}; {told}--resume goes on with the next episode", STOPPED)
    if isinstance(error, StopRequested):
        told = "the rig is safe and " if safe else ""
        return _fail(f"{error}; {told}the log is readable", error.exit_status)
    if isinstance(error, UsageError | ConfigError | AgentSpecError | LogError):
        return _fail(str(error), BAD_INPUT)
    if isinstance(error, RigError | LinkError | EpisodeFailed | BackendError):
        return _fail(str(error), RIG_FAILED)
    if isinstance(error, sqlite3.Error):
        return _fail(f"the log could not be written: {error}", RIG_FAILED)
    if isinstance(error, OSError) and error.errno in FULL:
        _drop_output()
        where = "the output" if error.filename is None else str(error.filename)
        return _fail(f"{where} cannot be written: {error.strerror}", BAD_INPUT)
    # A fault of our own: status 1 would read as a missed threshold.
    traceback.print_exception(error)
    return RIG_FAILED


def _drop_output() -> None:
    """Let go of what is buffered for standard output: it has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, status: int) -> int:
    print(f"pathrig: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
