#!/bin/bash
# SPDX-License-Identifier: MIT
# Paraver traces: what stackctl export --paraver asks for, and that its files are replaced together.
# tests/exports/test_paraver.py reads them.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" traced
mkdir "$tmp/dir"

expect 0 "$stackctl" export --paraver "$tmp/dir/x.prv" -i "$store"
[ "$(ls "$tmp/dir")" = "$(printf 'x.%s\n' pcf prv row)" ] || fail "files: $(ls "$tmp/dir")"
[ ! -s "$tmp/out" ] || fail 'it prints something'
[ "$(head -n 1 "$tmp/dir/x.prv")" = '#Paraver (14/11/2023 at 22:13):90000000_ns:1(6):1:2(2:1,1:1),0' ] ||
    fail "header: $(head -n 1 "$tmp/dir/x.prv")"
# The thread's second beginning: what its counters advanced since the sample before, then the function.
grep -q '^2:1:1:1:1:20000000:60000019:[0-9]*:60000119:[0-9]*:42001000:4500000:42001001:175000$' "$tmp/dir/x.prv" ||
    fail "a beginning: $(grep '^2:1:1:1:1:20000000:' "$tmp/dir/x.prv")"
cp -r "$tmp/dir" "$tmp/first"
expect 0 "$stackctl" export --paraver "$tmp/dir/x.prv" -i "$store"
diff -r "$tmp/dir" "$tmp/first" || fail 'the same export differs'

# --- instances without samples are a trace; with neither there is none
make_store "$tmp/instances.db" instances
expect 0 "$stackctl" export --paraver "$tmp/instances.prv" -i "$tmp/instances.db"
[ "$(grep -o ':60000019:' "$tmp/instances.prv" | wc -l)" = 14 ] || fail "instances: $(cat "$tmp/instances.prv")"
expect 3 "$stackctl" export --folded -i "$tmp/instances.db"
expect 3 "$stackctl" export --paraver "$tmp/dir/x.prv" -i "$tmp/instances.db" --pid 4711
says 'no sample and no pass through a region'
make_store "$tmp/empty.db" empty
expect 3 "$stackctl" export --paraver "$tmp/dir/x.prv" -i "$tmp/empty.db"
says 'has no samples'
diff -r "$tmp/dir" "$tmp/first" || fail 'a failed export changed files'

# --- usage
for bad in x.txt .prv "$tmp/dir/.prv" '' -; do
    expect 2 "$stackctl" export --paraver "$bad" -i "$store"
    says "--paraver '$bad': the trace's name must end in .prv"
done
expect 2 "$stackctl" export --paraver x.prv --tags -i "$store"
says '--paraver and --tags: one format at a time'
expect 2 "$stackctl" export --paraver x.prv --parquet "$tmp/p" -i "$store"
says '--parquet and --paraver: one format at a time'
expect 2 "$stackctl" export --paraver x.prv -o y -i "$store"
says '--paraver names its own files: leave out --output'
expect 2 "$stackctl" export --paraver "$tmp/y.prv" -i "$store" --metric region.time
says 'paraver shows samples only'

# --- files that cannot be written: the old ones stay
expect 1 "$stackctl" export --paraver "$tmp/not/there.prv" -i "$store"
says "cannot write $tmp/not/there.pcf: No such file or directory"
mkdir "$tmp/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=8k none "$tmp/small" 2>/dev/null; then
    make_store "$tmp/folded.db" folded
    echo old >"$tmp/small/x.prv"
    expect 1 "$stackctl" export --paraver "$tmp/small/x.prv" -i "$tmp/folded.db"
    says 'No space left on device'
    [ "$(cd "$tmp/small" && grep -H . ./*)" = ./x.prv:old ] || fail "left: $(ls "$tmp/small")"
    umount "$tmp/small"
fi
finish
