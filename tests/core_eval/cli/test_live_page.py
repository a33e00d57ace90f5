"""The address of the live page, with the time limit of an answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from core_eval.cli.live_page import live_page
from core_eval.cli.main import main
from core_eval.live.serving import Address


@pytest.mark.parametrize(
    ("live", "served"),
    [
        ("127.0.0.1:8421", (Address("127.0.0.1", 8421), 120.0)),
        (":8421?answer=60", (Address("127.0.0.1", 8421), 60.0)),
        ("?answer=1", (Address("127.0.0.1", 0), 1.0)),
    ],
)
def test_the_address_may_state_the_time(
    monkeypatch: pytest.MonkeyPatch, live: str, served: tuple[Address, float]
) -> None:
    given = []

    @contextmanager
    def live_run(address: Address, *, answer_seconds: float) -> Iterator[SimpleNamespace]:
        given.append((address, answer_seconds))
        yield SimpleNamespace(url="http://there", trouble=None)

    monkeypatch.setattr("core_eval.live.live_run.live_run", live_run)
    with live_page(live):
        assert given == [served]


@pytest.mark.parametrize(
    "query", ["", "answer", "answer=", "answer=0.5", "answer=nan", "answer=9&a=1", "b=2"]
)
def test_a_time_that_is_none_is_one_line(capsys: pytest.CaptureFixture[str], query: str) -> None:
    run = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle"]
    assert main([*run, "--live", f":8421?{query}"]) == 2
    assert capsys.readouterr().err == (
        f"pathrig: --live :8421?{query}: after the ? write answer=SECONDS, 1 or more, such as "
        "127.0.0.1:8421?answer=60\n"
    )
