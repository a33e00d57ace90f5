"""The rules of a file that a verb holds traces or runs to."""

from __future__ import annotations

import sys
from pathlib import Path

from core_eval.cli.output import UsageError
from core_eval.rules.rule_file import Rule, load_rules


def rules_to_check(path: Path | None) -> tuple[Rule, ...]:
    """Return the rules of a file that are checked; tell on standard error of drafts that wait for review.

    Raises:
        ConfigError: the file cannot be read, or a key of it is wrong.
        UsageError: none of its rules is checked.
    """
    if path is None:
        return ()
    file = load_rules(path)
    waiting = sum(rule.review == "drafted" for rule in file.rules)
    remedy = f"{waiting} of {len(file.rules)} wait for `pathrig rules review {path}`"
    if not file.checked:
        raise UsageError(f"{path}: none of its rules is approved; {remedy}")
    if waiting:
        print(f"pathrig: {path}: drafts are not checked; {remedy}", file=sys.stderr)
    return file.checked
