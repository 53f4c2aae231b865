#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl flamegraph, as far as no browser is needed: errors are reported, files are bounded, and a
# million paths fit.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small after cut
make_store "$tmp/empty.db" empty
page() { # ARGUMENTS...: a page of them is made
    expect 0 "$stackctl" flamegraph "$@" -o "$tmp/page.html"
    grep -q '^</html>$' "$tmp/page.html" || fail "no whole page: $*"
    ! grep -oE '(src|href)="[^"]*"' "$tmp/page.html" | grep -vqE '="(data:|#)' || fail "not self-contained"
}
data() { # PYTHON: asserts that it is true of the page's data: the state, its first tree t, and answers by name
    PYTHONPATH=tests PYTHONDONTWRITEBYTECODE=1 python3 - "$tmp/page.html" "$1" <<'END' || fail "$1"
import sys
from saved_page import answer, data, tree
state, t = data(sys.argv[1])["state"], answer(sys.argv[1], "tree")
of = lambda name: answer(sys.argv[1], name)
sys.exit(not eval(sys.argv[2]))
END
}

page -i "$store" --recording 1
data 't["total"] == 100 and t["left_out"] == 0 and "bottom" not in state and of("recordings")["selected"].get("chosen") is None'
data 'all(of(name) for name in ("lanes", "functions", "log"))'
page -i "$store" --recording 1 --by process --flame
data 'any(len(p) == 1 and p[0].startswith("process 12 prog") for p in tree(sys.argv[1])) and "bottom=1" in state'
make_store "$tmp/labels.db" labels
page -i "$tmp/labels.db" --by label:env
data '{p[0]: n for p, n in tree(sys.argv[1]).items() if len(p) == 1} == {"env prod": 22, "env [no env]": 18} and "by=label%3Aenv" in state'
data 'of("recordings")["selected"]["parts"][-1] == "label:env"'
page -i "$store" --recording 1 --comm other
data 't["total"] == 20 and of("recordings")["selected"]["chosen"].endswith("--comm other -o '"$tmp/page.html"'")'
data '{lane["name"] for lane in of("lanes")["lanes"]} == {"other"}'
page -i "$store" --recording 1 --percent-limit 50
data 't["left_out"] > 0 and min(n for p, n in tree(sys.argv[1]).items() if p[-1:] != ("other",)) >= 50'
page -i "$store" --recording 2 --diff "$store@1"
data '[of("difference")["nodes"][side][0] for side in ("before", "total")] == [100, 100] and "tab=difference" in state'
make_store "$tmp/other.db" small
page -i "$store" --recording 2 --diff "$tmp/other.db" --from 0 --to 0.05
data 'of("recordings")["base"].endswith("other.db") and of("difference")["to"] == 50000000 and "to=50000000" in state'
data 'of("difference")["base"]["to"] == 50000000 and 0 < of("difference")["nodes"]["before"][0] < 100'
page -i "$store" --recording 3 # it is still being written, or was cut off
data 'of("recordings")["recordings"][0]["finished"] is False'

# --- as a picture: the same tree, by itself, and no larger than is asked for
picture() { # FRAMES ARGUMENTS...
    expect 0 "$stackctl" flamegraph "${@:2}" -o "$tmp/x.svg"
    python3 - "$tmp/x.svg" "$1" <<'END' || fail "picture: $*"
import re, sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
frames = []
for g in root.iter(space + "g"):
    rect = g.find(space + "rect")
    name, samples = re.match(r"(.*?)(?:  \[.*\])?\n(\d+) samples?", g.find(space + "title").text).groups()
    frames.append((name, int(samples), *(float(rect.get(k)) for k in ("x", "y", "width"))))
assert frames[0][0] == "all" and len(frames) == int(sys.argv[2]), frames
scale = frames[0][4] / frames[0][1]
rows = {}
for name, samples, x, y, width in frames:
    assert abs(width - samples * scale) < 0.11, (name, samples, width)
    rows.setdefault(y, []).append((x, width))
above = None
for y in sorted(rows, reverse="--flame" in sys.argv):
    bars = sorted(rows[y])
    assert all(a[0] + a[1] < b[0] + 0.2 for a, b in zip(bars, bars[1:])), "frames overlap"
    assert above is None or all(any(p[0] - 0.2 < x and x + w < p[0] + p[1] + 0.2 for p in above)
                                for x, w in bars), "a frame is not below its caller"
    above = bars
assert not re.search(r"(src|href|xlink)", open(sys.argv[1]).read())
END
}
page -i "$store" --recording 1
frames=$(PYTHONPATH=tests PYTHONDONTWRITEBYTECODE=1 python3 -c 'import saved_page, sys
print(len(saved_page.answer(sys.argv[1], "tree")["nodes"]["parent"]))' "$tmp/page.html")
picture "$frames" -i "$store" --recording 1
expect 0 "$stackctl" flamegraph -i "$store" --recording 1 --flame -o "$tmp/flame.svg"
[ "$(grep -c '<g>' "$tmp/flame.svg")" = "$frames" ] || fail 'a flame has other frames'
expect 0 "$stackctl" flamegraph -i "$store" --recording 1 --percent-limit 50 -o "$tmp/few.svg"
[ "$(grep -c '<g>' "$tmp/few.svg")" -lt "$frames" ] || fail 'a percent limit leaves nothing out'
expect 2 "$stackctl" flamegraph -i "$store" --recording 2 --diff "$store@1" -o "$tmp/x.svg"
says '--diff needs a page'
make_store "$tmp/wide.db" wide
expect 0 "$stackctl" flamegraph -i "$tmp/wide.db" -o "$tmp/wide.svg"
[ "$(stat -c %s "$tmp/wide.svg")" -le 2097152 ] || fail "larger than 2 MiB: $(stat -c %s "$tmp/wide.svg")"
page -i "$tmp/wide.db"
data 't["total"] == 1000000 and t["left_out"] > 0'
[ "$(stat -c %s "$tmp/page.html")" -le 1000000 ] || fail "larger than 1 MB: $(stat -c %s "$tmp/page.html")"

expect 3 "$stackctl" flamegraph -i "$tmp/empty.db" -o "$tmp/none.html"
[ ! -e "$tmp/none.html" ] || fail 'a page of nothing'
expect 3 "$stackctl" flamegraph -i "$store" --recording 1 --diff "$tmp/empty.db" -o "$tmp/none.html"
expect 2 "$stackctl" flamegraph -i "$store" --diff "$tmp/missing.db" -o "$tmp/none.html"
says missing.db
expect 2 "$stackctl" flamegraph -i "$store" --diff "$store@x" -o "$tmp/none.html"
says "'x' is not the number of a recording"
expect 2 "$stackctl" flamegraph -i "$store" --by colour
says 'give one of process|thread|command|cpu|unit|container|service|namespace|pod|label:NAME|rank|host|reason|object|all'
expect 2 "$stackctl" flamegraph -i "$store" --percent-limit 101
expect 1 "$stackctl" flamegraph -i "$store" -o /dev/full
for form in pprof speedscope firefox callgrind json; do
    expect 3 "$stackctl" export "--$form" -i "$tmp/empty.db"
    expect 1 "$stackctl" export "--$form" -i "$store" -o /dev/full
done
finish
