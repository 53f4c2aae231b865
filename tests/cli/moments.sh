#!/bin/bash
# SPDX-License-Identifier: MIT
# A range of moments over the windows of a run has, in every view and metric, what the same range has
# of one recording of the same events: what lasted is cut at both ends, also where it is recorded in a
# window behind the range.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

make_store "$tmp/ranges.db" ranges
make_store "$tmp/passes.db" passes
for cuts in 700,1400,2600 300,1050,1150,1250,1300,1900,2050,2105,2999; do
    STORE_CUTS=$cuts make_store "$tmp/ranges-$cuts.db" ranges
    STORE_CUTS=$cuts make_store "$tmp/passes-$cuts.db" passes
done

cat >"$tmp/compare.py" <<'PY'
import json, subprocess, sys
stackctl, folder = sys.argv[1:]

def report(store, *options):
    done = subprocess.run([stackctl, "report", "-i", "%s/%s.db" % (folder, store), "--json", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode in (0, 3), (store, options, done)
    return json.loads(done.stdout) if done.returncode == 0 else None

def functions(r):
    """{(part, function): self}"""
    names = [s["name"] for s in r["symbols"]]
    return {(p["comm"], p["tid"], names[f["symbol"]]): f["self"] for p in r["parts"] for f in p["functions"]}

def bins(r):
    return {(p["comm"], p["tid"]): [b["samples"] for b in p["bins"]] for p in r["parts"]}

def regions(r):
    return {x["name"]: [x[k] for k in ("visits", "total_ns", "own_ns", "cpu_ns", "mean_ns")] for x in r["regions"]}

def waits(r):
    keys = ("tid", "state", "begin_ns", "end_ns", "duration_ns", "whole_ns", "began_before", "goes_on",
            "stands_for_ns", "what_for", "path")
    shift = r["from_ns"]
    return sorted([w[k] - shift if k in ("begin_ns", "end_ns") else w[k] for k in keys] for w in r["waits"])

def near(a, b):
    return abs(a - b) <= 1 if isinstance(a, int) and not isinstance(a, bool) else a == b

def same(one, other, what):
    if one is None or other is None:
        assert one is other, (what, one, other)
        return
    assert len(one) == len(other), (what, one, other)
    if isinstance(one, dict):
        assert one.keys() == other.keys(), (what, one, other)
        one, other = [[x[k] for k in sorted(x)] for x in (one, other)]
    for a, b in zip(one, other):
        if isinstance(a, list):
            assert len(a) == len(b) and all(map(near, a, b)), (what, a, b)
        else:
            assert near(a, b), (what, a, b)

VIEWS = [("ranges", functions, "--view", "flat", "--by", "thread", "--metric", m)
         for m in ("cpu", "wall", "wait", "wait.blocked", "wait.runnable")]
VIEWS += [("passes", functions, "--view", "flat", "--by", "thread", "--metric", m)
          for m in ("cpu", "region.time", "region.cpu", "region.visits")]
VIEWS += [("ranges", bins, "--view", "time", "--by", "thread", "--bins", "5", "--metric", m)
          for m in ("wall", "wait.blocked")]
VIEWS += [("passes", regions, "--view", "regions"), ("ranges", waits, "--view", "waits")]

for cuts in "700,1400,2600", "300,1050,1150,1250,1300,1900,2050,2105,2999":
    for start, end in (0, 1), (1, 2), (2, 3), (1, 3):
        moments = ["--from=2023-11-15 10:10:0%d" % start, "--to=2023-11-15 10:10:0%d" % end]
        if end == 3:
            del moments[1]
        times = ["--from=%d" % start, "--to=%d" % end]
        if end == 3: # a last record ends at the end itself
            del times[1]
        for kind, take, *options in VIEWS:
            single = report(kind, *options, *times)
            cut = report("%s-%s" % (kind, cuts), *options, *moments)
            if single and cut:
                single["from_ns"], cut["from_ns"] = start * 10**9, 0
            same(single and take(single), cut and take(cut), (cuts, start, end, options))
        # In each range and thread, on the CPU, runnable and blocked are the range.
        cut = report("ranges-" + cuts, "--view", "flat", "--by", "thread", "--metric", "wall", *moments)
        for p in cut["parts"]:
            assert abs(p["samples"] - (end - start) * 10**9) <= 3, (cuts, start, end, p)
PY
python3 "$tmp/compare.py" "$stackctl" "$tmp" || fail "ranges of moments"

# Bursts, in windows of which the first and the last are partly in the range: those that go on behind it
# have their part in it, and what is behind it is in none.
make_store "$tmp/bursts.db" bursts
STORE_CUTS=1500,2400,3201,3777 make_store "$tmp/bursts-cut.db" bursts
bursts_of()
{
    expect 0 "$stackctl" fold -i "$1" --burst --json "$2" "$3"
    grep -Eo '"(bursts|computing_ns|calls_ns)":[0-9]+' "$tmp/out" | head -3
}
for range in '02 03' '02 04'; do
    bursts_of "$tmp/bursts.db" "--from=${range:1:1}" "--to=${range:4:1}" >"$tmp/one"
    bursts_of "$tmp/bursts-cut.db" "--from=2023-11-15 10:10:${range:0:2}" "--to=2023-11-15 10:10:${range:3:2}" >"$tmp/cut"
    diff "$tmp/one" "$tmp/cut" >"$tmp/diff" || fail "bursts from $range: $(cat "$tmp/diff")"
done

# Timelines and tables, where a wait goes on behind the range.
store="$tmp/ranges-700,1400,2600.db"
range=(--from '2023-11-15 10:10:01' --to '2023-11-15 10:10:02')
expect 0 "$stackctl" timeline -i "$store" --metric wall "${range[@]}" --threshold 50ms
[ "$(grep -c '^ *0.000 * 1.000 .* 1.000 s .*\[futex\]' "$tmp/out")" = 7 ] || fail "timeline: $(cat "$tmp/out")"
expect 0 "$stackctl" export --folded -i "$store" --metric wait.blocked "${range[@]}"
[ "$(awk '{n += $NF} END {printf "%.0f", n}' "$tmp/out")" = 7000000000 ] || fail "folded: $(cat "$tmp/out")"

expect 0 "$stackctl" report -i "$store" --metric wait.blocked "${range[@]}"
shows '# metric: wait.blocked, 7.000 s'
shows 'lost, idle and cpu time are counts of all that was recorded, from 2023-11-15 10:10:00 +0000, for 1.9 s,'
expect 0 "$stackctl" report -i "$store" --metric wait.blocked --from '2023-11-15 10:10:00'
grep -q 'counts of all' "$tmp/out" && fail "a note although all is chosen"
expect 0 "$stackctl" report -i "$tmp/ranges.db" --from 1 --json
shows '"counted_start_unix_ns":1700000000000000000,"counted_duration_ns":3000000000'
finish
