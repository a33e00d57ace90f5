"""`pathrig record`: keeps a rig's answers and telemetry in a file that stands in for the rig."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from core_eval.cli.output import UsageError, check_output, console, write_file


def record(
    episodes: Annotated[
        list[str],
        typer.Argument(metavar="DB[#EPISODE]...", help="Logs, or single episodes of logs, of one rig."),
    ],
    output: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write episodes as a snapshot: the rig `snapshot:FILE` gives their answers and telemetry again."""
    from core_eval.snapshot.file import snapshot_text
    from core_eval.snapshot.record import record as record_episodes

    if output.exists() and not force:
        raise UsageError(f"{output} exists already; name another file, or give --force")
    check_output(output, "--out")
    logs = [_log(text) for text in episodes]
    snapshot = record_episodes(logs)
    write_file(output, "--out", snapshot_text(snapshot), inputs=[path for path, _ in logs])
    out = console()
    for one in snapshot.episodes:
        twin = "no twin: it ends where the record does"
        if one.twin is not None:
            twin = "its simulator goes on" if one.twin.exact else f"a twin of {one.twin.world} goes on"
        calls = "1 call" if len(one.calls) == 1 else f"{len(one.calls)} calls"
        out.print(Text(f"{one.source}  {one.task}, seed {one.seed}: {calls}; {twin}"))
    out.print(Text(f"wrote {output}; run with --rig snapshot:{output}"))


def _log(text: str) -> tuple[Path, int | None]:
    named = re.fullmatch(r"(.+)#(\d+)", text)
    if named is None and "#" in text and not Path(text).exists():
        raise UsageError(f"{text}: write DB or DB#EPISODE, as in mine.db#3")
    path = Path(text) if named is None else Path(named[1])
    if not path.is_file():
        raise UsageError(f"there is no log {path}")
    return path, None if named is None else int(named[2])
