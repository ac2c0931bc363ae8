#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: in_bare_debian.sh bookworm|trixie COMMAND...
# Runs COMMAND as root in a bare Debian 12 or 13 that is made for it, in a copy of this checkout at
# /src. All that COMMAND starts ends with it, and the Debian is deleted, unless KEEP_ROOT names a
# directory for it, which is used again. Exits with COMMAND's status, or with 77 (skipped) where no
# such Debian can be made.
set -euo pipefail
checkout=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
release=$1
shift
if ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
  echo "[  SKIPPED ] a bare Debian needs root and debootstrap (./dev apt-install nightly)"
  exit 77
fi
root=${KEEP_ROOT:-$(mktemp -d)}
[[ -n ${KEEP_ROOT:-} ]] || trap 'rm -rf --one-file-system "$root"' EXIT
[[ -e $root/etc/apt/sources.list ]] || "$checkout/scripts/debian_root.sh" "$root" "$release"
mkdir -p "$root/src"
git -C "$checkout" ls-files -z --cached --others --exclude-standard |
  tar -C "$checkout" --ignore-failed-read --null -T - -c | tar -C "$root/src" -x
# Tests ask git which files there are.
git -C "$root/src" init -q --initial-branch=main
git -C "$root/src" add --all

# Its own terminals, shared memory and processes; /sys has the cgroups that zkr makes. The network
# is this machine's, for apt.
# shellcheck disable=SC2016  # expanded inside
unshare --mount --pid --fork --kill-child bash -euc '
  root=$1
  shift
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
  mount -t tmpfs tmpfs "$root/dev/shm"
  exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /src; exec \"\$@\"" bash "$@"
' bash "$root" "$@"
