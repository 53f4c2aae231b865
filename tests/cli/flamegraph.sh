#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl flamegraph, as far as no browser is needed: what is wrong is said, files are bounded, and
# a million paths fit.
# shellcheck disable=SC1091,SC2154 # what common gives
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small after cut
make_store "$tmp/empty.db" empty
page() { # ARGUMENTS...: a page of them is made
    expect 0 "$stackctl" flamegraph "$@" -o "$tmp/page.html"
    grep -q '^</html>$' "$tmp/page.html" || fail "no whole page: $*"
    ! grep -oE '(src|href)="[^"]*"' "$tmp/page.html" | grep -vq '="data:' || fail "not self-contained"
}
data() { # PYTHON: says that it is true of the page's data, d
    python3 - "$tmp/page.html" "$1" <<'END' || fail "$1"
import json, re, sys
d = json.loads(re.search(r'id="data">(.*?)</script>', open(sys.argv[1]).read(), re.S)[1])
sys.exit(not eval(sys.argv[2]))
END
}

page -i "$store" --recording 1
data 'd["total"][0][0] == 100 and d["left_out"] == 0 and not d["flame"]'
page -i "$store" --recording 1 --by process --flame
data 'd["symbols"][0][0].startswith("process 12 prog") and d["flame"]'
page -i "$store" --recording 1 --comm other
data 'd["total"][0][0] == 20 and d["sides"][0]["chosen"]'
page -i "$store" --recording 1 --percent-limit 50
data 'd["left_out"] > 0 and min(d["total"][0]) >= 50'
page -i "$store" --recording 2 --diff "$store@1"
data 'len(d["sides"]) == 2 and [t[0] for t in d["total"]] == [100, 100]'
page -i "$store" --recording 3 # it is still being written, or was cut off
data 'd["sides"][0]["finished"] is False'
make_store "$tmp/wide.db" wide
page -i "$tmp/wide.db"
data 'd["total"][0][0] == 1000000'
[ "$(stat -c %s "$tmp/page.html")" -le 2097152 ] || fail "larger than 2 MiB: $(stat -c %s "$tmp/page.html")"

expect 3 "$stackctl" flamegraph -i "$tmp/empty.db" -o "$tmp/none.html"
[ ! -e "$tmp/none.html" ] || fail 'a page of nothing'
expect 3 "$stackctl" flamegraph -i "$store" --recording 1 --diff "$tmp/empty.db" -o "$tmp/none.html"
expect 2 "$stackctl" flamegraph -i "$store" --diff "$tmp/missing.db" -o "$tmp/none.html"
says missing.db
expect 2 "$stackctl" flamegraph -i "$store" --diff "$store@x" -o "$tmp/none.html"
says "'x' is not the number of a recording"
expect 2 "$stackctl" flamegraph -i "$store" --by colour
says 'none of command, process, thread, cpu, all'
expect 2 "$stackctl" flamegraph -i "$store" --percent-limit 101
expect 1 "$stackctl" flamegraph -i "$store" -o /dev/full
for form in pprof speedscope firefox callgrind json; do
    expect 3 "$stackctl" export "--$form" -i "$tmp/empty.db"
    expect 1 "$stackctl" export "--$form" -i "$store" -o /dev/full
done
finish
