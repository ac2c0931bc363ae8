#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes zoo.cfg and becomes the server. Its variables, where empty is as good as unset: those of
# docker/README.md, and
#   ZK_ID        of this server: 1, 2, ...
#   ZK_SERVERS   "10.0.0.1 10.0.0.2": the addresses of the servers 1, 2, ...; none: it stands alone
set -eu

id=${ZK_ID:-1} tick=${ZK_TICK_MS:-500}
config=/data/zoo.cfg
cat >$config <<CONFIG
4lw.commands.whitelist=*
admin.enableServer=false
clientPort=2181
connectToLearnerMasterLimit=4
dataDir=/data
extendedTypesEnabled=true
forceSync=${ZK_FORCE_SYNC:-yes}
initLimit=${ZK_INIT_LIMIT:-40}
maxClientCnxns=0
maxSessionTimeout=${ZK_MAX_SESSION_TIMEOUT_MS:-60000}
minSessionTimeout=${ZK_MIN_SESSION_TIMEOUT_MS:-$((2 * tick))}
preAllocSize=1024
syncLimit=${ZK_SYNC_LIMIT:-6}
tickTime=$tick
${ZK_EXTRA_CONFIG:-}
CONFIG
# Mounted there: PEM files, of which the server must be allowed to read its own, with its key.
if [ -e "/tls/identity$id" ]; then
  cat >>$config <<CONFIG
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
secureClientPort=2281
ssl.keyStore.location=/tls/identity$id
ssl.keyStore.type=PEM
ssl.trustStore.location=/tls/ca
ssl.trustStore.type=PEM
CONFIG
fi
peer=0
for address in ${ZK_SERVERS:-}; do
  peer=$((peer + 1))
  echo "server.$peer=$address:2888:3888" >>$config
done
echo "$id" >/data/myid

# Starts fast and stays small. When a peer is gone, so is its address: the server must not wait long
# for an answer from there (nor above), nor look for a leader only once a minute.
set -- java "-Xmx${ZK_HEAP_MB:-96}m" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto \
  -XX:-UsePerfData -XX:+ExitOnOutOfMemoryError -Djava.net.preferIPv4Stack=true \
  "-Dznode.container.checkIntervalMs=${ZK_CONTAINER_CHECK_MS:-1000}" \
  -Dzookeeper.cnxTimeout=500 -Dzookeeper.fastleader.maxNotificationInterval=1000 \
  -Dorg.slf4j.simpleLogger.showDateTime=true -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS \
  -Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn -cp \
  /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:/usr/share/java/netty-codec.jar \
  org.apache.zookeeper.server.quorum.QuorumPeerMain $config
[ "${ZK_MAX_LIFETIME_S:-0}" = 0 ] || set -- timeout --signal=KILL "$ZK_MAX_LIFETIME_S" "$@"
exec "$@"
