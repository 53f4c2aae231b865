#!/bin/bash
# SPDX-License-Identifier: MIT
# Metrics other than samples: every view adds up their values, and names them.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" metrics

has() { # PATTERN: a line of the last command's standard output matches
    grep -q -- "$1" "$tmp/out" || fail "standard output lacks '$1': $(head -n 30 "$tmp/out")"
}

folded() { # METRIC LINE...: the folded export has these lines
    local metric=$1
    shift
    expect 0 "$stackctl" export --folded -i "$store" --metric "$metric"
    printf '%s\n' "$@" | sort | diff - <(sort "$tmp/out") >"$tmp/diff" || fail "$metric: $(cat "$tmp/diff")"
}

folded region.visits 'prog;_start;main 1' 'prog;_start;main;app::work() 3'
folded region.time 'prog;_start;main 4000000' 'prog;_start;main;app::work() 6000000'
folded region.cpu 'prog;_start;main;app::work() 4500000'
folded mpi.sent 'prog;_start;main 5120'
# Samples are what they are without a metric's name.
expect 0 "$stackctl" export --folded -i "$store"
cp "$tmp/out" "$tmp/samples"
expect 0 "$stackctl" export --folded -i "$store" --metric cpu
cmp "$tmp/samples" "$tmp/out" || fail 'cpu is not the samples'

# --- the list, also without a recording
expect 0 "$stackctl" report -i /nowhere --metric help
has '^heap.live  *bytes  *sampled  *--alloc '
has '^mpi.sent  *bytes  *counted  *--mpi '
expect 2 "$stackctl" report -i "$store" --metric helpless
says "no metric 'helpless'; there are cpu, "

# --- every view
for view in tree flat callers time 'around --around main'; do
    # shellcheck disable=SC2086 # a view and its options
    expect 0 "$stackctl" report -i "$store" --metric region.time --view $view
    has '# metric: region.time, 10.000 ms'
    has '# instances: 4'
    has '# process 12 prog.*10.000 ms, 100.0%'
done
expect 0 "$stackctl" report -i "$store" --metric region.time
has '60.0% .*app::work'
expect 0 "$stackctl" report -i "$store" --metric region.visits
has '# process 12 prog.*: 4 instances, 100.0%'
has '75.0% .*app::work'
expect 0 "$stackctl" report -i "$store" --metric mpi.sent
has '# process 12 prog.*: 5.000 KiB'
expect 0 "$stackctl" report -i "$store" --metric region.time --symbol 'app::work'
has '# instances: 3 chosen of 4'
expect 0 "$stackctl" annotate -i "$store" --metric region.time 'app::work'
has '6.000 ms with what it calls, 60.0% of all'
expect 0 "$stackctl" report -i "$store" --metric region.time --view flat
has 'function; % of region.time, and region.time$'
has ' 60.0%   60.0%  6.000 ms  app::work'
expect 0 "$stackctl" report -i "$store" --metric region.visits --view flat
has ' 75.0%   75.0%         3  app::work'
expect 0 "$stackctl" report -i "$store" --metric region.time --json
python3 - "$tmp/out" <<'END' || fail 'JSON'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
assert report["metric"] == "region.time" and report["unit"] == "nanoseconds", report
assert report["samples"] == 4 and report["amount"] == 10000000, report
assert sum(report["quality"].values()) == 4, report
assert max(node["total"] for node in report["processes"][0]["nodes"]) == 10000000
END
expect 0 "$stackctl" flamegraph -i "$store" --metric region.time -o "$tmp/f.svg"
grep -q '6.000 ms, 60.0%' "$tmp/f.svg" || fail 'no amounts in the SVG'
expect 0 "$stackctl" flamegraph -i "$store" --metric region.time -o "$tmp/f.html"
grep -q '"metric":"region.time","unit":"ns"' "$tmp/f.html" || fail 'no unit in the page'
expect 0 "$stackctl" export --pprof -i "$store" --metric mpi.sent -o "$tmp/p.pb"
grep -aq 'mpi.sent' "$tmp/p.pb" || fail 'no metric in the pprof export'

# --- regions: bytes, and how many a second of the region's own time and of that within
expect 0 "$stackctl" report -i "$store" --view regions
has 'share .*sent .*received .*bandwidth'
has '5.000 KiB .*0 bytes .*MiB/s  main'
expect 0 "$stackctl" report -i "$store" --view regions --json
shows '"sent_bytes":5120,"received_bytes":0,"unknown_calls":0,"bytes_per_second":'

# --- tags: all metrics, or one; the values have the number of records
values() { # METRIC: the sums of counts and weights by metric in the last output
    awk -F'\t' '$1 == "value" { n[$5] += $6; sum[$5] += $7 }
        END { for (m in n) print m, n[m], sum[m] }' "$tmp/tags" | sort
}
expect 0 "$stackctl" export --tags -i "$store" -o "$tmp/tags"
[ "$(values)" = "$(printf '%s\n' 'mpi.sent 1 5120' 'region.cpu 4 4500000' 'region.time 4 10000000')" ] ||
    fail "values: $(values)"
grep -q '^sample' "$tmp/tags" || fail 'no samples beside the values'
expect 0 "$stackctl" merge "$tmp/tags" "$store" -o "$tmp/merged"
cp "$tmp/merged" "$tmp/tags"
[ "$(values | grep time)" = 'region.time 8 20000000' ] || fail "merged: $(values)"
expect 0 "$stackctl" export --tags -i "$store" --metric region.visits -o "$tmp/tags"
[ "$(values)" = 'region.time 4 10000000' ] || fail "one metric: $(values)"
grep -q '^sample' "$tmp/tags" && fail 'samples beside one metric'
sed 's/^value\(.*\)region.time/value\1cpu/' "$tmp/tags" >"$tmp/bad"
expect 2 "$stackctl" diff "$tmp/bad" "$store"
says "'cpu' is not a metric with values"

# --- differences
make_store "$tmp/small.db" small
expect 0 "$stackctl" diff --metric region.visits "$store" "$tmp/merged"
has '# A: 4 instances of '
has '# B: 8 instances of '
has ' 3 .* 6 .*+3 .*app::work'
has '^# 3 of [0-9]* rows changed$'
expect 0 "$stackctl" diff --metric region.visits --share "$store" "$tmp/merged"
has '75.00 .*75.00 .*app::work'
has '^# 0 of [0-9]* rows changed$'
expect 0 "$stackctl" diff --per 'app::work' "$store" "$store"
has 'CPU time in ms per pass'
expect 0 "$stackctl" diff --metric region.time --by tag "$store" "$tmp/tags" --json
shows '"metric":"region.time","unit":"nanoseconds"'
shows '"amount":10000000}'
expect 3 "$stackctl" diff --metric region.time "$store" "$tmp/small.db"
says "$tmp/small.db has no region.time"
expect 2 "$stackctl" diff --metric tine "$store" "$store"
says "no metric 'tine'; there are cpu, cpu.time, region.visits"
expect 0 "$stackctl" flamegraph -i "$store" --metric region.time --diff "$store" -o "$tmp/d.html"
grep -q '"noise":null' "$tmp/d.html" || fail 'a counted metric has an error of sampling'

# --- what shows samples alone says so
for verb in 'export --perf-script' 'export --speedscope' 'export --firefox' 'export --perfetto'; do
    # shellcheck disable=SC2086 # a verb and its option
    expect 2 "$stackctl" $verb -i "$store" --metric region.time
    says "shows samples only"
done
expect 0 "$stackctl" export --callgrind -i "$store" --metric region.time
has '^event: region_time : region.time (nanoseconds)$'
has '^events: region_time$'
has '^summary: 10000000$'
own=$(awk '/^(calls|fn)=/ {call = /^calls/; next} /^[0-9]/ {if (!call) sum += $2; call = 0} END {print sum}' "$tmp/out")
[ "$own" = 10000000 ] || fail "own costs: $own"
expect 0 "$stackctl" export --callgrind -i "$store"
has '^events: Samples$'
expect 0 "$stackctl" stats -i "$store"
has '^metrics: cpu, region.visits, region.time, region.cpu, mpi.sent$'
expect 0 "$stackctl" stats -i "$store" --json
shows '"metrics":["cpu","region.visits","region.time","region.cpu","mpi.sent"]'

# --- added up with recordings that do not have the metric
make_store "$store" metrics small metrics
expect 0 "$stackctl" export --folded -i "$store" --metric region.visits --recording 1..4
[ "$(sort "$tmp/out" | tail -n 1)" = 'prog;_start;main;app::work() 9' ] || fail "added up: $(cat "$tmp/out")"

# --- there is none
expect 3 "$stackctl" report -i "$store" --recording 3 --metric region.time
says "has no region.time: record with 'stackd --region'; its metrics: cpu"
expect 3 "$stackctl" report -i "$store" --metric mpi.received
says "has no mpi.received: none was recorded, though 'stackd --mpi' measures it; its metrics: cpu, region.visits, region.time, region.cpu, mpi.sent"
expect 2 "$stackctl" report -i "$store" --metric tine
says "no metric 'tine'; there are cpu, cpu.time, region.visits"
finish
