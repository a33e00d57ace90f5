"""What the second opinions on harm share: the rules once more, over looks; nothing of the simulators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ABOVE = 1e-9

State = Mapping[str, Any]
Found = tuple[str, str, int | None, float]
"""Kind, entity, the call that caused it (None: the running one), and by how much the limit is passed."""
