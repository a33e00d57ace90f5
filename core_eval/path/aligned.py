"""What aligning a path with the golden paths of a task gives."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Aligned:
    """The scores that compare a path with the golden ones; `bounds` holds those that are not exact.

    A score that is not exact is given by its lower bound (efficiency None where that is 0).
    """

    path_correctness: float
    pc_ktc: float
    path_correctness_hlr: float
    efficiency: float | None
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)

    def bound(self, name: str, low: float, high: float) -> None:
        """Note a score's bounds, unless they are equal."""
        if low < high:
            self.bounds[name] = (low, high)
