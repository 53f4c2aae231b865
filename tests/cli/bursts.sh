#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl fold --burst: the kinds of what is computed between two calls of MPI, each folded.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" bursts

# --- the list
expect 0 "$stackctl" fold -i "$store" --burst
shows '# computing bursts, from a call of MPI to the next one of a thread: 599 bursts, '
shows "# kinds are alike in the two calls' paths and CPU time, page-faults; "
shows '# note: left out: 1, after calls that did not return'
row() { # WORDS...: a row of the list has these first columns, whatever its times are
    awk -v kind="$1" -v bursts="$2" '$1 == kind && $2 == bursts { found = 1 } END { exit !found }' "$tmp/out" ||
        fail "no row $*: $(cat "$tmp/out")"
}
row 1 100
row 2 198
row 3 99
row 4 100
row 5 98
row noise 1
row others 3
shows ' 2 kinds below 0.5%: --percent-limit 0 shows them'
expect 0 "$stackctl" fold -i "$store" --burst --percent-limit 0
row 6 2
row 7 1
if grep -q '^ *others' "$tmp/out"; then fail 'kinds are summed up at --percent-limit 0'; fi
expect 0 "$stackctl" fold -i "$store" --burst
grep -A 3 '^ *5 *98 ' "$tmp/out" | tail -n 3 >"$tmp/calls"
diff - "$tmp/calls" <<'EOF' || fail "the calls of kind 5"
            below main
            from  step > exchange > MPI_Allreduce
            to    step > MPI_Recv
EOF
shows '            in    exchange > pack (100.0% of 196 samples)'
shows '            with  page-faults: 2 k each, '
expect 0 "$stackctl" fold -i "$store" --burst --json
cp "$tmp/out" "$tmp/all.json"
python3 - "$tmp/all.json" <<'EOF' || fail "the list as JSON"
import json, sys
data = json.load(open(sys.argv[1]))
assert data["schema"] == 1 and data["by"] == "all" and data["is_cpu_time"] and data["after_left"] == 1
assert data["bursts"] == 599 == sum(kind["bursts"] for kind in data["kinds"])
assert sum(kind["total_ns"] for kind in data["kinds"]) == data["computing_ns"]
assert data["calls_ns"] == 2 * (3000000 + 100 * 2500000)
known = {kind["kind"]: (kind["bursts"], kind["before"][-1], kind["after"][-1], kind["path"][-1:],
                        round(kind["counters"]["page-faults"]["mean"]), round(kind["mean_ns"] / 1e6))
         for kind in data["kinds"] if kind["kind"]}
assert known == {1: (100, "MPI_Send", "MPI_Allreduce", ["assemble"], 0, 12),
                 2: (198, "MPI_Recv", "MPI_Send", ["solve"], 0, 2),
                 3: (99, "MPI_Send", "MPI_Allreduce", ["assemble"], 0, 4),
                 4: (100, "MPI_Allreduce", "MPI_Recv", ["pack"], 0, 2),
                 5: (98, "MPI_Allreduce", "MPI_Recv", ["pack"], 2000, 2),
                 6: (2, "MPI_Init", "MPI_Recv", ["setup"], 0, 5),
                 7: (1, "MPI_Recv", "MPI_Send", ["solve"], 0, 2)}, known
noise = [kind for kind in data["kinds"] if kind["kind"] is None]
assert [kind["bursts"] for kind in noise] == [1] and noise[0]["min_ns"] > 8e8, noise
# A fifth of these waits for a CPU: 2 ms in 6.
solve = [kind for kind in data["kinds"] if kind["kind"] == 2][0]
assert abs(solve["on_cpu"] - 198 * 2 / (160 * 2 + 38 * 6)) < 0.005 and solve["on_cpu_error"] == 0, solve
assert 1.9e6 < solve["min_ns"] < 2e6 and 6e6 < solve["max_ns"] < 6.1e6, solve
assert solve["deviation_ns"] < 50000, solve
EOF

# --- ranges: kinds keep their numbers, and what they have adds up
for part in "--to 1.5" "--from 1.5 --to 2.2345" "--from 2.2345 --to 3.9" "--from 3.9"; do
    # shellcheck disable=SC2086
    expect 0 "$stackctl" fold -i "$store" --burst --json $part
    cat "$tmp/out" >>"$tmp/parts.json"
    echo '#' >>"$tmp/parts.json"
done
python3 - "$tmp/all.json" "$tmp/parts.json" <<'EOF' || fail "ranges do not add up"
import collections, json, sys
sums = collections.defaultdict(lambda: [0, 0])
for text in open(sys.argv[2]).read().split("\n#\n")[:-1]:
    for kind in json.loads(text)["kinds"]:
        sums[kind["kind"]][0] += kind["bursts"]
        sums[kind["kind"]][1] += kind["total_ns"]
whole = {kind["kind"]: [kind["bursts"], kind["total_ns"]] for kind in json.load(open(sys.argv[1]))["kinds"]}
assert set(sums) == set(whole)
# A burst that ends at the last nanosecond of one range is not in the next one.
assert all(sums[kind][0] == whole[kind][0] and abs(sums[kind][1] - whole[kind][1]) <= 3 for kind in whole), (sums, whole)
EOF

# --- by rank, and of one process
expect 0 "$stackctl" fold -i "$store" --burst --by rank --json
python3 - "$tmp/out" <<'EOF' || fail "by rank"
import json, sys
kinds = json.load(open(sys.argv[1]))["kinds"]
found = {(kind["rank"], kind["kind"]): kind["bursts"] for kind in kinds}
assert found["0 of 2", 2] == 99 and found["1 of 2", 2] == 99 and found["0 of 2", None] == 1, found
assert found["0 of 2", 1] == 50 and found["1 of 2", 3] == 49 and ("1 of 2", None) not in found, found
EOF
expect 0 "$stackctl" fold -i "$store" --burst --by label:env # its threads have none
shows 'env [no env]'
expect 0 "$stackctl" fold -i "$store" --burst --by rank
shows 'rank 0 of 2'
shows "share: of all bursts' of the part"
expect 0 "$stackctl" fold -i "$store" --burst --pid 13
shows ': 299 bursts, '
expect 3 "$stackctl" fold -i "$store" --burst --pid 14
says 'no thread that is chosen has a burst between two calls of MPI'
expect 3 "$stackctl" fold -i "$store" --burst --focus solve
says '--focus, --ignore, --symbol and --dso must choose both calls, by their paths'

# --- a kind, folded: page faults are in the first half of it
expect 0 "$stackctl" fold -i "$store" --burst=5
shows '# bursts of kind 5 of 7, MPI_Allreduce > MPI_Recv: 98 bursts, 2.01 ms of CPU time each on average'
shows '; 196 samples folded'
shows '  exchange > pack [prog.cc:'
expect 0 "$stackctl" fold -i "$store" --burst=5 -o "$tmp/k.csv"
awk -F, '$1 == "curve" && $2 ~ /page-faults/ { y = $3 < 0.5 ? 2 * $3 : 1; d = $4 - y; d = d < 0 ? -d : d; n++
             most = d > most ? d : most }
         END { print n, most; exit n != 1000 || most > 0.01 }' "$tmp/k.csv" >"$tmp/err" || fail "the curve: $(cat "$tmp/err")"
expect 0 "$stackctl" fold -i "$store" --burst=5 -o "$tmp/k.html"
PYTHONPATH=tests PYTHONDONTWRITEBYTECODE=1 python3 - "$tmp/k.html" <<'EOF' || fail "the page's data"
import sys
from saved_page import answer
data = answer(sys.argv[1], "fold")
assert data["passes_are"] == "bursts" and data["without_place"] == 0
assert data["passes"] == 98 and data["in_passes"] == 196 and data["axis"] == "cpu", data["passes"]
assert [c["name"] for c in data["counters"]] == ["page-faults"], data["counters"]
assert len(data["phases"]) == 2 and abs(data["phases"][0]["to"] - 0.5) < 0.005, data["phases"]
EOF
expect 0 "$stackctl" fold -i "$store" --burst=2 --time wall --tid 13
shows ': 99 bursts, 2.76 ms of wall time each on average'

# --- without readings kinds are of wall time: those that wait for a CPU are another one
make_store "$tmp/unread.db" bursts_unread
expect 0 "$stackctl" fold -i "$tmp/unread.db" --burst
shows "# kinds are alike in the two calls' paths and wall time; "
row 1 100
row 2 198
row 3 99
row 4 160
row 5 38
row noise 1
# Nor is it counted how long they were on a CPU: samples tell, where there are any.
expect 0 "$stackctl" fold -i "$tmp/unread.db" --burst --json --to 1.0091
python3 - "$tmp/out" <<'EOF' || fail "on the CPU, by samples"
import json, sys
kinds = json.load(open(sys.argv[1]))["kinds"]
assert {kind["samples"] > 0 for kind in kinds} == {True, False}, kinds
for kind in kinds:
    assert kind["on_cpu_error"] > 0 if kind["samples"] else kind["on_cpu"] is kind["on_cpu_error"] is None, kind
EOF

# --- what the probes of the two calls cost is no part of a burst: not of the list, not of a kind that is folded
make_store "$tmp/probed.db" bursts_probed
expect 0 "$stackctl" fold -i "$tmp/probed.db" --burst
shows '# 70 us, the way to and from the probes of the two calls, are taken off 599 of 599 bursts of the recording'
expect 0 "$stackctl" fold -i "$tmp/probed.db" --burst --json
python3 - "$tmp/all.json" "$tmp/out" <<'EOF' || fail "the cost of probes"
import json, sys
whole, probed = (json.load(open(name)) for name in sys.argv[1:])
assert probed["probes_ns"] == 70000 and probed["shorter"] == 599 and whole["probes_ns"] == whole["shorter"] == 0
assert probed["calls_ns"] == whole["calls_ns"]
assert probed["computing_ns"] == whole["computing_ns"] - 599 * 70000
for a, b in zip(whole["kinds"], probed["kinds"], strict=True):
    assert a["kind"] == b["kind"] and a["bursts"] == b["bursts"] == b["mean_of"]
    assert b["total_ns"] == a["total_ns"] - 70000 * a["bursts"]
    assert a["min_ns"] - b["min_ns"] == a["max_ns"] - b["max_ns"] == 70000
    assert abs(a["mean_ns"] - b["mean_ns"] - 70000) <= 1 and abs(a["deviation_ns"] - b["deviation_ns"]) <= 1
EOF
expect 0 "$stackctl" fold -i "$tmp/probed.db" --burst=5
shows ': 98 bursts, 1.94 ms of CPU time each on average'
shows '# 70 us, which the probes at the ends of a burst cost, are taken off 98 of 98 bursts, with '

# --- a burst whose CPU time was not read is in no mean of it
make_store "$tmp/gaps.db" bursts_gaps
expect 0 "$stackctl" fold -i "$tmp/gaps.db" --burst --percent-limit 0
shows 'MPI_Send > MPI_Allreduce  (mean of 98: CPU time of the others was not read)'
shows 'MPI_Init > MPI_Recv  (CPU time was not read)'
expect 0 "$stackctl" fold -i "$tmp/gaps.db" --burst --json
python3 - "$tmp/out" <<'EOF' || fail "bursts without a reading"
import json, sys
kinds = {kind["kind"]: kind for kind in json.load(open(sys.argv[1]))["kinds"]}
setup = [kind for kind in kinds.values() if kind["before"][-1:] == ["MPI_Init"]]
assert [(kind["bursts"], kind["mean_of"], kind["mean_ns"], kind["deviation_ns"]) for kind in setup] == [(2, 0, None, None)], setup
assert kinds[3]["bursts"] == 99 and kinds[3]["mean_of"] == 98 and 3.95e6 < kinds[3]["mean_ns"] < 4.05e6, kinds[3]
assert kinds[1]["bursts"] == kinds[1]["mean_of"] == 100
EOF

# --- without samples there are kinds, and nothing to fold
make_store "$tmp/bare.db" bursts_bare
expect 0 "$stackctl" fold -i "$tmp/bare.db" --burst --by rank
row 1 50
row 2 99
expect 1 "$stackctl" fold -i "$tmp/bare.db" --burst=1
says 'no sample is within a pass through bursts of kind 1 of 7, MPI_Send > MPI_Allreduce'
# What they have of other metrics can be none of what is chosen.
expect 3 "$stackctl" report -i "$tmp/bare.db" --metric region.time --from 1000
says 'no record of region.time of recording 1 in '

# --- what is wrong
make_store "$tmp/folded.db" folded
expect 2 "$stackctl" fold -i "$tmp/folded.db" --burst
says 'fold: the recording has no calls of MPI, so no bursts between them: record with stackd --mpi=probes'
expect 2 "$stackctl" fold -i "$store" --burst=8
says 'fold: there is no kind 8: there are 7 kinds'
for name in k.json k.csv; do
    option=--json
    [ "$name" = k.csv ] || option=
    # shellcheck disable=SC2086
    expect 0 "$stackctl" fold -i "$store" --burst $option -o "$tmp/$name"
    "$stackctl" fold -i "$store" --burst --json | cmp - "$tmp/$name" || fail "fold --burst -o $name"
done
expect 2 "$stackctl" fold -i "$store" --burst -o "$tmp/k.html"
says 'a file has one kind: give --burst=1'
expect 2 "$stackctl" fold -i "$store" --burst --auto
says '--auto, --burst and --region exclude each other'
expect 2 "$stackctl" fold -i "$store" --region main --json
says '--by, --json (or a file that ends in .json) and --percent-limit are for the list of kinds: --burst'
for bad in --group --seed=2 '--time wall'; do
    # shellcheck disable=SC2086
    expect 2 "$stackctl" fold -i "$store" --burst $bad
    says '--group, --time and --seed are for the bursts of one kind: --burst=1'
done
expect 1 "$stackctl" fold -i "$store" --burst=6 --from 2 --tid 12
says "no sample is within a pass through bursts of kind 6 of 6"
expect 2 "$stackctl" fold -i "$store" --burst --by cpu
says "bursts cannot be split by 'cpu'"
for bad in --burst=0 --burst=x --burst=-1 '--burst --by cpu' '--burst --by nothing'; do
    # shellcheck disable=SC2086
    expect 2 "$stackctl" fold -i "$store" $bad
done
# shellcheck disable=SC2016 # the inner shell expands it
expect 1 sh -c '"$1" fold -i "$2" --burst >/dev/full' - "$stackctl" "$store"
finish
