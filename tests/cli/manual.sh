#!/bin/bash
# SPDX-License-Identifier: MIT
# Output that is generated from the tables of options: manual pages without warnings of mandoc, and
# completion of every option in bash and zsh; and the additions to argp: "did you mean", --no- forms.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small

# --- manual pages
verbs=$("$stackctl" help --verbs)
[ "$(echo "$verbs" | wc -l)" -ge 5 ] || fail "verbs: $verbs"
# Asserts that the last command wrote a page with the options that "$@" --help shows.
is_page() {
    if command -v mandoc >/dev/null; then
        mandoc -Tlint -Wwarning <"$tmp/out" >"$tmp/lint" || fail "$*: $(head -n 5 "$tmp/lint")"
    fi
    grep -q '^\.SH NAME' "$tmp/out" || fail "$*: no name"
    "$@" --help | grep -o -- '^ .*--[a-z-]*' | grep -o -- '--[a-z-]*' | while read -r option; do
        sed 's/\\-/-/g' "$tmp/out" | grep -qF -- "$option" || echo "$*: $option"
    done >"$tmp/missing"
    [ ! -s "$tmp/missing" ] || fail "not in the manual: $(cat "$tmp/missing")"
}
expect 0 "$stackctl" help --man
is_page "$stackctl"
for verb in $verbs; do
    expect 0 "$stackctl" help --man "$verb"
    is_page "$stackctl" "$verb"
done
stackd=${STACKD:-$(dirname "$stackctl")/stackd}
expect 0 "$stackd" --man
is_page "$stackd"
shows '.TH STACKD 8 '
# shellcheck disable=SC2016 # the inner shell expands it
expect 1 sh -c '"$1" --man >/dev/full' - "$stackd"
expect 2 "$stackctl" help --man frobnicate

# --- sizes: the value as it was given, and the range with units
for size in 16M 257K 255 0.5K K -1 99999999999G; do
    expect 2 "$stackd" --stack-bytes "$size" -- true
    grep -qF -- "--stack-bytes '$size': expected" "$tmp/err" || fail "$size: $(cat "$tmp/err")"
    grep -qF 'from 256 to 256K' "$tmp/err" || fail "$size: $(cat "$tmp/err")"
done
expect 2 "$stackd" --ring-bytes 9G -- true
grep -qF "'9G': expected a whole number of bytes, or one with K, M or G, from 4K to 1G" "$tmp/err" ||
    fail "$(cat "$tmp/err")"

# --- other numbers: the same, and values that a message counts as good are taken
refuses() { # OPTION VALUE RANGE
    expect 2 "$stackd" "$1" "$2" -- true
    grep -qF -- "$1 '$2': expected" "$tmp/err" || fail "$1 $2: $(cat "$tmp/err")"
    grep -qF -- "$3" "$tmp/err" || fail "$1 $2: $(cat "$tmp/err")"
}
refuses --freq 0 'a whole number of Hz from 1 to 1000000000'
refuses --count -1 'a whole number of events from 1 to'
refuses --jitter 51 'a whole number of percent from 0 to 50'
refuses --depth 1001 'a whole number of callers from 0 to 1000'
refuses --region-limit x 'a whole number of passes a second from 0 to 4294967295'
refuses --alloc-limit 4294967296 'a whole number of calls a second from 0 to 4294967295'
refuses --duration 1e10 'seconds, above 0 and below 1000000000'
refuses --max-cpu 0.001% 'from 0.01% to 10000%'
refuses --max-cpu 20000% 'from 0.01% to 10000%'
refuses --window 1ms 'from 1s to 30 years'
refuses --window 40000d 'from 1s to 30 years'
refuses --wait-mean 2m 'a time from 0 to 1m'
refuses --keep-age 0 'a whole number of days from 1 to 100000'
refuses --keep-age 10ms 'from 1s to 30 years'
refuses --keep-bytes 63K 'from 64K to 8589934591G'
refuses --pid 0 'a whole number from 1 to 2147483647'

# --- completion
complete_bash() { # WORDS...: the completions that bash offers for the last word
    PATH="$(dirname "$stackctl"):$PATH" bash -c '
        source <(stackctl completion bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _stackctl && printf "%s\n" "${COMPREPLY[@]}"' - "$@" >"$tmp/out" 2>"$tmp/err"
    [ ! -s "$tmp/err" ] || fail "completion: $(cat "$tmp/err")"
}
complete_bash stackctl re
shows report
complete_bash stackctl report --percent
[ "$(cat "$tmp/out")" = --percent-limit ] || fail "bash: $(cat "$tmp/out")"
complete_bash stackctl report --view fl
[ "$(cat "$tmp/out")" = flat ] || fail "bash, values: $(cat "$tmp/out")"
complete_bash stackctl report --view = ca
[ "$(cat "$tmp/out")" = callers ] || fail "bash, values after =: $(cat "$tmp/out")"
for verb in report flamegraph; do
    for word in ra con obj; do
        complete_bash stackctl $verb --by $word
        case $(cat "$tmp/out") in rank | container | object) ;; *) fail "bash, --by $word: $(cat "$tmp/out")" ;; esac
    done
    expect 0 env ARGP_HELP_FMT= "$stackctl" $verb --help
    awk 'length > 80 { exit 1 }' "$tmp/out" || fail "$verb --help has a line of more than 80 columns"
done
complete_bash stackctl report -i "$tmp/s."
grep -qxF "$store" "$tmp/out" || fail "bash, files: $(cat "$tmp/out")"
expect 0 "$stackctl" completion zsh
cp "$tmp/out" "$tmp/_stackctl"
if command -v zsh >/dev/null; then
    zsh -n "$tmp/_stackctl" || fail 'zsh: syntax'
    PATH="$(dirname "$stackctl"):$PATH" zsh -f -c '
        compdef() { : }; _describe() { print -l $verbs }; _arguments() { print -l -- $specs }
        source $1; words=(stackctl re); CURRENT=2; _stackctl
        words=(stackctl report --vi); CURRENT=3; _stackctl' - "$tmp/_stackctl" >"$tmp/out" 2>&1
    shows 'report:show a recording'
    shows '--percent-limit=['
    grep -q -- '^--view=.*:value:(tree .*callers' "$tmp/out" || fail "zsh: $(cat "$tmp/out")"
fi
expect 2 "$stackctl" completion fish
expect 2 "$stackctl" completion

# --- did you mean, and --no-
expect 2 "$stackctl" report --percnt-limit 3 -i "$store"
says "did you mean '--percent-limit'"
expect 2 "$stackctl" report --frobnicate -i "$store"
says "'stackctl report --help' lists them"
expect 2 "$stackctl" report --no-frobnicate -i "$store"
expect 0 "$stackctl" report --json --view flat --no-json --no-view -i "$store"
shows 'call path from the root down'
expect 0 "$stackctl" report --pid 4711 --no-pid --perc 100 -i "$store"
expect 3 "$stackctl" report --no-pid --pid 4711 -i "$store"
expect 3 "$stackctl" report --comm --no-json -i "$store"
finish
