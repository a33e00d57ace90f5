"""The `pathrig` command: its verbs, and the error line and exit status of each failure."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

try:
    from collections.abc import Sequence
    from functools import cache
    from typing import Annotated, Any

    import typer

    from core_eval.cli.progress import show_on_pipes
    from core_eval.cli.screen import guarded_output, survive_hangup
    from core_eval.cli.verbs import Verbs, renamed
except KeyboardInterrupt:
    # Ctrl-C while the modules are loaded: nothing has started.
    sys.exit(130)

if TYPE_CHECKING:
    from core_eval.rig.final_stops import FinalStop

app = typer.Typer(
    name="pathrig",
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"pathrig {version('pathrig')}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    progress: Annotated[
        bool,
        typer.Option(
            "--progress", help="Print progress on standard error where it is no terminal; before the verb."
        ),
    ] = False,
) -> None:
    """Run agents on rigs, log every call, and score the whole path, not only the final state."""
    from core_eval.cli.programs import asking

    show_on_pipes(progress)
    ctx.with_resource(asking())


# The parser's errors have no public base class: take the topmost one that formats a message.
PARSER_ERROR: type[Exception] = [
    kind for kind in typer.BadParameter.__mro__ if hasattr(kind, "format_message")
][-1]
DONE, BAD_INPUT, RIG_FAILED, STOPPED = 0, 2, 3, 130
LIVE_ADDRESS = "127.0.0.1:0"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Returns:
        0: done. 1: a threshold was missed. 2: bad usage or input. 3: the rig, the link or the model failed,
        or a rig may not be stopped; this replaces any other status. 128 plus a signal's number: ended by
        that signal, with the log consistent. 130: also stopped by a person.
    """
    try:
        from core_eval.rig.final_stops import final_stops
    except KeyboardInterrupt:
        return STOPPED
    survive_hangup()
    with guarded_output():
        with final_stops() as stops:
            status = _run(arguments, stops)
        for stop in stops:
            # Last, so that a table does not hide a machine that may still move.
            if line := stop.line():
                _fail(line, status)
    return RIG_FAILED if any(stop.failed for stop in stops) else status


def _run(arguments: Sequence[str] | None, stops: Sequence[FinalStop]) -> int:
    try:
        given = _completed(sys.argv[1:] if arguments is None else arguments)
        status = _command()(args=given, prog_name="pathrig", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as leaving:
        if isinstance(leaving, SystemExit) and not leaving.code:
            # The exit after printing a shell's completions.
            sys.stdout.flush()
            return DONE
        # The reader has closed the pipe (the parser turns BrokenPipeError into SystemExit).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED
    except PARSER_ERROR as error:
        return _fail(_parser_message(error), BAD_INPUT)
    except BaseException as error:
        from core_eval.cli.failures import failure

        message, status = failure(error, stops)
        return status if message is None else _fail(message, status)
    return status if isinstance(status, int) else DONE


@cache
def _command() -> Any:
    """Return the parser of the whole command line."""
    return typer.main.get_command(app)


def _completed(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the default address after a `--live` without a value.

    The parser has no options with an optional value.
    """
    completed = list(arguments)
    for place, argument in enumerate(arguments):
        following = arguments[place + 1] if place + 1 < len(arguments) else "-"
        if argument == "--live" and following.startswith("-"):
            completed[place] = f"--live={LIVE_ADDRESS}"
    return completed


def _parser_message(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    verb = "" if context is None else context.command_path.removeprefix("pathrig ")
    if (line := renamed(f"{verb} {getattr(error, 'option_name', '')}")) is not None:
        return line
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"{message.strip().rstrip('.')}; see `pathrig --help`"


def _fail(message: str, status: int) -> int:
    print(f"pathrig: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
