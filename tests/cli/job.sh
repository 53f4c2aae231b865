#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl report of tag exports: the same views as of stores, the ranks of a job and how they differ.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small cut small
expect 0 "$stackctl" merge "$store" -o "$tmp/all"
comm=$(awk -F'\t' '$1 == "sample" { print $4; exit }' "$tmp/all")
rows() { grep -v '^#' "$tmp/out" >"$tmp/$1"; }

# --- an export shows what its store does
for view in '' '--view flat' '--view callers' '--around main' '--by command' "--metric cpu --view flat --comm $comm"; do
    # shellcheck disable=SC2086
    expect 0 "$stackctl" report --by all --percent-limit 0 -i "$store" --recording 1..3 $view
    rows store
    # shellcheck disable=SC2086
    expect 0 "$stackctl" report --by all --percent-limit 0 -i "$tmp/all" $view
    rows export
    cmp "$tmp/store" "$tmp/export" || fail "report of an export differs: $view"
    [ -s "$tmp/export" ] || fail "nothing to compare: $view"
done
expect 0 "$stackctl" flamegraph -i "$tmp/all" -o "$tmp/x.svg"
expect 0 "$stackctl" report -i "$tmp/all"
shows '# target: '"$tmp/all"
shows '# samples: 250'

# --- the ranks of a job
python3 tests/cli/job.py "$tmp/job"
expect 0 "$stackctl" merge "$tmp/job" -o "$tmp/merged"
expect 0 "$stackctl" merge "$tmp/merged" -o "$tmp/again"
cmp "$tmp/merged" "$tmp/again" || fail 'a merged job merged'
grep -q "^rank	[0-9]*	3	4$" "$tmp/merged" || fail 'ranks'
[ "$(grep -c '^total' "$tmp/merged")" = 5 ] || fail 'totals'
expect 0 "$stackctl" report -i "$tmp/merged" --percent-limit 0
shows '# 4 ranks: the most of one over their mean, and which one that is'
shows 'max/mean  rank  call path'
shows '1.60     3  main'   # 400 of 1000
shows '4.00     2  └─ only' # 100 of 100
shows '2.00     3  ├─ work' # 300 of 600
expect 0 "$stackctl" report -i "$tmp/merged" --by rank
shows '# rank 3 of 4: 400 samples'
shows '# rank none: 50 samples'
expect 0 "$stackctl" report -i "$tmp/merged" --by host
shows '# host node1: '
expect 0 "$stackctl" report -i "$tmp/merged" --by process --pid 102
shows '# process 102 solver (/bin/solver): '
expect 0 "$stackctl" report -i "$tmp/merged" --json
python3 - "$tmp/out" <<'END' || fail 'report --json'
import json, sys
d = json.load(open(sys.argv[1]))
names = {s: x["name"] for s, x in enumerate(d["symbols"])}
ranks = {names[n["symbol"]]: n["ranks"] for n in d["parts"][0]["nodes"]}
assert ranks["main"] == {"sum": 1000, "max": 400, "max_rank": 3}, ranks
assert ranks["only"] == {"sum": 100, "max": 100, "max_rank": 2}, ranks
END
expect 0 "$stackctl" report -i "$tmp/merged" --metric alloc.bytes --by rank
shows '# rank 1 of 4'

# --- what an export does not have
expect 3 "$stackctl" report -i "$tmp/merged" --metric region.time
says 'its metrics: cpu, alloc.bytes'
expect 2 "$stackctl" report -i "$tmp/merged" --by unit
says 'a tag export has sums by'
expect 2 "$stackctl" report -i "$tmp/merged" --view time
says 'a tag export has only sums of samples'
expect 2 "$stackctl" report -i "$tmp/merged" --from 10s
says '--from and --to is not for a tag export'
expect 2 "$stackctl" annotate main -i "$tmp/merged"
says 'is a tag export'
head -n -1 "$tmp/merged" >"$tmp/cut"
expect 2 "$stackctl" report -i "$tmp/cut"
says 'cut short'
sed 's/\tentry\t/\tsome_new_reason\t/' "$tmp/merged" >"$tmp/new"
expect 2 "$stackctl" report -i "$tmp/new"
says 'or a newer stackctl wrote it'
sed 's/^rank\t\([0-9]*\)\t3\t4$/rank\t\1\t-3\t4/' "$tmp/merged" >"$tmp/lie"
expect 2 "$stackctl" report -i "$tmp/lie"
says 'no rank'
sed 's/^rank\t[0-9]*\t3/rank\t77\t3/' "$tmp/merged" >"$tmp/lie"
expect 2 "$stackctl" report -i "$tmp/lie"

finish
