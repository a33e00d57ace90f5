#!/bin/sh
# Usage: try_arm64.sh [FOLDER]
# Makes a Debian root for arm64 in FOLDER (/var/tmp/pathrig-arm64) with debootstrap, installs a wheel of this checkout
# there, and runs one small job. The programs run under qemu-user. Each step is told, with the seconds since the start;
# the first one that fails ends it. Needs root, or sudo. Cut short, the same command goes on: a finished root is used
# again, and so are packages that were loaded; a root that debootstrap did not finish is removed, and made from them.
#
# SUITE (bookworm), MIRROR (deb.debian.org) and PYTHON (python3, for the wheel) are taken from the environment.
set -eu
root="$(realpath -m "${1:-/var/tmp/pathrig-arm64}")"
cd "$(dirname "$0")/.."
suite="${SUITE:-bookworm}"
PATH="$PATH:/usr/sbin:/sbin"
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
work="$(mktemp -d)"
# debootstrap leaves both mounted where it is cut short.
trap '$sudo umount "$root/proc" "$root/sys" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

begun=$(date +%s)
step() {
    echo "==> $(($(date +%s) - begun)) s: $*"
}
inside() {
    $sudo chroot "$root" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 \
        PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore "$@"
}

step "on $(uname -m), $(nproc) cores"
packaging/system_packages.sh debootstrap=debootstrap qemu-aarch64-static=qemu-user-static \
    update-binfmts=binfmt-support
if [ "$(uname -m)" != aarch64 ] && ! [ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
    echo "pathrig: the kernel does not hand arm64 programs to qemu: mount binfmt_misc on /proc/sys/fs/binfmt_misc" \
        "and run 'update-binfmts --enable qemu-aarch64'" >&2
    exit 1
fi

if ! [ -e "$root/etc/pathrig-root" ]; then
    if [ -n "$(ls -A "$root" 2>/dev/null)" ]; then
        if ! [ -e "$root.packages" ]; then
            echo "pathrig: $root holds something else: name another folder" >&2
            exit 1
        fi
        step "removing $root, which was cut short"
        $sudo umount "$root/proc" "$root/sys" 2>/dev/null || true
        $sudo rm -rf --one-file-system "$root"
    fi
    step "debootstrap of $suite for arm64 into $root"
    $sudo mkdir -p "$root" "$root.packages"
    if ! $sudo debootstrap --cache-dir="$root.packages" --arch=arm64 --variant=minbase \
        --include=python3,python3-venv,ca-certificates "$suite" "$root" "${MIRROR:-http://deb.debian.org/debian}" >"$work/log" 2>&1; then
        tail -n 5 "$work/log" >&2
        exit 1
    fi
    $sudo touch "$root/etc/pathrig-root"
fi
# What this machine trusts and asks, its proxy's certificate included.
for file in /etc/ssl/certs/ca-certificates.crt /etc/resolv.conf; do
    [ ! -e "$file" ] || $sudo cp -L "$file" "$root$file"
done
step "$(inside uname -m), $(inside python3 --version), $($sudo du -smx "$root" | cut -f1) MB"

step "a wheel of this checkout"
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --wheel-dir "$work" .
# A stale copy in the working folder would hide the installed entry points.
rm -rf pathrig.egg-info build/lib build/bdist.*
$sudo rm -rf "$root/root/wheel"
$sudo mkdir -p "$root/root/wheel"
$sudo cp "$work"/*.whl constraints.txt "$root/root/wheel/"

step "installing it, from PyPI's wheels for arm64"
inside sh -c '/root/kit/bin/pip --version >/dev/null 2>&1 || python3 -m venv --clear /root/kit'
# pip keeps an installed package of the wheel's version.
inside /root/kit/bin/pip uninstall --quiet --yes pathrig 2>/dev/null
inside sh -c '/root/kit/bin/pip install --quiet --no-compile --only-binary :all: -c /root/wheel/constraints.txt /root/wheel/*.whl'
step "$(inside /root/kit/bin/pathrig --version), $(inside /root/kit/bin/pip list 2>/dev/null | tail -n +3 | wc -l) packages"

step "the job: an oracle waters a plant of the simulated farm, over MQTT"
inside sh -c 'rm -rf /root/job && mkdir /root/job && cd /root/job &&
    /root/kit/bin/pathrig run --task water_one_plant --rig sim-farm-mqtt --agent oracle --db job.db'
step "done"
