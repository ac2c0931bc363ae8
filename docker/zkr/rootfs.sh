#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: rootfs.sh BUILD_DIR DIRECTORY
# Lays down what the image of zkr holds: zkr as `cmake --install` installs it, stripped; the shared
# objects that it loads, of this machine; busybox, for CMDs and probes; the certificates of public
# authorities; a user. No package manager, nothing setuid.
set -euo pipefail
build=$1 root=$2
mkdir -p "$root"/{bin,etc,tmp,usr/bin,usr/share}
chmod 1777 "$root/tmp"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --install "$build" --component tools --strip --prefix "$root/usr" >"$log" ||
  { cat "$log" >&2; exit 1; }
rm -rf "$root/usr/share"

# At the paths where they are looked for: the loader's name is in the program, the others' folder is
# one of its defaults.
ldd "$root/usr/bin/zkr" | grep -o '/[^ ]*' | sort -u | while read -r file; do
  install -D "$(realpath "$file")" "$root/$file"
done
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in $("$root/bin/busybox" --list); do
  [[ $applet == busybox ]] || ln -s busybox "$root/bin/$applet"
done
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

echo 'zkr:x:65532:65532::/tmp:/bin/sh' >"$root/etc/passwd"
echo 'zkr:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
