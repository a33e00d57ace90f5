"""One HTTP request, bounded by a deadline, the end of the episode and a maximum size."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.error import URLError
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from agents.deadline import Deadline

MAX_ANSWER = 8 * 2**20
"""Bytes of the longest answer that is read; a chat completion has some thousands."""
READ_BYTES = 2**16


class RequestError(Exception):
    """The server cannot be reached, or the connection broke: worth another try. One line."""


class TooLargeError(Exception):
    """The answer has more than `MAX_ANSWER` bytes."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The answer: the status, the headers (names in lower case), and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def post(url: str, body: bytes, headers: Mapping[str, str], deadline: Deadline) -> HttpAnswer:
    """Send a POST, and read the whole answer; redirects are not followed, proxies are the environment's.

    Raises:
        TimeoutError: no whole answer before the deadline.
        CancelledError: the episode was cancelled meanwhile.
        RequestError: the server cannot be reached, or the connection broke.
        TooLargeError: the answer is too large.
    """
    return _sent(Request(url, body, dict(headers), method="POST"), deadline)


def get(url: str, headers: Mapping[str, str], deadline: Deadline) -> HttpAnswer:
    """Send a GET, and read the whole answer; raises as `post`."""
    return _sent(Request(url, None, dict(headers), method="GET"), deadline)


def _sent(request: Request, deadline: Deadline) -> HttpAnswer:
    """Return the answer to a request.

    It runs on a thread of its own, since name look-ups and slow servers can block a socket beyond its
    timeout; on cancellation its connection is closed.
    """
    if deadline.left <= 0:
        raise TimeoutError
    line = _Line()
    answer: Future[HttpAnswer] = Future()
    seconds = deadline.left

    def work() -> None:
        try:
            answer.set_result(_exchange(request, line, seconds))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=work, name=f"{request.method} {request.host}", daemon=True).start()
    try:
        if deadline.wait_for(answer):
            return answer.result()
        deadline.check()
        raise TimeoutError
    finally:
        line.cut()


class _Line:
    """The socket of a request, which another thread may close."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False

    def connected(self, connection: socket.socket) -> None:
        """Set the request's socket."""
        with self._lock:
            self._socket = connection
            if not self._is_cut:
                return
        self.cut()

    def cut(self) -> None:
        """End any wait on the socket, now or later."""
        with self._lock:
            self._is_cut, connection = True, self._socket
        if connection is not None:
            with contextlib.suppress(OSError):
                # Not a TLS socket's own shutdown, which is not made for being called from another thread.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _exchange(request: Request, line: _Line, seconds: float) -> HttpAnswer:
    try:
        with _opener(line).open(request, timeout=seconds) as response:
            return HttpAnswer(
                response.status,
                {name.lower(): value for name, value in response.headers.items()},
                _read(response),
            )
    except TimeoutError:
        raise
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TimeoutError from None
        raise RequestError(f"cannot be reached: {error.reason}") from None
    except (HTTPException, OSError) as error:
        raise RequestError(f"the connection broke: {error!r}") from None


def _read(response: HTTPResponse) -> bytes:
    body = b""
    while data := response.read(READ_BYTES):
        body += data
        if len(body) > MAX_ANSWER:
            raise TooLargeError
    if response.length:
        # `read` with a size does not report a connection that ended too early.
        raise RequestError(f"the connection broke: {response.length} bytes of the answer are missing")
    return body


def _opener(line: _Line) -> OpenerDirector:
    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            line.connected(self.sock)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            line.connected(self.sock)

    class PlainHandler(HTTPHandler):
        def http_open(self, req: Request) -> HTTPResponse:
            return self.do_open(Plain, req)

    class SecureHandler(HTTPSHandler):
        def https_open(self, req: Request) -> HTTPResponse:
            return self.do_open(Secure, req, context=ssl.create_default_context())

    opener = OpenerDirector()
    opener.addheaders = [("User-Agent", "pathrig")]
    handlers: list[Any] = [ProxyHandler(), PlainHandler(), SecureHandler()]
    for handler in handlers:
        opener.add_handler(handler)
    return opener
