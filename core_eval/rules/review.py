"""A rule file that is changed rule by rule; everything else in it stays, letter by letter."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent
from typing import Any

import yaml

from configs.yaml_text import YamlError, parse_yaml, text_end
from core_eval.rules.rule_file import Review
from core_eval.text.json_text import json_text


def with_review(text: str, place: int, review: Review) -> str:
    """Return the text of a rule file in which the review of one rule says so.

    Raises:
        ValueError: the rule is written in a way that cannot be edited.
    """
    node = _rule(text, place)
    written = next((value for key, value in node.value if key.value == "review"), None)
    if written is not None:
        changed = text[: written.start_mark.index] + review + text[text_end(written) :]
    else:
        # Before its second key, which in a block has a line of its own.
        at = node.value[min(1, len(node.value) - 1)][0].start_mark
        block = f"review: {review}\n{' ' * at.column}"
        entry = f'"review": "{review}", ' if node.flow_style else block
        changed = text[: at.index] + entry + text[at.index :]
    return _checked(text, changed, place, {**_written(text, place), "review": review})


def with_rule(text: str, place: int, rule: Mapping[str, Any]) -> str:
    """Return the text of a rule file with another rule in one's place.

    Raises:
        ValueError: the rule is written in a way that cannot be edited.
    """
    node = _rule(text, place)
    if node.flow_style:
        new = json_text(rule)
    else:
        block = yaml.safe_dump(dict(rule), sort_keys=False, allow_unicode=True, width=100).rstrip()
        new = indent(block, " " * node.start_mark.column).lstrip()
    return _checked(text, text[: node.start_mark.index] + new + text[text_end(node) :], place, rule)


def _rule(text: str, place: int) -> yaml.MappingNode:
    root = parse_yaml(text).root
    assert isinstance(root, yaml.MappingNode), "the loader makes sure"
    rules = next(value for key, value in root.value if key.value == "rules")
    node: yaml.MappingNode = rules.value[place]
    return node


def _written(text: str, place: int) -> dict[str, Any]:
    rule: dict[str, Any] = parse_yaml(text).value["rules"][place]
    return rule


def _checked(text: str, changed: str, place: int, rule: Mapping[str, Any]) -> str:
    """Return the changed text, if nothing but that rule is another."""
    wanted = parse_yaml(text).value
    wanted = {**wanted, "rules": [*wanted["rules"]]}
    wanted["rules"][place] = dict(rule)
    try:
        right = parse_yaml(changed).value == wanted
    except YamlError:
        right = False
    if not right:
        raise ValueError(
            f"rule {rule.get('id')} cannot be changed where it stands (an anchor, an alias or a merge key?): "
            "change it by hand"
        )
    return changed
