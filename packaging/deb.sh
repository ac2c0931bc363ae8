#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: deb.sh DIRECTORY
# Makes the .debs of this tree there, and has lintian look at them; the build is in
# DIRECTORY/zkrecipes-VERSION.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.."
mkdir -p "$1"
out=$(realpath "$1")

version=$(sed -n 's/^#define ZKRECIPES_VERSION "\(.*\)"/\1/p' include/zkrecipes/version.h)
tree=$out/zkrecipes-$version
rm -rf "$tree" "$out"/*zkrecipes*.deb "$out"/zkrecipes_*.{changes,buildinfo}
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard -- \
  CMakeLists.txt LICENSE cmake include lib recipes testing tools packaging |
  tar -c --null --files-from=- | tar -x -C "$tree"

# Debian 12 looks for units in /lib, which is a link to /usr/lib; lintian of Debian 13 refuses the
# link.
. /etc/os-release
((VERSION_ID < 13)) ||
  sed -i 's# lib/systemd# usr/lib/systemd#' "$tree/packaging/debian/zkrecipes-tools.install"
# debian/ where dpkg looks for it; the soname (ADR 31) and the version are said once, in version.h.
mv "$tree/packaging/debian" "$tree/debian"
mv "$tree/debian/libzkrecipes.install" "$tree/debian/libzkrecipes${version%.*}.install"
sed -i "s/@SOVERSION@/${version%.*}/" "$tree/debian/control"
maintainer=$(sed -n 's/^Maintainer: //p' "$tree/debian/control")
date=$(git log -1 --format=%cD 2>/dev/null || date -R)
cat >"$tree/debian/changelog" <<CHANGELOG
zkrecipes ($version) unstable; urgency=medium

  * Release $version; CHANGELOG.md has the changes.

 -- $maintainer  $date
CHANGELOG

log=$out/build.log
echo "== building the packages in $out" >&2
# A compiler cache where there is one.
(cd "$tree" && PATH=/usr/lib/ccache:$PATH DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" \
  dpkg-buildpackage --build=binary --no-sign >"$log" 2>&1) ||
  { tail -n 40 "$log" >&2; exit 1; }
echo "== lintian" >&2
lintian --allow-root --fail-on error,warning "$out"/zkrecipes_*.changes
ls -l "$out"/*.deb | awk '{print $5, $9}'
