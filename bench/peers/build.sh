#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the peers, and prints what to pass to zkrecipes-bench: NAME=COMMAND, a line each.
# usage: build.sh DIRECTORY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)

jars=/usr/share/java
classpath=$out
for jar in curator-client curator-framework curator-recipes zookeeper zookeeper-jute guava \
  slf4j-api slf4j-nop netty-all; do
  classpath+=:$jars/$jar.jar
done
javac -cp "$classpath" -d "$out" "$here/Curator.java"
# Debian's packages of Go sources need no network and no modules.
GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$out/go-cache \
  go build -o "$out/etcd-peer" "$here/etcd.go" "$here/servers.go"

echo "curator=java -cp $classpath Curator"
echo "kazoo=/usr/bin/python3 $here/kazoo_peer.py"
echo "etcd=$out/etcd-peer"
