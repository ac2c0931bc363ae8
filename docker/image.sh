#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: image.sh server|build|zkr [COMMAND...]
# Builds the image zkrecipes-zookeeper (a server), zkrecipes-build (the toolchain) or zkrecipes-zkr
# (the command, of the directory build, or of ZKRECIPES_BUILD), and what it is based on, if that has
# not been done; then becomes the command.
set -euo pipefail
docker=$(dirname "${BASH_SOURCE[0]}")

case ${1:-} in
  server) name=zkrecipes-zookeeper context=$docker/server ;;
  build) name=zkrecipes-build context=$docker/.. ;;
  zkr) name=zkrecipes-zkr context="" ;;
  *) echo "usage: $0 server|build|zkr [COMMAND...]" >&2; exit 2 ;;
esac

# Makes sure that the image debian:bookworm-slim is here: pulls it or, where no image registry can
# be reached, makes one like it (scripts/debian_root.sh). debootstrap needs root.
base_image() (
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
  "${as_root[@]}" "$docker/../scripts/debian_root.sh" "$root"
  # man pages and the like are left out, as they are of the original.
  printf 'path-exclude /usr/share/%s/*\n' doc man info locale |
    "${as_root[@]}" tee "$root/etc/dpkg/dpkg.cfg.d/docker" >/dev/null
  "${as_root[@]}" rm -rf "$root"/usr/share/{doc,man,info,locale}/* \
    "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
  "${as_root[@]}" tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$image" >/dev/null
  say "made $image in $((SECONDS - start)) s"
)

start=$SECONDS
log=$(mktemp)
made=$(mktemp -d)
trap 'rm -rf "$log" "$made"' EXIT
if [[ -z $context ]]; then  # based on nothing
  context=$made
  "$docker/zkr/rootfs.sh" "${ZKRECIPES_BUILD:-$docker/../build}" "$context"
else
  base_image
fi
echo "== building the image $name" >&2
# The host's network: there, whatever apt needs to reach its mirror is set up. The old builder is
# everywhere.
DOCKER_BUILDKIT=0 docker build --network=host --rm --force-rm --tag "$name" \
  --file "$docker/$1/Dockerfile" "$context" >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
echo "== built the image $name in $((SECONDS - start)) s" >&2
shift
(($# == 0)) || { rm -rf "$log" "$made"; exec "$@"; }
