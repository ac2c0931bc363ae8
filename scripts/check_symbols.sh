#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that a program may use another ZooKeeper client beside us: no name of the client's is
# defined by the static library or leaves the shared one, and neither needs a ZooKeeper library. And
# that the shared one exports the public API, and of our internals only what is listed here. And
# that the library of a guarded resource knows no client, no session and no queue.
# usage: check_symbols.sh libzookeeper_st.a libzkrecipes.a libzkrecipes.so libzkrecipes_fencing.a
set -euo pipefail
client=$1 static=$2 shared=$3 fencing=$4
status=0

fail() {
  echo "FAIL: $1" >&2
  sed 's/^/  /' >&2
  status=1
}

# The names are the first column; archive members' headings end in a colon.
names() { nm --format=posix "$@" 2>/dev/null | awk 'NF > 1 {print $1}' | sort -u; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names --defined-only --extern-only "$client" >"$work/client"
names --defined-only --extern-only "$static" >"$work/static"
names --undefined-only "$static" >"$work/static_needs"
names --dynamic --defined-only "$shared" >"$work/shared"
names --dynamic --undefined-only "$shared" >"$work/shared_needs"
grep -qx zookeeper_init "$work/client" || { echo "FAIL: $client is not the C client" >&2; exit 1; }
grep -qx rcpzk_zookeeper_init "$work/static" ||
  { echo "FAIL: $static lacks our copy of the client" >&2; exit 1; }

names "$fencing" >"$work/fencing"
grep -q FencingGate "$work/fencing" || { echo "FAIL: $fencing has no gate" >&2; exit 1; }
if above=$(c++filt <"$work/fencing" |
  grep -E '^rcpzk_|zkrecipes::(zk|session|queue)::|zkrecipes::Client'); then
  fail "$fencing has names of what it must do without" <<<"$above"
fi

for list in static static_needs shared shared_needs fencing; do
  if common=$(comm -12 "$work/client" "$work/$list") && [[ -n $common ]]; then
    fail "$list: names of the C client" <<<"$common"
  fi
done

# Demangled. A public name stands in zkrecipes itself: zkrecipes::Lock::Acquire, but not
# zkrecipes::zk::...
public='^((typeinfo|typeinfo name|vtable) for )?zkrecipes::'
public+='([A-Z][A-Za-z]*(::|\(|\[|$)|k[A-Z][A-Za-z]*$|operator<<)'
# What inline code of public headers calls, and what the model of zkrecipes::testing does
# (lib/base/seam.h).
headers='AdapterBase::|Awaiter<'
seam='(internal::ClientCore::(CreateIn|Start|Close)|internal::ClientAccess::(Wrap|Connect)|'
seam+='session::client::Check(Client|Wait)Options)\('
internal="^zkrecipes::(internal::($headers)|$seam)"
c++filt <"$work/shared" >"$work/exported"
if foreign=$(grep -Ev "$public|$internal" "$work/exported"); then
  fail "$shared exports what is not of the public API" <<<"$foreign"
fi
counted() { grep -Ec "$1" "$work/exported" || true; }

if needed=$(readelf -d "$shared" | grep -i 'NEEDED.*zookeeper'); then
  fail "$shared needs a ZooKeeper library" <<<"$needed"
fi

((status == 0)) &&
  echo "symbols: $(wc -l <"$work/client") names of the C client, none of them visible;" \
    "$(wc -l <"$work/shared") exported: $(counted "$public") of the public API," \
    "$(counted "^zkrecipes::internal::($headers)") that its inline code calls," \
    "$(counted "^zkrecipes::$seam") for zkrecipes::testing"
exit "$status"
