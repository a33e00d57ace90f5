"""Tools of a software world, written as methods: `@read()` and `@write()` make a method a tool.

The method's name is the tool's (`reset_` is the tool `reset`), its docstring the text that a model reads,
its annotated parameters the typed arguments, and the model that it returns the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_type_hints

from pydantic import create_model

from devices.harm import HarmRule
from devices.tool import Effect, NoArguments, Tool, ToolArguments, ToolResult
from sims.software.flows import Flow
from sims.software.remedies import Undo

Method = TypeVar("Method", bound=Callable[..., ToolResult])
MARK = "_tool_mark"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a decorator says of its method.

    Attributes:
        effect: whether the tool changes the state.
        seconds: device time that a call takes, s.
        undone_by: the calls that take it back.
        taken_back: the harm that a call has done by the time that it is taken back; None: none.
        entity: the part of the call (argument or result) that this harm concerns.
        amount: the part that is its severity, and the amount of its flow; empty: 1.
        flow: the amount that it moves between two holders; None: none.
        method: the method's name: the tool's, and an underscore after it where the simulator has that name.
    """

    effect: Effect
    seconds: float
    undone_by: tuple[Undo, ...] = ()
    taken_back: HarmRule | None = None
    entity: str = ""
    amount: str = ""
    flow: Flow | None = None
    method: str = ""


def read(*, seconds: float = 1.0) -> Callable[[Method], Method]:
    """Make a method a tool that changes nothing and takes so long, s."""
    return _marked(Mark(Effect.READ, seconds))


def write(
    *,
    seconds: float = 1.0,
    undone_by: str | Undo | tuple[Undo, ...] = (),
    taken_back: HarmRule | None = None,
    entity: str = "",
    amount: str = "",
    flow: Flow | None = None,
) -> Callable[[Method], Method]:
    """Make a method a tool that changes the state.

    Args:
        seconds: device time that a call takes, s.
        undone_by: the tool that takes a call back with the same arguments; or as `Undo` says.
        taken_back: the harm rule that a call has broken from its end until it is taken back.
        entity: the argument or result part that this harm concerns.
        amount: the argument or result part that is its severity, also by the rules of `lasting`; left out: 1.
        flow: between whom it moves that amount.
    """
    undo = Undo(undone_by) if isinstance(undone_by, str) else undone_by
    undos = undo if isinstance(undo, tuple) else (undo,)
    return _marked(Mark(Effect.WRITE, seconds, undos, taken_back, entity, amount, flow))


def marks_of(world: type) -> dict[str, Mark]:
    """The marks of a class's tools, by name, those of its bases first."""
    found: dict[str, Mark] = {}
    for kind in reversed(world.__mro__):
        for name, method in vars(kind).items():
            if hasattr(method, MARK):
                found[name.removesuffix("_")] = replace(getattr(method, MARK), method=name)
    return found


def tools_of(world: type, marks: Mapping[str, Mark]) -> tuple[Tool, ...]:
    """The tools of a class.

    Raises:
        TypeError: a tool or an argument has no text, a result is none, or an undoing tool is not there.
    """
    return tuple(_tool(world, name, mark, marks) for name, mark in marks.items())


def _tool(world: type, name: str, mark: Mark, known: Iterable[str]) -> Tool:
    method = getattr(world, mark.method)
    where = f"{world.__name__}.{name}"
    text = " ".join(inspect.cleandoc(method.__doc__ or "").split())
    hints = get_type_hints(method, include_extras=True)
    result = hints.pop("return", None)
    if not text:
        raise TypeError(f"{where}: a tool needs a docstring, which is what a model reads of it")
    if not (isinstance(result, type) and issubclass(result, ToolResult)):
        raise TypeError(f"{where}: annotate what it returns with a subclass of ToolResult")
    for undo in mark.undone_by:
        if undo.tool not in known:
            raise TypeError(f"{where}: undone_by names {undo.tool!r}, which is no tool of this world")
    defaults = inspect.signature(method).parameters
    hints.pop("self", None)
    fields: dict[str, Any] = {
        argument: (hint, ... if (given := defaults[argument].default) is inspect.Parameter.empty else given)
        for argument, hint in hints.items()
    }
    arguments: type[ToolArguments] = NoArguments
    if fields:
        arguments = create_model(f"{name}_arguments", __base__=ToolArguments, __doc__=text, **fields)
    for argument, field in arguments.model_fields.items():
        if not field.description:
            raise TypeError(f"{where}: give the argument {argument} a Field(description=...)")
    inverse = mark.undone_by[0].tool if mark.undone_by else None
    return Tool(name, text, arguments, result, mark.effect, inverse)


def _marked(mark: Mark) -> Callable[[Method], Method]:
    def decorate(method: Method) -> Method:
        setattr(method, MARK, mark)
        return method

    return decorate
