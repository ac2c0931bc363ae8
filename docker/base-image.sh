#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes sure that the image debian:bookworm-slim is here: pulls it or, where no image registry can be reached, makes one like
# it with debootstrap from the Debian mirror that this machine's own apt uses. Needs a docker daemon; debootstrap needs root.
set -euo pipefail

image=debian:bookworm-slim release=bookworm
say() { printf '== %s\n' "$*" >&2; }

! docker image inspect "$image" >/dev/null 2>&1 || exit 0
say "pulling $image"
! timeout 60 docker pull --quiet "$image" >/dev/null 2>&1 || exit 0

say "no registry has it for us: making $image with debootstrap"
as_root=()
((EUID == 0)) || as_root=(sudo)
work=$(mktemp -d)
trap '"${as_root[@]}" rm -rf "$work"' EXIT
root=$work/root

# Lines of sources.list, as apt here understands its own configuration, whatever files that is in.
sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) # $(ORIGIN) $(CODENAME)' 'Created-By: Packages' |
    sed -n "s/ # Debian $release\(-updates\|-security\|\)$//p" | sort -u
}
sources=$(sources)
mirror=$(awk -v release="$release" '$3 == release {print $2; exit}' <<<"$sources")
[[ -n $mirror ]] || { say "apt has no source of Debian $release: run apt-get update on a Debian 12"; exit 1; }

start=$SECONDS
# man pages and the like are left out, as they are of the original.
"${as_root[@]}" debootstrap --variant=minbase --merged-usr "$release" "$root" "$mirror" >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log" "$root/debootstrap/debootstrap.log" >&2; exit 1; }
printf '%s\n' "$sources" | "${as_root[@]}" tee "$root/etc/apt/sources.list" >/dev/null
# How to reach a mirror, and that one of yesterday will do.
apt-config dump | grep -E '^Acquire::(Check-|https?::Proxy )' |
  "${as_root[@]}" tee "$root/etc/apt/apt.conf.d/90host" >/dev/null || true
printf 'path-exclude /usr/share/%s/*\n' doc man info locale |
  "${as_root[@]}" tee "$root/etc/dpkg/dpkg.cfg.d/docker" >/dev/null
"${as_root[@]}" rm -rf "$root"/usr/share/{doc,man,info,locale}/* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
"${as_root[@]}" tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$image" >/dev/null
say "made $image in $((SECONDS - start)) s"
