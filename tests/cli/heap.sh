#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl heap: what was live at the peak and at the end, and over time.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" heap

folded() { # OPTION... -- LINE...: the folded export has these lines
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    expect 0 "$stackctl" export --folded -i "$store" "${options[@]}"
    printf '%s\n' "$@" | sort | diff - <(sort "$tmp/out") >"$tmp/diff" ||
        fail "${options[*]}: $(cat "$tmp/diff")"
}

main='prog;_start;main'
work='prog;_start;main;app::work()'
folded --metric alloc.bytes -- "$work 1300" "$main 700"
folded --metric heap.live -- "$work 300" "$main 200"
folded --metric heap.objects -- "$work 1" "$main 1"
folded --metric heap.peak -- "$work 1000" "$main 500"
folded --metric heap.live --to 3.2ms -- "$main 500"
folded --metric heap.peak --to 1.5ms -- "$work 1000"

expect 0 "$stackctl" heap -i "$store"
shows 'heap of process 12 prog: peak 1.465 KiB +- 50 bytes at 0.002 s, live at the end 500 bytes +- 36 bytes, allocated 1.953 KiB (4 samples)'
shows '# metric: heap.peak, 1.465 KiB'
grep -q '66.7% .*app::work' "$tmp/out" || fail "the peak by path: $(cat "$tmp/out")"
expect 0 "$stackctl" heap -i "$store" --leaks --view flat
shows '# metric: heap.live, 500 bytes'
grep -q '60.0% .*300 bytes .*app::work' "$tmp/out" || fail "leaks: $(cat "$tmp/out")"
# --- by path: standard errors (a tenth of a record, 0 of one of 1,000 bytes), rate, lifetime; what is older; change
row() { # WORDS...: a line of the last output has these columns, whatever is between them
    tr -s ' ' <"$tmp/out" | grep -qF -- " $*" || fail "no row '$*': $(cat "$tmp/out")"
}
expect 0 "$stackctl" heap -i "$store"
shows '# metric: heap.peak, 1.465 KiB, standard error 50 bytes'
row '1000 bytes 0 bytes 300 bytes 30 bytes 126.953 KiB/s 0.002 s app::work < main < _start'
row '500 bytes 50 bytes 200 bytes 20 bytes 68.359 KiB/s 0.002 s main < _start'
expect 0 "$stackctl" report -i "$store" --metric alloc.bytes
shows '# metric: alloc.bytes, 1.953 KiB, standard error 62 bytes'
expect 0 "$stackctl" report -i "$store" --metric alloc.objects
shows 'standard error 5' # of 2, 5, 1 and 1: sqrt(2 * 1 + 5 * 4)
expect 0 "$stackctl" heap -i "$store" --leaks
row '300 bytes 30 bytes 1 1.270 KiB ········████████████ app::work < main < _start'
row '200 bytes 20 bytes 1 700 bytes ··········██████████ main < _start'
expect 0 "$stackctl" heap -i "$store" --leaks --older 5.5ms
row '300 bytes 30 bytes 1'
! grep -q ' 20 bytes' "$tmp/out" || fail "a block that is not old enough: $(cat "$tmp/out")"
expect 0 "$stackctl" heap -i "$store" --from 1.5ms --to 4.5ms
row '-700 bytes 30 bytes 1000 bytes 300 bytes app::work < main < _start'
[ "$(grep -c ' < _start' "$tmp/out")" = 1 ] || fail "no other change: $(cat "$tmp/out")"
expect 0 "$stackctl" heap -i "$store" -o "$tmp/heap.svg"
python3 - "$tmp/heap.svg" <<'END' || fail 'a picture'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
text = "".join(root.itertext())
assert "process 12 prog: peak 1.465 KiB at 0.002 s" in text, text
path, = [e.get("d") for e in root.iter() if e.tag.endswith("path") and e.get("fill") == "#e08040"]
heights = {float(point.split()[1]) for point in path[1:-1].split("L")}
assert min(heights) == max(heights) - 90, heights
END
expect 0 "$stackctl" heap -i "$store" --json --from 1.5ms --to 4.5ms
python3 - "$tmp/out" <<'END' || fail 'JSON of paths'
import json, sys
paths = {p["path"][-1]: p for p in json.load(open(sys.argv[1], encoding="utf-8"))["paths"]}
work, main = paths["app::work()"], paths["main"]
assert (work["change"], work["change_error"], work["live_first"], work["live"]) == (-700, 30, 1000, 300)
assert (main["change"], main["live"], main["ended" if "ended" in main else "peak"]) == (0, 0, 500)
assert abs(work["lifetime_s"] - 0.002) < 1e-9 and work["live_objects"] == 1, work
END
expect 0 "$stackctl" heap -i "$store" --json
python3 - "$tmp/out" <<'END' || fail 'JSON'
import json, sys
process, = json.load(open(sys.argv[1], encoding="utf-8"))["processes"]
assert (process["pid"], process["samples"], process["allocated"]) == (12, 4, 2000), process
assert (process["live"], process["peak"], process["peak_s"]) == (500, 1500, 0.002), process
assert (process["live_error"], process["peak_error"]) == (36, 50), process # sqrt(30² + 20²); of 500 of 1,500 bytes
# A step is a sixth of a millisecond; each has the most that was live in it.
steps = process["over_time"]
assert len(steps) == 60 and max(steps) == 1500, steps
for us, live in (500, 0), (1500, 1000), (2500, 1500), (3300, 500), (3800, 0), (4500, 300), (9900, 500):
    assert steps[us * 60 // 10000] == live, (us, steps)
END
expect 0 "$stackctl" flamegraph -i "$store" --metric heap.peak -o "$tmp/peak.svg"
grep -q '1000 bytes, 66.7%' "$tmp/peak.svg" || fail 'a flame graph of the peak'
expect 0 "$stackctl" diff --metric heap.live "$store" "$store"
shows '# A: 500 bytes'
expect 0 "$stackctl" export --tags -i "$store" --metric heap.live
[ "$(grep -Pc '^value.*heap.live\t' "$tmp/out")" = 2 ] || fail "tags: $(cat "$tmp/out")"
[ "$(grep -Pc '^value.*heap.live.variance\t' "$tmp/out")" = 2 ] || fail "variances: $(cat "$tmp/out")"

# --- pprof has the four values of Go's heap profiles, whichever is asked for
for metric in alloc.objects alloc.bytes heap.objects heap.live; do
    expect 0 "$stackctl" export --pprof -i "$store" --metric "$metric" -o "$tmp/p.pb"
    python3 - "$tmp/p.pb" <<'END' || fail "pprof of $metric"
import sys

def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at

def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value

profile = list(fields(open(sys.argv[1], "rb").read()))
strings = [value.decode() for field, value in profile if field == 6]
types = [strings[dict(fields(value))[1]] for field, value in profile if field == 1]
assert types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"], types
sums = [0] * 4
for field, sample in profile:
    if field != 2:
        continue
    packed, at = dict(fields(sample))[2], 0
    for i in range(4):
        value, at = varint(packed, at)
        sums[i] += value
assert sums == [9, 2000, 2, 500], sums
END
done

# --- what does not go together, and nothing to show
expect 3 "$stackctl" heap -i "$store" --leaks --to 0.5ms
says 'nothing of heap.live'
expect 2 "$stackctl" report -i "$store" --metric heap.peak --from 1ms
says 'heap.peak is counted at one moment'
expect 2 "$stackctl" heap -i "$store" --older 1s
says '--older works with --leaks only'
expect 2 "$stackctl" heap -i "$store" --metric cpu
says 'heap shows heap.peak'
expect 2 "$stackctl" report -i "$store" --metric heap.live --view time
says "'stackctl heap' does"
make_store "$tmp/small.db" small
expect 3 "$stackctl" heap -i "$tmp/small.db"
says "has no heap.peak: record with 'stackd --alloc'; its metrics: cpu"
finish
