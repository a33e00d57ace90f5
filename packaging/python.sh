#!/bin/sh
# Makes the virtual environment given as first argument with the first Python of 3.11 or later that can.
set -eu
for python in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
    command -v "$python" >/dev/null 2>&1 || continue
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        # Debian parts venv and ensurepip from its Python.
        "$(dirname "$0")/system_packages.sh" "pathrig-needs-venv=python3-venv"
    fi
    echo "==> making $1 with $($python --version)"
    exec "$python" -m venv "$1"
done
echo "pathrig: needs Python 3.11 or later; set PYTHON=/path/to/python3.11" >&2
exit 1
