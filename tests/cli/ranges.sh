#!/bin/bash
# SPDX-License-Identifier: MIT
# Waits and passes lie where they were: in ranges, in steps of time, and in timelines. On-CPU,
# blocked and runnable time of a thread add up to wall time in each.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" ranges
make_store "$tmp/passes.db" passes
make_store "$tmp/lives.db" lives

# sum METRIC OPTIONS...: what a report adds up, in microseconds
sum() {
    local metric=$1
    shift
    "$stackctl" report -i "$store" --metric "$metric" --by all --json "$@" 2>/dev/null |
        python3 -c 'import json, sys; t = sys.stdin.read(); print(sum(round(p["samples"] / 1000) for p in json.loads(t)["parts"]) if t else 0)'
}

# is MICROSECONDS METRIC OPTIONS...
is() {
    local wanted=$1 got
    shift
    got=$(sum "$@")
    [ "$got" = "$wanted" ] || fail "$*: $got us, not $wanted"
}

# --- ranges
is 7700000 wait.blocked
is 77000 wait.runnable
is 21000000 wall                                # 7 threads for 3 s
is 4900000 wait.blocked --from 1.1 --to 1.8     # within the wait
is 700000 wait.blocked --from 0.5 --to 1.1      # its first 0.1 s
is 1400000 wait.blocked --from 1.9 --to 2.3     # its last 0.2 s
is 0 wait.blocked --from 2.2 --to 2.9
is 35000 wait.runnable --from 2.105 --to 2.5
is 0 wait.runnable --from 0.9 --to 2.1
for range in '0 3' '0.0005 0.0307' '0.123456 0.7' '0.7 1.3' '1.2 1.9' '2.0 2.2' '2.1035 2.1075' '2.5 2.9' '0.3 2.95'; do
    read -r from to <<<"$range"
    us=$(python3 -c "print(round(($to - $from) * 1e6))")
    is $((7 * us)) wall --from "$from" --to "$to"
    expect 0 "$stackctl" report -i "$store" --metric wall --by thread --json --from "$from" --to "$to"
    python3 - "$us" "$tmp/out" <<'PY' || fail "threads in $range"
import json, sys
parts = json.load(open(sys.argv[2]))["parts"]
assert len(parts) == 7 and all(abs(p["samples"] / 1000 - int(sys.argv[1])) < 1 for p in parts), parts
PY
done
# The parts of it: 0.1 s on the CPU, 1.1 s blocked, 10 ms runnable, 0.09 s on the CPU.
expect 0 "$stackctl" report -i "$store" --metric wall --by reason --from 0.9 --to 2.2
shows '[futex]: 7.700 s'
shows '[woken]: 70.000 ms'
shows 'on the CPU: 1.330 s'

# --- steps of time
expect 0 "$stackctl" report -i "$store" --metric wall --by all --view time --bins 6 --json
python3 - "$tmp/out" <<'PY' || fail "steps of wall"
import json, sys
bins = json.load(open(sys.argv[1]))["parts"][0]["bins"]
assert all(abs(b["samples"] - 3.5e9) < 1e6 for b in bins), bins
PY
expect 0 "$stackctl" report -i "$store" --metric wait.blocked --by all --view time --bins 6 --json
python3 - "$tmp/out" <<'PY' || fail "steps of blocked"
import json, sys
bins = [b["samples"] / 7e9 for b in json.load(open(sys.argv[1]))["parts"][0]["bins"]]
assert all(abs(b - w) < 1e-6 for b, w in zip(bins, [0, 0, 0.5, 0.5, 0.1, 0])), bins
PY

# --- lives: from when a thread is measured, or made, up to its last moment on a CPU
store=$tmp/lives.db
is 26000 wall --tid 20
is 10000 wall --tid 21
is 1000 wait.runnable --tid 21
is 5000 wall --tid 20 --from 0 --to 0.505
is 4000 wall --tid 20 --from 0.522
is 2000 wall --tid 21 --to 0.102
is 0 wall --tid 21 --to 0.1

# --- passes: an outer one has its time around the inner one
store=$tmp/passes.db
is 1000000 region.time
is 600000 region.time --from 1.2 --to 1.8 # all of the inner one, and 0.2 s after it
is 200000 region.time --from 0.5 --to 1.2
is 400000 region.cpu
is 50000 region.cpu --from 1.3 --to 1.5 # half of the inner one
is 100000 region.cpu --from 1.0 --to 1.2
expect 0 "$stackctl" report -i "$store" --metric region.time --by all --view flat --json --from 1.1 --to 1.7
python3 - "$tmp/out" <<'PY' || fail "functions of passes in a range"
import json, sys
report = json.load(open(sys.argv[1]))
names = [s["name"] for s in report["symbols"]]
self = {names[f["symbol"]]: f["self"] for f in report["parts"][0]["functions"]}
assert self == {"inner": 400000000, "outer": 200000000}, self
PY

# The view of regions: visits where they ended, whole; times where they were.
# passes OPTIONS...: name, visits, total, own, CPU, mean, least, most, share of each region, in ms
passes() {
    "$stackctl" report -i "$store" --view regions --json "$@" 2>/dev/null | python3 -c '
import json, sys
for r in sorted(json.load(sys.stdin)["regions"], key=lambda r: r["name"]):
    print(r["name"], r["visits"], *(r[n + "_ns"] // 1000000 for n in ("total", "own", "cpu", "mean", "min", "max", "threads")))'
}
[ "$(passes)" = 'inner 1 400 400 100 400 400 400 3000
outer 1 1000 600 400 1000 1000 1000 3000' ] || fail "passes: $(passes)"
[ "$(passes --from 1.3 --to 1.7)" = 'inner 1 300 300 75 400 400 400 400
outer 0 400 100 125 0 0 0 400' ] || fail "passes in a range: $(passes --from 1.3 --to 1.7)"
[ "$(passes --from 1.25 --to 1.5)" = 'inner 0 250 250 62 0 0 0 250
outer 0 250 0 62 0 0 0 250' ] || fail "passes within the inner one: $(passes --from 1.25 --to 1.5)"
[ "$(passes --from 1.9)" = 'outer 1 100 100 50 1000 1000 1000 1100' ] || fail "the end of a pass: $(passes --from 1.9)"

# --- timelines: a routine ends where its thread leaves the CPU, and a single wait is a row
store=$tmp/s.db
expect 0 "$stackctl" timeline -i "$store" --threshold 50ms
grep -q '^ *0.005 * 1.000 .*work' "$tmp/out" || fail "the first run of work: $(cat "$tmp/out")"
grep -q '^ *2.115 * 2.99[0-9] .*work' "$tmp/out" || fail "the second run of work: $(cat "$tmp/out")"
[ "$(grep -c 'work \[' "$tmp/out")" = 14 ] || fail "runs: $(cat "$tmp/out")"
expect 0 "$stackctl" timeline -i "$store" --metric wall --threshold 50ms
[ "$(grep -c '^ *1.000 * 2.100 .* 1.100 s .*\[futex\]' "$tmp/out")" = 7 ] || fail "waits: $(cat "$tmp/out")"
expect 0 "$stackctl" timeline -i "$store" --metric wall --from 1.2 --to 1.5
[ "$(grep -c '^ *1.200 * 1.500 .* 300.000 ms .*\[futex\]' "$tmp/out")" = 7 ] || fail "in a range: $(cat "$tmp/out")"
finish
