"""What a mistyped key was meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel


def suggestion(model: type[BaseModel], location: Sequence[str | int], key: str) -> str | None:
    """Return the key of the model at `location` that looks most like an unknown one; None where none does."""
    names = {name for found in _models_at(model, location) for name in _keys(found)}
    return next(iter(get_close_matches(key, sorted(names), n=1)), None)


def _models_at(model: type[BaseModel], location: Sequence[str | int]) -> list[type[BaseModel]]:
    here: list[Any] = [model]
    for part in location:
        below: list[Any] = []
        for one in here:
            if isinstance(one, type) and issubclass(one, BaseModel):
                if part in _keys(one):
                    below += _kinds(_keys(one)[str(part)])
            else:
                below += [kind for argument in get_args(one) for kind in _kinds(argument)]
        # A part that names no field is pydantic's word for a member of a union.
        here = below or here
    return [one for one in here if isinstance(one, type) and issubclass(one, BaseModel)]


def _keys(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _kinds(annotation: Any) -> Iterable[Any]:
    """Return a field's models and containers, unions taken apart."""
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation] if issubclass(annotation, BaseModel) else []
    if getattr(annotation, "__origin__", None) in (dict, list, tuple):
        return [annotation]
    return [kind for argument in get_args(annotation) for kind in _kinds(argument)]
