#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: image.sh server|build|zkr [COMMAND...]
# Builds the image zkrecipes-zookeeper (a server), zkrecipes-build (the toolchain) or zkrecipes-zkr (the command, of the
# directory build, or of ZKRECIPES_BUILD), and what it is based on, if that has not been done; then becomes the command.
set -euo pipefail
docker=$(dirname "${BASH_SOURCE[0]}")

case ${1:-} in
  server) name=zkrecipes-zookeeper context=$docker/server ;;
  build) name=zkrecipes-build context=$docker/.. ;;
  zkr) name=zkrecipes-zkr context="" ;;
  *) echo "usage: $0 server|build|zkr [COMMAND...]" >&2; exit 2 ;;
esac
start=$SECONDS
log=$(mktemp)
made=$(mktemp -d)
trap 'rm -rf "$log" "$made"' EXIT
if [[ -z $context ]]; then  # based on nothing
  context=$made
  "$docker/zkr/rootfs.sh" "${ZKRECIPES_BUILD:-$docker/../build}" "$context"
else
  "$docker/base-image.sh"
fi
echo "== building the image $name" >&2
# The host's network: there, whatever apt needs to reach its mirror is set up. The old builder is everywhere.
DOCKER_BUILDKIT=0 docker build --network=host --rm --force-rm --tag "$name" --file "$docker/$1/Dockerfile" "$context" \
  >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
echo "== built the image $name in $((SECONDS - start)) s" >&2
shift
(($# == 0)) || { rm -rf "$log" "$made"; exec "$@"; }
