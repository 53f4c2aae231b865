#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions of Python in every view and export: their names, files, lines and kinds, and whether the frames of the
# interpreter that carry them are there.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" managed

# same WANTED COMMAND...: the output, sorted
same() {
    local wanted=$1
    shift
    expect 0 "$@"
    diff <(sort "$tmp/out") <(sort <<<"$wanted") >"$tmp/diff" || fail "$* $(cat "$tmp/diff")"
}

# --- paths: an activation without functions, or whose functions are not proven, stays -------------
same 'python3;main;_PyEval_EvalFrameDefault 5
python3;main;[frames not proven];_PyEval_EvalFrameDefault 4
python3;main;work;do_sys 6
python3;main;work;stub 3
python3;main;work;parse 30
python3;main;work;parse;scan;next_token 37
python3;main;work;<lambda> (app.py:20) 10
python3;main;work;<lambda> (app.py:21) 5' "$stackctl" export --folded -i "$store"
same 'python3;main;_PyEval_Vector;_PyEval_EvalFrameDefault 5
python3;main;_PyEval_Vector;[frames not proven];_PyEval_EvalFrameDefault 4
python3;main;_PyEval_Vector;work;_PyEval_EvalFrameDefault;do_sys 6
python3;main;_PyEval_Vector;work;_PyEval_EvalFrameDefault;stub 3
python3;main;_PyEval_Vector;work;parse;_PyEval_EvalFrameDefault 30
python3;main;_PyEval_Vector;work;parse;_PyEval_EvalFrameDefault;scan;next_token 37
python3;main;_PyEval_Vector;work;<lambda> (app.py:20);_PyEval_EvalFrameDefault 10
python3;main;_PyEval_Vector;work;<lambda> (app.py:21);_PyEval_EvalFrameDefault 5' "$stackctl" export --folded --interpreter=show -i "$store"
py='py::work:/srv/app.py'
same "python3;main;_PyEval_EvalFrameDefault 5
python3;main;[frames not proven];_PyEval_EvalFrameDefault 4
python3;main;$py;do_sys_[k] 6
python3;main;$py;stub_[j] 3
python3;main;$py;py::parse:/srv/app.py 30
python3;main;$py;py::parse:/srv/app.py;scan;next_token_[i] 37
python3;main;$py;py::<lambda> (app.py:20):/srv/app.py 10
python3;main;$py;py::<lambda> (app.py:21):/srv/app.py 5" "$stackctl" export --folded --kinds -i "$store"
# Paths that are equal without the interpreter's frames are one path.
expect 0 "$stackctl" export --tags -i "$store"
! grep -Pq '^tag\t[0-9a-f]{16}\.' "$tmp/out" || fail 'two paths are told apart that are equal'
[ "$(grep -c '^tag' "$tmp/out")" -lt "$("$stackctl" export --tags --interpreter=show -i "$store" | grep -c '^tag')" ] ||
    fail 'no path less without the interpreter'
expect 2 "$stackctl" export --pprof --kinds -i "$store" -o "$tmp/never"

# --- filters: N samples of 100 --------------------------------------------------------------------
samples() {
    local wanted=$1
    shift
    expect 0 "$stackctl" report --json -i "$store" "$@"
    python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["samples"] != int(sys.argv[2]))' "$tmp/out" "$wanted" ||
        fail "$* does not choose $wanted samples"
}
samples 30 --symbol parse
samples 30 --dso app.py --symbol 'pa*'
samples 67 --focus parse
samples 15 --focus '<lambda>'
samples 5 --focus '<lambda> (app.py:21)'
samples 9 --ignore work
samples 45 --dso app.py
samples 100 --interpreter=show
for verb in 'report --view tree' 'report --view callers' 'report --around parse' 'report --by object' \
    'report --view flat' 'timeline --threshold 1' 'flamegraph -o -' 'export --callgrind' \
    'export --speedscope' 'export --perf-script' 'export --tags' 'export --json' 'export --firefox' 'export --perfetto' \
    'annotate parse'; do
    # shellcheck disable=SC2086 # words
    expect 0 "$stackctl" $verb -i "$store"
    grep -q parse "$tmp/out" || fail "$verb lacks a function of Python"
done
# A page says by which command it has those frames.
for shown in show hide; do
    expect 0 "$stackctl" flamegraph --interpreter=$shown -i "$store" -o "$tmp/page.html"
    grep -c '"chosen":"[^"]*--interpreter=show' "$tmp/page.html" >"$tmp/says"
    [ "$(cat "$tmp/says")" = "$([ $shown = hide ] && echo 0 || echo 1)" ] || fail "the command of a page with --interpreter=$shown"
done
expect 0 "$stackctl" diff --interpreter=show "$store" "$store"
grep -q _PyEval "$tmp/out" || fail "diff has no frame of the interpreter"

# --- what was read, and what was not --------------------------------------------------------------
line='# python: 12345 functions read; activations in transition: 5, not proven: 4 (chain 3, names 1); stacks with native frames alone: 7'
for verb in 'report' 'stats' 'stats -v'; do
    # shellcheck disable=SC2086 # words
    expect 0 "$stackctl" $verb -i "$store"
    sed ':a; N; $!ba; s/\n#   / /g' "$tmp/out" | grep -qFx "$line" || fail "$verb does not say how much of Python was read"
done
expect 0 "$stackctl" stats -i "$store"
grep -q '^! 4 activations of an interpreter' "$tmp/out" || fail 'stats do not warn of what is not proven'
make_store "$tmp/small.db" small
expect 0 "$stackctl" report -i "$tmp/small.db"
! grep -q python "$tmp/out" || fail 'a recording without Python speaks of it'

# --- the source, from the function's first line on ------------------------------------------------
mkdir -p "$tmp/src"
seq -f 'line %.0f' 30 >"$tmp/src/app.py"
expect 0 "$stackctl" annotate parse --source "$tmp/src" -i "$store"
grep -v '^#\|^$' "$tmp/out" >"$tmp/rows"
diff -w "$tmp/rows" - <<'END' >"$tmp/diff" || fail "annotate: $(cat "$tmp/diff")"
 9 line 9
10 line 10
11 line 11
44.8% 100.0% 12 line 12
END
expect 0 "$stackctl" annotate parse -i "$store"
grep -q 'not found here: --source DIR' "$tmp/out" || fail 'annotate does not say that the source is not here'
! grep -q 'instructions' "$tmp/out" || fail 'annotate speaks of instructions'

# --- kinds in formats of others -------------------------------------------------------------------
for format in json pprof speedscope firefox perf-script; do
    expect 0 "$stackctl" export --$format -i "$store" -o "$tmp/$format"
done
python3 - "$tmp" "$(dirname "$0")/../exports" <<'END' || fail 'kinds'
import json, sys
folder = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[2])
import wire

def load(name):
    with open("%s/%s" % (folder, name), encoding="utf-8") as file:
        return json.load(file)

def check(found, wanted):
    if found != wanted:
        sys.exit("%s, not %s" % (found, wanted))

NAMES = ("main", "work", "do_sys", "stub", "[frames not proven]", "<lambda> (app.py:21)")
kinds = {s["name"]: s["kind"] for s in load("json")["symbols"]}
check([kinds[name] for name in NAMES], ["native", "python", "kernel", "jit", "note", "python"])

frames = {f["name"]: (f.get("file"), f.get("line")) for f in load("speedscope")["shared"]["frames"]}
check([frames["parse"], frames["<lambda> (app.py:21)"], frames["main"]],
      [("/srv/app.py", 9), ("/srv/app.py", 21), ("/usr/bin/python3", None)])

firefox = load("firefox")
shared, strings = firefox["shared"], firefox["shared"]["stringArray"]
table, functions, resources = shared["frameTable"], shared["funcTable"], shared["resourceTable"]
found = {}
for category, func, line, address in zip(table["category"], table["func"], table["line"], table["address"]):
    found[strings[functions["name"][func]]] = (
        firefox["meta"]["categories"][category]["name"], functions["lineNumber"][func], line, address >= 0,
        resources["type"][functions["resource"][func]])
check(found["parse"], ("Python", 9, 12, False, 5))
check([found[name][0] for name in NAMES], ["User", "Python", "Kernel", "JIT", "Other", "Python"])

with open(folder + "/pprof", "rb") as file:
    profile = wire.decode(file.read(), wire.PPROF)
text = profile["string_table"]
mappings = {m["id"]: m for m in profile["mapping"]}
functions = {f["id"]: f for f in profile["function"]}
seen = {}
for location in profile["location"]:
    mapping = mappings[location["mapping_id"]]
    for line in location["line"]:
        function = functions[line["function_id"]]
        seen[text[function["name"]]] = (text[mapping["filename"]], text[function.get("filename", 0)],
                                        function.get("start_line", 0), line.get("line", 0))
        if text[mapping["filename"]] == "[python]":
            check(mapping["memory_start"] <= location["address"] < mapping["memory_limit"], True)
check(seen["parse"], ("[python]", "/srv/app.py", 9, 12))
check(seen["scan"][0], "/usr/bin/python3")
check(len([m for m in mappings.values() if text[m["filename"]] == "[python]"]), 1)
END
grep -Eq 'parse \(/srv/app.py\)$' "$tmp/perf-script" || fail 'perf-script: the function has an offset, or another file'
