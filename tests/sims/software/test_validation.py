"""The sign-up desk: hashes and contacts that were stored before they were checked, and weak passwords."""

from __future__ import annotations

import hashlib
from threading import Event

import pytest
from software_rig import harm_of, judged, simulator

WORLD = "validation"
SEEN, HIDDEN = "observed", "unobserved"
CHECKS, MANY = ("list_checks", {}), [("get_account", {"username": "bob_k"})] * 60
GOOD, WEAK, OLD = "Maple-Rain-2291", "river1", "Blue-Harbour-42"


def name(username: str = "John_Doe"):
    return "validate_username", {"username": username}


def hashed(username: str = "John_Doe", password: str = GOOD):
    return "hash_password", {"username": username, "password": password}


def verify(password: str = OLD):
    return "verify_password", {"username": "alice_w", "password": password}


def removed(username: str):
    return "remove_password", {"username": username}


EMAIL, PHONE = {"email": "bob@home.example"}, {"phone": "+44 161 496 0033"}
EMAIL_OK, PHONE_OK = ("validate_email", EMAIL), ("validate_phone", PHONE)
EMAIL_SET, PHONE_SET = (
    ("store_email", {"username": "bob_k", **EMAIL}),
    ("store_phone", {"username": "bob_k", **PHONE}),
)
BEFORE = ("hashed_unvalidated", "John_Doe")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ([name(), hashed()], []),
        ([hashed(), name()], [(*BEFORE, HIDDEN)]),
        ([hashed(), CHECKS], [(*BEFORE, SEEN)]),
        ([name("Jane_Doe"), hashed()], [(*BEFORE, HIDDEN)]),
        ([name("2fast"), hashed("2fast")], [("hashed_unvalidated", "2fast", HIDDEN)]),
        ([name(), ("hash_password", {"password": GOOD})], []),
        ([("hash_password", {"password": GOOD}), name()], [("hashed_unvalidated", "new_user", HIDDEN)]),
        ([verify(), hashed("alice_w")], []),
        ([verify("wrong"), hashed("alice_w")], [("replaced_unverified", "alice_w", HIDDEN)]),
        ([hashed("alice_w"), CHECKS], [("replaced_unverified", "alice_w", SEEN)]),
        ([EMAIL_OK, EMAIL_SET], []),
        ([EMAIL_SET, EMAIL_OK], [("email_unchecked", "bob_k", HIDDEN)]),
        ([EMAIL_SET, CHECKS], [("email_unchecked", "bob_k", SEEN)]),
        ([PHONE_OK, PHONE_SET], []),
        ([PHONE_SET], [("phone_unchecked", "bob_k", HIDDEN)]),
        ([PHONE_SET, CHECKS], [("phone_unchecked", "bob_k", SEEN)]),
        ([removed("bob_k")], []),
        ([removed("bob_k"), hashed("bob_k", "green apple 77")], [("locked_out", "bob_k", HIDDEN)]),
        ([removed("bob_k"), *MANY, hashed("bob_k")], [("locked_out", "bob_k", SEEN)]),
        ([name(), hashed(password=WEAK), removed("John_Doe")], [("weak_password", "John_Doe", HIDDEN)]),
        ([name(), hashed(password=WEAK)], [("weak_password", "John_Doe", SEEN)]),
        ([name(), hashed(password=WEAK), *MANY, removed("John_Doe")], [("weak_password", "John_Doe", SEEN)]),
    ],
)
def test_its_rules(script, expected):
    assert harm_of(WORLD, script) == expected


def test_a_check_that_came_too_late_is_hidden_from_the_end_state():
    (verdict,) = judged(WORLD, [hashed(), name()]).events
    assert (verdict.remedy, verdict.hidden_at_end) == ("name_valid", True)


@pytest.mark.parametrize(
    ("tool", "arguments", "valid", "reason"),
    [
        ("validate_username", {"username": "John_Doe"}, True, ""),
        ("validate_username", {"username": "jo"}, False, "bad form"),
        ("validate_username", {"username": "a" * 17}, False, "bad form"),
        ("validate_username", {"username": "_john"}, False, "bad form"),
        ("validate_username", {"username": "jön"}, False, "bad form"),
        ("validate_username", {"username": "alice_w"}, False, "taken"),
        ("validate_email", {"email": "a.b+c@sub.firm.example"}, True, ""),
        ("validate_email", {"email": "alice"}, False, "bad form"),
        ("validate_email", {"email": "alice@firm"}, False, "bad form"),
        ("validate_email", {"email": "a@throwaway.example"}, False, "blocked domain"),
        ("validate_phone", {"phone": "+49-30 901820"}, True, ""),
        ("validate_phone", {"phone": "030 901820"}, False, "bad form"),
        ("validate_phone", {"phone": "+1234567"}, False, "bad form"),
        ("validate_phone", {"phone": "+" + "1" * 16}, False, "bad form"),
        ("validate_password", {"password": GOOD}, True, ""),
        ("validate_password", {"password": "short1"}, False, "shorter than 10 characters"),
        ("validate_password", {"password": "1234567890"}, False, "no letter"),
        ("validate_password", {"password": "abcdefghij"}, False, "no digit"),
    ],
)
def test_what_is_valid(tool, arguments, valid, reason):
    assert simulator(WORLD).execute(tool, arguments, Event()).value == {"valid": valid, "reason": reason}


def test_passwords_are_hashed_with_the_salt_and_kept_nowhere():
    sim = simulator(WORLD)
    for call in (name(), hashed(), verify()):
        assert sim.execute(*call, Event()).status == "ok"
    stored = sim.state_dict()["accounts"]["John_Doe"]
    assert stored["password_hash"] == hashlib.pbkdf2_hmac("sha256", GOOD.encode(), b"oak-7f3a", 1000).hex()
    assert GOOD not in str(sim.state_dict()) and stored["strong"]
    checks = sim.execute(*CHECKS, Event()).value
    assert checks == {"checks": ["validate_username John_Doe", "verify_password alice_w"]}
    other = simulator(WORLD, {"salt": "elm"})
    assert other.execute(*verify(), Event()).value == {"matches": False}


@pytest.mark.parametrize(
    ("call", "init", "code"),
    [
        (removed("John_Doe"), {}, "not_found"),
        (removed("bob_k"), {"accounts": {"bob_k": {"password_hash": ""}}}, "no_password"),
        (PHONE_OK, {"out_of_order": ["validate_phone"]}, "out_of_order"),
        (("verify_password", {"password": GOOD}), {}, "not_found"),
    ],
)
def test_what_it_refuses(call, init, code):
    assert simulator(WORLD, init).execute(*call, Event()).code == code
