#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: debian_root.sh DIRECTORY [bookworm|trixie]
# Makes a bare Debian 12 or 13 there, with debootstrap, from the mirrors that this machine's own apt
# uses, and goes on using them. Runs as root on a Debian 12.
set -euo pipefail
root=$1 release=${2:-bookworm}
say() { printf '== %s\n' "$*" >&2; }

# Lines of sources.list, as apt here understands its own configuration, whatever files that is in.
sources=$(apt-get indextargets \
  --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) # $(ORIGIN) $(CODENAME)' \
  'Created-By: Packages' | sed -n "s/ # Debian bookworm\(-updates\|-security\|\)$//p" |
  sort -u | sed "s/ bookworm/ $release/")
mirror=$(awk -v release="$release" '$3 == release {print $2; exit}' <<<"$sources")
[[ -n $mirror ]] ||
  { say "apt has no source of Debian 12: run apt-get update on a Debian 12"; exit 1; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
debootstrap --variant=minbase --merged-usr "$release" "$root" "$mirror" >"$log" 2>&1 ||
  { tail -n 20 "$log" "$root/debootstrap/debootstrap.log" >&2; exit 1; }
printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
# How to reach a mirror, and that one of yesterday will do.
apt-config dump | grep -E '^Acquire::(Check-|https?::Proxy )' \
  >"$root/etc/apt/apt.conf.d/90host" || true
# It is thrown away: dpkg need not wait for the disk after each file.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
