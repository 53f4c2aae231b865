#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions of one name in one file are told apart by every view, and found by both of their names.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" namesakes

# rows WANTED COMMAND...: prints a report as JSON, or folded stacks, with so many samples in each function
rows() {
    local wanted=$1
    shift
    expect 0 "$@"
    python3 - "$tmp/out" "$wanted" <<'END' || fail "$*"
import collections, json, sys
text, wanted = open(sys.argv[1], encoding="utf-8").read(), json.loads(sys.argv[2])
found = collections.Counter()
if text.startswith("{"):
    report = json.loads(text)
    for process in report.get("processes") or report["parts"]:
        for row in process["functions"]:
            if row["self"]:
                found[report["symbols"][row["symbol"]]["name"]] += row["self"]
else:
    for line in text.splitlines():
        path, samples = line.rsplit(" ", 1)
        found[path.split(";")[-1]] += int(samples)
if found != wanted:
    sys.exit("%s, not %s" % (dict(found), wanted))
END
}

all='{"parse (lexer.c)": 40, "parse (reader.c)": 30, "parse [prog+0x1300]": 12, "parse [prog+0x1400]": 8,
"parse [prog+0x1500]": 10, "cmp [kernel.kallsyms+0x7000]": 4, "cmp [kernel.kallsyms+0x8000]": 2}'
report=("$stackctl" report --view flat --json --percent-limit 0 -i "$store")
rows "$all" "${report[@]}"
rows "$all" "$stackctl" export --folded -i "$store"
for verb in 'report --view tree' 'report --view callers' 'export --json' 'export --speedscope' 'export --callgrind' \
    'export --perf-script' 'flamegraph -o -' 'report --around parse' 'timeline --threshold 1'; do
    # shellcheck disable=SC2086
    expect 0 "$stackctl" $verb -i "$store"
    for name in 'parse (lexer.c)' 'parse (reader.c)' 'parse [prog+0x1300]' 'parse [prog+0x1400]'; do
        shows "$name"
    done
done

# --- what is asked for: all of a name, or one
left 100 --symbol parse
left 40 --symbol 'parse (lexer.c)'
left 30 --symbol 'parse (reader*'
left 8 --symbol 'parse [prog+0x1400]'
left 70 --symbol 'parse (lexer.c)' --symbol 'parse (reader.c)'
expect 3 "$stackctl" report -i "$store" --symbol 'parse (main.c)'
says "did you mean 'parse (lexer.c)'"
left 100 --focus parse
left 30 --focus 'parse (reader.c)'
left 6 --ignore parse
left 76 --ignore 'parse (reader.c)'
left 2 --focus 'cmp [kernel.kallsyms+0x8000]'
rows '{"parse (reader.c)": 30}' "${report[@]}" --symbol 'parse (reader.c)'

# annotated NAMES SAMPLES FUNCTION: these functions are annotated
annotated() {
    expect 0 "$stackctl" annotate --json -i "$store" "$3"
    python3 - "$tmp/out" "$1" "$2" <<'END' || fail "annotate $3"
import json, sys
found = json.load(open(sys.argv[1], encoding="utf-8"))
names = sorted(function["name"] for function in found["functions"])
samples = sum(function["self"] for function in found["functions"])
if names != sorted(json.loads(sys.argv[2])) or samples != int(sys.argv[3]):
    sys.exit("%s, %d samples, %d more" % (names, samples, found["more"]))
END
}
annotated '["parse (lexer.c)"]' 40 'parse (lexer.c)'
annotated '["parse [prog+0x1500]"]' 10 'parse [prog+0x1500]'
annotated '["parse (lexer.c)", "parse (reader.c)", "parse [prog+0x1300]", "parse [prog+0x1500]", "parse [prog+0x1400]"]' \
    100 'parse'

# --- two recordings, of which the second has one of them: they are compared with their like
expect 0 "$stackctl" export --tags -i "$store" -o "$tmp/all"
expect 0 "$stackctl" export --tags -i "$store" --symbol 'parse (lexer.c)' -o "$tmp/one"
expect 0 "$stackctl" diff --json "$tmp/all" "$tmp/one"
python3 - "$tmp/out" "$all" <<'END' || fail 'diff'
import json, sys
rows = {row["function"]: row["self"] for row in json.load(open(sys.argv[1]))["rows"]}
for name, samples in json.loads(sys.argv[2]).items():
    a, b = rows[name]
    assert a > 0 and (b > 0) == (name == "parse (lexer.c)"), (name, a, b)
assert "parse" not in rows and "cmp" not in rows, rows
END
expect 0 "$stackctl" diff --normalise-by 'parse' "$tmp/all" "$tmp/all"
shows 'parse (reader.c)'

# --- two builds without files: each has them elsewhere, so they are compared by name; of one build by start
make_store "$tmp/a.db" build-a
make_store "$tmp/b.db" build-b
same_rows() { # WANTED A B: functions parse() of a comparison
    expect 0 "$stackctl" diff --json "$2" "$3"
    python3 - "$tmp/out" "$1" <<'END' || fail "diff $2 $3"
import json, sys
rows = {row["function"]: [part > 0 for part in row["self"]] for row in json.load(open(sys.argv[1]))["rows"]
        if row["function"].startswith("parse")}
wanted = {name: [True, True] for name in json.loads(sys.argv[2])}
assert rows == wanted, rows
END
}
same_rows '["parse"]' "$tmp/a.db" "$tmp/b.db"
same_rows '["parse [prog+0x1100]", "parse [prog+0x1200]"]' "$tmp/a.db" "$tmp/a.db"

# --- merged exports show them, too
expect 0 "$stackctl" merge "$tmp/all" "$tmp/one" -o "$tmp/merged"
expect 0 "$stackctl" merge "$tmp/merged" -o "$tmp/again"
cmp "$tmp/merged" "$tmp/again" || fail 'merge: starts of functions'
rows "${all/40/80}" "$stackctl" report --view flat --json --percent-limit 0 -i "$tmp/merged"

# --- tables and tags have the name that the function has in its file: their rows know file and offset
expect 0 "$stackctl" export --tags -i "$store"
grep -q $'\tparse\t' "$tmp/out" || fail "tags: $(grep ^location "$tmp/out")"
if grep -q 'parse (' "$tmp/out"; then fail 'tags: a name that is told apart'; fi
finish
