"""Ranges of numbers and names in a bench's initial state."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

BENCH_LIMIT = 1.5
"""Maximum distance of a thing from the arm's base, m."""

Coordinate = Annotated[float, Field(ge=-BENCH_LIMIT, le=BENCH_LIMIT)]
Height = Annotated[float, Field(ge=0.0, le=BENCH_LIMIT)]
Angle = Annotated[float, Field(ge=-2 * math.pi, le=2 * math.pi)]
Length = Annotated[float, Field(gt=0.0, le=1.0)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
