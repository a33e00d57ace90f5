"""`pathrig log`: copies, exports, recordings and pictures of a log, and a search in its transcripts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from core_eval.cli.output import Json, UsageError, check_output, console, print_json, write_file
from core_eval.cli.progress import tracked
from core_eval.cli.references import (
    AgentOption,
    KindOption,
    TaskOption,
    WorstOption,
    episode_filter,
    parted,
)
from core_eval.cli.verify import verify
from core_eval.export import FORMATS
from core_eval.export import export as export_log
from core_eval.log import LogReader
from core_eval.log.backup import backup as copy_log
from core_eval.log.search import search as find
from core_eval.report.pictures.world_picture import file_of, picture_after_step, picture_at
from core_eval.report.tables.fitted_table import Hanging
from core_eval.snapshot.file import snapshot_text
from core_eval.snapshot.record import record as record_episodes
from sims.png import PictureError

app = typer.Typer(help="Copy, search, export and picture a log.", no_args_is_help=True)
app.command("verify", hidden=True)(verify)
FormatName = Literal[
    "csv", "jsonl", "parquet", "openai", "otel", "inspect", "mcap", "rrd", "lerobot", "paper", "datasette"
]
Log = Annotated[Path, typer.Argument(help="A log; a run may be writing to it.")]


@app.command("backup")
def backup(
    db: Log,
    file: Annotated[Path, typer.Argument(help="The file to write; an existing log is replaced.")],
) -> None:
    """Copy a log, also of an active run, into one file. A plain copy of the .db file misses new rows."""
    copy_log(db, file)
    print(f"{file} holds all of {db}: {file.stat().st_size:,} bytes.")


@app.command("search")
def search(
    db: Log,
    words: Annotated[str, typer.Argument(metavar="TEXT", help="Words that a step contains.")],
    episode: Annotated[int | None, typer.Option(help="Only this episode.")] = None,
    agent: AgentOption = None,
    task: TaskOption = None,
    kind: KindOption = None,
    worst: WorstOption = None,
    json: Json = False,
) -> None:
    """Find steps by words of their texts, calls, results or errors."""
    if not words.strip(' "*'):
        raise UsageError("TEXT: name a word to look for")
    wanted = episode_filter(agent, task, kind, worst)
    with LogReader(db) as reader:
        rows = reader.episodes() if episode is None else [reader.episode(episode)]
        found = find(reader, words, wanted.choose(reader, rows))
    if json:
        print_json([asdict(passage) for passage in found])
        return
    out = console()
    for passage in found:
        where = f"episode {passage.episode} step {passage.step}  {passage.agent}  {passage.part}: "
        out.print(Hanging(Text.assemble((where, "bold"), " ".join(passage.text.split()))))
    if not found:
        out.print(f"the transcripts of {db} do not contain {words!r}")


@app.command("export")
def export(
    db: Log,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="The file to write (jsonl, otel, datasette), or the folder of files (csv, parquet, inspect, "
            "mcap, rrd, lerobot, paper); existing files of the same names are replaced.",
        ),
    ],
    form: Annotated[FormatName, typer.Option("--format", help="The format.")],
    run: Annotated[int | None, typer.Option(help="Only this run.")] = None,
) -> None:
    """Write a log for other tools.

    As tables, JSON lines, traces, logs or recordings.

    `datasette` writes metadata with canned queries; Datasette serves the log itself.
    """
    try:
        with LogReader(db) as log:
            count = export_log(log, run, next(one for one in FORMATS if one.name == form), out, tracked)
    except OSError as error:
        raise UsageError(f"-o {out}: {error.strerror or error}") from None
    print(f"{out} holds {count} episode{'' if count == 1 else 's'} of {db}.")


@app.command("picture")
def picture(
    episode: Annotated[str, typer.Argument(metavar="DB#EPISODE", help="An episode, as in run.db#3.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The file to write: .png, or .svg of a world that is drawn as a map."
        ),
    ],
    step: Annotated[int | None, typer.Option(help="After this step; the episode's end by default.")] = None,
    event: Annotated[
        int | None,
        typer.Option(min=0, help="When this harm event of it began; in the order of `harm`, from 0."),
    ] = None,
    size: Annotated[tuple[int, int], typer.Option(help="Width and height, pixels.")] = (960, 640),
) -> None:
    """Draw what surrounds the rig at a moment of an episode. The episode is replayed for it."""
    db, number = parted(episode, "episode")
    if number is None:
        raise UsageError(f"{episode}: write DB#EPISODE with the episode's number, as in {episode}#1")
    if step is not None and event is not None:
        raise UsageError("give --step or --event, not both")
    if min(size) < 16 or max(size) > 4096:
        raise UsageError("--size: give 16 to 4096 pixels each way")
    suffix = output.suffix.lower()
    if suffix not in (".png", ".svg"):
        raise UsageError(f"--output {output}: end the name in .png, or in .svg")
    with LogReader(db) as reader:
        row = reader.episode(number)
        try:
            if event is None:
                drawn = picture_after_step(reader, row, step, size)
            else:
                events = reader.harm(row.id)
                if event >= len(events):
                    raise UsageError(f"--event {event}: the episode has {_events(len(events))}")
                drawn = picture_at(reader, row, events[event].t_start, size)
            file = file_of(drawn, size, suffix)
        except PictureError as error:
            raise UsageError(str(error)) from None
    try:
        output.write_bytes(file)
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from None


def _events(count: int) -> str:
    if count == 0:
        return "no harm event"
    return "1 harm event, number 0" if count == 1 else f"{count} harm events, 0 to {count - 1}"


@app.command("record")
def record(
    episodes: Annotated[
        list[str],
        typer.Argument(metavar="DB[#EPISODE]...", help="Logs, or single episodes of logs, of one rig."),
    ],
    output: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write episodes as a snapshot. The rig `snapshot:FILE` gives their answers and telemetry again."""
    if output.exists() and not force:
        raise UsageError(f"{output} exists already; name another file, or give --force")
    check_output(output, "--out")
    logs = [parted(text, "episode") for text in episodes]
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
