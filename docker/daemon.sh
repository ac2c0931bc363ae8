#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: daemon.sh COMMAND...
# Runs the command while a docker daemon answers. One that answers already is used. Else dockerd is
# started by hand, with its own defaults, and ended when the last command that was run like this
# ends: by its pid, and after four hours in any case.
set -euo pipefail

PATH=$PATH:/usr/sbin:/sbin
state=/run/lock/zkrecipes-docker-$UID
say() { printf '== %s\n' "$*" >&2; }
answers() { timeout 10 docker version >/dev/null 2>&1; }
as_root=()
((EUID == 0)) || as_root=(sudo)

start() {
  command -v dockerd >/dev/null || { say "no dockerd: ./dev apt-install"; return 1; }
  say "no docker daemon answers: starting one"
  # A session of its own: what ends the command on a terminal must not end the daemon under
  # another's feet.
  "${as_root[@]}" setsid \
    sh -c 'echo $$ >"$1.pid"; exec timeout 4h dockerd --group "$2" >"$1.log" 2>&1' \
    sh "$state" "$(id -g)" </dev/null 8>&- 9>&- &
  local i
  for ((i = 0; i < 60; ++i)); do
    ! answers || return 0
    kill -0 $! 2>/dev/null || break
    sleep 0.5
  done
  tail -n 20 "$state.log" >&2
  say "the docker daemon does not answer"
  return 1
}

end() {
  local pid
  pid=$(cat "$state.pid" 2>/dev/null) || return 0
  rm -f "$state.pid" 2>/dev/null || "${as_root[@]}" rm -f "$state.pid"
  [[ $(cat "/proc/$pid/comm" 2>/dev/null) == timeout ]] || return 0
  "${as_root[@]}" kill "$pid"  # passes it on to dockerd, which ends its containers
  timeout 60 tail --pid="$pid" -f /dev/null || say "the docker daemon takes long to end"
}

# Whoever uses the daemon holds the one lock, whoever starts or ends it the other.
exec 8>"$state.users" 9>"$state.changing"
finish() {
  flock 9
  flock -u 8
  ! flock -xn 8 || end
}
flock 9
flock -s 8
trap finish EXIT
answers || start
flock -u 9
"$@" 8>&- 9>&-
