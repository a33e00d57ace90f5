"""`pathrig mcp`: a rig with a task as an MCP server, for one episode."""

from __future__ import annotations

import math
import os
import stat
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from agents.errors import BackendError
from agents.mcp.proxy import SOCKET, EpisodePlace, Proxy, connect, wait_for_exit
from core_eval.cli.output import SafeToolOption, UsageError, console, print_agents, read_json_object
from core_eval.cli.programs import AllowPrograms
from core_eval.cli.run import DEFAULT_DB, cameras_of, live_page
from firmware_bridge.guard import GuardMode

if TYPE_CHECKING:
    from agents.mcp.desk import CallDesk

AGENT = "mcp"
TOKEN = "PATHRIG_MCP_TOKEN"
LEAVE_SECONDS = 1.0
"""Time without a request after which a server on HTTP exits, once its episode is over, s."""


def mcp(
    task: Annotated[
        str | None,
        typer.Option(
            help="A task's id, or FILE or FILE#ID. Needed, like --rig, but in a program that `pathrig run` "
            "has started: there the episode is that of the run."
        ),
    ] = None,
    rig: Annotated[str | None, typer.Option(help="A rig's name, its YAML file, or a URL.")] = None,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve streamable HTTP on this port of 127.0.0.1 instead of standard input and output; "
            f"0: any free one. URL and bearer token are printed; {TOKEN} sets the token.",
        ),
    ] = None,
    idle: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="Time without an open session and without a call after which the episode ends. Further "
            "calls are refused for as long.",
        ),
    ] = 60.0,
    episode: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="On standard streams: sessions of the same name and options are of one episode; default: "
            "those that the same program starts.",
        ),
    ] = None,
    db: Annotated[Path, typer.Option(help="The log; created, or appended to.")] = DEFAULT_DB,
    guard: Annotated[
        GuardMode | None,
        typer.Option(help="The guard mode for harmful calls; default: observe on simulators, else block."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the episode.")] = 0,
    init: Annotated[
        Path | None, typer.Option(help="JSON file that overrides the world's initial state (simulators).")
    ] = None,
    safe_tool: SafeToolOption = None,
    live: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:PORT]",
            help="Serve a page that shows the episode, asks for approval in guard mode confirm, and has a "
            "stop button. Its address, which contains a secret, is printed. Default: 127.0.0.1 and a free "
            "port.",
        ),
    ] = None,
    answer_timeout: Annotated[
        float,
        typer.Option(min=1.0, help="With --live, seconds until an unanswered question counts as a refusal."),
    ] = 120.0,
    allow_programs: AllowPrograms = False,
) -> int:
    """Offer a rig to MCP clients. Their sessions are views of one episode: logged, guarded, scored as any."""
    if joined := os.environ.get(SOCKET):
        _check_stdin()
        try:
            return Proxy(connect(Path(joined))).relay()
        except OSError as error:
            raise UsageError(f"{SOCKET}={joined}: {error.strerror or error}; the run has ended") from None
    if task is None or rig is None:
        raise UsageError("give --task and --rig")
    place = listening = owner = None
    if http is None:
        _check_stdin()
        owner = os.getppid() if episode is None else None
        options = (task, rig, db.absolute(), guard, seed, init, live, idle, Path.cwd())
        try:
            place = EpisodePlace(owner if episode is None else episode, *options)
            joined_or_begun = place.join()
        except OSError as error:
            raise UsageError(f"the episode's socket: {error.strerror or error}") from None
        if isinstance(joined_or_begun, Proxy):
            try:
                return joined_or_begun.relay()
            except KeyboardInterrupt:
                joined_or_begun.interrupt()
                raise
        listening = joined_or_begun
    from core_eval.cli.live import LiveLines
    from core_eval.log import LogReader, RunLog
    from core_eval.log.events import Observers
    from core_eval.run.config import Cell, RunConfig
    from core_eval.run.plan import Run, load_parts, task_on_rig

    try:
        from agents.mcp.agent import McpAgent, refusals
        from agents.mcp.desk import CallDesk
        from agents.mcp.server import Offer, make_server
        from agents.mcp.transports import BearerToken, serve_http, serve_sockets
    except ImportError as error:
        raise UsageError(f"pathrig mcp needs {error.name}: pip install 'pathrig[mcp]'") from None
    desk = CallDesk(idle)
    config = RunConfig(
        cells=(Cell(task=task, rig=rig, agent=AGENT),),
        seed=seed,
        init=None if init is None else read_json_object(init, "--init"),
        guard=guard,
        safe_tools=tuple(safe_tool or ()),
    )
    parts = load_parts(config, {AGENT: McpAgent(desk)})
    offered = task_on_rig(parts.tasks[task], parts.rigs[rig])
    make = partial(make_server, Offer(offered.prompt, offered.device.advice, offered.device.tools), desk)
    out = console(stderr=True)
    with ExitStack() as stack:
        page = stack.enter_context(live_page(live, config.scoring, answer_timeout, db, cameras_of(parts)))
        log = stack.enter_context(RunLog(db))
        if place is not None and listening is not None:
            stack.callback(place.leave)
            stack.enter_context(serve_sockets(make, desk, listening))
            if owner is not None and owner > 1:
                Thread(target=_end_with, args=(owner, desk), name="MCP: client", daemon=True).start()
        else:
            token = BearerToken(os.environ.get(TOKEN, ""))
            try:
                url = stack.enter_context(serve_http(make(), desk, token, http or 0))
            except OSError as error:
                raise UsageError(f"--http {http}: {error.strerror or error}") from None
            print(f"pathrig: the MCP server is {url}", file=sys.stderr)
            print(
                f"pathrig: send the header Authorization: Bearer {token.token}", file=sys.stderr, flush=True
            )
        if not desk.wait_for_use(math.inf if listening is None else idle):
            print("pathrig: the client left without a call: there was no episode", file=sys.stderr)
            return 0
        lines = LiveLines(out, steps=True)
        if page is None:
            the_run = Run(config, parts, log, lines)
        else:
            the_run = Run(
                config, parts, log, Observers(lines, page.recorder), page.approver, page.stop_button
            )
        try:
            the_run.start()
            with LogReader(db) as reader:
                print_agents(out, reader.episodes(the_run.run_id), None)
            out.print(f"The log is {db}; see `pathrig show {db}`.")
        finally:
            # A run that failed before its rig was open has closed no agent.
            desk.close()
            if listening is None:
                desk.wait_until_quiet(LEAVE_SECONDS, idle)
            else:
                # Else the next call, of a client that opens a session for each, would begin a new episode.
                desk.wait_until_quiet(idle)
            if late := refusals(desk):
                print(f"pathrig: {late}", file=sys.stderr)
    if late and not desk.made:
        raise BackendError("the client made no call in the episode")
    return 0


def _end_with(owner: int, desk: CallDesk) -> None:
    wait_for_exit(owner)
    desk.leave()


def _check_stdin() -> None:
    """Refuse a standard input that cannot be waited on, such as /dev/null: the session would never end."""
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        raise UsageError("standard input is no pipe: start pathrig mcp from an MCP client, or give --http")
