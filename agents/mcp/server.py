"""A task on a rig as an MCP server: tools with annotations, the prompt, the sensors as resources."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from agents.agent import StopAction, StopReason
from agents.mcp.desk import CallDesk
from agents.mcp.sensors import SensorResources, background
from agents.scaffolds.prompting import (
    DECLINE,
    DECLINE_SCHEMA,
    DECLINE_TEXT,
    error_value,
    outcome_text,
    system_prompt,
)
from core_eval.call_status import CallStatus
from devices.outcome import Outcome
from devices.tool import Effect, Tool

PROMPT = "task"
END_SECONDS = 3.0
"""Longest wait of `done` for the episode's end, s: some clients give up a call after 5 s."""
ENDINGS: dict[str, StopReason] = {"done": "done", DECLINE: "decline"}
ENDING_WORDS = {"done": "answer", DECLINE: "reason"}
"""The argument with which each ending says something."""
ENDING_TEXTS = {"done": "End the episode: the task is done.", DECLINE: DECLINE_TEXT}
OVER = Outcome(
    CallStatus.REJECTED, code="episode_over", message="the episode is over, and the rig is stopped"
)


@dataclass(frozen=True, slots=True)
class Offer:
    """The content of a server: the task's prompt, the device type's advice, and the rig's tools."""

    prompt: str
    advice: str
    tools: Sequence[Tool]


def instructions(offer: Offer) -> str:
    """Return what every model is told beside the task."""
    return system_prompt(offer.advice, DECLINE in _endings(offer))


def _endings(offer: Offer) -> dict[str, StopReason]:
    # A rig's own tool of that name comes first.
    names = {tool.name for tool in offer.tools}
    return {name: reason for name, reason in ENDINGS.items() if name not in names}


def make_server(offer: Offer, desk: CallDesk) -> Server[Any]:
    """Return the server of an offer, whose calls go to the desk."""
    required = {tool.name: _parameters(tool).get("required", ()) for tool in offer.tools}
    endings = _endings(offer)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[*map(_tool, offer.tools), *(_ending(name) for name in endings)],
            ttl_ms=0,
            cache_scope="private",
        )

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name in endings:
            said = (params.arguments or {}).get(ENDING_WORDS[params.name], "")
            desk.end(StopAction(endings[params.name], said=str(said)))
            # Who has the answer finds the rig stopped, and the scores in the log.
            await asyncio.wait({asyncio.wrap_future(desk.closed)}, timeout=END_SECONDS)
            return types.CallToolResult(content=[types.TextContent(text="The episode is over.")])
        reply = desk.call(params.name, _without_null(params.arguments or {}, required.get(params.name)))
        outcome = await asyncio.wrap_future(reply)
        return _result(OVER if outcome is None else outcome)

    async def list_prompts(_context: Any, _params: Any) -> types.ListPromptsResult:
        prompt = types.Prompt(name=PROMPT, description="The task to do with the tools.")
        return types.ListPromptsResult(prompts=[prompt], ttl_ms=0, cache_scope="private")

    async def get_prompt(_context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"no prompt {params.name!r}: get {PROMPT!r}")
        desk.use()
        message = types.PromptMessage(role="user", content=types.TextContent(text=offer.prompt))
        return types.GetPromptResult(messages=[message])

    sensors = SensorResources(desk)
    return Server(
        "pathrig",
        version=version("pathrig"),
        instructions=instructions(offer),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=sensors.list_all,
        on_list_resource_templates=sensors.list_templates,
        on_read_resource=sensors.read,
        on_subscribe_resource=sensors.subscribe,
        on_unsubscribe_resource=sensors.unsubscribe,
        on_subscriptions_listen=sensors.listen,
        lifespan=background,
    )


def tool_annotations(tool: Tool) -> types.ToolAnnotations:
    """Return the hints of a tool's effect.

    What reads changes nothing. What can be undone, or takes the rig towards its safe state, destroys
    nothing. A tool that sets a state has the same effect twice as once.
    """
    reads = tool.effect is Effect.READ
    return types.ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=not reads
        and _stated(tool.destructive, tool.inverse is None and not tool.towards_safe),
        idempotent_hint=reads or _stated(tool.idempotent, bool(tool.sets)),
    )


def _stated(hint: bool | None, otherwise: bool) -> bool:
    return otherwise if hint is None else hint


def _parameters(tool: Tool) -> dict[str, Any]:
    parameters: dict[str, Any] = tool.schema()["function"]["parameters"]
    return parameters


def _tool(tool: Tool) -> types.Tool:
    parameters = _parameters(tool)
    required = parameters.get("required", ())
    properties = {
        # smolagents takes an argument for required that is not nullable; JSON Schema ignores the word.
        name: part if name in required else {**part, "nullable": True}
        for name, part in parameters.get("properties", {}).items()
    }
    return types.Tool(
        name=tool.name,
        description=tool.schema()["function"]["description"],
        # The episode refuses unknown arguments.
        input_schema={**parameters, "properties": properties, "additionalProperties": False},
        annotations=tool_annotations(tool),
    )


def _without_null(arguments: Mapping[str, Any], required: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments without optional ones that are null: these are left out."""
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or required is None or name in required
    }


def _ending(name: str) -> types.Tool:
    return types.Tool(
        name=name,
        description=ENDING_TEXTS[name],
        input_schema={**_ending_parameters(name), "additionalProperties": False},
        annotations=types.ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True),
    )


def _ending_parameters(name: str) -> dict[str, Any]:
    if name == DECLINE:
        parameters: dict[str, Any] = DECLINE_SCHEMA["function"]["parameters"]
        return {**parameters, "required": []}
    answer = {"type": "string", "description": "what the task asks to be told, if anything"}
    return {"type": "object", "properties": {"answer": {**answer, "nullable": True}}, "required": []}


def _result(outcome: Outcome) -> types.CallToolResult:
    succeeded = outcome.status == CallStatus.OK
    content: list[Any] = [types.TextContent(text=outcome_text(outcome))]
    if succeeded:
        return types.CallToolResult(content=content, structured_content=dict(outcome.value or {}))
    error = error_value(outcome.code or outcome.status, outcome.message or "the call failed")
    return types.CallToolResult(
        content=content, structured_content={**error, "status": str(outcome.status)}, is_error=True
    )
