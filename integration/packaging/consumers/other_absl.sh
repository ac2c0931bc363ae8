#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the library from source with another absl than the installed one, inside a project that
# brings that absl itself and exports a library of its own (own_absl/), and runs its programs; then
# a project finds what was installed.
# usage: other_absl.sh [DIRECTORY | SUITE]: absl's source, or the Debian suite to fetch it from
# (trixie, a newer release).
set -euo pipefail
from=${1:-trixie}
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quietly() {
  "$@" >"$work/log" 2>&1 || { tail -n 50 "$work/log" >&2; echo "FAIL: $*" >&2; exit 1; }
}

# fetch SUITE: the source as it was released, without Debian's changes; with lists of its own, so
# the machine's stay as they are.
fetch() {
  mkdir -p "$work/lists/partial"
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "http://deb.debian.org/debian $1 main" >"$work/list"
  local apt=(apt-get -o Dir::Etc::sourcelist="$work/list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$work/lists" -o Acquire::Retries=2 -o APT::Sandbox::User="$(id -un)")
  (cd "$work" && "${apt[@]}" update && "${apt[@]}" source --download-only abseil) \
    >"$work/log" 2>&1 || return 1
  mkdir "$work/absl"
  tar -xzf "$work"/abseil_*.orig.tar.gz -C "$work/absl" --strip-components=1
}

source=$from
if [[ ! -d $source ]]; then
  source=$work/absl
  fetch "$from" || { tail -n 3 "$work/log"; echo "[  SKIPPED ] other_absl"; exit 77; }
fi

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
quietly cmake -S "$here/own_absl" -B "$work/build" -G Ninja "${launcher[@]}" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-g0 -DCMAKE_INSTALL_PREFIX="$work/prefix" \
  -DOWN_ABSL="$source" -DZKRECIPES_SOURCE="$(realpath "$here/../../..")"
quietly cmake --build "$work/build" -j "$(nproc)"
quietly cmake --install "$work/build"
for program in consumer consumer_test; do "$work/build/$program"; done

quietly cmake -S "$here/find_package" -B "$work/found" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
grep -o -- '-- zkrecipes .*' "$work/log"
quietly cmake --build "$work/found"
"$work/found/consumer_test"
