"""A server of an OpenAI-compatible API: requests with its key, retried after temporary errors."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from string import Template
from typing import Any

from agents.agent import AgentSpecError, BackendError
from agents.backends.http_request import MAX_ANSWER, HttpAnswer, RequestError, TooLargeError, get, post
from agents.backends.server_address import KEY_VARIABLE, URL_VARIABLE, key_for, parts_of
from agents.deadline import Deadline
from core_eval.text.foreign_json import MAX_DIGITS, ForeignJsonError, parse_json

RETRIES = 3
"""How often a request is sent again after a broken connection, or an answer that says so (429, 5xx)."""
BACK_OFF_SECONDS = 0.5
"""Before the first retry; then doubled, unless the server says how long."""
LOADING_SECONDS = 2.0
"""Longest pause while a server loads its model, which may take minutes."""
LONG_NUMBER, BEYOND = re.compile(rb"\d{%d,}" % (MAX_DIGITS + 1)), b"1e999"
"""A number too long for Python is beyond all floats too; the call with it is invalid, and the run goes on."""

NOT_TAKEN = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|not permitted|extra_forbidden",
    re.IGNORECASE,
)


class TooLongError(Exception):
    """The server refuses a conversation, or a number of tokens, beyond its context."""


class RefusedFieldError(BackendError):
    """The server does not know a field of the request, or does not take it with this model."""

    def __init__(self, text: str, field: str) -> None:
        super().__init__(text)
        self.field = field


class ChatServer:
    """The server at a base URL."""

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        key_variable: str | None = None,
        headers: Sequence[str] = (),
    ) -> None:
        """Store the server's address and key; nothing is sent yet.

        Args:
            base_url: its URL, with the path of the API.
            key: its key, for a server that the kit started.
            key_variable: the environment variable of its key, instead of the usual one.
            headers: more headers, `NAME: VALUE`; a $VARIABLE in a value is the environment's.

        Raises:
            AgentSpecError: the base URL is none or holds credentials, or a variable is not set.
        """
        parts = parts_of(base_url)
        self.url = base_url.rstrip("/")
        self.root = self.url.removesuffix("/v1")
        self._variable = key_variable or KEY_VARIABLE
        key = key or key_for(parts, key_variable)
        self._has_key = key is not None
        self._headers = {"Content-Type": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._secrets = [key] if key else []
        for header in headers:
            name, _, value = header.partition(":")
            expanded = _expanded(name, value.strip())
            if expanded != value.strip():
                self._secrets += [expanded, *(os.environ[one] for one in Template(value).get_identifiers())]
            self._headers[name] = expanded

    def post(self, path: str, body: Mapping[str, Any], deadline: Deadline) -> Any:
        """Return the JSON value of an answer; temporary errors are retried as long as the time allows.

        Raises:
            TimeoutError, CancelledError
            BackendError: the server cannot be reached, refuses, or answers with something else.
            RefusedFieldError: it refuses a field of the body.
            TooLongError: it says that the conversation is longer than the model's context.
        """
        data = json.dumps(body).encode()
        pause, tries_left = BACK_OFF_SECONDS, RETRIES
        while True:
            asked_for = None
            loading = False
            try:
                answer = post(self.url + path, data, self._headers, deadline)
            except TooLargeError:
                raise self.error(f"the answer has more than {MAX_ANSWER} bytes") from None
            except RequestError as error:
                trouble = str(error)
            else:
                if 200 <= answer.status < 300:
                    return self._value(answer)
                trouble = self._refusal(answer)
                if answer.status in (400, 422) and (field := _refused_field(answer.body, body)):
                    raise RefusedFieldError(str(self.error(trouble)), field)
                if answer.status != 429 and answer.status < 500:
                    raise self.error(trouble)
                asked_for = _retry_after(answer.headers.get("retry-after"))
                loading = answer.status == 503 and b"loading" in answer.body.lower()
            wait = min(pause, LOADING_SECONDS) if loading else pause
            wait = wait if asked_for is None else asked_for
            if (not tries_left and not loading) or wait >= deadline.left:
                raise self.error(trouble)
            deadline.wait(wait)
            tries_left -= not loading
            pause *= 2

    def get(self, url: str, deadline: Deadline) -> Any:
        """Return the JSON value at a URL of this server; None where it has none.

        Raises:
            CancelledError: the episode was cancelled meanwhile.
        """
        try:
            answer = get(url, self._headers, deadline)
            return parse_json(answer.body, strict_numbers=False) if answer.status == 200 else None
        except (TimeoutError, RequestError, TooLargeError, ForeignJsonError):
            return None

    def error(self, text: str) -> BackendError:
        """Return an error of this server, in one line without its secrets, which servers may repeat."""
        return BackendError(f"{self.url}: {self.without_secrets(' '.join(text.split()))}")

    def without_secrets(self, text: str) -> str:
        """Return a text without the key and the values of headers that are the environment's."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _refusal(self, answer: HttpAnswer) -> str:
        # Before it is shortened, which may cut a key in two.
        text = self.without_secrets(answer.body.decode(errors="replace"))
        if answer.status in (400, 413) and "context" in text.lower():
            raise TooLongError(text)
        if 300 <= answer.status < 400:
            return f"status {answer.status}: it is at {short(answer.headers.get('location', ''))}; name that"
        hint = ""
        if answer.status in (401, 403):
            hint = f"; set {self._variable}"
            if not self._has_key and os.environ.get(KEY_VARIABLE):
                hint = (
                    f"; give api_key_env=VARIABLE, or set {URL_VARIABLE} to this base URL, "
                    f"so that it may have {KEY_VARIABLE}"
                )
        return f"status {answer.status}: {short(text)}{hint}"

    def _value(self, answer: HttpAnswer) -> Any:
        try:
            value = parse_json(answer.body, strict_numbers=False)
        except ForeignJsonError:
            try:
                value = parse_json(LONG_NUMBER.sub(BEYOND, answer.body), strict_numbers=False)
            except ForeignJsonError as error:
                raise self.error(f"the answer is not JSON ({error})") from None
        # Escapes can hold half a character, which neither a log nor a request can.
        return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def _refused_field(refusal: bytes, body: Mapping[str, Any]) -> str | None:
    """Return the field of a request that a refusal names as one that is not taken."""
    text = refusal.decode(errors="replace")
    if not NOT_TAKEN.search(text):
        return None
    try:
        error = parse_json(refusal, strict_numbers=False).get("error")
    except (ForeignJsonError, AttributeError):
        error = None
    named = error.get("param") if isinstance(error, dict) else None
    if isinstance(named, str):
        return named if named in body else None
    return next((field for field in body if re.search(rf"""(?:['"`]|: ?){field}\b""", text)), None)


def short(text: str) -> str:
    """Return a text in one line of at most 200 characters and an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:200] + "..."


def _expanded(name: str, value: str) -> str:
    try:
        return Template(value).substitute(os.environ)
    except KeyError as missing:
        raise AgentSpecError(
            f"option header={name}: the environment has no variable {missing.args[0]}"
        ) from None
    except ValueError:
        raise AgentSpecError(f"option header={name}: write $VARIABLE, and $$ for a dollar sign") from None


def _retry_after(text: str | None) -> float | None:
    """Return the delay that the server asks for, s; None if it gives neither a number nor a date."""
    try:
        seconds = float(text or "")
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text or "").timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
