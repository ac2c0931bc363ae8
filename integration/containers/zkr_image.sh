#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the image of zkr and does with it what a pod does: as the first process, not as root, with
# no rights and no disk.
# usage: docker/daemon.sh zkr_image.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."
work=$(mktemp -d)
zkr=$build/bin/zkr
name=zkrecipes-image-${ZKRECIPES_TEST_RUN:-$$}
fail() { echo "FAIL: $*" >&2; exit 1; }
finish() {
  docker kill "$name" >/dev/null 2>&1 || true
  docker rm --force "$name" >/dev/null 2>&1 || true
  "$zkr" ensemble stop --dir "$work/ensemble" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

ZKRECIPES_BUILD=$build docker/image.sh zkr
size=$(docker image inspect --format '{{.Size}}' zkrecipes-zkr)
echo "the image has $((size / 1000000)) MB"
((size < 40000000)) || fail "the image has $size bytes"

ZKR_SERVERS=$("$zkr" ensemble start --servers 1 --dir "$work/ensemble")
export ZKR_SERVERS
limits=(--network=host --read-only --cap-drop=ALL --security-opt=no-new-privileges
  --env ZKR_SERVERS)
run() { docker run --rm --name "$name" "${limits[@]}" zkrecipes-zkr "$@"; }
# gives STATUS WORDS COMMAND...: ends with that status, and prints these words.
gives() {
  local status=0 out
  out=$(run "${@:3}" 2>&1) || status=$?
  [[ $status == "$1" && $out == *"$2"* ]] || fail "${*:3}: status $status, and: $out"
  echo "ok: ${*:3}"
}

gives 0 "zkr " --version
gives 0 "" lock /locks/image -- true
gives 7 "" lock /locks/image -- sh -c 'exit 7'
gives 127 "" lock /locks/image -- /no/such/program
gives 0 "zkr 65532 65532" lock /locks/image -- sh -c 'echo "$(cat /proc/1/comm) $(id -u) $(id -g)"'
# An orphan that ends is reaped by the first process.
orphan='(sleep 0.1 &); sleep 1'
count='echo "zombies: $(grep -l "^State:.Z" /proc/[0-9]*/status | wc -l)"'
gives 0 "zombies: 0" lock /locks/image -- sh -c "$orphan; $count"

# await WORD: CMD has printed it.
await() {
  for _ in {1..200}; do
    ! docker logs "$name" 2>&1 | grep -x "$1" >/dev/null || return 0
    sleep 0.1
  done
  fail "in vain: $1"
}

# ended SECONDS STATUS: `docker stop` with 30 s ends it that soon, with this status, and the lock is
# free at once.
ended() {
  local start=$SECONDS status
  docker stop --time 30 "$name" >/dev/null
  ((SECONDS - start <= $1)) || fail "stopped after $((SECONDS - start)) s"
  status=$(docker inspect --format '{{.State.ExitCode}}' "$name")
  [[ $status == "$2" ]] || fail "stopped with status $status"
  "$zkr" lock /locks/image --try -- true || fail "the lock is held after docker stop"
}
start() { docker run --detach --name "$name" "${limits[@]}" zkrecipes-zkr "$@" >/dev/null; }

start lock /locks/image -- \
  sh -c 'trap "echo asked; exit 3" TERM; echo up; while :; do sleep 0.1; done'
await up
! "$zkr" lock /locks/image --try -- true 2>/dev/null || fail "two hold it"
ended 10 3
await asked
docker rm "$name" >/dev/null
echo "ok: docker stop reaches CMD, and its status comes back"

# What CMD leaves behind is killed, and zkr waits for that before it lets the lock go.
start lock /locks/image --grace 1s -- \
  sh -c '(trap "" TERM; while :; do sleep 1; done) & trap "exit 0" TERM; echo up; wait'
await up
ended 10 0
docker rm "$name" >/dev/null
echo "ok: docker stop ends what ignores SIGTERM within the grace"

start elect /elections/image --candidate a -- sh -c 'echo up; exec sleep 1000'
await up
docker kill "$name" >/dev/null
echo "ok: killed as a whole"
docker rm "$name" >/dev/null
echo "image: all passed"
