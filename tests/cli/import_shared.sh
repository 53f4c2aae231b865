#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl import on files that perf recorded on machines with a PMU: counts are those of their
# README, and every frame is of its sample.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
shared=../shared/lbr
if [ ! -d $shared ]; then
    echo "no recorded files beside the checkout (docs/LBR.md)"
    exit 77
fi

check_shared() { # FILE SAMPLES
    local file=$shared/$1
    expect 0 "$stackctl" import "$file" -o "$store"
    says "$2 samples of "
    expect 0 "$stackctl" stats --json -i "$store"
    python3 - "$tmp/out" "$2" <<'END' || fail "$1: counts"
import json, sys
stats = json.load(open(sys.argv[1]))
assert stats["samples"] == int(sys.argv[2]) == sum(stats["quality"].values()), stats
assert stats["lost"] == 0 and stats["collisions"] == 0, stats
assert stats["counters"]["perf_unknown_records"] == 0, stats
END
    expect 0 "$stackctl" export --perf-script -i "$store" -o "$tmp/script"
    python3 - tests/live "$tmp/script" "$2" <<'END' || fail "$1: frames"
import sys
sys.path.insert(0, sys.argv[1])
import perf_script
samples = list(perf_script.read(open(sys.argv[2])))
assert len(samples) == int(sys.argv[3])
assert all(s.frames for s in samples)
assert [s.time for s in samples] == sorted(s.time for s in samples)
END
    expect 0 "$stackctl" report -i "$store"
    expect 0 "$stackctl" list -i "$store"
    shows "import $1"
}

check_shared kdab-call-stack.perf.data 29
check_shared kdab-dwarf.perf.data 45
check_shared quipper-callgraph-branch-3.4.perf.data 923
check_shared quipper-branch-4.14.perf.data 13
check_shared quipper-branch-hw-index.perf.data 5
head -c 6000 $shared/kdab-call-stack.perf.data >"$tmp/cut"
expect 2 "$stackctl" import "$tmp/cut" -o "$store"
says 'the file is truncated'
expect 2 bash -c "cat $shared/kdab-call-stack.perf.data | $stackctl import - -o $store"
says "give the file's name"
finish
