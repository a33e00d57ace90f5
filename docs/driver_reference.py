"""The reference page of driver files: their keys, and the options and tables of each driver that ships."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from pydantic import BaseModel

from configs.drivers_loader import load_driver, shipped_drivers
from devices.drivers import driver_file as files
from devices.drivers.patterns import Pattern
from devices.drivers.values import Threshold, Value

MODELS: tuple[type[BaseModel], ...] = (
    files.Option, files.Table, files.Column, files.Line, files.Boot, files.Answers, files.Failure, Pattern,
    files.Report, files.Stop, files.StopMessage, files.SettleStep, files.Heartbeat, files.Availability,
    files.ToolDriver, files.Need, files.Step, files.Poll, Value, Threshold,
)  # fmt: skip
Rows = Iterable[Iterable[str]]


def drivers_page(
    head: str, keys: Callable[[type[BaseModel]], str], table: Callable[[Iterable[str], Rows], str]
) -> str:
    """The page, with the generator's own way to write tables."""
    parts = [head, "# Driver files\n", "What they are for is told in [Drivers](../drivers.md).\n"]
    parts += ["## A driver file\n", keys(files.DriverFile)]
    for model in MODELS:
        parts += [f"### {model.__name__}\n", (model.__doc__ or "").strip() + "\n", keys(model)]
    for name in shipped_drivers():
        driver = load_driver(name)
        parts += [f"## {name}\n", f"{driver.description}. Protocol: {driver.protocol}\n"]
        if driver.options:
            rows = [
                (f"`{key}`", f"`{json.dumps(o.default)}`", o.description) for key, o in driver.options.items()
            ]
            parts.append(table(("option", "default", "meaning"), rows))
        for key, declared in driver.tables.items():
            parts.append(f"Table `{key}`: {declared.description}.\n")
            cells = [
                (
                    f"`{column}`",
                    c.type,
                    "required" if c.default is None and not c.optional else "",
                    c.description,
                )
                for column, c in declared.columns.items()
            ]
            parts.append(table(("column", "type", "", "meaning"), cells))
        if driver.tools:
            tools = [
                (f"`{tool}`", mapped.not_fitted or _commands(mapped)) for tool, mapped in driver.tools.items()
            ]
            parts.append(table(("tool", "what it becomes"), tools))
    return "\n".join(parts)


def _commands(mapped: files.ToolDriver) -> str:
    said = [step.send or step.publish or (f"macro {step.use}" if step.use else "") for step in mapped.steps]
    return "; ".join(f"`{text}`" for text in said if text) or "nothing is sent"
