"""The one episode that `pathrig mcp` serves to its clients."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.agent import BackendError
from agents.mcp.desk import CallDesk, McpAgent, refusals
from agents.mcp.proxy import EpisodePlace, leave_after_exit
from agents.mcp.transports import BearerToken, serve_http, serve_sockets
from core_eval.cli.checked_parts import checked_parts
from core_eval.cli.live_lines import LiveLines
from core_eval.cli.live_page import live_page, shown_run
from core_eval.cli.output import UsageError, console, print_agents
from core_eval.log import LogReader, RunLog
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import task_on_rig

AGENT = "mcp"
TOKEN = "PATHRIG_MCP_TOKEN"
LEAVE_SECONDS = 1.0
"""Time without a request after which a server on HTTP exits, once its episode is over, s."""


@dataclass(frozen=True)
class Door:
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
        if self.place is not None and self.listening is not None:
            stack.callback(self.place.leave)
            stack.enter_context(serve_sockets(make, desk, self.listening))
            if self.owner is not None and self.owner > 1:
                leave_after_exit(self.owner, desk.leave)
            return
        token = BearerToken(os.environ.get(TOKEN, ""))
        try:
            url = stack.enter_context(serve_http(make(), desk, token, self.http))
        except OSError as error:
            raise UsageError(f"--http {self.http}: {error.strerror or error}") from None
        print(f"pathrig: the MCP server is {url}", file=sys.stderr)
        print(f"pathrig: send the header Authorization: Bearer {token.token}", file=sys.stderr, flush=True)


def serve_episode(
    task: str,
    rig: str,
    started: Mapping[str, Any],
    door: Door,
    idle: float,
    db: Path,
    live: str | None,
) -> int:
    """Run the one episode with the calls of the clients; return the exit status."""
    try:
        from agents.mcp.server import Offer, make_server
    except ImportError as error:
        raise UsageError(f"pathrig mcp needs {error.name}: pip install 'pathrig[mcp]'") from None
    desk = CallDesk(idle)
    config = RunConfig(cells=(Cell(task=task, rig=rig, agent=AGENT),), **started)
    parts = checked_parts(config, {AGENT: McpAgent(desk)})
    offered = task_on_rig(parts.tasks[task], parts.rigs[rig])
    offer = Offer(offered.prompt, offered.device.advice, offered.offered.tools)
    out = console(stderr=True)
    with ExitStack() as stack:
        page = stack.enter_context(live_page(live))
        log = stack.enter_context(RunLog(db))
        door.open(stack, lambda: make_server(offer, desk), desk)
        if not desk.wait_for_use(float("inf") if door.listening is None else idle):
            print("pathrig: the client left without a call: there was no episode", file=sys.stderr)
            return 0
        the_run = shown_run(config, parts, log, LiveLines(out, steps=True), page)
        try:
            the_run.start()
            with LogReader(db) as reader:
                print_agents(out, reader.episodes(the_run.run_id))
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
