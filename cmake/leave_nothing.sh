#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: leave_nothing.sh COMMAND...
# Becomes the command, a test. Nothing that the test has started outlives it for long, even if
# SIGKILL ends the test or ctest: a watcher ends what is left. Processes of the test inherit
# ZKRECIPES_TEST_RUN, also into sessions of their own, and are found by it; containers are found by
# their names, if these contain its value. What has another way to end in order, and needs time for
# it, is started without the variable.

if [[ $1 != --watch ]]; then
  run=$$-$RANDOM$RANDOM
  # In a session of its own and no child of the test: ctest ends a test that takes too long together
  # with all its descendants.
  (setsid "$0" --watch $$ $PPID "$run" </dev/null >/dev/null 2>&1 &)
  export ZKRECIPES_TEST_RUN=$run
  exec "$@"
fi

test=$2 ctest=$3 run=$4
# Once ctest is gone, the test has another parent.
while read -r _ _ _ parent _ <"/proc/$test/stat" && [[ $parent == "$ctest" ]]; do sleep 0.5; done
signal=
for ((round = 0; round < 60; ++round)); do
  left=$(grep -lzsx "ZKRECIPES_TEST_RUN=$run" /proc/[0-9]*/environ | cut -d/ -f3)
  [[ -n $left ]] || break
  # At first processes may end by themselves, as the guards of servers do after they have removed a
  # directory.
  ((round != 5)) || signal=TERM
  ((round != 15)) || signal=KILL
  # shellcheck disable=SC2086  # one word each
  [[ -z $signal ]] || kill -s "$signal" $left
  sleep 1
done
if docker version >/dev/null 2>&1; then
  docker ps --all --quiet --filter "name=$run" | xargs --no-run-if-empty docker rm --force
  docker network ls --quiet --filter "name=$run" | xargs --no-run-if-empty docker network rm
fi
