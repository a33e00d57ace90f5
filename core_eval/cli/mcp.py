"""`pathrig mcp`: a rig with a task as an MCP server, for one episode."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core_eval.cli import run_options as given
from core_eval.cli.output import UsageError, read_json_object

if TYPE_CHECKING:
    from agents.mcp.proxy import Proxy


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
            "0: any free one. URL and bearer token are printed; PATHRIG_MCP_TOKEN sets the token.",
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
    rules: given.Rules = None,
    seed: given.Seed = 0,
    init: given.Init = None,
    safe_tool: given.SafeTool = None,
    live: given.Live = None,
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
    place = listening = owner = None
    if http is None:
        _check_stdin()
        owner = os.getppid() if episode is None else None
        options = (task, rig, db.absolute(), guard, rules, seed, init, live, idle, Path.cwd())
        try:
            place = EpisodePlace(owner if episode is None else episode, *options)
            joined_or_begun = place.join()
        except OSError as error:
            raise UsageError(f"the episode's socket: {error.strerror or error}") from None
        if isinstance(joined_or_begun, Proxy):
            return _relay(joined_or_begun)
        listening = joined_or_begun
    from core_eval.cli.mcp_episode import Door, serve_episode
    from core_eval.cli.run_options import rules_to_check

    door = Door(place, listening, owner, http or 0)
    started = {
        "seed": seed,
        "init": None if init is None else read_json_object(init, "--init"),
        "guard": guard,
        "rules": rules_to_check(rules),
        "safe_tools": tuple(safe_tool or ()),
    }
    return serve_episode(task, rig, started, door, idle, db, live)


def _relay(proxy: Proxy) -> int:
    """Relay a session to the process of its episode; return the exit status."""
    try:
        return proxy.relay()
    except KeyboardInterrupt:
        proxy.interrupt()
        raise


def _check_stdin() -> None:
    """Refuse a standard input that cannot be waited on, such as /dev/null: the session would never end."""
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        raise UsageError("standard input is no pipe: start pathrig mcp from an MCP client, or give --http")
