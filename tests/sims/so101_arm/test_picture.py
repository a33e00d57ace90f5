"""Pictures of the SO-101's table show the published meshes where the arm is."""

import struct
import zlib

import numpy as np
import pytest
from so101_rig import do, needs_so101, so101

from sims.png import PictureError

pytestmark = [needs_so101, pytest.mark.slow]


def pixels(file):
    width, height = struct.unpack(">II", file[16:24])
    start = file.index(b"IDAT")
    (length,) = struct.unpack(">I", file[start - 4 : start])
    rows = np.frombuffer(zlib.decompress(file[start + 4 : start + 4 + length]), np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3).astype(int)


def yellow(image):
    return (image[..., 0] > 120) & (image[..., 1] > 90) & (image[..., 2] < image[..., 1] / 2)


def test_the_arm_is_drawn_where_it_is():
    from sims.so101_arm.picture import picture

    simulator, _ = so101()
    try:
        first = pixels(picture(simulator, (120, 80)))
    except PictureError as error:
        pytest.skip(str(error))
    assert yellow(first).sum() > 200
    do(simulator, "move_to", x=0.15, y=0.2, z=0.1, pitch=1.2)
    moved = pixels(picture(simulator, (120, 80)))
    assert yellow(moved).sum() > 200
    assert (yellow(first) != yellow(moved)).sum() > 150
