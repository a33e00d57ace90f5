"""The scorer costs the standard library; statistics and traces cost numpy at most."""

from __future__ import annotations

import json
import subprocess
import sys

LISTING = """
import json, sys
before = set(sys.modules)
NAMES = ("path.scorer", "path.plan", "path.core_json", "path.taxonomy", "statistics.estimates")
for name in (*NAMES, "statistics.pareto", "traces.trace_file"):
    __import__(f"core_eval.{name}")
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def test_nothing_but_the_standard_library_and_numpy():
    result = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, check=True)
    loaded = set(json.loads(result.stdout))
    assert loaded - set(sys.stdlib_module_names) <= {"core_eval", "numpy"}


def test_the_scorer_itself_needs_no_numpy():
    script = "import sys, core_eval.path.scorer; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
