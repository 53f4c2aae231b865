#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl import of perf's groups of counters that take turns (PERF_SAMPLE_READ), and their folding: the
# course of each is known (perf_groups.py).
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

groups=$PWD/tests/cli/perf_groups.py
store=$tmp/s.db
python3 "$groups" "$tmp/perf.data" 1000 1000 4 1 || exit 1
expect 0 "$stackctl" import "$tmp/perf.data" --mark probe_model:step -o "$store"
says '2000 samples of cycles, 0 lost'
expect 0 "$stackctl" fold -i "$store"
shows '91 passes, 21.8 ms of wall time each on average'
shows '#   of 745 differences between readings; in 248 others it did not count all the time'
expect 0 "$stackctl" fold -i "$store" -o "$tmp/t.csv"
python3 "$groups" check "$tmp/t.csv" 0.3 1 0.5 5 >"$tmp/err" || fail "curves: $(cat "$tmp/err")"

# --- the same passes from a probe where they begin and one where they end
expect 0 "$stackctl" import "$tmp/perf.data" --region probe_model:step,probe_model:none -o "$tmp/r.db"
expect 2 "$stackctl" fold -i "$tmp/r.db" # none ends
says 'the recording has no passes through regions'

# --- readings that are too far apart for passes of 20 ms have no course, rather than a wrong one
python3 "$groups" "$tmp/slow.data" 500 97 4 1 || exit 1
expect 0 "$stackctl" import "$tmp/slow.data" --mark probe_model:step -o "$tmp/slow.db"
expect 0 "$stackctl" fold -i "$tmp/slow.db"
shows 'further apart than a quarter of a pass while it did not count all the time'
[ "$(grep -c 'did not count all the time: record' "$tmp/out")" = 4 ] || fail "$(cat "$tmp/out")"

# --- bad input
expect 2 "$stackctl" import "$tmp/perf.data" -o "$tmp/b.db" # the probe is an event like the others
says "samples of several events, 'probe_model:step' and 'cycles'"
expect 2 "$stackctl" import "$tmp/perf.data" --mark probe_model:other --event cycles -o "$tmp/b.db"
says "no samples of the event 'probe_model:other', where passes begin"
expect 2 "$stackctl" import "$tmp/perf.data" --region probe_model:step -o "$tmp/b.db"
says "--region 'probe_model:step': expected two events, BEGIN,END"
finish
