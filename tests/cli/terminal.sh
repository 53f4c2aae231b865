#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl on a terminal: colours, a pager, rows that fit, and top.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

make_store "$tmp/s.db" small hostile small
/usr/bin/python3 -B tests/cli/terminal.py "$stackctl" "$tmp/s.db" "$tmp/make_store" >"$tmp/out" 2>&1
status=$?
cat "$tmp/out"
[ $status = 0 ] || exit $status
finish
