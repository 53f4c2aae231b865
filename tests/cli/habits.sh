#!/bin/bash
# SPDX-License-Identifier: MIT
# The behaviour that all verbs share: help, suggestions for misspelt options, failures of output,
# pipes that are closed early, progress on a terminal.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small hostile small
"$stackctl" export --tags -i "$store" -o "$tmp/tags"
make_store "$tmp/heap.db" heap

# Verbs that write data, with what they need for it.
writers=('align --depth 0 --compare' 'timeline' 'timeline --svg' "heap -i $tmp/heap.db"
    "heap --json -i $tmp/heap.db"
    'report' 'report --view flat' 'report --view callers' 'report --view time' 'report --json'
    'report --around main' 'annotate main' 'annotate --json main' 'stats' 'stats --json' 'list'
    'list --json' 'export --folded' 'export --tags' 'export --perf-script' 'export --json'
    'export --pprof' 'export --callgrind' 'export --speedscope' 'export --firefox' 'export --perfetto' 'flamegraph' 'doctor'
    'doctor --json' "diff $tmp/tags $tmp/tags" "diff --json $tmp/tags $tmp/tags" "merge $tmp/tags"
    'completion bash' 'completion zsh' 'help' 'help --man' 'help --verbs' 'version')
"$stackctl" help | grep -q '^  web ' && writers+=('web --no-open')
export STACKD_STORE=$store

for command in "${writers[@]}"; do
    # shellcheck disable=SC2086
    "$stackctl" $command >/dev/full 2>"$tmp/err"
    [ $? = 1 ] || fail "$command > /dev/full: not 1"
    grep -q '^stackctl: cannot write standard output' "$tmp/err" || fail "$command: $(cat "$tmp/err")"
    [ "$(wc -l <"$tmp/err")" = 1 ] || fail "$command: says more than once: $(cat "$tmp/err")"
done

# Readers leave nothing beside a store. (web, as root, has given its rights up; the next reader removes what it left.)
"$stackctl" list >/dev/null
left=$(ls "$store"-* "$tmp"/heap.db-* 2>/dev/null)
[ -z "$left" ] || fail "left behind: $left"

verbs=$("$stackctl" help --verbs)
[ "$(echo "$verbs" | wc -l)" -ge 5 ] || fail "verbs: $verbs"
for verb in $verbs; do
    case "${writers[*]} top import decode push names" in
    *"$verb"*) ;;
    *) fail "$verb is not among the verbs tested here" ;;
    esac
    expect 0 "$stackctl" "$verb" --help
    shows 'Usage: stackctl'
    "$stackctl" "$verb" --help >/dev/full 2>"$tmp/err"
    [ $? = 1 ] || fail "$verb --help > /dev/full: not 1"
    expect 2 "$stackctl" "$verb" --hlep
    says "did you mean '--help'"
    expect 2 "$stackctl" "$verb" --no-frobnicate
done

# A reader may close a pipe early: SIGPIPE ends the program silently, even if a parent ignores that.
python3 - "$stackctl" "${writers[@]}" <<'END' || fail 'a closed pipe'
import os, signal, subprocess, sys
for command in sys.argv[2:]:
    for restore in (True, False):
        r, w = os.pipe()
        os.close(r)
        done = subprocess.run([sys.argv[1], *command.split()], stdout=w, stderr=subprocess.PIPE,
                              restore_signals=restore)
        os.close(w)
        assert done.returncode == -signal.SIGPIPE and not done.stderr, (command, done)
END
finish
