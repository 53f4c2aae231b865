#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl import: recordings of this machine's perf in its modes, compared with perf script, and
# files that are refused.
#
# Only cpu-clock is sampled: no test needs a PMU. While any event with build-ids is open on the
# machine (stackd has one), the kernel marks all mmap records as having build-ids, and perf 6.1
# aborts over those that have none; so what perf script is to read is recorded with them. It has
# three tries all the same.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

export HOME=$tmp # perf would fill a cache there
store=$tmp/s.db

# --- refused files, with the offset and the reason
echo 'no perf.data, but a text' >"$tmp/text"
expect 2 "$stackctl" import "$tmp/text" -o "$store"
says "cannot import $tmp/text: at offset 0: not a perf.data file"
expect 2 "$stackctl" import "$tmp/none" -o "$store"
says 'No such file or directory'
expect 2 "$stackctl" import "$tmp" -o "$store"
says 'record without --threads'
expect 2 "$stackctl" import
says 'perf.data, or - for standard input'
expect 2 "$stackctl" import - -o "$store"
says 'the file ends within the header'
[ ! -e "$store" ] || fail 'a refused file left a store'

# --- this machine's perf
if ! perf --version >"$tmp/version" 2>&1; then
    [ "$failures" = 0 ] || finish
    echo 'no perf here (Debian package linux-perf)'
    exit 77
fi
cat >"$tmp/work.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long sink;
#define KEEP __attribute__((noinline, noclone))
KEEP void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
KEEP void middle(int n) { leaf(n); sink++; }
KEEP void top(int n) { middle(n); leaf(n / 2); sink++; }
KEEP void recurse(int depth, int n) { if (depth) recurse(depth - 1, n); else top(n); sink++; }
int main(int argc, char **argv)
{
    (void)argc;
    for (int i = 0; i < atoi(argv[1]); i++) { recurse(i % 8, 20000); sink += getppid(); }
    return 0;
}
END
${CC:-cc} -O1 -g -fno-omit-frame-pointer -o "$tmp/work" "$tmp/work.c" || exit 1

# three_times COMMAND...: perf's tries; its abort leaves nothing that is worth reading.
three_times() {
    for _ in 1 2 3; do
        "$@" 2>"$tmp/perf.err" && return
    done
    tail -n 3 "$tmp/perf.err"
    [ "$failures" = 0 ] || finish
    echo "$(cat "$tmp/version") fails here three times in a row: $*"
    exit 77
}

record() { # FILE OPTION...
    local file=$1
    shift
    three_times perf record -q --no-bpf-event --buildid-mmap -e cpu-clock -F 2000 -o "$tmp/$file" "$@" \
        -- "$tmp/work" 6000
}

import() { # FILE: and its text by both
    expect 0 "$stackctl" import "$tmp/$1" -o "$store"
    expect 0 "$stackctl" export --perf-script -i "$store" -o "$tmp/ours"
    three_times bash -c "perf script -i '$tmp/$1' --no-inline \
        -F comm,pid,tid,time,period,event,ip,sym,symoff,dso >'$tmp/theirs'"
}

# same_totals: of each function, by object and start, self and inclusive, ours equal perf's.
same_totals() {
    python3 - tests/live "$tmp/ours" "$tmp/theirs" "$@" <<'END' || fail "$1: totals differ"
import collections, os, re, sys
sys.path.insert(0, sys.argv[1])
import perf_script

PLACE = re.compile(r"^\s+([0-9a-f]+) (.*?)(\+0x([0-9a-f]+))? \((.*)\)$")

def samples(path):
    """Each a list of (object, symbol), leaf first."""
    entry = None
    for line in open(path):
        if not line.strip():
            if entry is not None:
                yield entry
            entry = None
        elif line[0] in " \t":
            if "[incomplete: " in line or line.rstrip().endswith((" (inlined)", " [reconstructed]")):
                continue  # left out by an option of perf, or unknown to it
            found = PLACE.match(line)
            assert found, line
            where = os.path.basename(found[5])
            entry.append((where, found[2].split("@")[0] if found[4] else None))
        else:
            entry = []
    if entry is not None:
        yield entry

def totals(entries):
    own, inclusive, frames = collections.Counter(), collections.Counter(), 0
    for entry in entries:
        frames += len(entry)
        if entry:
            own[entry[0]] += 1
        inclusive.update(set(entry))
    return len(entries), frames, own, inclusive

both = list(samples(sys.argv[2])), list(samples(sys.argv[3]))
assert len(both[0]) == len(both[1]), (len(both[0]), len(both[1]))
# A program of BPF, such as another stackd's, has a name as long as it is loaded, and may be unloaded between the two.
def is_bpf(entry):
    return any(where == "[bpf]" or where.startswith("bpf_prog_") for where, _ in entry)

both = list(zip(*[pair for pair in zip(*both) if not any(map(is_bpf, pair))]))
# perf 6.12 gives up some stacks in the loader, and all of them below main where it has missed a
# mapping (beside a stackd --all). Its samples that are beginnings of ours, which end in _start (of
# the loader, which may have no names), are left out. Frames of libraries are compared by object, as
# below: the two choose differently among the names of a function.
def comparable(entry):
    return [(where, name if where == "work" else name is None) for where, name in entry]

cut = {i for i, (mine, perfs) in enumerate(zip(*both)) if len(perfs) < len(mine)
       and (mine[-1][1] == "_start" or mine[-1][0].startswith("ld-linux"))
       and comparable(perfs) == comparable(mine[:len(perfs)])}
print("perf has cut %d of %d samples" % (len(cut), len(both[0])))
if len(both[0]) > 20 >= len(both[0]) - len(cut):
    sys.exit(0)
ours, theirs = (totals([e for i, e in enumerate(entries) if i not in cut]) for entries in both)
assert ours[0] > 20, ours[0]
if ours[1] != theirs[1]:
    print(*[pair for i, pair in enumerate(zip(*both)) if i not in cut and len(pair[0]) != len(pair[1])],
          sep="\n")
assert ours[1] == theirs[1], (ours[1], theirs[1])
for mine, perfs in zip(ours[2:], theirs[2:]):
    for key in ("leaf", "middle", "top", "recurse", "main"):
        assert mine[("work", key)] == perfs[("work", key)], (key, mine, perfs)
    # Other functions are compared by object: tools choose differently among the names of a function.
    by_object = [collections.Counter() for _ in range(2)]
    for counter, sums in zip((mine, perfs), by_object):
        for (where, name), n in counter.items():
            sums[where, name is None] += n
    if mine is ours[2]:
        assert by_object[0] == by_object[1], by_object
assert ours[3][("work", "recurse")] > 20
END
}

record fp.data -g
import fp.data
same_totals fp

record packed.data -g -z
import packed.data
same_totals packed

three_times bash -c "perf record -q --no-bpf-event --buildid-mmap -e cpu-clock -F 2000 -g -o - -- \
    '$tmp/work' 6000 >'$tmp/pipe.data'"
expect 0 bash -c "cat '$tmp/pipe.data' | '$stackctl' import - -o '$store'"
expect 0 "$stackctl" list -i "$store"
shows 'import -'
import pipe.data
same_totals pipe

# Without build-ids, a file is known by device and inode.
three_times perf record -q --no-bpf-event --no-buildid -e cpu-clock -F 2000 -g \
    -o "$tmp/plain.data" -- "$tmp/work" 6000
expect 0 "$stackctl" import "$tmp/plain.data" -o "$store"
expect 0 "$stackctl" export --folded -i "$store"
shows 'main;recurse;recurse'

# With a stack, every path reaches the entry. Before the program's own functions run, a sample can meet a page of the
# stack that is not there yet, or the exec, whose program before has no stack any more.
record dwarf.data --call-graph dwarf,16384
import dwarf.data
same_totals dwarf
expect 0 "$stackctl" export --folded -i "$store"
python3 - "$tmp/out" <<'END' || fail 'dwarf: incomplete paths'
import sys
complete = 0
for line in open(sys.argv[1]):
    path, samples = line.rsplit(" ", 1)
    names = path.split(";")
    is_own = not {"leaf", "middle", "top", "recurse", "main"}.isdisjoint(names)
    assert not is_own or not any(name.startswith("[incomplete") for name in names), line
    complete += is_own * int(samples)
assert complete > 20, complete
END

# With two events, the user must choose one.
three_times perf record -q --no-bpf-event --buildid-mmap -e cpu-clock -e page-faults -c 1000000 -g \
    -o "$tmp/two.data" -- "$tmp/work" 2000
three_times perf script -i "$tmp/two.data" -F event >"$tmp/two"
if [ "$(grep -o 'cpu-clock\|page-faults' "$tmp/two" | sort -u | wc -l)" = 2 ]; then
    expect 2 "$stackctl" import "$tmp/two.data" -o "$store"
    says 'choose one with --event NAME'
fi
expect 0 "$stackctl" import "$tmp/two.data" -e cpu-clock -o "$store"
says 'samples of cpu-clock'

# The program was replaced by another: its frames keep their offsets, and get no false names.
names_of_work() { # 0: its functions have their names; 1: objects and offsets; else: neither
    expect 0 "$stackctl" export --perf-script -i "$store" -o "$tmp/ours"
    if grep -q ' leaf+.*/work)' "$tmp/ours" && grep -q ' main+.*/work)' "$tmp/ours"; then
        return 0
    fi
    grep -q '(.*/work)$' "$tmp/ours" || return 2
    ! grep -q ' \(leaf\|main\)+.*/work)' "$tmp/ours" # the kernel's functions have many names
    return $((1 + $?))
}
id=$(readelf -n "$tmp/work" | sed -n 's/.*Build ID: //p')
mkdir -p "$tmp/root$tmp" "$tmp/cache/.build-id/${id:0:2}/${id:2}"
cp "$tmp/work" "$tmp/root$tmp/"
cp "$tmp/work" "$tmp/cache/.build-id/${id:0:2}/${id:2}/elf"
echo 'int main(void) { return 0; }' | ${CC:-cc} -x c -o "$tmp/work" -
export PERF_BUILDID_DIR=$tmp/none
expect 0 "$stackctl" import "$tmp/fp.data" -o "$store"
names_of_work
[ $? = 1 ] || fail 'frames of a program that is gone'

# The file is still available below a folder, or in perf's cache by build-id.
expect 0 "$stackctl" import "$tmp/fp.data" --symfs "$tmp/root" -o "$store"
names_of_work || fail 'names of a program below --symfs'
expect 0 env PERF_BUILDID_DIR="$tmp/cache" "$stackctl" import "$tmp/fp.data" -o "$store"
names_of_work || fail "names of a program in perf's cache"
expect 0 "$stackctl" import "$tmp/dwarf.data" -o "$store"
expect 0 "$stackctl" report -i "$store"
shows 'stackctl import --symfs DIR'
expect 0 "$stackctl" import "$tmp/dwarf.data" --symfs "$tmp/root" -o "$store"
names_of_work || fail 'names of a walked program below --symfs'
# A program of another host without a build-id: a file of its name is used only with an option.
${CC:-cc} -O1 -g -fno-omit-frame-pointer -Wl,--build-id=none -o "$tmp/work" "$tmp/work.c" || exit 1
if unshare --uts true 2>/dev/null; then
    three_times unshare --uts bash -c "hostname elsewhere && perf record -q --no-bpf-event --no-buildid -e cpu-clock \
        -F 2000 -o '$tmp/foreign.data' --call-graph dwarf -- '$tmp/work' 6000"
    expect 0 "$stackctl" import "$tmp/foreign.data" -o "$store"
    says 'program files were not used (/'
    says 'recorded without a build-id on another host (elsewhere)'
    says 'stackctl import --symfs DIR reads them from DIR'
    expect 0 "$stackctl" report -i "$store"
    shows 'recorded without a build-id on another host (elsewhere)'
    expect 0 "$stackctl" import "$tmp/foreign.data" --symfs / -o "$store"
    ! grep -q 'not taken' "$tmp/err" || fail "files are missing in spite of --symfs /: $(cat "$tmp/err")"
    names_of_work || fail 'names of a program that is said to be the recorded one'
else
    echo 'no host names of our own here (unshare --uts): not tried'
fi
expect 2 "$stackctl" import "$tmp/fp.data" --symfs "$tmp/nowhere" -o "$store"
says "--symfs $tmp/nowhere: No such file or directory"
finish
