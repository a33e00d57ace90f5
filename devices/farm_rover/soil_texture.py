"""Published parameters of a soil by its texture class.

Sources:
- porosity, suction at the wetting front, conductivity: Rawls, Brakensiek and Miller (1983), "Green-Ampt
  infiltration parameters from soils data", J. Hydraul. Eng. 109(1), 62-70: means by texture class, table 2 on
  page 67. All 33 numbers agree with a transcription of that table (cm and cm/h there, mm and mm/h here).
- field capacity (-33 kPa) and wilting point (-1500 kPa): Rawls, Brakensiek and Saxton (1982), "Estimation of
  soil water properties", Trans. ASAE 25(5), 1316-1320, means by texture class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

Texture = Literal[
    "sand",
    "loamy sand",
    "sandy loam",
    "loam",
    "silt loam",
    "sandy clay loam",
    "clay loam",
    "silty clay loam",
    "sandy clay",
    "silty clay",
    "clay",
]


@dataclass(frozen=True, slots=True)
class Published:
    """Means of a texture class.

    Attributes:
        saturation: porosity, m3/m3.
        suction_mm: suction head at the wetting front, mm.
        conductivity_mm_h: hydraulic conductivity behind it, mm/h.
        field_capacity, wilting_point: m3/m3.
    """

    saturation: float
    suction_mm: float
    conductivity_mm_h: float
    field_capacity: float
    wilting_point: float


TEXTURES: dict[str, Published] = dict(
    zip(
        get_args(Texture),
        (
            Published(0.437, 49.5, 117.8, 0.091, 0.033),
            Published(0.437, 61.3, 29.9, 0.125, 0.055),
            Published(0.453, 110.1, 10.9, 0.207, 0.095),
            Published(0.463, 88.9, 3.4, 0.270, 0.117),
            Published(0.501, 166.8, 6.5, 0.330, 0.133),
            Published(0.398, 218.5, 1.5, 0.255, 0.148),
            Published(0.464, 208.8, 1.0, 0.318, 0.197),
            Published(0.471, 273.0, 1.0, 0.366, 0.208),
            Published(0.430, 239.0, 0.6, 0.339, 0.239),
            Published(0.479, 292.2, 0.5, 0.387, 0.250),
            Published(0.475, 316.3, 0.3, 0.396, 0.272),
        ),
        strict=True,
    )
)


def drainage_s(conductivity_mm_h: float) -> float:
    """Return the time constant of drainage above field capacity, s.

    AquaCrop (Raes et al., FAO, reference manual, chapter 3): a share tau = 0.0866 Ks^0.35 of it, at most 1,
    leaves in a day, Ks in mm/day.
    """
    return 86400.0 / min(1.0, 0.0866 * math.pow(conductivity_mm_h * 24.0, 0.35))


def recovery_s(conductivity_mm_h: float) -> float:
    """Return the dry time after which water meets a new wetting front, s.

    EPA SWMM (Rossman and Huber 2016, reference manual I, section 4.4): 4.5 h over the root of Ks in in/h.
    """
    return 4.5 * 3600.0 / math.sqrt(conductivity_mm_h / 25.4)
