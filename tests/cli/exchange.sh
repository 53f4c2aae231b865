#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl merge and diff: exact sums in any order, no significance for noise, errors for bad input.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small cut small
mkdir "$tmp/random"
python3 tests/cli/exchange.py "$stackctl" "$tmp/random" || fail 'random exports'

# --- stores
expect 0 "$stackctl" merge "$store" -o "$tmp/all"
[ "$(awk -F'\t' '$1 == "sample" { n += $5 } END { print n }' "$tmp/all")" = 250 ] || fail 'merge a store'
[ "$(grep -c '^recording' "$tmp/all")" = 3 ] || fail 'recordings of a store'
expect 0 "$stackctl" merge "$store@3" "$store@1" "$store@2" -o "$tmp/again"
cmp "$tmp/all" "$tmp/again" || fail 'recordings one by one'
expect 0 "$stackctl" export --tags -i "$store" --recording 1 -o "$tmp/one"
expect 0 "$stackctl" merge "$tmp/one" "$store@2" "$store@3" -o "$tmp/again"
cmp "$tmp/all" "$tmp/again" || fail 'an export in place of its recording'
expect 0 "$stackctl" merge "$tmp/one" "$tmp/one" -o "$tmp/twice"
says 'in more than one input'
[ "$(awk -F'\t' '$1 == "sample" { n += $5 } END { print n }' "$tmp/twice")" = 200 ] || fail 'twice'

# --- the reader that docs/TAGS.md prints reads what merge writes
# shellcheck disable=SC2016
sed -n '/^```python$/,/^```$/p' docs/TAGS.md | grep -v '^```' >"$tmp/reader.py"
[ "$(wc -l <"$tmp/reader.py")" -le 20 ] || fail 'the reader has more than twenty lines'
expect 0 python3 "$tmp/reader.py" "$tmp/all"
[ "$(head -n 1 "$tmp/out")" = '120 app::work() < main < _start' ] || fail "$(cat "$tmp/out")"

# --- differences
expect 0 "$stackctl" diff "$store@1" "$tmp/one"
shows '# A: 100.301 ms, 100 samples'
shows '# 0 of '
expect 0 env STACKD_STORE="$store" "$stackctl" diff @1 @2 --by tag --percent-limit 0
shows '_start > main > app::work'
make_store "$tmp/h.db" hostile
expect 0 "$stackctl" diff "$tmp/h.db" "$tmp/h.db"
shows 'evil\x0a;name'
expect 5 "$stackctl" diff "$store@2" "$store@1" --fail-above 5%
says "main has grown by 198.0% of $store@2's whole, more than --fail-above 5%"
make_store "$tmp/more.db" hostile hostile hostile hostile hostile
expect 5 "$stackctl" diff "$tmp/more.db@1" "$tmp/more.db@1..5" --fail-above 5%
says 'evil\x0a;name\x0d\x1b]0;x\x07 has grown by 400.0% of '
expect 5 "$stackctl" diff --by tag "$store@2" "$store@1" --fail-above 5%
grep -qE 'the call path [0-9a-f]{16} has grown by [0-9.]+% of ' "$tmp/err" || fail "the path: $(cat "$tmp/err")"
grep -q "$(sed -n 's/.*call path \([0-9a-f]*\) .*/\1/p' "$tmp/err")" "$tmp/out" || fail "the path is not in the table"
expect 0 "$stackctl" diff "$store@2" "$store@1" --fail-above 200
expect 0 "$stackctl" diff "$store@1" "$store@2" --fail-above 0
expect 0 "$stackctl" diff "$store@1" "$store@1" --fail-above 0
for limit in 5x 0x5% +5% -5 ' 5' nan inf 5%% ''; do
    expect 2 "$stackctl" diff "$store@1" "$store@1" --fail-above="$limit"
done
expect 0 "$stackctl" diff "$store@1" "$store@2" --significant --json
python3 - "$tmp/out" <<'END' || fail 'diff --json'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == 2 and d["by"] == "function" and [s["samples"] for s in d["sides"]] == [100, 50]
assert d["compared"] == "amounts" and d["per"] is None and d["unit"] == "nanoseconds"
ns = 1003009
rows = {r["function"]: r for r in d["rows"]}
assert rows["app::work()"]["self"] == [61 * ns, 0] and rows["app::work()"]["significant"]
assert rows["main"]["total"] == [99 * ns, 0] and abs(rows["main"]["change"] + 99 * ns) < 1
assert rows["main"]["records"] == [99, 0] and abs(rows["main"]["error"] - 1.959964 * 99**0.5 * ns) < 1
assert rows["_start"]["self"] == [0, 50 * ns] and abs(rows["_start"]["change"] + 29 * ns) < 1
END

# An unchanged function stays as it is when another one is mended: its share grows, its time does not.
make_store "$tmp/mended.db" small after
expect 0 "$stackctl" diff "$tmp/mended.db@1" "$tmp/mended.db@2" --share --json
grep -q '"compared":"shares"' "$tmp/out" || fail 'shares'
expect 0 "$stackctl" diff "$tmp/mended.db@1" "$tmp/mended.db@2"
grep -q '20.060 *20.060 *+0.000 .*~.*do_sys' "$tmp/out" || fail "unchanged: $(cat "$tmp/out")"
expect 0 "$stackctl" diff "$tmp/mended.db@1" "$tmp/mended.db@2" --normalise-by do_sys
grep -q '100.00 *100.00 *+0.00 .*do_sys' "$tmp/out" || fail "normalised: $(cat "$tmp/out")"
expect 3 "$stackctl" diff "$tmp/mended.db@1" "$tmp/mended.db@2" --normalise-by nobody
says 'has no path through nobody'
expect 0 "$stackctl" diff "$tmp/mended.db@1" "$tmp/mended.db@2" --comm other
shows '20.060 ms, 20 samples'
expect 0 "$stackctl" diff "$tmp/mended.db@1" "$tmp/mended.db@2" --focus fact
grep -q 'app::work' "$tmp/out" && fail 'a path that --focus leaves out'
expect 0 "$stackctl" diff "$tmp/mended.db@1" "$tmp/mended.db@1" --from 0.02 --to 0.05
shows '30 samples'
expect 0 "$stackctl" diff "$tmp/mended.db@1" "$tmp/mended.db@2" --per second
shows 'per second'
expect 2 "$stackctl" diff "$tmp/one" "$store@1" --comm prog
says 'need a store'
expect 2 "$stackctl" diff "$store@1" "$store@1" --share --per second

# --- bad input
expect 2 "$stackctl" merge
expect 2 "$stackctl" diff "$store"
expect 2 "$stackctl" diff "$store" "$store" "$store"
expect 2 "$stackctl" diff "$store" "$store" --by line
expect 2 "$stackctl" merge "$tmp/none"
says "$tmp/none"
expect 2 "$stackctl" merge "$store@9"
says 'no such recording'
expect 2 "$stackctl" merge "$store@x"
says "'x' is not the number of a recording"
echo 'some text' >"$tmp/text"
expect 2 "$stackctl" merge "$tmp/text"
says "neither a store nor an export"
: >"$tmp/nothing"
expect 2 "$stackctl" merge "$tmp/nothing"
says "neither a store nor an export"
sed 's/^stackd-tags 1$/stackd-tags 2/' "$tmp/one" >"$tmp/two"
expect 2 "$stackctl" merge "$tmp/one" "$tmp/two"
says "$tmp/two: line 1: version 2 of the format, and this stackctl reads version 1"
head -n -1 "$tmp/one" >"$tmp/cut"
expect 2 "$stackctl" merge "$tmp/cut"
says 'cut short'
head -c -30 "$tmp/one" >"$tmp/cut"
expect 2 "$stackctl" merge "$tmp/cut"
says 'cut short'
sed '/^location/s/\t1020\t/\t1021\t/' "$tmp/one" >"$tmp/lie"
expect 2 "$stackctl" merge "$tmp/lie"
says "the location's id does not follow from its object and offset"
sed 's/^sample\t[0-9a-f]*/sample\t1234567812345678/' "$tmp/one" >"$tmp/lie"
expect 2 "$stackctl" merge "$tmp/lie"
says 'was not named before'
awk -F'\t' -v OFS='\t' '$1 == "sample" { $5 = "18446744073709551615" } 1' "$tmp/one" >"$tmp/lie"
expect 1 "$stackctl" merge "$tmp/lie"
says 'more than 64 bits'
python3 - "$tmp/one" "$tmp/lie" "$stackctl" <<'END' || fail 'a damaged export'
import random, subprocess, sys
data, rng = open(sys.argv[1], "rb").read(), random.Random(1)
for n in range(60):
    bad = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(bad))
        bad[at:at + rng.randrange(2)] = bytes([rng.choice(b"\t\n0\\f.9\xff\0")])
    open(sys.argv[2], "wb").write(bad)
    for verb in ["merge", sys.argv[2]], ["diff", sys.argv[1], sys.argv[2]]:
        done = subprocess.run([sys.argv[3], *verb], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=600)
        assert done.returncode in (0, 1, 2, 3), done
END
"$stackctl" merge "$store" >/dev/full 2>"$tmp/err"
[ $? = 1 ] || fail 'merge > /dev/full: not 1'

# --- a hostile file: many names for one thing take no longer than as many things. They take a fifth of it where
#     each is looked up once, and some hundred times as long where each is compared with all before it.
PYTHONPATH=tests/cli python3 - "$tmp" <<'END'
import sys
from tag_hash import location_id
def export(path, ids, offsets):
    with open(path, "w") as file:
        print(f"stackd-tags 1\nrecording\t1\t5\th\tk\te\nobject\t1\telf\t{7:016x}\t\t/x", file=file)
        for id, offset in zip(ids, offsets):
            print(f"location\t{id}\t1\t{offset:x}\tpc\tf\t\t0", file=file)
        for id in ids:
            print(f"tag\t{id}\t{0:016x}\t{id.split('.')[0]}", file=file)
        print("end", file=file)
one = f"{location_id(7, 16):016x}"
export(sys.argv[1] + "/names", [one] + [f"{one}.{i}" for i in range(1, 200000)], [16] * 200000)
export(sys.argv[1] + "/things", [f"{location_id(7, 16 + i):016x}" for i in range(200000)], range(16, 200016))
END
cpu_of() { # COMMAND...: in $ms the milliseconds of CPU time that it takes; its output is in $tmp/out
    local TIMEFORMAT='%3U %3S'
    { time "$@" >"$tmp/out" 2>"$tmp/err"; } 2>"$tmp/time" || fail "$*: $(tail -n 1 "$tmp/err")"
    ms=$(awk 'NF == 2 { printf "%d", 1000 * ($1 + $2) }' "$tmp/time")
}
cpu_of "$stackctl" merge "$tmp/things"
things=$ms
cpu_of "$stackctl" merge "$tmp/names"
[ "$ms" -le $((10 * things)) ] || fail "many names for one thing: $ms ms of CPU time, and $things for as many things"
[ "$(grep -c "^location" "$tmp/out")" = 1 ] || fail 'many names for one thing'

# --- two hosts that know two layouts of a build-id by each other's file ids: nothing is mixed
PYTHONPATH=tests/cli python3 - "$tmp" <<'END'
import sys
from tag_hash import location_id
M = (1 << 64) - 1
def export(path, host, first, second):
    """`first` has the file id 7, and `second` 8; each is (layout, function, samples)."""
    lines = ["stackd-tags 1", f"recording\t1\t5\t{host}\tk\tcpu-clock"]
    for file, (layout, function, count) in (7, first), (8, second):
        where = f"{location_id(file, 16):016x}"
        lines += [f"object\t{file}\telf\t{file:016x}\tabcd\t/lib/x.so\t{layout:016x}",
                  f"location\t{where}\t{file}\t10\tpc\t{function}\t\t0",
                  f"tag\t{where}\t{0:016x}\t{where}"]
    lines += ["process\t1\t1\t0\tx\t/x"]
    for file, (_, _, count) in (7, first), (8, second):
        lines += [f"sample\t{location_id(file, 16):016x}\t1\tx\t{count}\t{count}\t1\tentry\tcomplete\t0"]
    open(path, "w").write("\n".join(lines + ["end"]) + "\n")
export(sys.argv[1] + "/a", "a", (1, "of_one", 10), (2, "of_two", 3))
export(sys.argv[1] + "/b", "b", (2, "of_two", 200), (1, "of_one", 40))
END
"$stackctl" merge "$tmp/a" "$tmp/b" >"$tmp/ab" 2>"$tmp/err" || fail "layouts: $(cat "$tmp/err")"
"$stackctl" merge "$tmp/b" "$tmp/a" >"$tmp/ba" || fail 'layouts, in the other order'
cmp "$tmp/ab" "$tmp/ba" || fail 'layouts: the order of the files tells'
[ "$(grep -c "^object" "$tmp/ab")" = 4 ] || fail 'layouts: not four objects'
"$stackctl" merge "$tmp/ab" >"$tmp/again" || fail 'layouts: what was merged is not read'
cmp "$tmp/ab" "$tmp/again" || fail 'layouts: what was merged is not kept'
"$stackctl" report -i "$tmp/ab" --view flat --json >"$tmp/json" || fail 'layouts: report'
python3 - "$tmp/json" <<'END' || fail 'layouts: the sums of functions'
import json, sys
answer = json.load(open(sys.argv[1]))
sums = {}
for part in answer["parts"]:
    for row in part["functions"]:
        name = answer["symbols"][row["symbol"]]["name"]
        sums[name] = sums.get(name, 0) + row["self"]
assert sums == {"of_one": 50, "of_two": 203}, sums
END
finish
