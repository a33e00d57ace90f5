"""`pathrig mcp`: a rig with a task as an MCP server, for one episode."""

from __future__ import annotations

import math
import os
import stat
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from core_eval.cli import run_options as given
from core_eval.cli.output import UsageError, console, print_agents, read_json_object

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from typing import Any

    from agents.mcp.desk import CallDesk
    from agents.mcp.proxy import EpisodePlace, Proxy

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
    db: given.Db = given.DEFAULT_DB,
    guard: given.Guard = None,
    seed: given.Seed = 0,
    init: given.Init = None,
    safe_tool: given.SafeTool = None,
    live: given.Live = None,
    answer_timeout: given.AnswerTimeout = 120.0,
    allow_programs: given.AllowPrograms = False,
) -> int:
    """Offer a rig to MCP clients. Their sessions are views of one episode: logged, guarded, scored as any."""
    # A proxy of a session imports no more than this.
    from agents.mcp.proxy import SOCKET, EpisodePlace, Proxy, connect

    if joined := os.environ.get(SOCKET):
        _check_stdin()
        try:
            return Proxy(connect(Path(joined))).relay()
        except OSError as error:
            raise UsageError(f"{SOCKET}={joined}: {error.strerror or error}; the run has ended") from None
    if task is None or rig is None:
        raise UsageError("give --task and --rig")
    door = _Door(http=http or 0)
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
            return _relay(joined_or_begun)
        door = _Door(place, joined_or_begun, owner)
    started = {
        "seed": seed,
        "init": None if init is None else read_json_object(init, "--init"),
        "guard": guard,
        "safe_tools": tuple(safe_tool or ()),
    }
    return _serve(task, rig, started, door, idle, db, live, answer_timeout)


@dataclass(frozen=True)
class _Door:
    """Where clients come in: the socket of an episode, or a port of HTTP.

    Attributes:
        place: where the sessions of the episode meet.
        listening: its socket; None with HTTP.
        owner: the process of the client, with which the episode ends; None: there is none.
        http: the port; 0: any free one.
    """

    place: EpisodePlace | None = None
    listening: socket.socket | None = None
    owner: int | None = None
    http: int = 0

    def open(self, stack: ExitStack, make: Callable[[], Any], desk: CallDesk) -> None:
        """Serve until the stack is closed."""
        from agents.mcp.transports import BearerToken, serve_http, serve_sockets

        if self.place is not None and self.listening is not None:
            stack.callback(self.place.leave)
            stack.enter_context(serve_sockets(make, desk, self.listening))
            if self.owner is not None and self.owner > 1:
                Thread(target=_end_with, args=(self.owner, desk), name="MCP: client", daemon=True).start()
            return
        token = BearerToken(os.environ.get(TOKEN, ""))
        try:
            url = stack.enter_context(serve_http(make(), desk, token, self.http))
        except OSError as error:
            raise UsageError(f"--http {self.http}: {error.strerror or error}") from None
        print(f"pathrig: the MCP server is {url}", file=sys.stderr)
        print(f"pathrig: send the header Authorization: Bearer {token.token}", file=sys.stderr, flush=True)


def _relay(proxy: Proxy) -> int:
    """Relay a session to the process of its episode; return the exit status."""
    try:
        return proxy.relay()
    except KeyboardInterrupt:
        proxy.interrupt()
        raise


def _serve(
    task: str,
    rig: str,
    started: Mapping[str, Any],
    door: _Door,
    idle: float,
    db: Path,
    live: str | None,
    answer_timeout: float,
) -> int:
    """Run the one episode with the calls of the clients; return the exit status."""
    from agents.errors import BackendError
    from core_eval.cli.live import LiveLines
    from core_eval.cli.live_page import live_page, shown_run
    from core_eval.log import LogReader, RunLog
    from core_eval.run.config import Cell, RunConfig
    from core_eval.run.parts import load_parts, task_on_rig

    try:
        from agents.mcp.agent import McpAgent, refusals
        from agents.mcp.desk import CallDesk
        from agents.mcp.server import Offer, make_server
    except ImportError as error:
        raise UsageError(f"pathrig mcp needs {error.name}: pip install 'pathrig[mcp]'") from None
    desk = CallDesk(idle)
    config = RunConfig(cells=(Cell(task=task, rig=rig, agent=AGENT),), **started)
    parts = load_parts(config, {AGENT: McpAgent(desk)})
    offered = task_on_rig(parts.tasks[task], parts.rigs[rig])
    make = partial(make_server, Offer(offered.prompt, offered.device.advice, offered.device.tools), desk)
    out = console(stderr=True)
    with ExitStack() as stack:
        page = stack.enter_context(live_page(live, config.scoring, answer_timeout, db, parts))
        log = stack.enter_context(RunLog(db))
        door.open(stack, make, desk)
        if not desk.wait_for_use(math.inf if door.listening is None else idle):
            print("pathrig: the client left without a call: there was no episode", file=sys.stderr)
            return 0
        the_run = shown_run(config, parts, log, LiveLines(out, steps=True), page)
        try:
            the_run.start()
            with LogReader(db) as reader:
                print_agents(out, reader.episodes(the_run.run_id), None)
            out.print(f"The log is {db}; see `pathrig show {db}`.")
        finally:
            # A run that failed before its rig was open has closed no agent.
            desk.close()
            if door.listening is None:
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
    from agents.mcp.proxy import wait_for_exit

    wait_for_exit(owner)
    desk.leave()


def _check_stdin() -> None:
    """Refuse a standard input that cannot be waited on, such as /dev/null: the session would never end."""
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        raise UsageError("standard input is no pipe: start pathrig mcp from an MCP client, or give --http")
