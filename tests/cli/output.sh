#!/bin/bash
# SPDX-License-Identifier: MIT
# The output of stackctl: files are replaced atomically, sums agree across formats, names cannot
# break out, a reader that closes early is no error.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small hostile cut

# --- -o FILE: replaced when complete, else left unchanged
echo old >"$tmp/file"
expect 3 "$stackctl" export --folded -i "$store" --pid 4711 -o "$tmp/file"
[ "$(cat "$tmp/file")" = old ] || fail 'a failed export changed the old file'
expect 0 "$stackctl" export --folded -i "$store" --recording 1 -o "$tmp/file"
"$stackctl" export --folded -i "$store" --recording 1 | cmp - "$tmp/file" || fail '-o differs'
[ "$(stat -c %a "$tmp/file")" = "$(printf '%o' $((0666 & ~0$(umask))))" ] || fail 'mode of -o'
ln -s file "$tmp/link"
expect 0 "$stackctl" stats --json -i "$store" -o "$tmp/link"
[ -L "$tmp/link" ] || fail '-o replaced a link'
grep -q '"schema":1' "$tmp/file" || fail '-o did not follow a link'
expect 0 "$stackctl" export --tags -i "$store" -o /dev/null
[ -c /dev/null ] || fail '-o replaced /dev/null'
mkdir "$tmp/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=8k none "$tmp/small" 2>/dev/null; then
    echo old >"$tmp/small/file"
    expect 1 "$stackctl" export --perf-script -i "$store" --recording 1 -o "$tmp/small/file"
    says 'No space left on device'
    [ "$(cat "$tmp/small/file")" = old ] || fail 'a full disk changed the old file'
    umount "$tmp/small"
fi
[ "$(find "$tmp" -name '*.??????' -newer "$store" | grep -c '/file\.')" = 0 ] || fail 'left a file'

# --- the form is that of the name, or there is no file
for verb in 'report --recording 1' 'stats --recording 1' 'annotate --recording 1 app::work()' list; do
    # shellcheck disable=SC2086
    expect 0 "$stackctl" $verb -i "$store" -o "$tmp/form.json"
    python3 -m json.tool "$tmp/form.json" >/dev/null || fail "$verb -o FILE.json is no JSON"
done
for name in form.html form.svg form.csv; do
    for verb in report stats list 'report --view waits --around main'; do
        # shellcheck disable=SC2086
        expect 2 "$stackctl" $verb -i "$store" -o "$tmp/$name"
        says "-o '$tmp/$name': this verb writes text"
        [ ! -e "$tmp/$name" ] || fail "$verb wrote $name"
    done
    expect 0 "$stackctl" report --json -i "$store" -o "$tmp/$name"
    python3 -m json.tool "$tmp/$name" >/dev/null || fail "report --json -o $name is no JSON"
done

# --- sums agree across the formats
python3 - "$stackctl" "$store" <<'END' || fail 'sums'
import json, re, subprocess, sys
stackctl, store = sys.argv[1:]
def run(*args):
    return subprocess.run([stackctl, *args, "-i", store, "--recording", "1"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
stats = json.loads(run("stats", "--json"))
assert stats["samples"] == 100 == sum(stats["quality"].values()), stats
assert stats["end_reasons"] == {"entry": 99, "no_recipe": 1, "lost_ring": 3}, stats
folded = run("export", "--folded").splitlines()
assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == 100
assert len(folded) == len({line.rsplit(" ", 1)[0] for line in folded}) == 5
script = run("export", "--perf-script")
assert len(re.findall(r"^\S.*: $", script, re.M)) == 100
assert script.count("\n\n") == 100
tags = [line.split("\t") for line in run("export", "--tags").splitlines()]
assert tags[0] == ["stackd-tags 1"] and tags[-1] == ["end"]
assert sum(int(fields[4]) for fields in tags if fields[0] == "sample") == 100
for view, rows in (("tree", "nodes"), ("flat", "functions"), ("callers", "nodes")):
    report = json.loads(run("report", "--json", "--view", view))
    assert sum(process["samples"] for process in report["processes"]) == 100
    for process in report["processes"]:
        assert sum(row["self"] for row in process[rows]) == process["samples"], (view, process)
# The same paths by the folded form and by perf script's, taken as flame graph tools do.
paths = {}
for entry in script.strip().split("\n\n"):
    head, *frames = entry.split("\n")
    names = [re.sub(r"\+0x[0-9a-f]+$", "", re.match(r"\s*\w+ (.+) \(.*\)$", frame)[1])
             for frame in reversed(frames)]
    key = ";".join([re.match(r"(.+?)\s+\d+/\d+", head)[1], *names])
    paths[key] = paths.get(key, 0) + 1
assert paths == {re.sub(r"libx\.so\+0x50", "[unknown]", line.rsplit(" ", 1)[0]):
                 int(line.rsplit(" ", 1)[1]) for line in folded}, paths
END

# --- the reader that docs/TAGS.md prints works
# shellcheck disable=SC2016
sed -n '/^```python$/,/^```$/p' docs/TAGS.md | grep -v '^```' >"$tmp/reader.py"
expect 0 "$stackctl" export --tags -i "$store" --recording 1 -o "$tmp/tags"
expect 0 python3 "$tmp/reader.py" "$tmp/tags"
[ "$(head -n 1 "$tmp/out")" = '60 app::work() < main < _start' ] || fail "$(cat "$tmp/out")"

# --- names
for verb in report 'report --json' 'export --folded' 'export --tags' 'export --perf-script' \
    'report --view flat' 'report --view callers'; do
    # shellcheck disable=SC2086
    expect 0 "$stackctl" $verb -i "$store" --recording 2
    ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f]' "$tmp/out" || fail "$verb: control characters"
done
expect 0 "$stackctl" export --folded -i "$store" --recording 2
[ "$(cat "$tmp/out")" = 'a\x3bb\x0a c;evil\x0a\x3bname\x0d\x1b]0\x3bx\x07 10' ] || fail "$(cat "$tmp/out")"

# --- a locale without UTF-8
expect 0 env LC_ALL=C "$stackctl" report -i "$store" --recording 1
! LC_ALL=C grep -q $'[\x80-\xff]' "$tmp/out" || fail 'characters beyond ASCII in the C locale'
shows '|- app::work'

# --- list
expect 0 "$stackctl" list -i "$store"
shows 'cut off'
[ "$(grep -c 'done' "$tmp/out")" = 2 ] || fail 'list: states'
expect 0 "$stackctl" list --json -i "$store"
python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))["recordings"]
assert [x["samples"] for x in r] == [100, 10, 50] and [x["recording"] for x in r] == [1, 2, 3]
assert [x["state"] for x in r] == ["done", "done", "cut off"]' "$tmp/out" || fail 'list --json'

# --- a reader that has seen enough: killed quietly by SIGPIPE, even where it is ignored
python3 - "$stackctl" "$store" <<'END' || fail 'a closed pipe'
import os, signal, subprocess, sys
for restore in (True, False):
    r, w = os.pipe()
    os.close(r)
    done = subprocess.run([sys.argv[1], "export", "--folded", "-i", sys.argv[2]], stdout=w,
                          stderr=subprocess.PIPE, restore_signals=restore)
    os.close(w)
    assert done.returncode == -signal.SIGPIPE and not done.stderr, done
END
finish
