"""Serves a local page on an address of this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response

from core_eval.live.access import Address, Authorizer
from firmware_bridge.http_server import serve_app

SAFE_HEADERS = {
    "Cache-Control": "no-store",
    # The address contains the token.
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # Framing is denied, since it allows clickjacking.
    "X-Frame-Options": "DENY",
}


class HasApp(Protocol):
    """Pages that can be served."""

    @property
    def app(self) -> Starlette:
        """The application."""


@contextmanager
def serve_page(address: Address, page: HasApp, authorizer: Authorizer) -> Iterator[str]:
    """Serve the page; yield its address with the token.

    Raises:
        OSError: nothing can listen at that address.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with (
        socket.create_server((address.host, address.port), family=family) as listening,
        serve_app(page.app, listening, "live page: server"),
    ):
        yield f"http://{_shown_host(address)}:{listening.getsockname()[1]}/?token={authorizer.token}"


def _shown_host(address: Address) -> str:
    host = socket.gethostname() if address.host in ("0.0.0.0", "::") else address.host
    return f"[{host}]" if ":" in host else host


def origin_of(url: str) -> str:
    """Return the scheme, host and port of an address, as a page's policy names them."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def no_entry() -> Response:
    """Return the answer to a request without the token."""
    text = {"error": "open the page by the address that pathrig printed"}
    return JSONResponse(text, 403, headers=SAFE_HEADERS)
