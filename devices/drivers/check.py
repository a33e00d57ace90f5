"""Checks a driver file beyond the types of its keys: undefined names, forbidden bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from devices.device_type import DeviceType
from devices.drivers.driver_file import DriverFile, Failure, Need, Report, SettleStep, Step
from devices.drivers.patterns import Pattern
from devices.drivers.settings import listed
from devices.drivers.templates import TemplateError, check_bytes, literal_text, names_in
from devices.drivers.values import Number, OptionRef, Value

Place = tuple[str | int, ...]
Fault = tuple[Place, str]
BUILT_IN = frozenset({"rig"})


@dataclass(frozen=True)
class _Names:
    """The placeholders of a template, and the arguments and captures of a value."""

    placeholders: frozenset[str]
    arguments: frozenset[str] | None = None


def driver_faults(driver: DriverFile, device: DeviceType) -> Iterator[Fault]:
    """Yield every fault, with its place in the file; `device` is the type whose tools it maps."""
    yield from _Checker(driver, device).faults()


class _Checker:
    def __init__(self, driver: DriverFile, device: DeviceType) -> None:
        self.driver = driver
        self.device = device
        self.base = BUILT_IN | set(driver.options)
        self.captured = frozenset(_captures_in(driver.model_dump()))

    def faults(self) -> Iterator[Fault]:
        driver, plain = self.driver, _Names(frozenset(self.base | {"id"}))
        # An unsolicited message belongs to no command, so it has no id.
        unasked = _Names(frozenset(self.base))
        if not driver.stop.send and not driver.stop.publish:
            yield ("stop",), "a driver needs a stop: `send` for serial, `publish` for MQTT"
        if (driver.link == "mqtt" and driver.stop.send) or (driver.link == "serial" and driver.stop.publish):
            yield ("stop",), f"does not fit link {driver.link}: `send` is for serial, `publish` for MQTT"
        if driver.link == "mqtt" and not driver.subscribe:
            yield ("subscribe",), "an MQTT driver needs the topics to listen to"
        for index, topic in enumerate(driver.subscribe):
            yield from self._template(topic, ("subscribe", index), unasked)
        for name in driver.stop.remember:
            if name not in driver.memory:
                yield ("stop", "remember", name), f"is not in `memory`; there are {listed(driver.memory)}"
        for index, message in enumerate(driver.stop.publish):
            names = self._with_table(message.for_each)
            if names is None:
                yield ("stop", "publish", index, "for_each"), self._no_table()
            else:
                yield from self._template(message.publish, ("stop", "publish", index, "publish"), names)
                yield from self._template(message.payload, ("stop", "publish", index, "payload"), names)
        for index, step in enumerate(driver.stop.settle):
            yield from self._settle_step(step, ("stop", "settle", index), plain)
        yield from self._steps(driver.reset, ("reset",), plain)
        yield from self._steps(driver.boot.wake, ("boot", "wake"), plain)
        yield from self._steps(driver.boot.start, ("boot", "start"), plain)
        yield from self._number(driver.boot.seconds, ("boot", "seconds"))
        yield from self._number(driver.answers.seconds, ("answers", "seconds"))
        yield from self._patterns(driver.boot.expect, ("boot", "expect"), unasked)
        yield from self._patterns(driver.boot.banner, ("boot", "banner"), unasked)
        yield from self._patterns(driver.answers.done, ("answers", "done"), plain)
        yield from self._patterns(driver.answers.progress, ("answers", "progress"), plain)
        yield from self._failures(driver.answers.failures, ("answers", "failures"), plain)
        if driver.heartbeat is not None:
            yield from self._steps(driver.heartbeat.steps, ("heartbeat", "steps"), plain)
        if driver.availability is not None:
            yield from self._template(driver.availability.topic, ("availability", "topic"), unasked)
        for index, report in enumerate(driver.reports):
            yield from self._report(report, ("reports", index))
        yield from self._tools()

    def _tools(self) -> Iterator[Fault]:
        surface = self.device
        for name, tool in self.driver.tools.items():
            at: Place = ("tools", name)
            if name not in surface.by_name:
                yield at, f"{surface.name} has no such tool; there are {', '.join(surface.by_name)}"
                continue
            if tool.not_fitted is not None:
                continue
            arguments = frozenset(surface.by_name[name].arguments.model_fields)
            names = _Names(frozenset(self.base | {"id"} | set(tool.values)), arguments)
            for key, value in tool.values.items():
                yield from self._value(value, (*at, "values", key), names)
            yield from self._steps(tool.steps, (*at, "steps"), names)
            yield from self._steps(tool.lastly, (*at, "lastly"), names)
            results = surface.by_name[name].result.model_fields
            for key, value in tool.result.items():
                if key not in results:
                    yield (*at, "result", key), f"the result of {name} has no such key: {', '.join(results)}"
                yield from self._value(value, (*at, "result", key), names)
            for index, need in enumerate(tool.needs):
                yield from self._need(need, (*at, "needs", index), names)

    def _steps(
        self, steps: Sequence[Step], at: Place, names: _Names, within: tuple[str, ...] = ()
    ) -> Iterator[Fault]:
        for index, step in enumerate(steps):
            yield from self._step(step, (*at, index), names, within)

    def _settle_step(self, step: SettleStep, at: Place, plain: _Names) -> Iterator[Fault]:
        names = self._with_table(step.for_each)
        if names is None:
            yield (*at, "for_each"), self._no_table()
        else:
            yield from self._step(step, at, _Names(plain.placeholders | names.placeholders), ())

    def _step(self, step: Step, at: Place, names: _Names, within: tuple[str, ...]) -> Iterator[Fault]:
        for key, value in step.values.items():
            yield from self._value(value, (*at, "values", key), names)
        inner = _Names(names.placeholders | set(step.values), names.arguments)
        if step.use is not None:
            yield from self._macro(step.use, at, inner, within)
        if step.send is not None:
            yield from self._command(step.send, (*at, "send"), inner)
        if step.realtime is not None:
            yield from self._realtime(step.realtime, (*at, "realtime"))
        if step.poll is not None:
            yield from self._realtime(step.poll.realtime, (*at, "poll", "realtime"))
        if step.publish is not None:
            if self.driver.link != "mqtt":
                yield (*at, "publish"), "is for link mqtt; a serial driver uses `send`"
            yield from self._template(step.publish, (*at, "publish"), inner)
            yield from self._template(step.payload, (*at, "payload"), inner)
            for key, value in (step.json_payload or {}).items():
                yield from self._value(value, (*at, "json", key), inner)
        if step.wait is not None:
            yield from self._value(step.wait, (*at, "wait"), inner)
        for key, value in (step.set or {}).items():
            if key not in self.driver.memory:
                yield (*at, "set", key), f"is not in `memory`; there are {listed(self.driver.memory)}"
            yield from self._value(value, (*at, "set", key), inner)
        yield from self._patterns(step.expect or [], (*at, "expect"), inner)
        yield from self._patterns(step.read, (*at, "read"), inner)
        yield from self._failures(step.failures, (*at, "failures"), inner)
        if step.seconds is not None:
            yield from self._number(step.seconds, (*at, "seconds"))
        yield from self._number(step.at_most, (*at, "at_most"))
        for condition in ("only_if", "only_unless"):
            option = getattr(step, condition)
            if option is not None and not isinstance(
                getattr(self.driver.options.get(option), "default", None), bool
            ):
                yield (*at, condition), f"{option!r} is no option that is true or false"

    def _macro(self, name: str, at: Place, names: _Names, within: tuple[str, ...]) -> Iterator[Fault]:
        if name not in self.driver.macros:
            yield (*at, "use"), f"no such macro; there are {listed(self.driver.macros)}"
        elif name in within:
            yield (*at, "use"), f"the macro {name} uses itself"
        else:
            yield from self._steps(self.driver.macros[name], ("macros", name), names, (*within, name))

    def _command(self, command: str, at: Place, names: _Names) -> Iterator[Fault]:
        if self.driver.link != "serial":
            yield at, "is for link serial; an MQTT driver uses `publish`"
        yield from self._template(command, at, names)
        try:
            check_bytes(literal_text(command), self.driver.line.never_send, self.driver.line.max_bytes)
        except TemplateError as error:
            yield at, str(error)

    def _realtime(self, sent: str, at: Place) -> Iterator[Fault]:
        for byte in sent:
            if byte not in self.driver.line.realtime:
                yield at, f"{byte!r} is not among `line.realtime`, {self.driver.line.realtime!r}"

    def _report(self, report: Report, at: Place) -> Iterator[Fault]:
        names = self._with_table(report.for_each)
        if names is None:
            yield (*at, "for_each"), self._no_table()
            return
        yield from self._pattern(report.when, (*at, "when"), names)
        if (report.sample is None) != (report.value is None):
            yield at, "`sample` goes with `value`"
        if report.sample is not None:
            yield from self._template(report.sample, (*at, "sample"), names)
            yield from self._sensor(report.sample, (*at, "sample"))
        if report.value is not None:
            yield from self._value(report.value, (*at, "value"), names)
        for key, value in report.remember.items():
            yield from self._template(key, (*at, "remember", key), names)
            yield from self._value(value, (*at, "remember", key), names)

    def _sensor(self, sample: str, at: Place) -> Iterator[Fault]:
        declared = None if self.device.rules is None else self.device.rules.sensors
        if declared is not None and sample not in declared and sample.partition(".")[0] not in declared:
            yield at, f"{self.device.name} has no such sensor; there are {listed(declared)}"

    def _need(self, need: Need, at: Place, names: _Names) -> Iterator[Fault]:
        if need.remembered is not None and need.remembered not in self.driver.memory:
            yield (*at, "remembered"), f"is not in `memory`; there are {listed(self.driver.memory)}"
        if need.near is not None:
            yield from self._value(need.near, (*at, "near"), names)
            yield from self._number(need.within, (*at, "within"))
            if need.table not in self.driver.tables:
                yield (*at, "table"), self._no_table()

    def _value(self, value: Value, at: Place, names: _Names) -> Iterator[Fault]:
        if (
            value.argument is not None
            and names.arguments is not None
            and value.argument not in names.arguments
        ):
            yield (
                at,
                f"the tool has no argument {value.argument!r}; it has {', '.join(sorted(names.arguments))}",
            )
        if value.option is not None and value.option not in self.driver.options:
            yield at, f"no option {value.option!r}; there are {listed(self.driver.options)}"
        if value.capture is not None and value.capture not in self.captured:
            yield at, f"no pattern captures {value.capture!r}"
        if value.remembered is not None:
            yield from self._template(value.remembered, at, names)
        if value.rows is not None and value.rows not in self.driver.tables:
            yield at, self._no_table()
        for table in value.tables:
            if table not in self.driver.tables:
                yield at, self._no_table()
            elif value.column not in self.driver.tables[table].columns:
                yield at, f"the table {table} has no column {value.column!r}"
        if value.row is not None:
            yield from self._value(value.row, at, names)
        for number in (value.minus, value.scale, value.divide_by, value.offset, value.min, value.max):
            if number is not None:
                yield from self._number(number, at)
        if value.divide_by == 0:
            yield (*at, "divide_by"), "must not be 0"

    def _number(self, number: Number, at: Place) -> Iterator[Fault]:
        if isinstance(number, OptionRef):
            option = self.driver.options.get(number.option)
            if option is None:
                yield at, f"no option {number.option!r}; there are {listed(self.driver.options)}"
            elif isinstance(option.default, str | bool):
                yield at, f"the option {number.option} is no number"

    def _failures(self, failures: Sequence[Failure], at: Place, names: _Names) -> Iterator[Fault]:
        for index, failure in enumerate(failures):
            yield from self._pattern(failure.when, (*at, index, "when"), names)
            known = _Names(names.placeholders | self.captured, names.arguments)
            yield from self._template(failure.code, (*at, index, "code"), known)
            yield from self._template(failure.message, (*at, index, "message"), known)
            yield from self._steps(failure.recover, (*at, index, "recover"), names)

    def _patterns(self, patterns: Sequence[Pattern], at: Place, names: _Names) -> Iterator[Fault]:
        for index, pattern in enumerate(patterns):
            yield from self._pattern(pattern, (*at, index), names)

    def _pattern(self, pattern: Pattern, at: Place, names: _Names) -> Iterator[Fault]:
        if (self.driver.link == "mqtt") != bool(pattern.topic):
            yield at, "an MQTT driver's patterns need a `topic`, and a serial driver's have none"
        yield from self._template(pattern.topic, at, names)
        yield from self._template(pattern.match or "", at, names)
        for key in pattern.keys or {}:
            yield from self._template(key, at, names)

    def _template(self, template: str, at: Place, names: _Names) -> Iterator[Fault]:
        for name in names_in(template):
            if name not in names.placeholders:
                yield (
                    at,
                    f"nothing is known for ${{{name}}}; there are {', '.join(sorted(names.placeholders))}",
                )

    def _with_table(self, table: str | None) -> _Names | None:
        if table is None:
            return _Names(frozenset(self.base))
        if table not in self.driver.tables:
            return None
        return _Names(frozenset(self.base | {"row"} | set(self.driver.tables[table].columns)))

    def _no_table(self) -> str:
        return f"no such table; there are {listed(self.driver.tables)}"


def _captures_in(part: object) -> Iterator[str]:
    if isinstance(part, Mapping):
        if isinstance(part.get("match"), str):
            yield from re.findall(r"\(\?P<(\w+)>", part["match"])
        if isinstance(part.get("keys"), Mapping):
            yield from (cell["capture"] for cell in part["keys"].values() if isinstance(cell, Mapping))
        for value in part.values():
            yield from _captures_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from _captures_in(value)
