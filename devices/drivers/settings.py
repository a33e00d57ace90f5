"""A rig file's settings for its driver: options and tables, checked against the driver's declarations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from devices.drivers.driver_file import Column, DriverFile, Option
from devices.drivers.templates import render
from devices.drivers.values import Scalar, Tables, plain_text

Fault = tuple[tuple[str, ...], str]
"""A place in the settings, and the fault there."""


@dataclass(frozen=True)
class Settings:
    """Every option with its value, and every table with whole rows."""

    options: Mapping[str, Scalar]
    tables: Tables

    def names(self, rig: str) -> dict[str, str]:
        """Return the placeholders: every option, and `rig`, the device's part of MQTT topics."""
        return {name: plain_text(value) for name, value in self.options.items()} | {"rig": rig}

    def filled(self, template: str, rig: str = "") -> str:
        """Return a template with these placeholders filled.

        Raises:
            TemplateError: there is no such name.
        """
        return render(template, self.names(rig))


def settings_faults(
    driver: DriverFile, options: Mapping[str, Any], tables: Mapping[str, Any]
) -> Iterator[Fault]:
    """Yield the faults of a rig's settings; the places begin with `driver_options` or `driver_tables`."""
    for name, value in options.items():
        place = ("driver_options", name)
        if name not in driver.options:
            yield place, f"driver {driver.name} has no such option; there are {listed(driver.options)}"
        elif fault := _option_fault(driver.options[name], value):
            yield place, fault
    for table, rows in tables.items():
        if table not in driver.tables:
            yield (
                ("driver_tables", table),
                f"driver {driver.name} has no such table; there are {listed(driver.tables)}",
            )
            continue
        for row, cells in rows.items():
            yield from _row_faults(driver, table, row, cells)


def resolve(driver: DriverFile, options: Mapping[str, Any], tables: Mapping[str, Any]) -> Settings:
    """Return the settings with all defaults; they must have no faults."""
    whole: dict[str, dict[str, dict[str, Scalar]]] = {}
    for table, declared in driver.tables.items():
        defaults = {
            name: column.default for name, column in declared.columns.items() if column.default is not None
        }
        whole[table] = {row: {**defaults, **cells} for row, cells in tables.get(table, {}).items()}
    return Settings({name: option.default for name, option in driver.options.items()} | dict(options), whole)


def _row_faults(driver: DriverFile, table: str, row: str, cells: Mapping[str, Any]) -> Iterator[Fault]:
    columns = driver.tables[table].columns
    place = ("driver_tables", table, row)
    for name, cell in cells.items():
        if name not in columns:
            yield (*place, name), f"no such column; there are {listed(columns)}"
        elif not _fits(columns[name], cell):
            yield (*place, name), f"must be a {columns[name].type}, not {cell!r}"
    for name, column in columns.items():
        if name not in cells and column.default is None and not column.optional:
            yield place, f"the column {name} is missing: {column.description}"


def _option_fault(option: Option, value: Any) -> str | None:
    if isinstance(option.default, bool):
        return None if isinstance(value, bool) else "must be true or false"
    if isinstance(option.default, str):
        return None if isinstance(value, str) and value.isprintable() else "must be text"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "must be a number"
    if isinstance(option.default, int) and not isinstance(value, int):
        return "must be a whole number"
    if option.min is not None and value < option.min:
        return f"must be {option.min:g} or more"
    if option.max is not None and value > option.max:
        return f"must be {option.max:g} or less"
    return None


def _fits(column: Column, cell: Any) -> bool:
    if column.type == "text":
        return isinstance(cell, str) and cell.isprintable()
    return isinstance(cell, int | float) and not isinstance(cell, bool) and math.isfinite(cell)


def listed(names: Mapping[str, object]) -> str:
    """Return names in a line; `none` where there are none."""
    return ", ".join(names) or "none"
