#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a finished build to a prefix of its own and builds and runs the consumer projects beside
# this script.
# usage: check.sh BUILD_DIR
set -euo pipefail
# shellcheck source=integration/packaging/consumers/common.sh
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/common.sh"

# configure SOURCE OUT [ARGUMENT...]: a consumer project into $work/OUT.
configure() {
  quietly cmake -S "$1" -B "$work/$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Debug "${@:3}"
}

# Moved after the install, so that no absolute path can be left in it.
quietly cmake --install "$build" --prefix "$work/first"
prefix=$work/moved
mv "$work/first" "$prefix"
libdir=$(dirname "$(find "$prefix" -name libzkrecipes.a)")

echo "installed: needs nothing of ZooKeeper's -dev package"
if grep -rIlE 'zookeeper(_renamed)?\.h|libzookeeper|private_zookeeper' "$prefix"; then
  fail "the files above name ZooKeeper's own"
fi

echo "installed: the binaries, the package config and zkrecipes.pc name the same absl"
absl=$(sed -n 's/^absl=//p' "$libdir/pkgconfig/zkrecipes.pc")
[[ $absl == [0-9]*" (absl::"*")" ]] || fail "zkrecipes.pc names the absl '$absl'"
for file in "$libdir"/libzkrecipes.{a,so} "$libdir/cmake/zkrecipes/zkrecipesConfig.cmake"; do
  strings "$file" | grep -F "$absl" >/dev/null ||
    fail "$file does not say that it was built with absl $absl"
done

# without_zookeeper PROGRAM: it has no name of the client, nor of what is above it.
without_zookeeper() {
  if nm -C "$1" |
    grep -iE ' rcpzk_|zookeeper|zkrecipes::(zk|session|queue)::|zkrecipes::Client'; then
    fail "$1 guards a resource, and has the names above"
  fi
}

for kind in static shared; do
  echo "find_package: $kind"
  configure "$here/find_package" $kind \
    -DBUILD_SHARED_LIBS=$([[ $kind == shared ]] && echo ON || echo OFF)
  quietly cmake --build "$work/$kind"
  for program in consumer consumer_test consumer_fencing consumer_stores; do
    [[ $program != consumer_stores || -e $work/$kind/$program ]] || continue  # built without these
    "$work/$kind/$program"
    linked=static
    [[ $(ldd "$work/$kind/$program") == *libzkrecipes* ]] && linked=shared
    # all that it links is static
    [[ $program =~ _(fencing|stores)$ ]] && wanted=static || wanted=$kind
    [[ $linked == "$wanted" ]] ||
      fail "$program of the $kind project is linked to the $linked library"
  done
  without_zookeeper "$work/$kind/consumer_fencing"
done

echo "find_package: the examples, copied"
mkdir "$work/copied"
cp "$here/examples/CMakeLists.txt" "$here"/../../../examples/*.{cc,h} "$work/copied"
rm "$work/copied"/*_test.cc
configure "$work/copied" copied/out
quietly cmake --build "$work/copied/out"

echo "pkg-config"
mkdir "$work/pkg_config"
PKG_CONFIG_PATH=$libdir/pkgconfig quietly make -C "$here/pkg_config" OUT="$work/pkg_config"
for program in "$work"/pkg_config/*; do "$program"; done
without_zookeeper "$work/pkg_config/consumer_fencing"

echo "add_subdirectory"
configure "$here/add_subdirectory" add_subdirectory

# refused WORDS SOURCE [ARGUMENT...]: configuring fails, and says so in these words.
refused() {
  if cmake -S "$2" -B "$work/refused" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" "${@:3}" \
    >"$work/log" 2>&1; then
    fail "configured, though: $1"
  fi
  tr -s ' \n' ' ' <"$work/log" | grep -F "$1" >/dev/null ||
    { cat "$work/log" >&2; fail "it was not said that: $1"; }
  rm -rf "$work/refused"
}

echo "a component that the package has not"
mkdir "$work/component"
cat >"$work/component/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(component LANGUAGES CXX)
find_package(zkrecipes REQUIRED COMPONENTS testing typewriter)
PROJECT
refused "this zkrecipes was built or installed without typewriter" "$work/component"

echo "a project with an absl and an install(EXPORT) of its own"
configure "$here/own_absl" own_absl -DOWN_ABSL=theirs -DZKRECIPES_SOURCE="$here/../../.."
both="was built with absl $absl, and the project has absl 20240116 (absl::theirs)"
refused "$both: build zkrecipes from source" "$here/own_absl" -DOWN_ABSL=theirs
refused "of this project's these targets are missing: absl::any_invocable" \
  "$here/own_absl" -DOWN_ABSL=theirs -DONLY_SOME=ON -DZKRECIPES_SOURCE="$here/../../.."
echo "packaging: all consumers passed"
