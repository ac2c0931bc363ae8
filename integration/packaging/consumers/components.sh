#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a finished build component by component, each into a prefix of its own; and a build in
# which nothing is built yet.
# usage: components.sh BUILD_DIR
set -euo pipefail
# shellcheck source=integration/packaging/consumers/common.sh
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/common.sh"

# files PREFIX: all but the license, which each component has.
files() { (cd "$1" && find . ! -type d ! -name LICENSE | sort); }

quietly cmake --install "$build" --prefix "$work/whole"
for part in runtime dev testing tools; do
  quietly cmake --install "$build" --prefix "$work/$part" --component "$part"
  files "$work/$part" >>"$work/all"
done

echo "together they are all, and no file is in two"
diff <(sort "$work/all") <(files "$work/whole") || fail "the components are not the whole"

echo "runtime: a library and its soname"
[[ $(files "$work/runtime" | grep -c '/libzkrecipes\.so\.[0-9.]*$') == 2 &&
  $(files "$work/runtime" | wc -l) == 2 ]] || fail "$(files "$work/runtime")"

echo "tools: zkr runs"
"$work/tools/bin/zkr" --version

echo "dev: gives the static library where there is no other, and no zkrecipes::testing"
quietly cmake -S "$here/find_package" -B "$work/alone" -G Ninja -DCMAKE_PREFIX_PATH="$work/dev" \
  -DBUILD_SHARED_LIBS=ON -DWITHOUT_TESTING=ON
grep -q 'libzkrecipes\.a' "$work/alone/build.ninja" ||
  fail "what it links is not the static library"

echo "an install builds what is missing"
mkdir "$work/bin"
printf '#!/bin/sh\necho "told to build: $*"; exit 1\n' >"$work/bin/ninja"
chmod +x "$work/bin/ninja"
quietly cmake -S "$here/../../.." -B "$work/bare" -G Ninja -DZKRECIPES_BUILD_TESTS=OFF \
  -DZKRECIPES_BUILD_DEMO=OFF
sed -i "s|^CMAKE_MAKE_PROGRAM:.*|CMAKE_MAKE_PROGRAM:FILEPATH=$work/bin/ninja|" \
  "$work/bare/CMakeCache.txt"
for part in runtime dev testing tools; do
  ! cmake --install "$work/bare" --prefix "$work/none" --component $part >"$work/log" 2>&1 ||
    fail "$part is installed unbuilt"
  grep -q "told to build: .*zkrecipes_component_$part\$" "$work/log" ||
    { cat "$work/log" >&2; fail "$part is not built"; }
  [[ ! -e $work/none ]] || fail "$part leaves files behind though it cannot be built"
done
echo "components: all passed"
