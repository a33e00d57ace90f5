"""Checks a driver file beyond the types of its keys: undefined names, forbidden bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from devices.device_type import DeviceType
from devices.drivers.driver_file import DriverFile, Failure, Need, Report, Step, StopMessage
from devices.drivers.patterns import Pattern
from devices.drivers.settings import listed
from devices.drivers.templates import TemplateError, check_bytes, literal_text, names_in
from devices.drivers.values import OptionRef, Value

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
        yield from self._remembered(driver.stop.remember, ("stop", "remember"))
        yield from self._part(driver.stop.publish, ("stop", "publish"), unasked)
        yield from self._part(driver.stop.settle, ("stop", "settle"), plain)
        yield from self._part(driver.reset, ("reset",), plain)
        for key in ("wake", "start", "seconds"):
            yield from self._part(getattr(driver.boot, key), ("boot", key), plain)
        for key in ("expect", "banner"):
            yield from self._part(getattr(driver.boot, key), ("boot", key), unasked)
        for key in ("seconds", "done", "progress", "failures"):
            yield from self._part(getattr(driver.answers, key), ("answers", key), plain)
        if driver.heartbeat is not None:
            yield from self._part(driver.heartbeat.steps, ("heartbeat", "steps"), plain)
        if driver.availability is not None:
            yield from self._template(driver.availability.topic, ("availability", "topic"), unasked)
        yield from self._part(driver.reports, ("reports",), unasked)
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
            results = surface.by_name[name].result.model_fields
            for key in tool.result.keys() - results.keys():
                yield (*at, "result", key), f"the result of {name} has no such key: {', '.join(results)}"
            for key in ("values", "steps", "lastly", "result", "needs"):
                yield from self._part(getattr(tool, key), (*at, key), names)

    def _part(self, part: object, at: Place, names: _Names, within: tuple[str, ...] = ()) -> Iterator[Fault]:
        """Yield what is wrong with a part of the file, or with each of several."""
        if isinstance(part, list | dict):
            for key, one in part.items() if isinstance(part, dict) else enumerate(part):
                yield from self._part(one, (*at, key), names, within)
            return
        if (table := getattr(part, "for_each", None)) is not None:
            if table not in self.driver.tables:
                yield (*at, "for_each"), self._no_table()
                return
            columns = {"row", *self.driver.tables[table].columns}
            names = _Names(names.placeholders | columns, names.arguments)
        match part:
            case Step():
                yield from self._step(part, at, names, within)
            case StopMessage():
                yield from self._template(part.publish, (*at, "publish"), names)
                yield from self._template(part.payload, (*at, "payload"), names)
            case Failure():
                yield from self._part(part.when, (*at, "when"), names)
                known = _Names(names.placeholders | self.captured, names.arguments)
                yield from self._template(part.code, (*at, "code"), known)
                yield from self._template(part.message, (*at, "message"), known)
                yield from self._part(part.recover, (*at, "recover"), names)
            case Pattern():
                yield from self._pattern(part, at, names)
            case Report():
                yield from self._report(part, at, names)
            case Need():
                yield from self._need(part, at, names)
            case Value():
                yield from self._value(part, at, names)
            case OptionRef():
                option = self.driver.options.get(part.option)
                if option is None:
                    yield at, f"no option {part.option!r}; there are {listed(self.driver.options)}"
                elif isinstance(option.default, str | bool):
                    yield at, f"the option {part.option} is no number"

    def _step(self, step: Step, at: Place, names: _Names, within: tuple[str, ...]) -> Iterator[Fault]:
        yield from self._part(step.values, (*at, "values"), names)
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
            yield from self._part(step.json_payload, (*at, "json"), inner)
        yield from self._part(step.wait, (*at, "wait"), inner)
        yield from self._remembered(step.set or {}, (*at, "set"))
        for key in ("set", "expect", "read", "failures", "seconds", "at_most"):
            yield from self._part(getattr(step, key), (*at, key), inner)
        for condition in ("only_if", "only_unless"):
            option = getattr(step, condition)
            if option is not None and not isinstance(
                getattr(self.driver.options.get(option), "default", None), bool
            ):
                yield (*at, condition), f"{option!r} is no option that is true or false"

    def _remembered(self, names: Iterable[str], at: Place) -> Iterator[Fault]:
        for name in names:
            if name not in self.driver.memory:
                yield (*at, name), f"is not in `memory`; there are {listed(self.driver.memory)}"

    def _macro(self, name: str, at: Place, names: _Names, within: tuple[str, ...]) -> Iterator[Fault]:
        if name not in self.driver.macros:
            yield (*at, "use"), f"no such macro; there are {listed(self.driver.macros)}"
        elif name in within:
            yield (*at, "use"), f"the macro {name} uses itself"
        else:
            yield from self._part(self.driver.macros[name], ("macros", name), names, (*within, name))

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

    def _report(self, report: Report, at: Place, names: _Names) -> Iterator[Fault]:
        yield from self._pattern(report.when, (*at, "when"), names)
        if (report.sample is None) != (report.value is None):
            yield at, "`sample` goes with `value`"
        if report.sample is not None:
            yield from self._template(report.sample, (*at, "sample"), names)
            yield from self._sensor(report.sample, (*at, "sample"))
        yield from self._part(report.value, (*at, "value"), names)
        for key in report.remember:
            yield from self._template(key, (*at, "remember", key), names)
        yield from self._part(report.remember, (*at, "remember"), names)

    def _sensor(self, sample: str, at: Place) -> Iterator[Fault]:
        declared = None if self.device.rules is None else self.device.rules.sensors
        if declared is not None and sample not in declared and sample.partition(".")[0] not in declared:
            yield at, f"{self.device.name} has no such sensor; there are {listed(declared)}"

    def _need(self, need: Need, at: Place, names: _Names) -> Iterator[Fault]:
        if need.remembered is not None and need.remembered not in self.driver.memory:
            yield (*at, "remembered"), f"is not in `memory`; there are {listed(self.driver.memory)}"
        if need.near is not None:
            yield from self._value(need.near, (*at, "near"), names)
            yield from self._part(need.within, (*at, "within"), names)
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
        for key in ("row", "minus", "scale", "divide_by", "offset", "min", "max"):
            yield from self._part(getattr(value, key), at, names)
        if value.divide_by == 0:
            yield (*at, "divide_by"), "must not be 0"

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
