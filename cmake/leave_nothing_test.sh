#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a test, and then the ctest of another, that have each started a process in a session of its
# own: it has to end, too.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }
await() {
  for ((i = 0; i < 600; ++i)); do ! "$@" || return 0; sleep 0.1; done
  fail "$* does not come true"
}
gone() { ! pgrep --full "^sleep $1\$" >/dev/null; }

for killed in test ctest; do
  time=1000.$$$RANDOM
  # The parent of the test stands for ctest.
  bash -c 'echo $$ >"$2/ctest"
    "$0" bash -c "echo \$\$ >\"$2/test\"; setsid sleep $1 & wait" & wait' \
    "$here/leave_nothing.sh" "$time" "$work" 2>/dev/null &
  await pgrep --full "^sleep $time\$" >/dev/null
  kill -KILL "$(cat "$work/$killed")"
  await gone "$time"
  await test ! -e "/proc/$(cat "$work/test")/environ"
  echo "ok: nothing is left of a $killed that is killed"
done
