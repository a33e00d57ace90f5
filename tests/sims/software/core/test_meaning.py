"""What the paper's tools mean: what they answer, change and refuse."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from software_rig import CORE_WORLDS, simulator

from core_eval.harm.golden import public

OK = "ok"


def play(world: str, *calls: tuple[Any, ...], init: dict[str, Any] | None = None) -> tuple[list[Any], Any]:
    """Each call's result, or its code where it was refused; and the public end state."""
    sim = simulator(f"core:{world}", init)
    answers = []
    for tool, *values in calls:
        names = sim.device_type.by_name[tool].arguments.model_fields
        before, outcome = sim.state_dict(), sim.execute(tool, dict(zip(names, values, strict=False)), Event())
        if outcome.status != OK:
            assert (outcome.status, sim.state_dict()) == ("rejected", before) and outcome.message
        answers.append(outcome.value["result"] if outcome.value else outcome.code)
    return answers, public(sim.state_dict())


def test_automation() -> None:
    start = {"lights_on": False, "thermostat": 22.0, "door_locked": True, "alarm_on": False}
    assert play("automation", ("print_system_status",)) == ([start], start)
    assert play("automation", ("turn_off_lights",), ("lock_door",)) == ([None, None], start), "no change"
    calls = [("turn_on_lights",), ("set_thermostat", 18), ("unlock_door",), ("activate_alarm",)]
    assert play("automation", *calls)[1] == {
        "lights_on": True, "thermostat": 18.0, "door_locked": False, "alarm_on": True,
    }  # fmt: skip
    assert play("automation", ("activate_alarm",), ("deactivate_alarm",))[1] == start


def message(sender: str, recipient: str, content: str, priority: str, timestamp: str) -> dict[str, str]:
    given = {"sender": sender, "recipient": recipient, "content": content}
    return given | {"priority": priority, "timestamp": timestamp}


def test_communication() -> None:
    sent = message("Ann", "Bob", "Hi", "high", "2025-01-01T09:00:00")
    later = message("Ann", "Bob", "Tea?", "normal", "2025-02-01T10:00:00")
    copied = later | {"sender": "Bob", "recipient": "Cy"}
    calls = [
        ("send_message", "Ann", "Bob", "Hi", "high"),
        ("schedule_message", "Ann", "Bob", "Tea?", "2025-02-01T10:00:00"),
        ("print_messages", "Bob", "high"),
        ("print_messages", "Ann", "high"),
        ("forward_message", "Ann", "Cy", "2025-02-01T10:00:00", "Bob"),
        ("forward_message", "Ann", "Cy", "2025-02-01T11:00:00", "Bob"),
        ("delete_message", "Ann", "Bob"),
        ("delete_message", "Ann", "Bob"),
    ]
    answers, end = play("communication", *calls)
    assert answers == [None, None, [sent], [], None, "not_found", 2, 0]
    assert end["messages"] == [copied]
    given = ("send_message", "Ann", "Bob", "Hi", "low", "2024-12-24T18:00:00")
    assert play("communication", given)[1]["messages"][0]["timestamp"] == "2024-12-24T18:00:00"


def test_computations() -> None:
    calls = [
        ("add_numbers", 2, 3), ("subtract_numbers", 2, 3), ("multiply_numbers", 2, 3),
        ("divide_numbers", 3, 2),
        ("divide_numbers", 3, 0), ("power", 2, 10), ("power", -8, 0.5), ("power", 10, 400),
        ("multiply_numbers", 1e200, 1e200), ("calculate_average", [1, 2, 6]), ("calculate_average", []),
    ]  # fmt: skip
    answers, end = play("computations", *calls)
    assert answers == [5, -1, 6, 1.5, None, 1024, None, None, None, 3, 0]
    assert [one["result"] for one in end["computed"]] == answers
    assert end["computed"][0] == {"operation": "add", "numbers": [2, 3], "result": 5}


def test_configurations() -> None:
    setting = {"value": "dark", "category": "general", "timestamp": "2025-01-01T09:00:00"}
    changed = {"value": 3, "category": "ui", "timestamp": "2025-02-02T00:00:00"}
    calls = [
        ("set_config", "theme", "dark"),
        ("print_config", "theme"),
        ("update_config", "theme", 3, "ui", "2025-02-02T00:00:00"),
        ("print_config", "theme"),
        ("update_config", "colour", 3),
        ("delete_config", "colour"),
        ("print_config", "colour"),
    ]
    answers, end = play("configurations", *calls)
    assert answers == [None, setting, None, changed, "not_found", "not_found", None]
    assert end["settings"] == {"theme": changed}
    assert play("configurations", calls[0], ("delete_config", "theme"))[1]["settings"] == {}
    kept = play("configurations", ("set_config", "a", 1, "ui"), ("update_config", "a", 2))[1]["settings"]["a"]
    assert (kept["value"], kept["category"]) == (2, "ui")


def test_crud() -> None:
    calls = [
        ("add_user", "Ann", 30),
        ("add_user", "Ann", 31),
        ("update_user_email", "Ann_id", "ann@example.org"),
        ("update_user_email", "Bob_id", "bob@example.org"),
        ("verify_user_field", "Ann_id", "age", "30"),
        ("verify_user_field", "Ann_id", "age", 31),
        ("verify_user_field", "Ann_id", "age", "old"),
        ("verify_user_field", "Ann_id", "email", "ann@example.org"),
        ("verify_user_field", "Ann_id", "phone", "1"),
        ("verify_user_field", "Bob_id", "age", 30),
        ("delete_user", "Bob_id"),
        ("list_users",),
        ("generate_timestamp",),
    ]
    ann = {"Ann_id": {"name": "Ann", "age": 30, "email": "ann@example.org"}}
    answers, end = play("crud", *calls)
    assert answers == [
        "Ann_id", "exists", None, "not_found", True, False, False, True, False, False, "not_found", ann,
        "2025-01-01T09:00:02",
    ]  # fmt: skip
    assert end["users"] == ann
    assert play("crud", calls[0], ("delete_user", "Ann_id"))[1]["users"] == {}


def test_desktop_manager() -> None:
    calls = [
        ("open_application", "Mail"),
        ("open_application", "Mail"),
        ("perform_action", "Mail", "send"),
        ("perform_action", "Maps", "zoom"),
        ("close_application", "Maps"),
        ("print_open_applications",),
        ("close_application", "Mail"),
        ("print_open_applications",),
        ("print_application_history",),
        ("print_application_actions", "Mail"),
        ("print_application_actions", "Maps"),
    ]
    answers, end = play("desktop_manager", *calls)
    assert answers == [None, None, None, "not_open", "not_open", ["Mail"], None, [], ["Mail"], ["send"], []]
    assert end == {"open_applications": [], "history": ["Mail"], "actions": {"Mail": ["send"]}}


def test_events_scheduler() -> None:
    calls = [
        ("schedule_event", "Lunch", "2025-01-01T12:00:00"),
        ("time_until_event", "Lunch"),
        ("schedule_recurring_event", "Break", 30),
        ("reschedule_event", "Lunch", "2025-01-01T13:00:00+01:00"),
        ("reschedule_event", "Tea", "2025-01-01T13:00:00"),
        ("schedule_event", "Tea", "at five"),
        ("cancel_event", "Tea"),
        ("get_event_time", "Break"),
        ("get_event_time", "Tea"),
        ("time_until_event", "Tea"),
        ("list_events",),
    ]
    events = {"Lunch": "2025-01-01T13:00:00+01:00", "Break": "2025-01-01T09:30:01"}
    answers, end = play("events_scheduler", *calls)
    assert answers[1] == pytest.approx(180 - 1 / 60)
    assert answers[4:] == [
        "not_found", "bad_time", "not_found", "2025-01-01T09:30:01", None, None, events,
    ]  # fmt: skip
    assert end["events"] == events
    assert play("events_scheduler", calls[0], ("cancel_event", "Lunch"))[1]["events"] == {}


def test_file_management() -> None:
    calls = [
        ("list_files",),
        ("create_file", "a.txt"),
        ("create_file", "a.txt"),
        ("append_to_file", "a.txt", "one two\n"),
        ("append_to_file", "a.txt", "three"),
        ("read_file", "a.txt"),
        ("get_file_size", "a.txt"),
        ("count_words", "a.txt"),
        ("search_in_file", "a.txt", "two"),
        ("copy_file", "a.txt", "notes.txt"),
        ("rename_file", "a.txt", "notes.txt"),
        ("rename_file", "a.txt", "b.txt"),
        ("move_file", "b.txt", "old/b.txt"),
        ("clear_file", "old/b.txt"),
        ("delete_file", "meeting_notes.txt"),
        ("file_exists", "meeting_notes.txt"),
    ]
    answers, end = play("file_management", *calls)
    assert answers == [
        ["notes.txt", "meeting_notes.txt"], None, "exists", None, None, "one two\nthree", 13, 3, ["one two"],
        None, "exists", None, None, None, None, False,
    ]  # fmt: skip
    assert end == {"files": {"notes.txt": "one two\nthree", "old/b.txt": ""}}
    refused = [
        ("write_file", "x", "y"), ("append_to_file", "x", "y"), ("clear_file", "x"), ("delete_file", "x"),
        ("copy_file", "x", "y"), ("move_file", "x", "y"), ("rename_file", "x", "y"),
    ]  # fmt: skip
    assert set(play("file_management", *refused)[0]) == {"not_found"}
    reads = [("read_file", "x"), ("get_file_size", "x"), ("count_words", "x"), ("search_in_file", "x", "y")]
    assert play("file_management", *reads)[0] == [None, 0, 0, []]
    written = play("file_management", ("write_file", "notes.txt", "new"), ("file_exists", "notes.txt"))
    assert written[0] == [None, True] and written[1]["files"]["notes.txt"] == "new"


def test_legal_compliance() -> None:
    documents = play("legal_compliance")[1]
    assert set(documents["documents"]) == {"privacy_policy", "terms_of_service", "gdpr_compliance"}
    calls = [
        ("check_compliance", "privacy_policy", "we collect no data without consent"),
        ("check_compliance", "privacy_policy", "we sell it"),
        ("check_compliance", "no_policy", "we sell it"),
        ("flag_violation", "sold"),
        ("approve_policy", "No sale."),
        ("request_consent", 7, "sale"),
        ("enforce_compliance", "privacy_policy", "sold"),
        ("enforce_compliance", "no_policy", "sold"),
        ("generate_audit_report", "no_policy"),
    ]
    answers, end = play("legal_compliance", *calls)
    assert answers[:-1] == [True, False, False, None, None, None, None, "not_found"]
    assert answers[-1]["text"] is None and answers[-1]["record"][:2] == [
        "flag_violation sold",
        "approve_policy No sale.",
    ]
    assert end == documents, "the record is private"


def test_navigation() -> None:
    calls = [
        ("move_up",), ("move_left",), ("move_right", 4), ("move_right",), ("move_down", 2), ("move_up",),
        ("move_left", 2), ("move_down", 4), ("get_player_position",), ("is_within_bounds", [4, 4]),
        ("is_within_bounds", [5, 0]), ("is_within_bounds", [0, -1]), ("is_within_bounds", [1]),
        ("is_within_bounds", {"x": 1, "y": 4}),
    ]  # fmt: skip
    out = "out_of_bounds"
    answers, end = play("navigation", *calls)
    assert answers == [out, out, [4, 0], out, [4, 2], [4, 1], [2, 1], out, [2, 1], True, *[False] * 3, True]
    assert end == {"x": 2, "y": 1}
    assert play("navigation", ("reset_position",), init={"x": 3, "y": 4}) == ([[0, 0]], {"x": 0, "y": 0})


def test_transactions() -> None:
    calls = [
        ("create_account", "A"), ("create_account", "A"), ("create_account", "B"), ("deposit", "A", 100),
        ("withdraw", "A", 200), ("withdraw", "A", 20), ("transfer", "A", "B", 50), ("transfer", "A", "B", 50),
        ("transfer", "A", "C", 1), ("transfer", "C", "A", 1), ("apply_interest", "A", 0.1),
        ("charge_fee", "B", 60), ("refund", "A", 7), ("check_balance", "A"), ("check_balance", "C"),
        ("get_transaction_history", "B"), ("get_transaction_history", "C"), ("close_account", "B"),
        ("close_account", "B"), ("deposit", "B", 1), ("refund", "B", 1), ("charge_fee", "B", 1),
        ("apply_interest", "B", 1), ("withdraw", "B", 1),
    ]  # fmt: skip
    history = [{"kind": "transfer", "amount": 50}, {"kind": "fee", "amount": -60}]
    answers, end = play("transactions", *calls)
    assert answers[:15] == [
        None, "exists", None, 100, "no_cover", 80, 30, "no_cover", "not_found", "not_found",
        33, -10, 40, 40, 0,
    ]  # fmt: skip
    assert answers[15:] == [history, [], None, *["not_found"] * 6]
    huge = [("create_account", "A"), ("deposit", "A", 1e308), ("apply_interest", "A", 1.0)]
    assert play("transactions", *huge)[0] == [None, 1e308, "too_large"]
    assert end["accounts"].keys() == {"A"} and end["accounts"]["A"]["balance"] == 40


def test_validation() -> None:
    # `printf password | sha256sum`
    sha = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"
    calls = [
        ("validate_email", "ann@example.org"), ("validate_email", "ann@example"),
        ("validate_email", "a b@c.de"),
        ("validate_username", "ann_1"), ("validate_username", "an"), ("validate_username", "a" * 17),
        ("validate_username", "a-b-c"), ("hash_password", "password"),
        ("check_password_hash", "password", sha), ("check_password_hash", "Password", sha),
        ("generate_otp",), ("generate_otp", 4), ("verify_otp", "1234", 1234),
        ("verify_otp", "1234", "4321"),
    ]  # fmt: skip
    assert play("validation", *calls) == (
        [
            True,
            False,
            False,
            True,
            False,
            False,
            False,
            sha,
            True,
            False,
            "123456",
            "1234",
            True,
            False,
        ],
        {},
    )


def test_web_browsing() -> None:
    calls = [
        ("get_page_source",), ("get_current_url",), ("find_text_in_page", "x"), ("move_to_url", "home.html"),
        ("move_to_url", "shop.html"), ("find_text_in_page", "tea"), ("get_page_source",),
        ("view_browsing_history",), ("go_back",), ("get_current_url",), ("go_back",), ("go_back",),
    ]  # fmt: skip
    pages = {"home.html": "<p>welcome</p>", "shop.html": "<p>tea</p>"}
    answers, end = play("web_browsing", *calls, init={"pages": pages})
    assert answers == [
        None, None, False, None, None, True, "<p>tea</p>", ["home.html"], "home.html", "home.html",
        None, None,
    ]  # fmt: skip
    assert end == {"pages": pages, "current": None, "history": []}
    assert play("web_browsing", ("move_to_url", "x.html"), init={"pages": pages})[0] == ["not_found"]
    empty = play("web_browsing", ("move_to_url", "x.html"), ("get_page_source",), ("get_current_url",))
    assert empty[0] == [None, "", "x.html"]


def test_writing() -> None:
    calls = [
        ("add_article", "the"), ("add_adjective", "old"), ("add_noun", "dog"), ("add_verb", "sleeps"),
        ("add_preposition", "under"), ("complete_sentence",), ("complete_sentence",),
    ]  # fmt: skip
    answers, end = play("writing", *calls)
    assert answers[5:] == ["The old dog sleeps under.", "."] and end["sentence"] == []
    drawn = [("add_article",), ("add_noun",), ("add_verb",), ("add_noun",)]
    answers, end = play("writing", *drawn)
    assert answers == end["sentence"] == play("writing", *drawn)[0], "the same by seed"
    for word, kind in zip(answers, ("article", "noun", "verb", "noun"), strict=True):
        assert word in end["pools"][kind]


@pytest.mark.parametrize("world", CORE_WORLDS)
def test_a_read_takes_no_time(world: str) -> None:
    """So that an extra read changes no time of the end state."""
    for tool in simulator(world).device_type.tools:
        assert simulator(world).marks[tool.name].seconds == (0.0 if tool.effect.value == "read" else 1.0)


@pytest.mark.parametrize(
    ("world", "init"),
    [
        ("events_scheduler", {"events": {"Tea": "at five"}}),
        ("crud", {"start": "tomorrow"}),
        ("writing", {"pools": {"noun": []}}),
        ("navigation", {"x": 5}),
        ("transactions", {"accounts": {"A": {"balance": "much"}}}),
    ],
)
def test_an_initial_state_that_makes_no_sense_is_refused(world: str, init: dict[str, Any]) -> None:
    assert simulator(f"core:{world}").init(init, 0).code == "bad_state"


def test_a_pool_that_is_not_there_is_told() -> None:
    assert play("writing", ("add_noun",), init={"pools": {"noun": None}})[0] == ["not_found"]
