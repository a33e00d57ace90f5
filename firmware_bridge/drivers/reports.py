"""Unsolicited messages of a machine, as samples and as memory for later calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from devices.drivers.driver_file import DriverFile, Report, SettleStep
from devices.drivers.patterns import MachineMessage
from devices.drivers.templates import names_in, render
from devices.drivers.values import MissingValue, Scalar, Scope, Tables, evaluate, plain_text
from devices.outcome import Refusal


def table_names(names: dict[str, str], tables: Tables, table: str | None) -> Iterator[dict[str, str]]:
    """Yield the placeholders, or those of each row of a table with ${row} and its columns."""
    if table is None:
        yield names
        return
    for row, cells in tables[table].items():
        yield names | {"row": row} | {column: plain_text(cell) for column, cell in cells.items()}


def stop_messages(driver: DriverFile, names: dict[str, str], tables: Tables) -> list[tuple[str, str]]:
    """Return topic and payload of each message of the stop."""
    return [
        (render(message.publish, each), render(message.payload, each))
        for message in driver.stop.publish
        for each in table_names(names, tables, message.for_each)
    ]


def settle_steps(
    driver: DriverFile, names: dict[str, str], tables: Tables
) -> list[tuple[SettleStep, dict[str, str]]]:
    """Return the steps after the stop, with their placeholders."""
    return [
        (step, each)
        for step in driver.stop.settle
        for each in table_names(names, tables, step.for_each)
        if step.for_each is None or all(name in each or name == "id" for name in _named(step))
    ]


class Reports:
    """The reports of a driver; a sample is emitted when its value changes.

    Args:
        driver: the driver.
        scope: options, tables and placeholders.
        remember: takes a name and a value to store.
        sample: takes a sensor's name and value.
    """

    def __init__(
        self,
        driver: DriverFile,
        scope: Scope,
        remember: Callable[[str, Scalar], None],
        sample: Callable[[str, Scalar], None],
    ) -> None:
        self._scope = scope
        self._remember = remember
        self._sample = sample
        self._sampled: dict[str, Scalar] = {}
        self._watched = [
            (report, names)
            for report in driver.reports
            for names in table_names(scope.names, scope.tables, report.for_each)
            # A row without an optional column has no such report.
            if all(name in names for name in _needed(report))
        ]

    def repeat(self) -> None:
        """Emit the last sample of every sensor again."""
        for sensor, reading in dict(self._sampled).items():
            self._sample(sensor, reading)

    def take(self, message: MachineMessage) -> None:
        """Handle one message."""
        for report, names in self._watched:
            captures = report.when.find(message, names)
            if captures is not None:
                self._report(report, names, captures)

    def _report(self, report: Report, names: dict[str, str], captures: dict[str, str]) -> None:
        scope = replace(self._scope, names=names, captures=captures)
        try:
            for name, value in report.remember.items():
                self._remember(render(name, names), _one(evaluate(value, scope)))
            if report.sample is not None and report.value is not None:
                sensor, reading = render(report.sample, names), _one(evaluate(report.value, scope))
                if self._sampled.get(sensor) != reading:
                    self._sampled[sensor] = reading
                    self._sample(sensor, reading)
        except (MissingValue, Refusal):
            # An incomplete report, or one out of its limits, is ignored.
            return


def _needed(report: Report) -> list[str]:
    templates = [report.when.topic, report.when.match or "", report.sample or "", *(report.when.keys or {})]
    return [name for template in templates for name in names_in(template)]


def _named(step: SettleStep) -> list[str]:
    templates = [step.send or "", step.publish or "", step.payload]
    for pattern in step.expect or []:
        templates += [pattern.topic, pattern.match or "", *(pattern.keys or {})]
    return [name for template in templates for name in names_in(template) if name not in step.values]


def _one(value: Scalar | list[str]) -> Scalar:
    assert not isinstance(value, list), "a list is no reading"
    return value
