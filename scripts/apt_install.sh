#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Debian packages with visible, short progress. usage: apt_install.sh PACKAGE...
set -euo pipefail

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "need root or sudo to install: $*" >&2; exit 1; }
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
    apt-get -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null 2>&1 | tee -a "$log"
}

# One line that rewrites itself on a terminal, else a line every tenth package.
progress() {
  awk -v tty="$([[ -t 2 ]] && echo 1 || echo 0)" '
    function show(what, n) {
      if (tty) printf "\r\033[K   %s %d%s", what, n, total ? " of " total : ""
      else if (n % 10 == 1) printf "   %s %d%s\n", what, n, total ? " of " total : ""
      fflush()
    }
    / newly installed/ { total = $3 }
    /^Get:/ { show("downloading", ++got) }
    /^Unpacking / { show("unpacking", ++unpacked) }
    /^Setting up / { show("setting up", ++done) }
    END { if (tty) printf "\r\033[K" }' >&2
}

echo "== installing $*" >&2
# Old lists may do, so only the install decides.
apt update >/dev/null || echo "   apt-get update failed; trying with the lists at hand" >&2
if ! apt install --no-install-recommends "$@" | progress; then
  tail -n 30 "$log" >&2
  exit 1
fi
