#!/bin/bash
# SPDX-License-Identifier: MIT
# Every metric in every view and export: each has the metric's name and its sum.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/metrics.db
heap=$tmp/heap.db
make_store "$store" metrics
make_store "$heap" heap
waits=$tmp/waits.db
make_store "$waits" waits

# Store, metric, what its records are, what they add up to as shown, and as a number; of app::work().
metrics="
$store region.visits instances 4_instances 4 3
$store region.time instances 10.000_ms 10000000 6000000
$store region.cpu instances 4.500_ms 4500000 4500000
$store mpi.sent calls 5.000_KiB 5120 0
$heap alloc.bytes samples 1.953_KiB 2000 1300
$heap alloc.objects blocks 9_blocks 9 3
$heap heap.live samples 500_bytes 500 300
$heap heap.objects blocks 2_blocks 2 1
$heap heap.peak samples 1.465_KiB 1500 1000
$waits wait.blocked waits 65.000_ms 65000000 60000000
$waits wait.runnable waits 5.000_ms 5000000 3000000
$waits wall samples_and_waits 170.301_ms 170300900 124183549
"

has() { # PATTERN: a line of the last command's standard output matches
    grep -q -- "$1" "$tmp/out" || fail "$metric: $2: no '$1': $(head -n 20 "$tmp/out")"
}

sum() { # FILE: the sum of what folded stacks have
    awk '{n += $NF} END {print n + 0}' "$1"
}

views() {
    local view
    for view in tree flat callers time around; do
        expect 0 "$stackctl" report -i "$in" --metric "$metric" --view $view --around main
        has "^# metric: $metric, $shown" $view
    done
    expect 0 "$stackctl" report -i "$in" --metric "$metric" --json
    has "\"metric\":\"$metric\"" 'report --json'
    has "\"amount\":$total," 'report --json'
    expect 0 "$stackctl" annotate -i "$in" --metric "$metric" main
    [ "$metric" = wall ] || has "$shown with what it calls, 100.0%" annotate
    expect 0 "$stackctl" flamegraph -i "$in" --metric "$metric" -o "$tmp/f.svg"
    grep -q "$shown, 100" "$tmp/f.svg" || fail "$metric: no $shown in the flame graph"
    expect 0 "$stackctl" diff --metric "$metric" "$in" "$in"
    has "^# A: $shown of " diff
}

exports() {
    expect 0 "$stackctl" export --folded -i "$in" --metric "$metric"
    [ "$(sum "$tmp/out")" = "$total" ] || fail "$metric: folded: $(cat "$tmp/out")"
    [ "$(grep work "$tmp/out" | sum /dev/stdin)" = "$work" ] || fail "$metric: folded: $(cat "$tmp/out")"
    expect 0 "$stackctl" export --json -i "$in" --metric "$metric"
    has "\"metric\":\"$metric\".*\"amount\":$total," 'export --json'
    expect 0 "$stackctl" export --pprof -i "$in" --metric "$metric" -o "$tmp/p.pb"
    expect 0 "$stackctl" export --pprof -i "$in" -o "$tmp/all.pb"
    [ "$metric" = wall ] || # that is a sum of the others
        grep -aqF "$metric" "$tmp/all.pb" || fail "$metric: the pprof export of all metrics lacks it"
}

# Two of a store, merged, have twice as much.
merges() {
    expect 0 "$stackctl" merge "$in" "$in" -o "$tmp/merged"
    expect 0 "$stackctl" diff --metric "$metric" "$tmp/merged" "$tmp/merged" --json
    has "\"amount\":$((2 * total))}" merge
}

timelines() {
    local status=0
    case $metric in heap.*) status=2 ;; esac # there is no sum of what is live at moments
    expect $status "$stackctl" timeline -i "$in" --metric "$metric" --threshold 1
    [ $status = 0 ] || { says "cannot show $metric: 'stackctl heap'" && return; }
    has "^# metric: $metric, $shown" timeline
    has "thread 12 prog of process 12: [0-9]* ${records%s}s*, .* s to .* s$" timeline
    case $metric in # where they lie is known of waits: they are apart
    region.visits | alloc.objects | wall | wait.*) ;;
    *) has " $shown.* > main \[" timeline ;;
    esac
    cp "$tmp/out" "$tmp/t.txt"
    expect 0 "$stackctl" timeline -i "$in" --metric "$metric" --threshold 1 -o "$tmp/t.svg"
    grep -q ", [0-9]* ${records%s}" "$tmp/t.svg" || fail "$metric: no $records in the picture"
}

while read -r in metric records shown total work; do
    [ "$in" ] || continue
    shown=${shown//_/ } records=${records//_/ }
    views
    exports
    timelines
    case $metric in heap.*) ;; *) merges ;; esac # what is live in two runs is no sum either
done <<<"$metrics"

metric=wait.runnable
expect 0 "$stackctl" timeline -i "$waits" --metric wait.runnable --threshold 1
has ' 0.120 * 0.121 * 1 * 1.000 ms .*\[woken\]' timeline
has ' 0.170 * 0.172 * 1 * 2.000 ms .*\[preempted\]' timeline

# --- wall: samples and waits in one
metric=wall
expect 0 "$stackctl" report -i "$waits" --metric wall --by reason
has '^# on the CPU: 100.301 ms, 58.9%' reason
has '^# \[futex\]: 60.000 ms, 35.2%' reason
has '^# \[preempted\]: 2.000 ms, 1.2%' reason
expect 0 "$stackctl" timeline -i "$waits" --metric wall --threshold 1
has ' 0.165 .* 1 *5.000 ms [^▒]*▒.*\[sleep\]' timeline # where it began
expect 0 "$stackctl" timeline -i "$waits" --metric wall --threshold 1 -o "$tmp/t.svg"
expect 0 "$stackctl" flamegraph -i "$waits" --metric wall -o "$tmp/f.svg"
for picture in t f; do
    for color in 285,38 130,42; do # blocked, runnable
        grep -q "hsl($color%" "$tmp/$picture.svg" || fail "wall: no $color in $picture.svg"
    done
done
expect 0 "$stackctl" flamegraph -i "$waits" --metric wall -o "$tmp/f.html"
PYTHONPATH=tests PYTHONDONTWRITEBYTECODE=1 python3 - "$tmp/f.html" <<'END' || fail "wall: the page does not tell waits"
import sys
from saved_page import answer
t = answer(sys.argv[1], "tree")
kinds = {t["strings"][name]: t["kinds"][kind] for name, kind in zip(t["frames"]["name"], t["frames"]["kind"])}
assert kinds["[futex]"] == "blocked" and kinds["[woken]"] == "runnable", kinds
END
expect 0 "$stackctl" stats -i "$waits"
has '^metrics: cpu, wait.blocked, wait.runnable, wait, wall$' stats
# It is none without waits, and none of events that are no time.
STORE_EVENT=cycles make_store "$tmp/cycles.db" waits
lacks() { # STORE WORDS: no verb shows the metric of the store, and each says so
    local verb
    for verb in report flamegraph 'export --folded' timeline; do
        # shellcheck disable=SC2086 # a verb and its option
        expect 3 "$stackctl" $verb -i "$1" --metric wall
        says "$2"
    done
    expect 3 "$stackctl" diff --metric wall "$waits" "$1"
    says "$2"
}
lacks "$store" "has no waits: record with 'stackd --wait'"
lacks "$tmp/cycles.db" "count cycles: record with 'stackd --wait -e cpu-clock'"
expect 0 "$stackctl" stats -i "$tmp/cycles.db" --json
has '"metrics":\["cpu","wait.blocked","wait.runnable","wait"\]' stats

# --- who ended waits
metric=wakers
make_store "$tmp/wakers.db" wakers
expect 0 "$stackctl" report -i "$tmp/wakers.db" --view wakers --pid 12
sed '1,/^#  share/d' "$tmp/out" >"$tmp/rows"
diff - "$tmp/rows" >"$tmp/diff" <<'END' || fail "wakers: $(cat "$tmp/diff")"
  92.3%   60.000 ms         3  [futex]
  92.3%   60.000 ms         3    ended by other: main
  61.5%   40.000 ms         2      which had waited for [sleep]
  61.5%   40.000 ms         2        ended by an interrupt
   7.7%    5.000 ms         1  [sleep]
   7.7%    5.000 ms         1    not ended yet, or it is not known by whom
END
expect 0 "$stackctl" report -i "$tmp/wakers.db" --view wakers --json
python3 - "$tmp/out" <<'END' || fail 'wakers: JSON'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
nodes = report["nodes"]
assert report["view"] == "wakers" and report["amount"] == 75000000, report
assert sum(node["ns"] for node in nodes if node["parent"] < 0) == 75000000, nodes
last = next(node for node in nodes if node["kind"] == "interrupt" and node["waits"] == 2
            and nodes[nodes[node["parent"]]["parent"]]["kind"] == "thread")
chain = []
while last["parent"] >= 0:
    last = nodes[last["parent"]]
    chain.append(last["name"])
assert chain == ["[sleep]", "other: main", "[futex]"], chain
END
# In a range they have the parts of waits that lie there.
for range in '0 0.11' '0.105 0.13' '0.1131 0.1134' '0.14 0.15' '0.164 9'; do
    read -r from to <<<"$range"
    expect 0 "$stackctl" report -i "$tmp/wakers.db" --view wakers --json --from "$from" --to "$to"
    python3 - "$tmp/out" <<'END' || fail "wakers in $range"
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
assert sum(n["ns"] for n in report["nodes"] if n["parent"] < 0) == report["amount"] > 0, report
END
done
# One is missing on each side: equal numbers of both do not pair them.
make_store "$tmp/unmatched.db" unmatched
expect 0 "$stackctl" report -i "$tmp/unmatched.db" --view wakers
sed '1,/^#  share/d' "$tmp/out" | awk '{$1 = $2 = $3 = ""; print $0}' | sort >"$tmp/rows"
diff - "$tmp/rows" >"$tmp/diff" <<'END' || fail "wakers: $(cat "$tmp/diff")"
   1 ended by other: main > fourth
   1 ended by other: main > second
   1 ended by other: main > third
   1 not ended yet, or it is not known by whom
   4 [futex]
END
# --- single waits: the longest first, or the earliest, with who ended them
expect 0 "$stackctl" report -i "$tmp/wakers.db" --view waits --top 5
sed '1,/^#      begin/d; s/  */ /g' "$tmp/out" >"$tmp/rows"
diff - "$tmp/rows" >"$tmp/diff" <<'END' || fail "single waits: $(cat "$tmp/diff")"
 0.101298 0.121298 20.000 ms blocked prog (12) [futex] other: main _start;main;app::work
 0.123298 0.143298 20.000 ms blocked prog (12) [futex] other: main _start;main;app::work
 0.145298 0.165298 20.000 ms blocked prog (12) [futex] other: main _start;main;app::work
 0.137198 0.142198 5.000 ms blocked other (99) [sleep] an interrupt main
 0.159198 0.164198 5.000 ms blocked other (99) [sleep] an interrupt main
END
shows '# shown: 5 of 10 waits, the longest first'
expect 0 "$stackctl" report -i "$tmp/wakers.db" --view waits --top 99999999999999999999
shows '# shown: 10 of 10 waits, the longest first'
expect 2 "$stackctl" report -i "$tmp/wakers.db" --view waits --top -1
expect 0 "$stackctl" report -i "$tmp/wakers.db" --view waits --sort time --metric wait.runnable --from 0.1425
sed '1,/^#      begin/d; s/  */ /g' "$tmp/out" >"$tmp/rows"
diff - "$tmp/rows" >"$tmp/diff" <<'END' || fail "runnable waits of a range: $(cat "$tmp/diff")"
< 0.142500 0.143298 797.891 us runnable prog (12) [woken] _start;main;app::work
 0.164298 0.165298 1.000 ms runnable prog (12) [woken] _start;main;app::work
 0.170298 0.172298 2.000 ms runnable prog (12) [preempted] _start;main
END
expect 0 "$stackctl" report -i "$tmp/wakers.db" --view waits --pid 99 --to 0.14 -o "$tmp/waits.csv"
diff - "$tmp/waits.csv" >"$tmp/diff" <<'END' || fail "CSV: $(cat "$tmp/diff")"
begin_s,end_s,duration_ns,whole_ns,began_before,goes_on,stands_for_ns,state,pid,tid,comm,waker,what_for,path
0.137197891,0.140000000,2802109,5000000,0,1,2802109,blocked,99,99,"other","an interrupt","[sleep]","main"
END
expect 0 "$stackctl" report -i "$tmp/wakers.db" --view waits --json
python3 - "$tmp/out" <<'END' || fail 'single waits: JSON'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
waits = report["waits"]
assert report["view"] == "waits" and report["chosen"] == len(waits) == 10 == report["estimated"], report
assert sum(w["stands_for_ns"] for w in waits) == report["amount"] == 80000000, report
assert waits[0]["waker"] == {"kind": "thread", "tid": 99, "name": "other: main"}, waits
assert waits[0]["what_for"] == ["[futex]"] and waits[0]["path"][-1] == "app::work()", waits
END
# No name moves the terminal's cursor or ends a row: all are shown as the other views show them.
make_store "$tmp/escaped.db" escaped
row_of()
{
    expect 0 env LC_ALL="$1" "$stackctl" report -i "$tmp/escaped.db" --view waits
    sed '1,/^#      begin/d; s/  */ /g; s/.* blocked //' "$tmp/out" >"$tmp/rows"
}
row_of C.UTF-8
diff - "$tmp/rows" >"$tmp/diff" <<'END' || fail "names in UTF-8: $(cat "$tmp/diff")"
prog (20) [block I/O] \x1b[31m\x0a"ü: p;ü p;ü
END
row_of C
diff - "$tmp/rows" >"$tmp/diff" <<'END' || fail "names in ASCII: $(cat "$tmp/diff")"
prog (20) [block I/O] \x1b[31m\x0a"\xc3\xbc: p;\xc3\xbc p;\xc3\xbc
END
expect 0 "$stackctl" report -i "$tmp/escaped.db" --view waits -o "$tmp/waits.csv"
diff - "$tmp/waits.csv" >"$tmp/diff" <<'END' || fail "names in CSV: $(cat "$tmp/diff")"
begin_s,end_s,duration_ns,whole_ns,began_before,goes_on,stands_for_ns,state,pid,tid,comm,waker,what_for,path
0.080000000,0.100000000,20000000,20000000,0,0,20000000,blocked,20,20,"prog","\x1b[31m\x0a""ü: p;ü","[block I/O]","p\x3bü"
END
# All waits together are the metric, in a flame graph of the time off the CPU as well.
expect 0 "$stackctl" export --folded -i "$waits" --metric wait
[ "$(awk '{n += $NF} END {print n}' "$tmp/out")" = 70000000 ] || fail "wait: $(cat "$tmp/out")"
expect 2 "$stackctl" report -i "$waits" --view waits --metric cpu.time
expect 2 "$stackctl" report -i "$waits" --view waits --by thread
expect 2 "$stackctl" report -i "$waits" --view flat --top 3
expect 3 "$stackctl" report -i "$store" --view waits
expect 3 "$stackctl" report -i "$waits" --view wakers
says "does not tell who ended waits: record with 'stackd --wakers'"
expect 0 "$stackctl" stats -i "$tmp/wakers.db"
has '^metrics: cpu, wait.blocked, wait.runnable, wait, wall$' stats

# --- regions that were taken off: each on a sample's path has it, the innermost region as own time
metric=regions
for event in cpu-clock cycles; do
    STORE_EVENT=$event make_store "$tmp/off-$event.db" off
    expect 0 "$stackctl" report -i "$tmp/off-$event.db" --view regions --json
    python3 - "$tmp/out" $event <<'END' || fail "off: JSON of $event"
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1], encoding="utf-8"))["regions"]}
counted = {"outer": (300, 200), "inner": (100, 100), "kept": (10, 10), "turn": (10, 10), "never": (0, 0)}  # total, own: ms
# At 0.45 s inner runs within a pass of outer that is counted, whose own time it is.
rest = {"outer": (14, 7), "inner": (7, 2), "kept": (0, 0), "turn": (6, 6), "never": (2, 2)}
if sys.argv[2] != "cpu-clock":
    del counted["never"]
assert rows.keys() == counted.keys(), rows
for name, row in rows.items():
    is_known = sys.argv[2] == "cpu-clock" or name == "kept"
    total, own = rest[name] if is_known else (0, 0)
    assert row["total_ns"] == (counted[name][0] + total) * 1000000, row
    assert row["own_ns"] == (counted[name][1] + own) * 1000000, row
    assert row["cpu_ns"] == total * 1000000, row
    assert row["estimated_ns"] == (total * 1000000 if is_known else None), row
    error = round(total ** 0.5 * 1000000) if is_known else None
    assert row["estimated_error_ns"] == error, row
    for key in ("total_ns", "own_ns", "cpu_ns", "estimated_ns"):
        parts = [path[key] for path in row["paths"] if "outer" not in path["callers"] or name != "outer"]
        if key == "own_ns":
            parts = [path[key] for path in row["paths"]]
        assert sum(parts) == row[key] if is_known else row[key] is None or sum(parts) == row[key], (key, row)
END
    expect 0 "$stackctl" report -i "$tmp/off-$event.db" --view regions
    if [ $event = cycles ]; then
        shows '1+ 300.000 ms'
        shows '(counted until 0.5 s; no estimate of the rest: the samples are of no clock)'
        if grep -q 'is estimated' "$tmp/out"; then fail 'off: an estimate without a clock'; fi
    else
        shows '(counted until 0.5 s; 14.000 ms +- 3.742 ms of the time is estimated from samples since then; later visits'
        shows '(counted until 0.3 s; 6.000 ms +- 2.449 ms of the time is estimated'
        shows '0+   4.000 ms   4.000 ms   4.000 ms'
        shows '0+   2.000 ms'
        shows '(not counted; 2.000 ms +- 1.414 ms of the time is estimated'
        shows 'main;outer;inner  (4.000 ms +- 2.000 ms is estimated)'
    fi
done
# Head and rows have one moment; a range before it is counted, whenever its last pass ended.
for to in 0.2 0.29; do
    expect 0 "$stackctl" report -i "$tmp/off-cpu-clock.db" --view regions --from 0.08 --to "$to"
    shows 'turn@prog was counted until 0.3 s'
    grep -q '^ *1  *10.000 ms .* turn  \[prog\]$' "$tmp/out" || fail "turn to $to: $(cat "$tmp/out")"
    [ "$(grep -c 'region-limit' "$tmp/out")" = 4 ] || fail "notes on --region-limit: $(cat "$tmp/out")"
done
expect 0 "$stackctl" report -i "$tmp/off-cpu-clock.db" --view regions --from 0.08 --to 0.31
shows '1+  10.000 ms'
shows '[prog]  (counted until 0.3 s; no sample has it since then; later visits are not counted)'
# Trees and exports have the same own times, which are exact but for 17 samples.
off=$tmp/off-cpu-clock.db
own="prog;main;outer 203000000
prog;main;outer;inner 102000000
prog;main;outer;inner;outer 4000000
prog;main;outer;kept 10000000
prog;main;never 2000000
prog;main;turn.constprop.0 16000000"
expect 0 "$stackctl" export --folded --metric region.time -i "$off"
[ "$(sort "$tmp/out")" = "$(sort <<<"$own")" ] || fail "off: folded: $(cat "$tmp/out")"
grep -q '^stackctl: counted for a part of the time (--region-limit): inner@prog until 0.4 s, ' "$tmp/err" ||
    fail "off: folded: $(cat "$tmp/err")"
expect 0 "$stackctl" report -i "$off" --metric region.time
metric=region.time has '^# metric: region.time, 337.000 ms, standard error 4.123 ms (17.000 ms is estimated)$' report
metric=region.time has '^# instances: 4$' report
metric=region.time has '^# note: outer@prog was counted until 0.5 s, then sampled (--region-limit)$' report
metric=region.time has '^# note: never@prog was not counted, but sampled (--region-limit)$' report
metric=region.time has '^# note: later CPU time of regions is estimated from samples' report
expect 0 "$stackctl" report -i "$off" --metric region.visits
metric=region.visits has '^# metric: region.visits, 4 instances$' report
metric=region.visits has ' later waits, visits and bytes are missing$' report
# Ranges add up to the whole.
total=0
for range in 0..0.45 0.45..0.6 0.6..0.62 0.62..0.8; do
    expect 0 "$stackctl" report -i "$off" --metric region.time --from "${range%..*}" --to "${range#*..}" --json
    part=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["amount"])' "$tmp/out")
    total=$((total + part))
done
[ $total = 337000000 ] || fail "off: ranges add up to $total"
# Its error is that of the estimates.
expect 0 "$stackctl" diff --metric region.time --json "$off" "$off"
python3 - "$tmp/out" <<'END' || fail "off: diff"
import json, sys
rows = {row["function"]: row for row in json.load(open(sys.argv[1], encoding="utf-8"))["rows"]}
for name, samples in {"outer": 9 + 4 - 4, "kept": 0, "turn.constprop.0": 6}.items():
    assert abs(rows[name]["error"] - 1.959964 * (2 * samples) ** 0.5 * 1e6) < 1e4, (name, rows[name])
END
# What has a head says it there.
for format in pprof callgrind; do
    expect 0 "$stackctl" export --$format --metric region.time -i "$off" -o "$tmp/off.$format"
    grep -aq 'counted for a part of the time (--region-limit): inner@prog until 0.4 s, never@prog never, outer' \
        "$tmp/off.$format" || fail "off: $format"
done
expect 0 "$stackctl" export --parquet "$tmp/off.parquet" -i "$off"
for part in stackd.regions_off.1 'counted for a part of the time (--region-limit): inner@prog until 0.4 s'; do
    grep -aqF "$part" "$tmp/off.parquet/samples.parquet" || fail "off: Parquet"
done
for page in svg html; do
    expect 0 "$stackctl" flamegraph --metric region.time -i "$off" -o "$tmp/off.$page"
    grep -q 'counted for a part of the time (--region-limit): inner@prog' "$tmp/off.$page" || fail "off: $page"
done
expect 0 "$stackctl" export --folded --metric region.time -i "$tmp/off-cycles.db"
grep -q ' their later time, visits and bytes are missing' "$tmp/err" || fail "off: $(cat "$tmp/err")"

# A row of a timeline has the number of its records and what they add up to.
expect 0 "$stackctl" timeline -i "$store" --metric region.time
metric=region.time has ' 3 *6.000 ms .* > app::work() \[prog.cc:13\]' timeline
expect 0 "$stackctl" timeline -i "$store"
metric=cpu has 's  samples  when' timeline
finish
