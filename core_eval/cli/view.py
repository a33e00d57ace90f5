"""`pathrig view`: the logs and pages of a folder on one local page."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import UsageError
from core_eval.cli.page_address import page_address


def view(
    folder: Annotated[Path, typer.Argument(help="The folder with logs, reports and boards.")] = Path(),
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the page is served; by default this machine only.")
    ] = "127.0.0.1:0",
) -> None:
    """Serve a page of all logs below a folder until Ctrl-C: outcome, report and comparison of each."""
    try:
        from core_eval.live.folder_view import FolderView
        from core_eval.live.serving import Authorizer, serve_page
    except ImportError as error:
        raise UsageError(f"view needs {error.name}: pip install 'pathrig[live]'") from None
    address = page_address(listen, "--listen")
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    authorizer = Authorizer(address)
    try:
        with serve_page(address, FolderView(folder.resolve(), authorizer), authorizer) as url:
            print(f"pathrig: the page is {url}", file=sys.stderr, flush=True)
            signal.pause()
    except OSError as error:
        raise UsageError(f"--listen {listen}: {error.strerror or error}") from None
