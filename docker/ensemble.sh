#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: ensemble.sh PROJECT SECONDS
# Starts the ensemble of docker-compose.yml under this name, with the variables that it takes, and
# ends it, its volumes included, once standard input is closed or the time is over. So it ends with
# whoever holds the other end, however that ends.
set -uo pipefail
# cmake/leave_nothing.sh, by which tests run, leaves it the time that it needs to end the ensemble.
[[ -z ${ZKRECIPES_TEST_RUN:-} ]] || exec env -u ZKRECIPES_TEST_RUN "${BASH_SOURCE[0]}" "$@"
cd "$(dirname "${BASH_SOURCE[0]}")" || exit

project=$1 seconds=$2
trap '' HUP INT TERM
compose() {
  local command=(docker compose)
  docker compose version >/dev/null 2>&1 || command=(docker-compose)
  "${command[@]}" --project-name "$project" "$@" </dev/null
}

docker image inspect zkrecipes-zookeeper >/dev/null ||
  { echo "no image: run docker/image.sh server" >&2; exit 1; }
status=0
if compose up --detach --no-build; then
  timeout "$seconds" cat >/dev/null
else
  status=1
fi
# A paused one cannot be told to stop, and nobody wants its data.
compose kill >/dev/null 2>&1
compose down --volumes --timeout 1
exit "$status"
