#!/bin/bash
# SPDX-License-Identifier: MIT
# The exit statuses and messages of stackctl: 0 done, 1 failed, 2 usage or unreadable input,
# 3 no samples, 4 permission missing.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small empty hostile small

# --- done
for view in tree flat callers; do
    expect 0 "$stackctl" report -i "$store" --view $view
    shows '# host: box'
    shows '# samples: 100'
    shows '# lost: 3'
    shows '# quality: 99.0% complete, 0.0% reconstructed, 1.0% partial (no_recipe 1)'
done
expect 0 "$stackctl" report -i "$store" --pid 99 --json
expect 0 "$stackctl" stats -i "$store"
[ "$(wc -l <"$tmp/out")" -le 20 ] || fail "stats: more than 20 lines: $(cat "$tmp/out")"
[ "$(wc -L <"$tmp/out")" -le 79 ] || fail "stats: too wide: $(cat "$tmp/out")"
grep -q '^walks ended: ' "$tmp/out" || fail "stats: $(cat "$tmp/out")"
expect 0 "$stackctl" stats -v -i "$store"
shows 'counters:'
expect 0 "$stackctl" stats -i "$store" --json
expect 0 "$stackctl" list -i "$store"
expect 0 "$stackctl" help
shows 'report'
expect 0 "$stackctl" help export
shows '--folded'
expect 0 "$stackctl" --help
expect 0 "$stackctl" version
expect 0 "$stackctl" --version
for format in folded perf-script tags; do
    expect 0 "$stackctl" export --$format -i "$store"
done
expect 0 env STACKD_STORE="$store" "$stackctl" report

# --- failed
for verb in report 'report --json' stats 'stats --json' list 'export --folded' 'export --tags' \
    'export --perf-script'; do
    # shellcheck disable=SC2086
    "$stackctl" $verb -i "$store" >/dev/full 2>"$tmp/err"
    [ $? = 1 ] || fail "$verb > /dev/full: not 1"
    says 'cannot write standard output: No space left on device'
    # shellcheck disable=SC2086
    expect 1 "$stackctl" $verb -i "$store" -o /dev/full
    says 'cannot write /dev/full: No space left on device'
done
"$stackctl" help >/dev/full 2>"$tmp/err"
[ $? = 1 ] || fail 'help > /dev/full: not 1'
expect 1 "$stackctl" report -i "$store" -o "$tmp/no/such/folder"
says "cannot write $tmp/no/such/folder: No such file or directory"
expect 1 "$stackctl" report -i "$store" -o "$tmp"
says 'Is a directory'

# --- usage
expect 2 "$stackctl"
expect 2 "$stackctl" repotr
says "did you mean 'report'"
expect 2 "$stackctl" frobnicate
says "'stackctl help' lists them"
expect 2 "$stackctl" help frobnicate
expect 2 "$stackctl" report --view sideways -i "$store"
says "give one of tree, flat, callers"
expect 2 "$stackctl" report --percent-limit x -i "$store"
expect 2 "$stackctl" report --percent-limit nan -i "$store"
expect 2 "$stackctl" report --pid 1,x -i "$store"
expect 2 "$stackctl" report --recording 0 -i "$store"
expect 2 "$stackctl" report --nonsense
expect 2 "$stackctl" report surplus
expect 2 "$stackctl" export -i "$store"
expect 2 "$stackctl" export --folded --tags -i "$store"

# --- unreadable input
expect 2 "$stackctl" report -i "$tmp/none.db"
says "$tmp/none.db"
expect 2 env STACKD_STORE="$tmp/none.db" "$stackctl" report
says "no store at $tmp/none.db: record one first: sudo stackd --pid PID"
expect 2 "$stackctl" report -i "$store" --recording 17
says 'no such recording'
echo 'not a store, but text' >"$tmp/text.db"
head -c 3000 "$store" >"$tmp/cut.db"
: >"$tmp/nothing.db"
for input in text.db cut.db; do
    for verb in report stats list 'export --folded'; do
        # shellcheck disable=SC2086
        expect 2 "$stackctl" $verb -i "$tmp/$input"
        says "$tmp/$input"
    done
done
expect 2 "$stackctl" report -i /
cp "$store" "$tmp/newer.db"
python3 - "$tmp/newer.db" <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(60)
    f.write((99).to_bytes(4, "big"))
END
expect 2 "$stackctl" report -i "$tmp/newer.db"
says newer

# --- no samples
expect 3 "$stackctl" report -i "$store" --recording 2
says 'has no samples'
expect 3 "$stackctl" report -i "$store" --pid 4711
says 'has no process 4711'
expect 3 "$stackctl" export --folded -i "$store" --comm nobody
expect 3 "$stackctl" stats --json -i "$store" --recording 2
shows '"samples":0'
expect 3 "$stackctl" report --lbr -i "$store"
says 'sudo stackd --lbr'

# --- permission
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$tmp"
    chmod 600 "$store"*
    cp "$stackctl" "$tmp/stackctl"
    expect 4 setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/stackctl" report -i "$store"
    says "$store"
fi
finish
