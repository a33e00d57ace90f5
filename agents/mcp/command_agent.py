"""A program as an agent: an MCP client, on its standard streams or by HTTP."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from contextlib import ExitStack, suppress

from agents.agent import Action, EpisodeContext, Observation, StopAction
from agents.errors import AgentSpecError, BackendError
from agents.mcp.agent import McpAgent
from agents.mcp.desk import CallDesk
from agents.mcp.server import Offer, make_server
from agents.mcp.transports import BearerToken, serve_http, serve_streams
from firmware_bridge.process_keeper import ending, kept

URL, TOKEN = "PATHRIG_MCP_URL", "PATHRIG_MCP_TOKEN"
EXIT_SECONDS = 1.0
"""Time for a program to end by itself, and again after SIGTERM, s."""


class CommandAgent:
    """Starts a program for each episode, under a keeper, and ends it with its whole process group.

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
        self._agent = McpAgent(CallDesk())
        self._program: subprocess.Popen[bytes] | None = None

    def start(self, context: EpisodeContext) -> None:
        """Start the program for an episode; that of the last one is ended.

        Raises:
            BackendError: it cannot be started.
        """
        self.close()
        desk, token = CallDesk(), BearerToken("")
        offer = Offer(context.prompt, context.advice, context.tools)
        self._agent = McpAgent(desk)
        self._agent.start(context)
        with ExitStack() as stack:
            try:
                url = stack.enter_context(serve_http(make_server(offer, desk), desk, token))
                program = subprocess.Popen(
                    kept(self._command, streams=True),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, URL: url, TOKEN: token.token},
                    start_new_session=True,
                )
            except OSError as error:
                raise BackendError(f"{self.name}: {error.strerror or error}") from None
            assert program.stdin is not None and program.stdout is not None
            stack.callback(_end, program)
            sink = os.fdopen(os.dup(program.stdin.fileno()), "w", encoding="utf-8")
            program.stdin.close()
            stack.enter_context(serve_streams(make_server(offer, desk), desk, program.stdout, sink))
            stack.callback(_close_unflushed, sink)
            stack.callback(desk.close)
            self._program, self._episode = program, stack.pop_all()

    def act(self, observation: Observation | None) -> Action:
        """Return the program's next call; `done` when it exits with status 0.

        Raises:
            BackendError: it ended with another status.
        """
        action = self._agent.act(observation)
        if isinstance(action, StopAction):
            status = self._exit_status()
            self.close()
            if status:
                raise BackendError(f"{self.name} ended: {ending(status)}")
        return action

    def close(self) -> None:
        """End the program and its session."""
        self._episode.close()

    def _exit_status(self) -> int | None:
        """Return the status of a program that ends by itself."""
        if self._program is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            return self._program.wait(EXIT_SECONDS)
        return None


def _close_unflushed(sink: object) -> None:
    # What it did not read is lost with a program that has ended.
    with suppress(OSError, ValueError):
        sink.close()  # type: ignore[attr-defined]


def _end(program: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started in its process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, number)
        with suppress(subprocess.TimeoutExpired):
            program.wait(EXIT_SECONDS)
