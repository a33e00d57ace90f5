"""The `pathrig` command: its verbs, and what each failure becomes on standard error and as exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
import typer

from core_eval.cli import demo, rigs, run, score, show, sim, tasks

app = typer.Typer(
    name="pathrig",
    help="Run agents on rigs, log every call, and score the whole path: not only whether they got there.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("score")(score.score)
app.command("show")(show.show)
app.command("sim")(sim.sim)
app.add_typer(tasks.app, name="tasks")
app.add_typer(rigs.app, name="rigs")

DONE, MISSED, BAD_INPUT, RIG_FAILED = 0, 1, 2, 3


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
        status = app(args=None if arguments is None else list(arguments), standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else DONE
    except click.exceptions.NoArgsIsHelpError as error:
        return _fail(
            f"name what to do; `{error.ctx.command_path} --help` lists it" if error.ctx else "", BAD_INPUT
        )
    except click.ClickException as error:
        return _fail(error.format_message(), BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except BaseException as error:
        return _known_failure(error)


def _known_failure(error: BaseException) -> int:
    from agents.errors import AgentSpecError, BackendError
    from configs.errors import ConfigError
    from core_eval.harness.episode import EpisodeFailed
    from core_eval.harness.signals import StopRequested
    from core_eval.harness.simulator_process import RigError
    from core_eval.log import LogError
    from firmware_bridge.links import LinkError

    if isinstance(error, StopRequested):
        return _fail(f"{error}; the rig is safe and the log is readable", error.exit_status)
    if isinstance(error, ConfigError | AgentSpecError | LogError):
        return _fail(str(error), BAD_INPUT)
    if isinstance(error, RigError | LinkError | EpisodeFailed | BackendError):
        return _fail(str(error), RIG_FAILED)
    raise error


def _fail(message: str, status: int) -> int:
    print(f"pathrig: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
