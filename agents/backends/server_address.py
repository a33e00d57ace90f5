"""Base URLs of servers, and which of them may have which key."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import SplitResult, urlsplit

from agents.agent import AgentSpecError

KEY_VARIABLE, URL_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
OPENAI_URL = "https://api.openai.com/v1"


def parts_of(base_url: str) -> SplitResult:
    """Return the parts of a base URL.

    Raises:
        AgentSpecError: the base URL is none, or holds credentials, which every log would show.
    """
    try:
        parts = urlsplit(base_url)
        bad = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        bad = True
    if bad or parts.query:
        raise AgentSpecError(
            f"{without_credentials(base_url)!r} is no base URL; write openai:BASE_URL#MODEL, as in "
            "openai:http://localhost:8080/v1#qwen3"
        )
    if parts.username is not None:
        raise AgentSpecError(
            f"{without_credentials(base_url)!r} holds credentials, which the log and the list of processes "
            f"would show; put the key into {KEY_VARIABLE}, or name another variable in the option api_key_env"
        )
    return parts


def without_credentials(url: str) -> str:
    """Return a URL, valid or not, without the part before an @."""
    head, at, tail = url.rpartition("@")
    return f"{head.partition('//')[0]}//***@{tail}" if at else url


def key_for(parts: SplitResult, variable: str | None = None) -> str | None:
    """Return the key of a server; None if it has none.

    Args:
        parts: its base URL.
        variable: the environment variable of its own key. Without one it is OPENAI_API_KEY, for this machine,
            OpenAI, and the server that OPENAI_BASE_URL names; for no other.

    Raises:
        AgentSpecError: that variable is not set.
    """
    if variable is None:
        return os.environ.get(KEY_VARIABLE) if _may_have_key(parts) else None
    if not (key := os.environ.get(variable)):
        raise AgentSpecError(f"option api_key_env={variable}: the environment has no such variable")
    return key


def _may_have_key(parts: SplitResult) -> bool:
    assert parts.hostname is not None
    try:
        loopback = ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        loopback = parts.hostname == "localhost"
    named = (OPENAI_URL, os.environ.get(URL_VARIABLE, ""))
    return loopback or any((parts.scheme, parts.netloc) == urlsplit(url)[:2] for url in named)
