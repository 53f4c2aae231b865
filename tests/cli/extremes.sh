#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings at the limits: no sample, a recursion of 10,000 frames, a million paths, names
# that try to break out; by every view, within bounded memory.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small empty hostile deep wide
bounded() { # STATUS COMMAND...: as expect, within a gigabyte of memory
    local wanted=$1
    shift
    expect "$wanted" bash -c 'ulimit -v 1048576; exec "$@"' - "$@"
}

views() { # STATUS RECORDING [OPTION...]
    local wanted=$1 recording=$2 view
    shift 2
    for view in tree flat callers time; do
        bounded "$wanted" "$stackctl" report -i "$store" --recording "$recording" --view $view "$@"
    done
}

views 3 2
says 'has no samples'
expect 3 "$stackctl" annotate -i "$store" --recording 2
# A recording of another machine, whose programs are not here: names come from the store.
expect 0 "$stackctl" report -i "$store" --recording 1
shows 'app::work  [prog]'
expect 0 "$stackctl" annotate -i "$store" --recording 1 'app::work'
shows '# no instructions: /bin/prog: No such file or directory'
shows '# source: prog.cc (not found here: --source DIR names its folder)'
expect 0 "$stackctl" annotate --json -i "$store" --recording 1 'app::work'
shows '"problem":"/bin/prog: No such file or directory"'

views 0 3
views 0 3 --json
for view in around annotate diff; do
    if [ $view = around ]; then
        expect 0 "$stackctl" report -i "$store" --recording 3 --around 'evil*'
    elif [ $view = diff ]; then
        expect 0 "$stackctl" diff "$store@3" "$store@1"
    else
        expect 0 "$stackctl" annotate -i "$store" --recording 3 'evil*'
    fi
    ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f]' "$tmp/out" || fail "$view: control characters"
done
views 0 4
views 0 4 --no-fold-recursion
views 0 4 --by cpu
bounded 0 "$stackctl" report -i "$store" --recording 4
shows 'fact (x10000)'
bounded 0 "$stackctl" report -i "$store" --recording 4 --no-fold-recursion
[ "$(grep -c fact "$tmp/out")" = 10000 ] || fail 'not every call has a row'
bounded 0 "$stackctl" report -i "$store" --recording 4 --fold-recursion
[ "$(grep -c fact "$tmp/out")" = 1 ] || fail 'recursion is not folded'
bounded 0 "$stackctl" report -i "$store" --recording 4 --around fact
shows '10 samples with what it calls'
bounded 0 "$stackctl" annotate -i "$store" --recording 4 fact
shows '10 samples with what it calls'
views 0 5
bounded 0 "$stackctl" report -i "$store" --recording 5 --view flat --json
python3 -c '
import json, sys
functions = json.load(open(sys.argv[1]))["processes"][0]["functions"]
assert len(functions) == 1000 and all(f["self"] == 1000 for f in functions)
assert sum(f["total"] for f in functions) == 1999000' "$tmp/out" || fail 'a million paths: sums'
bounded 0 "$stackctl" report -i "$store" --recording 5 --around f7
shows '1999 samples with what it calls'
finish
