#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that a program that was linked with the last release of the same soname runs with this
# tree's shared library: abidiff finds no function or type of the public headers gone or changed.
# Builds both, with the debug information that tells types.
# usage: check_abi.sh [TAG]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -n 's/^#define ZKRECIPES_VERSION "\(.*\)"/\1/p' include/zkrecipes/version.h)
soname=${version%.*}  # before 1.0 each minor release has one of its own (ADR 31)
tag=${1:-$(git tag --list "v$soname.*" --sort=-version:refname | head -n 1)}
if [[ -z $tag ]]; then
  echo "abi: there is no release of $soname yet (no tag v$soname.*)," \
    "so nothing binds the ABI of this tree"
  exit 0
fi

# build SOURCE OUT: its shared library.
build() {
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  cmake -S "$1" -B "$2" -G Ninja "${launcher[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g" -DBUILD_SHARED_LIBS=ON -DZKRECIPES_BUILD_STATIC=OFF \
    -DZKRECIPES_BUILD_TESTS=OFF -DZKRECIPES_BUILD_TOOLS=OFF -DZKRECIPES_BUILD_DEMO=OFF \
    >"$2.log" 2>&1 &&
    cmake --build "$2" -j "$(nproc)" --target zkrecipes_shared >>"$2.log" 2>&1 ||
    { cat "$2.log" >&2; echo "FAIL: cannot build $1" >&2; exit 1; }
}

work=build-abi
rm -rf "$work/source"
mkdir -p "$work/source"
git archive "$tag" | tar -x -C "$work/source"
build "$work/source" "$work/before"
build . "$work/now"
# What a release adds breaks no program; a type that no public header shows is none of a program's.
abidiff --suppressions scripts/abi_ignored.ini --no-added-syms --drop-private-types \
  --headers-dir1 "$work/source/include" --headers-dir2 include \
  "$work/before/libzkrecipes.so" "$work/now/libzkrecipes.so" ||
  {
    echo "FAIL: the ABI of $soname has changed since $tag: undo it," \
      "or make this release $soname's successor" >&2
    exit 1
  }
echo "abi: no function or type of $tag has gone or changed"
