#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The API reference of the public headers, as DIRECTORY/api; fails on any warning, and on a class
# without a comment.
# usage: check_reference.sh DIRECTORY. 77: there is no doxygen.
set -euo pipefail
command -v doxygen >/dev/null || { echo "[  SKIPPED ] reference"; exit 77; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
run() {
  { cat docs/Doxyfile; printf '%s\n' "OUTPUT_DIRECTORY = $out" "HTML_OUTPUT = api" "$@"; } |
    doxygen - 2>&1
}

# Members may speak for themselves, or share a comment.
if run "EXTRACT_ALL = NO" "WARN_AS_ERROR = NO" | grep 'Compound'; then exit 1; fi
run
echo "reference: $(find "$out/api" -name '*.html' | wc -l) pages, no warnings"
