#!/bin/bash
# SPDX-License-Identifier: MIT
# Windows of a run, chosen by number or by time, are added up, by every verb alike.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small windows after

# --- list: a run is one line
expect 0 "$stackctl" list -i "$store"
[ "$(wc -l <"$tmp/out")" = 4 ] || fail "list: $(cat "$tmp/out")"
grep -Eq '^ +2\.\.7  2023-11-15 10:10:00 +3600\.0 s +600 +18  cut off' "$tmp/out" || fail "list: $(cat "$tmp/out")"
expect 0 "$stackctl" list -v -i "$store"
[ "$(wc -l <"$tmp/out")" = 9 ] || fail "list -v: $(cat "$tmp/out")"
grep -Eq '^ +4  2023-11-15 10:30:00 +600\.0 s +100 +3  done' "$tmp/out" || fail "list -v: $(cat "$tmp/out")"
expect 0 "$stackctl" list --json -i "$store"
[ "$(grep -c '"run":2}' "$tmp/out")" = 6 ] || fail "list --json: $(cat "$tmp/out")"

# --- by number
expect 0 "$stackctl" report -i "$store" --recording 3
shows '# recording: 3 (window of run 2), 2023-11-15 10:20:00'
expect 0 "$stackctl" report -i "$store"
shows '# recording: 8, '
left 100 --recording 3
left 600 --recording 2..7
left 200 --recording 3..4
left 800 --recording 1..99
left 130 --recording 2..7 --symbol fact --from 0 --to 40m
left 120 --recording 2..7 --comm other

# --- by time
day=2023-11-15
left 600 --from "$day 10:10" --to "$day 11:10:00"
left 100 --from "$day 10:20" --to "${day}T10:30"
left 200 --from "$day 10:20" --to "$day 10:30:30"
left 500 --from "$day 10:10:00" --to "$day 11:00:01" --no-fold-recursion --ignore nothing --pid 12,99 --to "$day 11:00:00"
left 300 --from "$day 10:12" --to "$day 10:45"
left 100 --from "$day 10:12" --to "$day 10:45" --recording 4
left 100 --from "$day 11:00"

# Paths are added up by tag: one line for each, as in a single recording.
expect 0 "$stackctl" export --folded -i "$store" --recording 2..3
grep -qx 'prog;_start;main;app::work() 75' "$tmp/out" || fail "folded: $(cat "$tmp/out")"
grep -qx 'prog;_start;main;fact;fact;fact 65' "$tmp/out" || fail "folded: $(cat "$tmp/out")"
expect 0 "$stackctl" export --folded -i "$store" --recording 2
sort "$tmp/out" >"$tmp/one"
expect 0 "$stackctl" export --folded -i "$store" --from "$day 10:10" --to "$day 10:20"
sort "$tmp/out" | cmp -s - "$tmp/one" || fail "a range of one window is not that window"
expect 0 "$stackctl" report -i "$store" --recording 2..7
shows '# recording: 2..7 (6 added up), 2023-11-15 10:10:00 +0000, for 3600.0 s so far'
shows '# lost: 18'
expect 0 "$stackctl" report --json -i "$store" --from "$day 10:12" --to "$day 10:45"
shows '"start_unix_ns":1700043120000000000,"duration_ns":1980000000000'
expect 0 "$stackctl" stats --json -i "$store" --recording 2..7
shows '"end.lost_ring":18'

# --- other verbs that read one recording
expect 0 "$stackctl" flamegraph -i "$store" --recording 2..7 -o "$tmp/f.svg"
expect 0 "$stackctl" timeline -i "$store" --from "$day 10:10" --to "$day 10:40"
expect 0 "$stackctl" annotate -i "$store" --recording 2..7 fact
expect 0 "$stackctl" diff "$store@2..3" "$store@4..5"
expect 0 "$stackctl" diff "$store@2..3" "$store@6"
expect 2 "$stackctl" diff "$store@2..1" "$store@6"
says 'nor two such as 3..5'

# --- what is not there, and what is no time
expect 3 "$stackctl" report -i "$store" --since 2h
says 'nothing was recorded from'
says "\`stackctl list -v\` shows them"
says '2023-11-14 22:13:20 to 2023-11-15 11:10:00'
expect 3 "$stackctl" report -i "$store" --from '2023-11-15 08:00' --to '2023-11-15 09:00'
says 'nothing was recorded from 2023-11-15 08:00:00 to 2023-11-15 09:00:00'
expect 3 "$stackctl" report -i "$store" --from "$day 10:15" --to "$day 10:16"
says 'no sample'
expect 2 "$stackctl" report -i "$store" --recording 9..12
says 'there are 1 to 8'
for bad in '--recording 3..2' '--recording 0..2' '--recording 3..' '--recording 2..x' '--recording 1,2' \
    '--since x' '--since -1' '--from 25:00' '--from 14:00:99' '--from 2023-02-30' '--from 2023-13-01' \
    '--from 14:00 --to 3' '--from 3 --to 14:00' '--since 1h --from 14:00' '--from tomorrow' '--to 1969-12-31' \
    '--from 2023-11-15T10:20 --to 2023-11-15T10:10' '--from 14:' '--from 2023-11-15T'; do
    # shellcheck disable=SC2086
    expect 2 "$stackctl" report -i "$store" $bad
done
expect 2 "$stackctl" report -i "$store" --from 3 --to 14:00
says 'give both in one way'

# The clock goes forward in Berlin on 2026-03-29, from 02:00 to 03:00.
TZ=Europe/Berlin expect 2 "$stackctl" report -i "$store" --from '2026-03-29 02:30'
says "the clock skipped '2026-03-29 02:30'"
TZ=Europe/Berlin expect 0 "$stackctl" report -i "$store" --from "$day 11:10" --to "$day 11:20"
shows '# samples: 100'

# --- recordings of another event cannot be added up; of another target they are left out
STORE_EVENT=cycles make_store "$store" windows
expect 2 "$stackctl" report -i "$store" --recording 7..9
says 'recordings 8 (cpu-clock) and 9 (cycles) count different events'
left 600 --from "$day 10:10" --to "$day 11:10"
expect 0 "$stackctl" stats --json -i "$store" --from "$day 10:10" --to "$day 11:10"
says '6 recordings of that time have another target, host or event, and are left out'
left 600 --from "$day 10:10" --to "$day 11:10" --recording 2..7
finish
