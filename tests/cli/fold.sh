#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl fold: the course of a counter and of routines over a pass, its forms, and its errors.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" folded

# --- the text: passes, phases with their paths, routines
expect 0 "$stackctl" fold -i "$store" --region pass
shows '# region pass: 400 passes, 9 ms of CPU time each on average (10 ms of wall time); 3200 samples folded'
phase() { # NUMBER FROM TO SHARE PATH: this row of the table, with these bounds to a half percent
    local row
    row=$(sed -n '/^# phases of var:cells/,/^$/p' "$tmp/out" | grep -v '^#' | sed -n "$1p")
    [ -n "$row" ] || fail "no phase $1: $(cat "$tmp/out")"
    awk -v from="$2" -v to="$3" -v share="$4" -v path="$5" '
        function far(a, b) { return a - b > 0.5 || b - a > 0.5 }
        { exit far($1, from) || far($2, to) || far($4, share) || $0 !~ " " path " .prog.cc:1[345]]$" }' <<<"$row" ||
        fail "phase $1 is no $2 to $3 with $4 in $5: $row"
}
phase 1 0 25 5 assemble
phase 2 25 70 75 solve
phase 3 70 100 20 output
[ "$(sed -n '/^# phases of/,/^$/p' "$tmp/out" | grep -c '^  *[0-9]')" = 3 ] || fail "phases: $(cat "$tmp/out")"
grep -q '^solve  *44[.0-9]*%' "$tmp/out" || fail "routines: $(cat "$tmp/out")"
expect 0 "$stackctl" fold -i "$store" --region pass --time wall
shows '# region pass: 400 passes, 10 ms of wall time each on average; 3200 samples folded'
cp "$tmp/out" "$tmp/wall"
grep -q '^cpu  ' "$tmp/wall" || fail "CPU time is no counter over wall time: $(cat "$tmp/wall")"

# --- what is selected
expect 0 "$stackctl" fold -i "$store" --region pass --tid 13
shows '# region pass: 200 passes'
expect 0 "$stackctl" fold -i "$store" --region 'pa*' --from 0.9s --to 3s
shows '# region pass: '

# --- the same seed gives the same bands, another one others
fold_csv() { "$stackctl" fold -i "$store" --region pass --seed "$1" -o "$2" || fail "seed $1"; }
fold_csv 7 "$tmp/a.csv"
fold_csv 7 "$tmp/b.csv"
fold_csv 8 "$tmp/c.csv"
cmp -s "$tmp/a.csv" "$tmp/b.csv" || fail "one seed, two results"
cmp -s "$tmp/a.csv" "$tmp/c.csv" && fail "two seeds, one result"

# --- the table: the curve is within 0.3 % of the truth on average, and within 1 % everywhere
awk -F, '
    function y(x) { return x < 0.25 ? 0.2 * x : x < 0.7 ? 0.05 + (x - 0.25) / 0.6 : 0.8 + (x - 0.7) / 1.5 }
    $1 == "curve" { d = $4 - y($3); d = d < 0 ? -d : d; sum += d; n++; most = d > most ? d : most
                    if ($4 < last) falls = 1; last = $4 }
    $1 == "routine" { samples += $4 }
    END { print n, sum / n, most, samples; exit n != 1000 || sum / n > 0.003 || most > 0.01 || falls ||
          samples != 3200 }' "$tmp/a.csv" >"$tmp/err" || fail "the curve: $(cat "$tmp/err")"
[ "$(grep -c '^phase,"var:cells",' "$tmp/a.csv")" = 3 ] || fail "phases of the table"

# --- the picture is XML, and the page has its data
expect 0 "$stackctl" fold -i "$store" --region pass -o "$tmp/p.svg"
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$tmp/p.svg" || fail "no XML"
expect 0 "$stackctl" fold -i "$store" --region pass -o "$tmp/p.html"
PYTHONPATH=tests PYTHONDONTWRITEBYTECODE=1 python3 - "$tmp/p.html" <<'EOF' || fail "the page's data"
import sys
from saved_page import answer
data = answer(sys.argv[1], "fold")
assert data["passes"] == 400 and data["in_passes"] == 3200 and not data["is_locked"], data["passes"]
assert answer(sys.argv[1], "tree")["total"] == answer(sys.argv[1], "fold")["total"]
assert [c["name"] for c in data["counters"]] == ["var:cells"], data["counters"]
assert [p["path"].split(" [")[0] for p in data["phases"]] == ["assemble", "solve", "output"], data["phases"]
assert sum(sum(r["columns"]) for r in data["routines"]) == 3200
EOF

# --- the script for gnuplot, which tests/exports runs, has its data, and neither terminal nor output
expect 0 "$stackctl" fold -i "$store" --region pass -o "$tmp/p.gp"
[ "$(grep -c '^[$][a-z0-9]* << END$' "$tmp/p.gp")" = 2 ] || fail "data: $(grep '<<' "$tmp/p.gp")"
! grep -Eq '^set (term|output)' "$tmp/p.gp" || fail 'the script chooses a terminal'

# --- without readings there is the wall time, and a hint
make_store "$tmp/unread.db" unread
expect 0 "$stackctl" fold -i "$tmp/unread.db" --region pass
says 'the recording has no counters: record with stackd --counter NAME'
shows '10 ms of wall time each on average; 3200 samples folded'
expect 2 "$stackctl" fold -i "$tmp/unread.db" --region pass --time cpu
says 'no readings of CPU time'

# --- passes of two kinds: two pictures, without the four that are of none
make_store "$tmp/modes.db" modes
expect 0 "$stackctl" fold -i "$tmp/modes.db" --region pass --group
says 'fold: 4 outliers are left out:'
says 'at 2.200000 s in thread 12: 1.000 ms'
shows '# region pass, group 1 of 2: 264 passes, 9.0'
shows '# region pass, group 2 of 2: 132 passes, 18'
[ "$(grep -c '^# host' "$tmp/out")" = 1 ] || fail "headers: $(cat "$tmp/out")"
expect 0 "$stackctl" fold -i "$tmp/modes.db" --region pass --group=2
phase 1 0 30 20 assemble
phase 2 30 75 75 solve
phase 3 75 100 5 output
expect 0 "$stackctl" fold -i "$tmp/modes.db" --region pass --group=1 -o "$tmp/m.csv"
expect 2 "$stackctl" fold -i "$tmp/modes.db" --region pass --group -o "$tmp/m.html"
says 'a file has one group: give --group=1'
expect 2 "$stackctl" fold -i "$tmp/modes.db" --region pass --group=3
says 'there are 2 groups'
expect 2 "$stackctl" fold -i "$tmp/modes.db" --region pass --group=0
expect 2 "$stackctl" fold -i "$tmp/modes.db" --region pass --group=-18446744073709551615
expect 2 "$stackctl" fold -i "$tmp/modes.db" --region pass --group=1 -o "$tmp/m.json"
[ ! -e "$tmp/m.json" ] || fail 'fold: a folding has no JSON'

# --- what probes cost is no part of a pass: not of its CPU time, not of its wall time
make_store "$tmp/probed.db" probed
for time in cpu wall; do
    expect 0 "$stackctl" fold -i "$tmp/probed.db" --region pass --time "$time"
    shows '# 500 us, which the probes at the ends of a pass cost, are taken off 400 of 400 passes, with 0 samples in it'
    phase 1 0 25 5 assemble
    phase 2 25 70 75 solve
    phase 3 70 100 20 output
done
# Of several recordings it is the mean, not the sum.
make_store "$tmp/probed.db" probed probed
expect 0 "$stackctl" fold -i "$tmp/probed.db" --recording 1..3 --region pass
shows '# 500 us, which the probes at the ends of a pass cost, are taken off 1200 of 1200 passes, with 0 samples in it'
# Passes that take less than eight times as long stay as they are.
make_store "$tmp/costly.db" costly
expect 0 "$stackctl" fold -i "$tmp/costly.db" --region pass
if grep 'probes' "$tmp/out"; then fail 'fold: what probes cost is said to be taken off'; fi
phase 1 0 25 5 assemble

# --- a period is found without any region; of random paths none is
expect 0 "$stackctl" fold --auto -i "$store"
says 'is periodic: '
says ' ms between the beginnings of solve, 199 of 199 times (100% '
shows '# period of solve: 199 passes, '
make_store "$tmp/few.db" small
expect 1 "$stackctl" fold --auto -i "$tmp/few.db"
says 'fold: not periodic: no function begins more than 20 times'
# ...and why not: a random walk begins each function hundreds of times.
make_store "$tmp/walk.db" walk
expect 1 "$stackctl" fold --auto -i "$tmp/walk.db"
says 'fold: not periodic: distances are irregular: of the '
make_store "$tmp/quick.db" quick
expect 1 "$stackctl" fold --auto -i "$tmp/quick.db"
says ', which is too short for the sampling rate: 3.0 samples, and 5 are asked for'
# ...nor are time slices a period, though they are regular: pauses are one where the thread slept.
make_store "$tmp/asleep.db" asleep
expect 0 "$stackctl" fold --auto -i "$tmp/asleep.db"
says ' ms between the beginnings of work after pauses, 198 of 198 times (100% '
make_store "$tmp/sliced.db" sliced
expect 1 "$stackctl" fold --auto -i "$tmp/sliced.db"
says 'fold: not periodic: distances are irregular: of the '
make_store "$tmp/gaps.db" gaps
expect 1 "$stackctl" fold --auto -i "$tmp/gaps.db"
says 'fold: not periodic: distances are irregular: of the '
says "which may be the program's own, or the scheduler's time slices: stackd --wait tells which"
expect 2 "$stackctl" fold --auto --region pass -i "$store"
says '--auto, --burst and --region exclude each other'

# --- a sampler whose period is the region's
make_store "$tmp/locked.db" locked
expect 0 "$stackctl" fold -i "$tmp/locked.db" --region pass
shows 'WARNING: samples hit only'

# --- bad input
expect 2 "$stackctl" fold -i "$store"
says '2 regions are in the recording: give one by --region'
says '  pass: 400 passes'
expect 2 "$stackctl" fold -i "$store" --region nothing
says "there is no pass through 'nothing'; the recording has"
expect 2 "$stackctl" fold -i "$store" --region '*'
says '2 regions match'
expect 3 "$stackctl" fold -i "$store" --region pass --from 20s
make_store "$tmp/small.db" small
expect 2 "$stackctl" fold -i "$tmp/small.db"
says 'the recording has no passes through regions: record with stackd --region'
for bad in --time=x --seed=-1 --seed=1x --metric=region.time; do
    expect 2 "$stackctl" fold -i "$store" --region pass "$bad"
done
# shellcheck disable=SC2016 # the inner shell expands it
expect 1 sh -c '"$1" fold -i "$2" --region pass >/dev/full' - "$stackctl" "$store"
stackd=${STACKD:-$(dirname "$stackctl")/stackd}
expect 2 "$stackd" --counter page-faults -- true
says '--counter: counters are read within regions: give --region, --mark or --mpi'
expect 2 "$stackd" --annotated --counter page-faults -- true
says '--annotated is for a command that stackd starts, and excludes --region, --mark, --counter'
expect 2 "$stackd" --region f --counter nonsense -- true
says "--counter 'nonsense': expected page-faults"
finish
