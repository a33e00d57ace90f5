"""Who is let in to the live page, and whose buttons count."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from core_eval.live.serving import Address, Authorizer


@pytest.mark.parametrize(
    ("text", "host", "port", "loopback"),
    [
        ("127.0.0.1:8421", "127.0.0.1", 8421, True),
        (":8421", "127.0.0.1", 8421, True),
        ("localhost", "localhost", 0, True),
        ("[::1]:9", "::1", 9, True),
        ("0.0.0.0:8421", "0.0.0.0", 8421, False),
        ("rover.local:80", "rover.local", 80, False),
    ],
)
def test_addresses(text: str, host: str, port: int, loopback: bool) -> None:
    address = Address.parse(text)
    assert (address.host, address.port, address.loopback) == (host, port, loopback)


@pytest.mark.parametrize("text", ["h:port", "h:99999", "http://h:1/x", "h:1/x", "me@h:1", "[::1"])
def test_what_is_no_address_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="write HOST:PORT"):
        Address.parse(text)


HOME = {"host": "127.0.0.1:8421"}


def test_the_door_opens_to_who_knows_the_token_at_home() -> None:
    authorizer = Authorizer(Address("127.0.0.1", 8421))
    assert authorizer.can_view(HOME, authorizer.token)
    assert (
        not authorizer.can_view(HOME, None)
        and not authorizer.can_view(HOME, "")
        and not authorizer.can_view(HOME, "ü")
    )
    assert not authorizer.can_view({"host": "evil.example:8421"}, authorizer.token)
    assert not authorizer.can_view({"host": "[::1"}, authorizer.token) and not authorizer.can_view(
        {}, authorizer.token
    )
    assert Authorizer(Address("0.0.0.0", 8421)).token != authorizer.token


@pytest.mark.parametrize(
    ("more", "pressed"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:8421", "sec-fetch-site": "same-origin"}, True),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "http://127.0.0.1:9999"}, False),
        ({"origin": "https://127.0.0.1:8421"}, False),
        ({"origin": "null"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"host": "evil.example:8421", "origin": "http://evil.example:8421"}, False),
        ({"x-pathrig-token": "wrong"}, False),
    ],
)
def test_only_our_own_page_presses_buttons(more: Mapping[str, str], pressed: bool) -> None:
    authorizer = Authorizer(Address("127.0.0.1", 8421))
    assert authorizer.can_control({**HOME, "x-pathrig-token": authorizer.token, **more}) is pressed


def test_a_button_without_the_header_is_not_pressed() -> None:
    assert not Authorizer(Address("127.0.0.1", 8421)).can_control(HOME)
