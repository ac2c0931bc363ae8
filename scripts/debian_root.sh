#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: debian_root.sh DIRECTORY
# Makes a bare Debian 12 there, with debootstrap from the mirror that this machine's own apt uses, which it goes on using. As root.
set -euo pipefail
root=$1 release=bookworm
say() { printf '== %s\n' "$*" >&2; }

# Lines of sources.list, as apt here understands its own configuration, whatever files that is in.
sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) # $(ORIGIN) $(CODENAME)' 'Created-By: Packages' |
  sed -n "s/ # Debian $release\(-updates\|-security\|\)$//p" | sort -u)
mirror=$(awk -v release="$release" '$3 == release {print $2; exit}' <<<"$sources")
[[ -n $mirror ]] || { say "apt has no source of Debian $release: run apt-get update on a Debian 12"; exit 1; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
debootstrap --variant=minbase --merged-usr "$release" "$root" "$mirror" >"$log" 2>&1 ||
  { tail -n 20 "$log" "$root/debootstrap/debootstrap.log" >&2; exit 1; }
printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
# How to reach a mirror, and that one of yesterday will do.
apt-config dump | grep -E '^Acquire::(Check-|https?::Proxy )' >"$root/etc/apt/apt.conf.d/90host" || true
