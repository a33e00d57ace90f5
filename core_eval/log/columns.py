"""Checks the values of the log's columns on reading: a log may be damaged, or edited by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, lru_cache, partial
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from configs.cautions import Caution
from configs.goal import Goal
from core_eval.log.row_map import column_types
from core_eval.log.rows import HarmRow, StepRow
from core_eval.log.truth_changes import unpacked
from core_eval.text.foreign_json import ForeignJsonError, parse_json

YEAR_10000 = 253_402_300_800.0
EPOCH_COLUMNS = frozenset(
    {"created", "started", "ended", "t_intent", "t_result", "asked", "until", "answered"}
)
"""UTC epoch seconds, which are shown as dates."""


class ColumnError(ValueError):
    """The fault of a value, in one line."""


class _Plan(BaseModel):
    """The displayed part of `run.config`; `RunConfig` checks all of it when a run is resumed."""

    model_config = ConfigDict(extra="allow", strict=True)

    cells: list[dict[str, str]] = []
    episodes: int = 1


class _Scoring(BaseModel):
    """The scorer's options."""

    model_config = ConfigDict(extra="forbid", strict=True)

    beta: float = Field(default=0.5, gt=0, le=1)
    lam: float = Field(default=0.5, ge=0, le=1)
    faults_are_harm: bool = False


class _Twin(BaseModel):
    """The thresholds of a twin; the rest is checked where it is used."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    counted: float = 0.5
    unknown_between: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None


class _Hazards(BaseModel):
    """The hazards that were drawn, a harmless run, what tells of them, and how many wrong runs do harm."""

    model_config = ConfigDict(extra="forbid", strict=True)

    drawn: list[str]
    again: int
    proof: str
    calls: list[Annotated[list[Any], Field(min_length=2, max_length=2)]]
    told: list[Annotated[list[Any], Field(min_length=4, max_length=4)]] = []
    gone: list[Annotated[list[Any], Field(min_length=4, max_length=4)]] = []
    wrong: dict[str, int] = {}


class _Evidence(BaseModel):
    """The sample that reveals a harm event."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    sensor: str
    value: Any
    t: float | None
    counterfactual: Any
    counterfactual_t: float | None


_Rate = Annotated[float, Field(ge=0, le=1)]
_RatePair = Annotated[list[_Rate], Field(min_length=2, max_length=2)]


def _patterns(written: dict[str, Any]) -> dict[str, Any]:
    Goal.from_patterns(written)
    return written


_OBJECT: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
_OBJECTS: TypeAdapter[Any] = TypeAdapter(list[dict[str, Any]])
SHAPES: Mapping[str, TypeAdapter[Any]] = {
    "run.config": TypeAdapter(_Plan),
    "run.packages": _OBJECT,
    "run.host": _OBJECT,
    "definition.goal": TypeAdapter(Annotated[dict[str, Any], AfterValidator(_patterns)]),
    "definition.tools": _OBJECTS,
    "prompt.messages": _OBJECTS,
    "prompt.tools": _OBJECTS,
    "definition.cautions": TypeAdapter(list[Caution]),
    "definition.world_state": _OBJECT,
    "episode.init": _OBJECT,
    "episode.limits": _OBJECT,
    "episode.scoring": TypeAdapter(_Scoring),
    "episode.agent_info": _OBJECT,
    "episode.twin": TypeAdapter(_Twin),
    "episode.hazards": TypeAdapter(_Hazards),
    "episode.imported": _OBJECT,
    "definition.gold": _OBJECT,
    "step.arguments": _OBJECT,
    "step.result": TypeAdapter(Any),
    "truth_whole.state": _OBJECT,
    "truth_row.events": _OBJECTS,
    "rig_status.detail": _OBJECT,
    "harm.evidence": TypeAdapter(_Evidence),
    "harm.roc": TypeAdapter(dict[str, Annotated[list[_RatePair], Field(min_length=2)]]),
    "deviation.evidence": TypeAdapter(_Evidence),
    "compensating_pair.restored": TypeAdapter(list[str]),
}
"""The columns that hold JSON, and what each must be; null is let through, where the table has it."""
REPEATED = frozenset(f"episode.{name}" for name in ("init", "limits", "scoring", "agent_info", "twin"))
"""Those that are alike in most episodes of a run; each text is read once, and nobody changes the result."""
WORDS: Mapping[str, type[StrEnum]] = {
    f"{table}.{name}": kind
    for table, row in (("step", StepRow), ("harm", HarmRow))
    for name, kind in column_types(row).items()
    if isinstance(kind, type) and issubclass(kind, StrEnum)
}
"""The columns that hold one of a few words."""


def read_value(table: str, column: str, value: Any) -> Any:
    """Return a column's value, its JSON read.

    Raises:
        ColumnError: the value is not valid for the column.
    """
    if value.__class__ is float and not math.isfinite(value):
        raise ColumnError(f"{value} is not a finite number")
    read = reader_of(table, column)
    return value if read is None or value is None else read(value)


@cache
def reader_of(table: str, column: str) -> Callable[[Any], Any] | None:
    """Return what reads a value of a column that is not null; None: a finite value is as it is."""
    name = f"{table}.{column}"
    if column in EPOCH_COLUMNS:
        return _time
    if (words := WORDS.get(name)) is not None:
        return partial(_word, words)
    if (shape := SHAPES.get(name)) is None:
        return None
    read = partial(_json, shape)
    if name not in REPEATED:
        return read
    repeated = lru_cache(maxsize=1024)(read)
    return lambda value: repeated(value) if isinstance(value, str) else read(value)


def _time(value: Any) -> Any:
    # A damaged log, or one whose schema was changed, may hold another type.
    if isinstance(value, int | float) and 0 <= value < YEAR_10000:
        return value
    raise ColumnError(f"{value!r:.40} is not a time in s since 1970")


def read_change(data: bytes, size: int) -> dict[str, Any]:
    """Return a patch of the truth, as its row packs it.

    Raises:
        ColumnError: it is damaged.
    """
    try:
        text = unpacked(data, size)
    except (TypeError, ValueError) as error:
        raise ColumnError(f"cannot be unpacked: {error}") from None
    patch: dict[str, Any] = _json(_OBJECT, text)
    return patch


def _word(words: type[StrEnum], value: Any) -> StrEnum:
    try:
        return words(value)
    except ValueError:
        raise ColumnError(f"{value!r} is none of {', '.join(words)}") from None


def _json(shape: TypeAdapter[Any], text: Any) -> Any:
    try:
        found = parse_json(text)
        shape.validate_python(found)
    except ForeignJsonError as error:
        raise ColumnError(str(error)) from None
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        at = "".join(f"{part}: " for part in fault["loc"])
        raise ColumnError(f"{at}{fault['msg']}") from None
    return found
