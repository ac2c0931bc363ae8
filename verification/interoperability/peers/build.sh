#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles CuratorPeer.java into DIRECTORY, and writes there the script that runs it.
# usage: build.sh DIRECTORY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
classpath=$out
for jar in curator-client curator-framework curator-recipes zookeeper zookeeper-jute guava \
  slf4j-api slf4j-nop netty-all; do
  classpath+=:/usr/share/java/$jar.jar
done
javac -cp "$classpath" -d "$out" "$here/CuratorPeer.java"
# One processor's worth of JVM: it starts in half the time.
printf '#!/bin/sh\nexec java %s -cp %s CuratorPeer "$@"\n' \
  '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto' "$classpath" >"$out/curator-peer"
chmod +x "$out/curator-peer"
