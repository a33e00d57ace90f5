"""An MCP server as a device: its tools are called, it has no truth, and no stop of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Event
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from core_eval.call_status import CallStatus
from core_eval.text.foreign_json import ForeignJsonError
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Emit, Sample, Truth
from firmware_bridge.link import LinkError
from firmware_bridge.mcp.address import McpAddress
from firmware_bridge.mcp.device_file import device_name
from firmware_bridge.mcp.results import beginning, result_text, result_value
from firmware_bridge.mcp.session import McpSession, ServerFacts, one_line

LOOK_SECONDS = 0.02
"""Interval at which a running call looks for a stop, s."""
TOOLS_SENSOR = "tools"
"""The sensor that reports a change of the server's tools."""


class McpDevice:
    """Calls the tools of a server. Device time is the wall clock since it was opened.

    Each episode after a call has a session of its own: `reset` ends a server that was started for the rig,
    and starts it again. A stop cancels the running call and lets none begin; the protocol has no answer to a
    cancellation, so a stop is `sent`, never `confirmed`.

    Raises:
        LinkError: the server cannot be reached.
    """

    def __init__(self, address: McpAddress) -> None:
        self._address = address
        self._born = time.monotonic()
        self._emit: Emit | None = None
        self._call: Future[types.CallToolResult] | None = None
        self._touched = False
        self.leave_alone = False
        self._session, facts = self._open()
        self._tools = _by_name(facts.tools)
        self.name = device_name(facts.name)
        self.firmware = f"{facts.name} {facts.version}, MCP {facts.protocol}".replace("  ", " ")

    @property
    def lost(self) -> str | None:
        """Why the server can no longer be called; None if nothing is known to be wrong."""
        return self._session.lost

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        """Call a tool of the server. What the server calls an error is a refusal."""
        began = time.monotonic()

        def outcome(
            status: CallStatus, code: str | None = None, message: str | None = None, value: Any = None
        ) -> Outcome:
            now = time.monotonic()
            return Outcome(status, value, code, message, t=now - self._born, duration=now - began)

        if tool not in self._tools:
            text = f"the server has no tool {tool!r}; its tools are {', '.join(self._tools)}"
            return outcome(CallStatus.INVALID, "unknown_tool", text)
        if self._session.lost is not None:
            return outcome(CallStatus.FAULT, "link", self._session.lost)
        self._touched = True
        required = self._tools[tool].input_schema.get("required", ())
        given = {name: value for name, value in arguments.items() if value is not None or name in required}
        try:
            self._call = self._session.call(tool, given)
            result = self._wait(self._call, stop, began + self._address.seconds)
            if result.is_error:
                text = beginning(result_text(result))
                return outcome(CallStatus.REJECTED, "refused", text or "the server states no reason")
            return outcome(CallStatus.OK, value=result_value(result))
        except CancelledError:
            return outcome(
                CallStatus.FAULT, "stopped", "The call was cancelled; the server may go on with it."
            )
        except TimeoutError:
            text = f"no answer within {self._address.seconds:g} s; the call was cancelled"
            return outcome(CallStatus.FAULT, "timeout", text)
        except MCPError as error:
            if error.code in (types.INVALID_PARAMS, types.METHOD_NOT_FOUND):
                return outcome(CallStatus.INVALID, "bad_arguments", one_line(error))
            if error.code == types.CONNECTION_CLOSED:
                return outcome(CallStatus.FAULT, "link", self._session.mark_lost(error))
            return outcome(CallStatus.FAULT, "server", one_line(error))
        except (ForeignJsonError, RuntimeError) as error:
            # The SDK raises RuntimeError for a result that does not fit the tool's own schema.
            return outcome(CallStatus.FAULT, "bad_result", one_line(error))
        except Exception as error:
            return outcome(CallStatus.FAULT, "link", self._session.mark_lost(error))
        finally:
            self._call = None

    def safe(self) -> StopOutcome:
        """Cancel the running call. Nothing is sent to a server that was only looked at."""
        if self.leave_alone and not self._touched:
            return StopOutcome.NOT_SENT
        if self._session.lost is not None:
            return StopOutcome.NOT_SENT
        running = self._call
        if running is not None:
            running.cancel()
        return StopOutcome.SENT

    def reset(self) -> None:
        """Leave the stop, in a new session if the last one was used; without one the server is lost."""
        if self._touched:
            with suppress(LinkError):
                self.restart(lambda: None)

    def restart(self, prepare: Callable[[], None]) -> None:
        """Begin a new session, after `prepare`, during which none is open.

        Raises:
            LinkError: the server cannot be reached again, and is lost.
        """
        self._session.close()
        prepare()
        self._session, facts = self._open()
        self._touched = False
        self._note_tools(facts.tools)

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Return `invalid`: the protocol sets no initial state."""
        return Outcome(
            CallStatus.INVALID,
            code="physical",
            message="an MCP server takes no initial state",
            t=time.monotonic() - self._born,
        )

    def subscribe(self, emit: Emit) -> None:
        """Emit a sample when the server's tools change."""
        self._emit = emit

    def truth(self) -> Truth | None:
        """Return None: a server reports no ground truth."""
        return None

    def close(self) -> None:
        """Close the session."""
        self._session.close()

    def _open(self) -> tuple[McpSession, ServerFacts]:
        session = McpSession(self._address, self._note_tools)
        try:
            return session, session.open()
        except LinkError as error:
            session.mark_lost(error)
            self._session = session
            raise

    def _wait(self, call: Future[types.CallToolResult], stop: Event, deadline: float) -> types.CallToolResult:
        while True:
            if stop.is_set():
                call.cancel()
            try:
                return call.result(LOOK_SECONDS)
            except TimeoutError:
                if call.done():
                    return call.result()
                if time.monotonic() >= deadline:
                    call.cancel()
                    raise

    def _note_tools(self, tools: Sequence[types.Tool]) -> None:
        """Take a new list of tools, and emit how it differs from the last one."""
        before, now = self._tools, _by_name(tools)
        self._tools = now
        kept = before.keys() & now.keys()
        names = {
            "removed": before.keys() - kept,
            "added": now.keys() - kept,
            "changed": {name for name in kept if before[name] != now[name]},
        }
        changes = [f"{word} {', '.join(sorted(found))}" for word, found in names.items() if found]
        if changes and self._emit is not None:
            self._emit(Sample(TOOLS_SENSOR, "; ".join(changes), time.monotonic() - self._born))


def _by_name(tools: Sequence[types.Tool]) -> dict[str, types.Tool]:
    return {tool.name: tool for tool in tools}
