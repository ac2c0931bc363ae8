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

# One line that rewrites itself on a terminal, else a line every 40th package. (Not awk: Debian's
# buffers its input.)
show() {
  local what=$1 number=$2 of=$3
  if [[ -t 2 ]]; then
    printf '\r\033[K   %s %d%s' "$what" "$number" "$of" >&2
  elif ((number % 40 == 1)); then
    printf '   %s %d%s\n' "$what" "$number" "$of" >&2
  fi
}

progress() {
  local line of="" got=0 unpacked=0 done=0
  while IFS= read -r line; do
    case $line in
      *" newly installed"*) of=" of $(sed -E 's/.* ([0-9]+) newly.*/\1/' <<<"$line")" ;;
      "Get:"*) show downloading $((got += 1)) "$of" ;;
      "Unpacking "*) show unpacking $((unpacked += 1)) "$of" ;;
      "Setting up "*) show "setting up" $((done += 1)) "$of" ;;
    esac
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# Old lists may do, so only the install decides.
apt update >/dev/null || echo "   apt-get update failed; trying with the lists at hand" >&2
# Of a rehearsal: "12 newly installed", "Need to get 34 MB", "56 MB of additional disk space".
size=$(LC_ALL=C apt-get --assume-no -o Debug::NoLocking=1 --no-install-recommends install "$@" \
  2>/dev/null |
  sed -nE 's/.*, ([0-9]+) newly installed.*/\1 packages/p
    s/^Need to get ([^/]*).* of archives.*/\1 to download/p
    s/^After this operation, (.*) of additional disk space.*/\1 on disk/p' |
  paste -sd, | sed 's/,/, /g') || true  # it answers no
echo "== installing $* and what they need: ${size:-of unknown size}" >&2
if ! apt install --no-install-recommends "$@" | progress; then
  tail -n 30 "$log" >&2
  exit 1
fi
