#!/bin/sh
# Usage: system_packages.sh WHAT=PACKAGE...
# Installs through apt the Debian packages whose command or file WHAT is missing, and says so; does nothing where all
# are there.
set -eu
PATH="$PATH:/usr/sbin:/sbin"
missing=""
for pair in "$@"; do
    what="${pair%%=*}"
    command -v "$what" >/dev/null 2>&1 || [ -e "$what" ] || missing="$missing ${pair#*=}"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    echo "pathrig: please install with your system's package manager:$missing" >&2
    exit 1
fi
root=""
[ "$(id -u)" = 0 ] || root="sudo"
echo "==> installing system packages:$missing"
$root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
# shellcheck disable=SC2086
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
