"""`pathrig picture`: a rig's surroundings at a moment of an episode, as a PNG file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import UsageError


def picture(
    episode: Annotated[str, typer.Argument(metavar="DB#EPISODE", help="An episode, as in run.db#3.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The PNG file to write.")],
    step: Annotated[int | None, typer.Option(help="After this step; the episode's end by default.")] = None,
    event: Annotated[
        int | None,
        typer.Option(min=0, help="When this harm event of it began; in the order of `harm`, from 0."),
    ] = None,
    size: Annotated[tuple[int, int], typer.Option(help="Width and height, pixels.")] = (960, 640),
) -> None:
    """Draw what surrounds the rig at a moment of an episode. The episode is replayed for it."""
    from core_eval.log import LogReader
    from core_eval.report.pictures.world_picture import picture_after_step, picture_at
    from sims.picture_error import PictureError

    name, mark, number = episode.rpartition("#")
    if not mark or not number.isdecimal():
        raise UsageError(f"{episode}: write DB#EPISODE with the episode's number, as in {name or episode}#1")
    if step is not None and event is not None:
        raise UsageError("give --step or --event, not both")
    if min(size) < 16 or max(size) > 4096:
        raise UsageError("--size: give 16 to 4096 pixels each way")
    if output.suffix.lower() != ".png":
        raise UsageError(f"--output {output}: the picture is a PNG file, so end the name in .png")
    with LogReader(Path(name)) as reader:
        row = reader.episode(int(number))
        try:
            if event is None:
                drawn = picture_after_step(reader, row, step, size)
            else:
                events = reader.harm(row.id)
                if event >= len(events):
                    raise UsageError(f"--event {event}: the episode has {_events(len(events))}")
                drawn = picture_at(reader, row, events[event].t_start, size)
        except PictureError as error:
            raise UsageError(str(error)) from None
    try:
        output.write_bytes(drawn)
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from None


def _events(count: int) -> str:
    if count == 0:
        return "no harm event"
    return "1 harm event, number 0" if count == 1 else f"{count} harm events, 0 to {count - 1}"
