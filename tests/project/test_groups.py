"""pytest-xdist keeps a file's tests in one worker, as `tests/conftest.py` asks it to."""

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs all tests")
def test_this_test_is_in_the_group_of_its_file(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("test_groups.py"), (
        "the id lacks the group: does pytest-xdist fit to pytest?"
    )
