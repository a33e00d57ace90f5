"""A program as an agent: an MCP client on its standard streams, by HTTP, or by servers that it starts."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from agents.agent import Action, Agent, AgentSpecError, BackendError, EpisodeContext, Observation, StopAction
from agents.deadline import CancelledError
from agents.mcp.desk import CallDesk, McpAgent, refusals
from agents.mcp.proxy import SOCKET, listen
from agents.mcp.server import Offer, instructions, make_server
from agents.mcp.transports import BearerToken, serve_http, serve_sockets
from firmware_bridge.process_keeper import end_group, ending, kept

URL, TOKEN = "PATHRIG_MCP_URL", "PATHRIG_MCP_TOKEN"
PROMPT, INSTRUCTIONS = "PATHRIG_PROMPT", "PATHRIG_INSTRUCTIONS"
"""The server's prompt and instructions again, as not every framework hands them on."""
EXIT_SECONDS = 1.0
"""Time for a program to end by itself, and again after SIGTERM, s."""
MOST_WAITS = 10
"""How often a program that still calls gets that time."""


class CommandAgent(Agent):
    """Starts a program for each episode, under a keeper, and ends it with its whole process group.

    Its sessions are views of the one episode: the program's exit ends the episode, no session's end does.

    Raises:
        AgentSpecError: the command names no program.
    """

    scaffold = "mcp"

    def __init__(self, command: str) -> None:
        self.name = f"command:{command}"
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise AgentSpecError(f"agent {self.name!r}: {error}") from None
        if not self._command or shutil.which(self._command[0]) is None:
            raise AgentSpecError(
                f"agent {self.name!r}: there is no such program; write command:'PROGRAM ARGS'"
            )
        self._episode = ExitStack()
        self._desk = CallDesk()
        self._agent = McpAgent(self._desk)
        self._program: subprocess.Popen[bytes] | None = None

    def start(self, context: EpisodeContext) -> None:
        """Start the program for an episode; that of the last one is ended.

        Raises:
            BackendError: it cannot be started.
        """
        self.close()
        desk, token = CallDesk(), BearerToken("")
        offer = Offer(context.prompt, context.advice, context.tools)
        make = partial(make_server, offer, desk)
        self._desk, self._agent = desk, McpAgent(desk)
        self._agent.start(context)
        with ExitStack() as stack:
            try:
                url = stack.enter_context(serve_http(make(), desk, token))
                path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pathrig-"))) / "episode"
                listening = stack.enter_context(listen(path))
                ours, theirs = map(stack.enter_context, socket.socketpair())
                program = subprocess.Popen(
                    kept(self._command, streams=True),
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    env={
                        **os.environ,
                        URL: url,
                        TOKEN: token.token,
                        SOCKET: str(path),
                        PROMPT: context.prompt,
                        INSTRUCTIONS: instructions(offer),
                    },
                    start_new_session=True,
                )
            except OSError as error:
                raise BackendError(f"{self.name}: {error.strerror or error}") from None
            theirs.close()
            stack.callback(end_group, program, EXIT_SECONDS)
            stack.enter_context(serve_sockets(make, desk, listening, ours))
            stack.callback(desk.close)
            threading.Thread(target=_watch, args=(program, desk), name="MCP: program", daemon=True).start()
            self._program, self._episode = program, stack.pop_all()

    def act(self, observation: Observation | None) -> Action:
        """Return the program's next call; `done` when it exits with status 0.

        Raises:
            BackendError: it ended with another status, or all its calls came after it had ended the episode.
        """
        try:
            action = self._agent.act(observation)
        except CancelledError:
            self.close()
            raise
        if not isinstance(action, StopAction):
            return action
        self._desk.close()
        status = self._exit_status()
        self.close()
        if status:
            raise BackendError(f"{self.name} ended: {ending(status)}")
        late = refusals(self._desk)
        if late and not self._desk.made:
            raise BackendError(f"{self.name} made no call in the episode; {late}")
        return replace(action, usage=replace(action.usage, remarks=(late,))) if late else action

    def close(self) -> None:
        """End the program and its sessions."""
        self._episode.close()

    def _exit_status(self) -> int | None:
        """Return the status of a program that ends by itself; one that still calls gets longer."""
        assert self._program is not None
        for _ in range(MOST_WAITS):
            refused = self._desk.refused
            with suppress(subprocess.TimeoutExpired):
                return self._program.wait(EXIT_SECONDS)
            if self._desk.refused == refused:
                break
        return None


def _watch(program: subprocess.Popen[bytes], desk: CallDesk) -> None:
    program.wait()
    desk.leave()
