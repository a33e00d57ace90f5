"""`pathrig watch`: a live page of logs that other processes write, and of rigs that other hosts drive."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import UsageError
from core_eval.cli.page_address import page_address
from core_eval.cli.programs import AllowPrograms


def watch(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="DB|RIG|SERVE.yaml...",
            help="Logs, rigs by name, YAML file or URL, files of `serve`; all are on one page.",
        ),
    ],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the page is served; by default this machine only.")
    ] = "127.0.0.1:0",
    allow_programs: AllowPrograms = False,
) -> None:
    """Serve a page that follows logs and rigs until Ctrl-C. Nothing is sent to a rig on MQTT."""
    try:
        from core_eval.live.history import History
        from core_eval.live.live_run import run_report
        from core_eval.live.log_follower import DayFollower, LogFollower
        from core_eval.live.rig_watcher import rig_to_watch, watched_rig
        from core_eval.live.server import LivePage
        from core_eval.live.serving import Authorizer, serve_page
    except ImportError as error:
        raise UsageError(f"watch needs {error.name}: pip install 'pathrig[live]'") from None
    from core_eval.log import LogReader

    address = page_address(listen, "--listen")
    logs = {name: Path(name) for name in source if Path(name).is_file() and not _is_yaml(name)}
    source = list(dict.fromkeys(source))
    served = {name: own for name in source if name not in logs and (own := _served(name))}
    rigs = {name: rig_to_watch(name) for name in source if name not in logs and name not in served}
    histories = {one: History() for name in source for one in served.get(name, [name])}
    cameras = [config.camera for config in rigs.values() if config.camera is not None]
    authorizer = Authorizer(address)
    reports = {name: partial(run_report, path) for name, path in logs.items()}
    page = LivePage(authorizer, histories, cameras=cameras, reports=reports)
    try:
        with ExitStack() as stack:
            for path in logs.values():
                # A file that is no log is reported before anything is served.
                LogReader(path).connection.close()
            for name, config in rigs.items():
                stack.enter_context(watched_rig(config, histories[name]))
            url = stack.enter_context(serve_page(address, page, authorizer))
            for history in histories.values():
                stack.callback(history.close)
            for name, path in logs.items():
                stack.enter_context(LogFollower(path, histories[name], page.allow_camera))
            for folders in served.values():
                for name, folder in folders.items():
                    stack.enter_context(DayFollower(folder, histories[name], page.allow_camera))
            print(f"pathrig: the page is {url}", file=sys.stderr, flush=True)
            signal.pause()
    except OSError as error:
        raise UsageError(f"--listen {listen}: {error.strerror or error}") from None


def _served(name: str) -> dict[str, Path]:
    """Return the folders of a schedule's rigs, by their headings; none where the file is no schedule."""
    from core_eval.serve.serve_file import schedule_of

    schedule = schedule_of(name)
    return {} if schedule is None else {f"{name}: {rig}": schedule.folder / rig for rig in schedule.rigs}


def _is_yaml(name: str) -> bool:
    return name.endswith((".yaml", ".yml"))
