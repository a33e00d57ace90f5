"""The engine's steps without hardware: what may be outstanding, what is repeated, what is left out."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from devices.drivers.driver_file import DriverFile, Step
from devices.drivers.patterns import MachineMessage
from devices.drivers.tool_driver import DriverFault, Stopped
from devices.drivers.values import Scalar, Scope
from devices.outcome import Refusal
from firmware_bridge.drivers.conversation import Conversation, Lost
from firmware_bridge.drivers.steps import StepRunner


class Machine:
    """Takes commands, and says what its script has for each."""

    def __init__(self, script: dict[str, list[str]], **driver: Any) -> None:
        self.script = script
        self.log: list[str] = []
        self.memory: dict[str, Scalar] = {}
        self.stopped = False
        self.conversation = Conversation(lambda message: None)
        shared = {"done": ["^ok$"], "seconds": 0.05, "progress": ["^busy$"]}
        shared["failures"] = [
            {
                "when": "^no (?P<why>.*)$",
                "status": "rejected",
                "code": "no_${why}",
                "message": "It says ${why}.",
            }
        ]
        self.driver = DriverFile.model_validate(
            {
                "name": "m",
                "description": "m",
                "link": "serial",
                "device": "farm_rover",
                "answers": shared,
                **driver,
            }
        )
        self.scope = Scope(options={"fast": True}, memory=self.memory)

    def line(self, command: bytes) -> None:
        self.log.append(command.decode())
        for answer in self.script.get(command.decode(), []):
            self.conversation.publish(MachineMessage("", answer))

    def raw(self, data: bytes) -> None:
        self.line(data)

    def publish(self, topic: str, payload: str, retain: bool) -> None:
        self.line(f"{topic} {payload} {retain}".encode())

    def run(self, *steps: dict[str, Any], **names: str) -> None:
        ids = itertools.count(1)
        runner = StepRunner(
            self.driver,
            self.scope,
            self,
            self.conversation,
            self.memory.__setitem__,
            lambda: self.stopped,
            lambda: next(ids),
        )
        runner.run([Step.model_validate(step) for step in steps], names)


def test_one_command_at_a_time_unless_the_driver_allows_more() -> None:
    alone = Machine({"A": ["busy"], "B": ["ok", "ok"]})
    with pytest.raises(DriverFault, match="did not answer 'A'"):
        alone.run({"send": "A"}, {"send": "B"})
    assert alone.log == ["A"]
    # A is answered only once B has come.
    several = Machine({"A": ["busy"], "B": ["ok", "ok"]}, line={"outstanding": 2})
    several.run({"send": "A"}, {"send": "B"})
    assert several.log == ["A", "B"]
    with pytest.raises(DriverFault):
        several.run({"send": "A"}, {"wait": 0}, {"send": "B"})


def test_a_value_of_an_answer_is_waited_for_even_where_more_may_be_outstanding() -> None:
    machine = Machine({"WHERE": ["at 7", "ok"], "GO 8": ["ok"]}, line={"outstanding": 4})
    machine.run(
        {"send": "WHERE", "read": [r"^at (?P<x>\d+)$"]},
        {"send": "GO ${to}", "values": {"to": {"capture": "x", "offset": 1, "decimals": 0}}},
    )
    assert machine.log == ["WHERE", "GO 8"]
    with pytest.raises(DriverFault, match="no captured value 'y'"):
        machine.run({"send": "GO ${to}", "values": {"to": {"capture": "y"}}})


def test_only_what_says_so_is_sent_again() -> None:
    machine = Machine({})
    with pytest.raises(DriverFault):
        machine.run({"send": "A"})
    assert machine.log == ["A"]
    with pytest.raises(DriverFault):
        machine.run({"send": "B ${id}", "tries": 3})
    assert machine.log == ["A", "B 1", "B 1", "B 1"]


def test_an_answer_may_refuse_or_lack_its_value() -> None:
    machine = Machine({"A": ["no water"], "B": ["ok"], "RESET": ["ready"]})
    with pytest.raises(Refusal, match="It says water") as refusal:
        machine.run({"send": "A"}, {"send": "B"})
    assert (refusal.value.code, machine.log) == ("no_water", ["A"])
    with pytest.raises(DriverFault, match="without its value"):
        machine.run({"send": "B", "read": ["^at"]})


def test_a_command_that_may_not_go_does_not() -> None:
    machine = Machine({}, line={"never_send": "!", "max_bytes": 5})
    for command in ("A!", "A\n", "ABCDEF", "Ä"):
        with pytest.raises(DriverFault, match=r"must not be sent|longer than"):
            machine.run({"send": "${c}"}, c=command)
    assert machine.log == []


def test_options_leave_steps_out_and_messages_may_be_json() -> None:
    machine = Machine({}, options={"fast": {"default": True, "description": "fast"}})
    machine.run(
        {"publish": "a/${id}", "json": {"on": True, "level": {"option": "fast", "words": {"True": 3}}}},
        {"publish": "b", "payload": "x", "retain": True, "only_unless": "fast"},
        {"publish": "c", "payload": "y", "retain": True, "only_if": "fast"},
        {"set": {"lamp": "on"}},
    )
    assert machine.log == ['a/1 {"on": true, "level": 3} False', "c y True"]
    assert machine.memory == {"lamp": "on"}


def test_a_stop_and_a_lost_wire_end_the_wait() -> None:
    machine = Machine({"A": ["ok"]})
    machine.stopped = True
    with pytest.raises(Stopped):
        machine.run({"send": "A"})
    assert machine.log == []
    lost = Machine({})
    lost.script = {"A": []}
    lost.line = lambda command: lost.conversation.lost()  # type: ignore[method-assign]
    with pytest.raises(Lost):
        lost.run({"send": "A"})
