#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl align and timeline: their output, and their errors for bad input.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small

expect 0 "$stackctl" align -i "$store" --depth 0 --compare
shows 'restored wrongly'
shows 'main'
expect 0 "$stackctl" align -i "$store" --depth 0 --compare --json --share 50
python3 - "$tmp/out" <<'PY' || fail "align --json"
import json, sys
got = json.load(open(sys.argv[1]))
assert got["schema"] == 1 and got["depth"] == 0 and got["cut_percent"] == 50
assert got["compared"] == 99 and 0 < got["cut"] < 99 and got["restored"] <= got["cut"]
truth = {row["name"]: row["truth"] for row in got["routines"]}
assert truth["main"] == 99 and truth["_start"] == 79 and truth["fact"] == 10, truth
assert all(row["aligned"] <= 99 for row in got["routines"])
PY
expect 3 "$stackctl" align -i "$store" --depth 50 --compare
says 'ask for a smaller --depth'
expect 2 "$stackctl" align -i "$store" --depth 2
says '--compare'
for bad in -1 x 1001 ''; do
    expect 2 "$stackctl" align -i "$store" --compare --depth "$bad"
    says "--depth: '$bad' is not a number"
done
expect 2 "$stackctl" align -i "$store" --compare --share 0

expect 0 "$stackctl" timeline -i "$store" --threshold 5
shows '_start > main > app::work()'
shows 'at least 5 samples'
expect 0 "$stackctl" timeline -i "$store" --threshold 2.5ms --pid 99
shows 'thread 99 other'
for bad in 0 x 5m -3ms 0.1; do
    expect 2 "$stackctl" timeline -i "$store" --threshold "$bad"
    says "--threshold: '$bad'"
done
expect 0 "$stackctl" timeline -i "$store" -o "$tmp/t.svg"
python3 - "$tmp/t.svg" <<'PY' || fail "the picture is not XML, or not by itself"
import sys, xml.dom.minidom
text = open(sys.argv[1]).read()
xml.dom.minidom.parseString(text)
assert text.count("http") == 1 and "<script" not in text
PY
"$stackctl" timeline -i "$store" --threshold 5 >"$tmp/t.txt"
"$stackctl" timeline -i "$store" --threshold 5 --svg >"$tmp/t.svg"
python3 tests/cli/timeline.py "$tmp/t.txt" "$tmp/t.svg" || fail "the picture differs from the text"
sed 's/width="9[0-9.]*"/width="700"/' "$tmp/t.svg" >"$tmp/bad.svg"
python3 tests/cli/timeline.py "$tmp/t.txt" "$tmp/bad.svg" 2>"$tmp/err" && fail "a wrong bar passes"
make_store "$tmp/h.db" hostile
expect 0 "$stackctl" timeline -i "$tmp/h.db" --svg --threshold 1
python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$tmp/out" || fail "hostile names"

finish
