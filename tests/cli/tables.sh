#!/bin/bash
# SPDX-License-Identifier: MIT
# Tables: what stackctl export --parquet asks for, and that its files are replaced together.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small empty fleet

expect 0 "$stackctl" export --parquet "$tmp/dir" -i "$store" --recording 1
[ "$(ls "$tmp/dir")" = "$(printf '%s.parquet\n' labels locations paths samples)" ] || fail "files: $(ls "$tmp/dir")"
for file in "$tmp"/dir/*; do
    [ "$(head -c 4 "$file")$(tail -c 4 "$file")" = PAR1PAR1 ] || fail "$file is cut"
done
[ ! -s "$tmp/out" ] || fail 'it prints something'
cp -r "$tmp/dir" "$tmp/first"
expect 0 "$stackctl" export --parquet "$tmp/dir" -i "$store" --recording 1
diff -r "$tmp/dir" "$tmp/first" || fail 'the same export differs'

# --- nothing to export
expect 3 "$stackctl" export --parquet "$tmp/none" -i "$store" --recording 2
says 'the tables are empty'
expect 3 "$stackctl" export --parquet "$tmp/none" -i "$store" --recording 1 --pid 4711
expect 2 "$stackctl" export --parquet "$tmp/dir" -i "$store" --recording 7..9
says 'no recording has a number from 7 to 9'
expect 2 "$stackctl" export --parquet "$tmp/dir" -i "$store" --recording 7
says 'no such recording'
expect 2 "$stackctl" export --parquet "$tmp/dir" -i "$tmp/nothing.db"
diff -r "$tmp/dir" "$tmp/first" || fail 'a failed export changed files'

# --- metrics: those that others add up to have no rows of their own, unless they are asked for
make_store "$tmp/waits.db" waits
metrics() { # OPTION...: the metrics that the samples have
    expect 0 "$stackctl" export --parquet "$tmp/waits" -i "$tmp/waits.db" "$@"
    grep -aoE 'wait\.[a-z]+|wall' "$tmp/waits/samples.parquet" | sort -u | tr '\n' ' '
}
[ "$(metrics)" = 'wait.blocked wait.runnable ' ] || fail "metrics: $(metrics)"
[ "$(metrics --metric wall)" = 'wall ' ] || fail "wall: $(metrics --metric wall)"

# --- a range: the rows' start and end, and the parts of waits that lie there
spans() { # START END: the least and the largest values in the file's footer are these
    python3 - "$tmp/waits/samples.parquet" "$@" <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
length, = struct.unpack("<I", data[-8:-4])
for time in sys.argv[2:]:
    assert struct.pack("<q", 1700000000000000000 + int(time)) in data[-8 - length:], time
PY
}
expect 0 "$stackctl" export --parquet "$tmp/waits" -i "$tmp/waits.db" --metric wait.blocked
spans 0 || fail 'the start of a recording'
expect 0 "$stackctl" export --parquet "$tmp/waits" -i "$tmp/waits.db" --metric wait.blocked --from 0.11 --to 0.115
spans 110000000 115000000 || fail 'the start and end of a range'

# A wait from 1.0 s to 2.1 s is recorded in the second window: of each window, its rows have the part of
# it that lies there and in the range, of one thread and of six.
STORE_CUTS=700,1400,2600 make_store "$tmp/cut.db" ranges
expect 0 "$stackctl" export --parquet "$tmp/cut" -i "$tmp/cut.db" --metric wait.blocked \
    --from '2023-11-15 10:10:01' --to '2023-11-15 10:10:02'
python3 - "$tmp/cut/samples.parquet" <<'PY' || fail 'parts of a wait in windows'
import struct, sys
data = open(sys.argv[1], "rb").read()
length, = struct.unpack("<I", data[-8:-4])
for weight in 400000000, 3600000000: # the least and the most
    assert struct.pack("<Q", weight) in data[-8 - length:], weight
PY

# --- two paths of one tag
expect 0 "$stackctl" export --parquet "$tmp/dir" -i "$store" --recording 1..3
says '2 of the paths and locations share an id with another one: the column alt differs'

# --- usage
expect 2 "$stackctl" export --parquet "$tmp/dir" --tags -i "$store"
says '--parquet and --tags: one format at a time'
expect 2 "$stackctl" export --parquet "$tmp/dir" -o x -i "$store"
says 'leave out --output'
expect 2 "$stackctl" export --parquet '' -i "$store"
expect 1 "$stackctl" export --parquet "$tmp/not/there" -i "$store"
says "cannot make the folder $tmp/not/there: No such file or directory"
expect 1 "$stackctl" export --parquet "$store" -i "$store"
says "cannot write $store/locations.parquet: Not a directory"

# --- files that cannot be written: the old ones stay
rm -r "$tmp/dir"
cp -r "$tmp/first" "$tmp/dir"
mkdir "$tmp/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=16k none "$tmp/small" 2>/dev/null; then
    cp "$tmp/first/paths.parquet" "$tmp/small"
    make_store "$tmp/wide.db" wide
    expect 1 "$stackctl" export --parquet "$tmp/small" -i "$tmp/wide.db"
    says 'paths.parquet: No space left on device'
    [ "$(ls "$tmp/small")" = paths.parquet ] || fail "a full disk left $(ls "$tmp/small")"
    cmp "$tmp/small/paths.parquet" "$tmp/first/paths.parquet" || fail 'a full disk changed a file'
    umount "$tmp/small"
fi

# --- interrupted when all files are written, and none is in its place
cat >"$tmp/ends.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int rename(const char *from, const char *to)
{
	return from && to && access(from, F_OK) == 0 ? raise(SIGTERM) : 0;
}
END
cc -shared -fPIC -o "$tmp/ends.so" "$tmp/ends.c" || fail 'a library that ends the program cannot be made'
LD_PRELOAD=$tmp/ends.so "$stackctl" export --parquet "$tmp/dir" -i "$tmp/waits.db" >"$tmp/out" 2>&1
status=$?
[ "$status" = 143 ] || fail "an interrupted export: status $status: $(cat "$tmp/out")"
diff -r "$tmp/dir" "$tmp/first" || fail 'an interrupted export left or changed files'
finish
