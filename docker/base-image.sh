#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes sure that the image debian:bookworm-slim is here: pulls it or, where no image registry can be reached, makes one like
# it (scripts/debian_root.sh). Needs a docker daemon; debootstrap needs root.
set -euo pipefail

image=debian:bookworm-slim
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

start=$SECONDS
"${as_root[@]}" "$(dirname "${BASH_SOURCE[0]}")/../scripts/debian_root.sh" "$root"
# man pages and the like are left out, as they are of the original.
printf 'path-exclude /usr/share/%s/*\n' doc man info locale |
  "${as_root[@]}" tee "$root/etc/dpkg/dpkg.cfg.d/docker" >/dev/null
"${as_root[@]}" rm -rf "$root"/usr/share/{doc,man,info,locale}/* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
"${as_root[@]}" tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$image" >/dev/null
say "made $image in $((SECONDS - start)) s"
