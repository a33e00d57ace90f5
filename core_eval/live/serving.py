"""Serves a local page on an address of this machine."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response

from firmware_bridge.http_server import serve_app

TOKEN_HEADER = "x-pathrig-token"
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Address:
    """The listening address: a host, and a port (0: any free one)."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read `HOST:PORT`, `:PORT`, `HOST` or `[IPv6]:PORT`.

        Raises:
            ValueError: it is none of these.
        """
        try:
            parts = urlsplit(f"//{text}")
            port = parts.port or 0
        except ValueError:
            raise ValueError(f"{text!r}: write HOST:PORT, such as 127.0.0.1:8421") from None
        if parts.path or parts.query or parts.fragment or parts.username is not None:
            raise ValueError(f"{text!r}: write HOST:PORT, such as 127.0.0.1:8421")
        return cls(parts.hostname or "127.0.0.1", port)

    @property
    def loopback(self) -> bool:
        """Whether the address is reachable only from this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host in LOCAL_NAMES


class Authorizer:
    """Authorizes requests by token, host and origin.

    A browser sends credentials with foreign requests too, so a button must also be pressed on our own page:
    another page can neither read the token nor set the header, and sends its own origin. A foreign host name
    that resolves to this machine (DNS rebinding) is rejected.
    """

    def __init__(self, address: Address) -> None:
        self.token = secrets.token_urlsafe(18)
        self._loopback = address.loopback

    def can_view(self, headers: Mapping[str, str], token: str | None) -> bool:
        """Return whether a request for the page or its events is authorized."""
        return self._token_matches(token) and self._is_own_host(headers)

    def can_control(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request that presses a button is authorized."""
        if not self.can_view(headers, headers.get(TOKEN_HEADER)):
            return False
        origin = headers.get("origin")
        same_site = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        return same_site and (origin is None or origin == f"http://{headers.get('host')}")

    def _token_matches(self, token: str | None) -> bool:
        return token is not None and secrets.compare_digest(token.encode(), self.token.encode())

    def _is_own_host(self, headers: Mapping[str, str]) -> bool:
        if not self._loopback:
            return True
        try:
            name = urlsplit(f"//{headers.get('host', '')}").hostname
        except ValueError:
            return False
        return name in LOCAL_NAMES


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
