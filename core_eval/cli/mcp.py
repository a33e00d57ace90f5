"""`pathrig mcp`: a rig with a task as an MCP server; one session is one episode."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import SafeToolOption, UsageError, console, print_agents, read_json_object
from core_eval.cli.run import DEFAULT_DB, cameras_of, live_page
from firmware_bridge.guard import GuardMode

AGENT = "mcp"
TOKEN = "PATHRIG_MCP_TOKEN"


def mcp(
    task: Annotated[str, typer.Option(help="A task's id, or FILE or FILE#ID.")],
    rig: Annotated[str, typer.Option(help="A rig's name, its YAML file, or a URL.")],
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
) -> int:
    """Offer a rig to an MCP client. Its session is an episode: logged, guarded and scored as any other."""
    from core_eval.cli.live import LiveLines
    from core_eval.harness.events import Observers
    from core_eval.harness.run import Run, load_parts, task_on_rig
    from core_eval.harness.run_config import Cell, RunConfig
    from core_eval.log import LogReader, RunLog

    try:
        from agents.mcp.agent import McpAgent
        from agents.mcp.desk import CallDesk
        from agents.mcp.server import Offer, make_server
        from agents.mcp.transports import BearerToken, serve_http, serve_streams
    except ImportError as error:
        raise UsageError(f"pathrig mcp needs {error.name}: pip install 'pathrig[mcp]'") from None
    desk = CallDesk()
    config = RunConfig(
        cells=(Cell(task=task, rig=rig, agent=AGENT),),
        seed=seed,
        init=None if init is None else read_json_object(init, "--init"),
        guard=guard,
        safe_tools=tuple(safe_tool or ()),
    )
    parts = load_parts(config, {AGENT: McpAgent(desk)})
    offered = task_on_rig(parts.tasks[task], parts.rigs[rig])
    server = make_server(Offer(offered.prompt, offered.device.advice, offered.device.tools), desk)
    # Standard output is the session's.
    out = console(stderr=True)
    with ExitStack() as stack:
        page = stack.enter_context(live_page(live, config.scoring, answer_timeout, db, cameras_of(parts)))
        log = stack.enter_context(RunLog(db))
        if http is None:
            _check_stdin()
            stack.enter_context(serve_streams(server, desk, os.fdopen(os.dup(0), "rb")))
        else:
            token = BearerToken(os.environ.get(TOKEN, ""))
            try:
                url = stack.enter_context(serve_http(server, desk, token, http))
            except OSError as error:
                raise UsageError(f"--http {http}: {error.strerror or error}") from None
            print(f"pathrig: the MCP server is {url}", file=sys.stderr)
            print(
                f"pathrig: send the header Authorization: Bearer {token.token}", file=sys.stderr, flush=True
            )
        if not desk.wait_for_use():
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
        finally:
            # A run that failed before its rig was open has closed no agent.
            desk.close()
        with LogReader(db) as reader:
            print_agents(out, reader.episodes(the_run.run_id), None)
    out.print(f"The log is {db}; see `pathrig show {db}`.")
    return 0


def _check_stdin() -> None:
    """Refuse a standard input that cannot be waited on, such as /dev/null: the session would never end."""
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        raise UsageError("standard input is no pipe: start pathrig mcp from an MCP client, or give --http")
