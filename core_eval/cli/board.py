"""`pathrig board`: results of many people, each checked from its log, as one static page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core_eval.bench.bundle import BundleError
from core_eval.bench.bundle_check import check_bundle
from core_eval.cli.output import Json, UsageError, check_output, print_json, write_file
from core_eval.cli.progress import tracked
from core_eval.report.page.board import board_page
from core_eval.score.cards import Checked
from core_eval.text.visible_text import visible

app = typer.Typer(help="Make a page of benches of many people.", no_args_is_help=True)
ALL, REFUSED = 0, 1
"""Exit statuses."""
AGAIN = 3


@app.callback()
def board() -> None:
    """Make a page of benches of many people."""


@app.command()
def build(
    folder: Annotated[Path, typer.Argument(help="The folder with the bundles, *.zip.", metavar="DIR")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("board.html"),
    again: Annotated[
        int, typer.Option(min=0, help="Episodes of each bundle that are run again, where they can be.")
    ] = AGAIN,
    json: Json = False,
) -> int:
    """Score every bundle anew from its log, and make a page of those that agree. Exit with 1 if one does not.

    What was not run again is called consistent, not proven.
    """
    check_output(out, "-o")
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    files = sorted(folder.rglob("*.zip"))
    good: list[Checked] = []
    refused: dict[str, str] = {}
    for file in tracked("checking", files, len(files)):
        try:
            good.append(check_bundle(file, again))
        except BundleError as error:
            refused[file.name] = str(error)
            print(f"pathrig: REFUSED {visible(str(error))}", file=sys.stderr)
    write_file(out, "-o", board_page(good, refused))
    print(f"pathrig: {out} holds {len(good)} of {len(files)} bundles", file=sys.stderr)
    if json:
        print_json(
            {
                "bundles": [
                    {
                        "file": one.name,
                        "exam": one.exam.model_dump(),
                        "sentence": one.result.sentence,
                        "standing": one.standing,
                        "notes": list(one.notes),
                        "cards": [card.as_json() for card in one.result.cards],
                        "effects": [effect.as_json() for effect in one.effects],
                    }
                    for one in good
                ],
                "refused": refused,
            }
        )
    return REFUSED if refused else ALL
