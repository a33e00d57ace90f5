"""Holds a call's arguments against a JSON schema: one of the rule file, or the tool's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from core_eval.rules.calls import ANY_TOOL, Made
from core_eval.text.json_text import to_json

OWN = "own"
"""What a rule writes for the schema that the tool itself has."""
SHOWN = 120
"""Characters of a fault that are shown."""


def checked_schemas(written: Any) -> Any:
    """Return what a rule writes under `schemas`.

    Raises:
        ValueError: it has another form, or a schema cannot be held against arguments.
    """
    if written is None or written == ANY_TOOL:
        return written
    if not isinstance(written, Mapping) or not written:
        raise ValueError(f"needs '*', or {{tool: JSON schema, or {OWN}}}, not {written!r}")
    for tool, schema in written.items():
        if schema == OWN:
            continue
        if not isinstance(schema, Mapping):
            raise ValueError(f"{tool} needs a JSON schema, or {OWN}, not {schema!r}")
        if fault := _fault_of_schema(schema):
            raise ValueError(f"{tool}: {fault}")
    return written


def schema_faults(written: Any) -> Callable[[Made], str]:
    """Return what tells how a call's arguments do not fit; a tool without a known schema is not judged."""
    texts = {} if written == ANY_TOOL else {tool: to_json(one) for tool, one in written.items() if one != OWN}

    def evidence(made: Made) -> str:
        tool = made.call.name
        if tool in texts:
            return _fault(texts[tool], made.call.arguments, is_foreign=False)
        if written != ANY_TOOL and tool not in written:
            return ""
        own = made.told.schemas.of.get(tool) if made.told else None
        if own is None:
            if made.told:
                made.told.schemas.missed.add(tool)
            return ""
        return _fault(to_json(own), made.call.arguments, is_foreign=True)

    return evidence


def _fault(schema: str, arguments: Mapping[str, Any], *, is_foreign: bool) -> str:
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    validator = _validator(schema, is_foreign=is_foreign)
    try:
        error = None if validator is None else best_match(validator.iter_errors(arguments))
    except (Unresolvable, RecursionError):
        return ""
    return "" if error is None else _line(error)


def _line(error: Any) -> str:
    at = error.json_path.removeprefix("$").removeprefix(".")
    text = f"{at}: {error.message}" if at else str(error.message)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _fault_of_schema(schema: Mapping[str, Any]) -> str | None:
    """Return why a schema of a rule file cannot be used."""
    from jsonschema.exceptions import SchemaError
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        _kind(schema).check_schema(schema)
        resource = Resource.from_contents(schema, default_specification=DRAFT202012)
        registry: Registry[Any] = Registry().with_resource(resource.id() or "", resource)
        for reference in _references(schema):
            registry.resolver(resource.id() or "").lookup(reference)
        _kind(schema)(schema, registry=Registry()).is_valid({})
    except SchemaError as error:
        return f"no JSON schema: {_line(error)}"
    except Unresolvable as error:
        return f"no place in this schema: $ref {error.ref}"
    except RecursionError:
        return "a $ref leads back to itself"
    return None


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        for one in schema.values():
            yield from _references(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from _references(one)


@lru_cache(maxsize=1024)
def _validator(text: str, *, is_foreign: bool) -> Any:
    """Return the validator of a schema, which fetches nothing; None where a foreign one is no JSON schema."""
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    schema = json.loads(text)
    kind = _kind(schema)
    if is_foreign:
        try:
            kind.check_schema(schema)
        except (SchemaError, RecursionError):
            return None
        kind = _without_expressions(kind)
    return kind(schema, registry=Registry())


def _kind(schema: Mapping[str, Any]) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    named = isinstance(schema.get("$schema"), str)
    return validator_for(schema if named else {}, Draft202012Validator)


@lru_cache(maxsize=16)
def _without_expressions(kind: Any) -> Any:
    """Return the validator without regular expressions: a foreign one may take forever."""
    from jsonschema.validators import extend

    def additional(validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]) -> Any:
        if "patternProperties" in schema:
            return ()
        return kind.VALIDATORS["additionalProperties"](validator, allowed, instance, schema)

    def nothing(*_: Any) -> tuple[()]:
        return ()

    left_out = dict.fromkeys(("pattern", "patternProperties", "unevaluatedProperties"), nothing)
    return extend(kind, {**left_out, "additionalProperties": additional})
