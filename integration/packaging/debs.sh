#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the packages of a Debian, and installs, uses and removes them in a bare one. As root.
# usage: debs.sh BUILD_DIR bookworm|trixie
set -euo pipefail
((EUID == 0)) || { echo "needs root, to install packages in a folder"; exit 77; }
build=$(realpath "$1")
release=$2
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
root=$work/root
finish() {
  "$build/bin/zkr" ensemble stop --dir "$work/ensemble" >/dev/null 2>&1 || true
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; fail "$*"; }; }
inside() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
    LC_ALL=C "$@"
}
# get WORDS: packages, or files with patterns.
get() { quietly inside sh -c 'apt-get install -y --no-install-recommends '"$*"; }

packages=$build/package
if [[ $release == bookworm ]]; then
  "$here/../../dev" package "$packages"
else  # where this machine's compiler and libraries are not
  KEEP_ROOT=$work/builder "$here/../../scripts/in_bare_debian.sh" "$release" \
    ./dev package build/package
  packages=$work/builder/src/build/package
fi
"$here/../../scripts/debian_root.sh" "$root" "$release"
mount -t proc proc "$root/proc"
cp "$packages"/*.deb "$root/root"
rm "$root"/root/*dbgsym*
quietly inside apt-get update

echo "tools: zkr guards a command, and its manual page, completions and unit are where they are" \
  "looked for"
get "./root/zkrecipes-tools_*.deb" systemd
servers=$("$build/bin/zkr" ensemble start --servers 1 --dir "$work/ensemble")
[[ $(inside zkr lock /locks/deb --servers "$servers" -- \
  sh -c 'echo "token $ZKR_FENCING_TOKEN"') == "token "[1-9]* ]] ||
  fail "zkr does not hold a lock"
for file in man/man1/zkr.1.gz bash-completion/completions/zkr zsh/vendor-completions/_zkr; do
  [[ -s $root/usr/share/$file ]] || fail "no $file"
done
mkdir "$root/etc/zkr"
cp "$root/usr/share/doc/zkrecipes-tools/examples/scheduler.conf" "$root/etc/zkr"
quietly inside systemd-analyze verify --man=no zkr-elect@scheduler.service
[[ ! -s $work/log ]] || fail "systemd says: $(cat "$work/log")"

echo "dev: programs are built with CMake and with pkg-config"
get "./root/libzkrecipes*.deb" g++ cmake ninja-build pkg-config make
cp -r "$here/consumers" "$root/root"
quietly inside cmake -S root/consumers/find_package -B root/cmake -G Ninja -DBUILD_SHARED_LIBS=ON
quietly inside cmake --build root/cmake
inside root/cmake/consumer
inside ldd root/cmake/consumer | grep -q 'libzkrecipes\.so' ||
  fail "it is not linked with the package's shared library"
inside mkdir root/pkg_config
quietly inside make -C root/consumers/pkg_config OUT=/root/pkg_config
inside root/pkg_config/consumer_test

echo "all go again, and leave nothing behind"
rm -r "$root"/etc/zkr "$root"/root/*
quietly inside apt-get purge -y 'libzkrecipes*' zkrecipes-tools
left=$(find "$root" -xdev -name '*zkr*' ! -path "$root/var/*")
[[ -z $left ]] || fail "left behind: $left"
echo "debs: all passed"
