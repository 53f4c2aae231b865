#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds without the parts that a packager may leave out (lib/base/parts.h): all of them at once, with
# STACKD_LONG each by itself, too. Only what differs is compiled: the other objects are copies of those
# of the whole build.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

whole=$(dirname "$stackctl")
store=$tmp/s.db
make_store "$store" small folded
expect 0 "$stackctl" --version
# The page's server is left out by itself where its library is missing.
web=web
pkg-config --exists 'libmicrohttpd >= 0.9.71' || web=
shows "parts: fold servers tags mpi${web:+ web}"

build() { # PART...: into $parted, whose programs are $ctl and $daemon
    parted=$tmp/build
    rm -rf "$parted"
    mkdir "$parted"
    cp -a "$whole"/{arch,cli,daemon,gen,lib} "$parted"
    ctl=$parted/stackctl daemon=$parted/stackd
    make -s B="$parted" WITHOUT="$*" "$ctl" "$daemon" >"$tmp/log" 2>&1 || fail "without $*: $(tail "$tmp/log")"
}

has_code() { # PROGRAM FUNCTION...: which of these functions it has
    local program=$1 name
    shift
    nm "$program" | awk '{print $3}' >"$tmp/names"
    for name; do
        grep -qx "$name" "$tmp/names" && echo "$name"
    done
}

declare -A verb=([fold]=fold [servers]=push [tags]=decode [web]=web)
declare -A what=([fold]='folding' [servers]='servers and their databases' [tags]='the tags that programs keep'
    [web]='the page in the browser, since libmicrohttpd was missing or by choice')
# A function of each folder of a part that has code in stackctl.
declare -A code=([fold]='fold_curve_fit folding_new' [servers]='http_new clickhouse_new server_new sent_open'
    [tags]='callgraph_new tag_batch_run' [web]='page_server_new held_store_new')

judge() { # PART...: what the programs without these say and have
    local part left
    [ -n "$web" ] || set -- "${@/#web/}" web
    # shellcheck disable=SC2086,SC2048 # without what is empty
    set -- $*
    left=" $* "
    expect 0 "$ctl" report -i "$store" --recording 1
    shows '# samples: 100'
    for part in fold servers tags web; do
        # shellcheck disable=SC2086 # a list of names
        case $left in
        *" $part "*)
            for args in '' --help '-i nothing'; do
                expect 2 "$ctl" "${verb[$part]}" $args
                says "stackctl ${verb[$part]}: built without ${what[$part]} (make WITHOUT=$part)"
            done
            "$ctl" help | grep -q "^  ${verb[$part]} " && fail "help lists ${verb[$part]} without $part"
            found=$(has_code "$ctl" ${code[$part]})
            [ -z "$found" ] || fail "without $part: stackctl has $found"
            ;;
        *)
            expect 0 "$ctl" "${verb[$part]}" --help
            "$ctl" help | grep -q "^  ${verb[$part]} " || fail "help lacks ${verb[$part]} without $*"
            found=$(has_code "$ctl" ${code[$part]} | wc -l)
            [ "$found" = "$(wc -w <<<"${code[$part]}")" ] || fail "without $*: $found of ${code[$part]}"
            ;;
        esac
    done
    for program in "$ctl" "$daemon"; do
        expect 0 "$program" --version
        [ "$(sed -n 's/^left out: //p' "$tmp/out")" = "$*" ] || fail "left out, not $*: $(cat "$tmp/out")"
    done
}

build fold servers tags mpi web
judge fold servers tags mpi web
expect 2 "$ctl" report -i clickhouse://host/database
says 'clickhouse://host/database: built without servers and their databases (make WITHOUT=servers)'
expect 2 "$ctl" diff -i clickhouse://host/database web1 web2
says 'clickhouse://host/database: built without servers'
for option in --tags=only --tags=auto --judge-tags; do
    expect 2 "$daemon" "$option" --pid $$
    says "${option%%=*}: built without the tags that programs keep (make WITHOUT=tags)"
done
found=$(has_code "$daemon" known_tags_new tagged_functions_new)
[ -z "$found" ] || fail "stackd has $found"
expect 2 make -s B="$parted" WITHOUT=mpi mpi
says 'stackctl-mpi: left out'
expect 2 make -s B="$parted" WITHOUT='fold everything'
says 'the parts are fold servers tags mpi web'

# The same folder, whole again: what was left out is linked again.
make -s B="$parted" "$ctl" "$daemon" >"$tmp/log" 2>&1 || fail "whole again: $(tail "$tmp/log")"
judge
expect 0 "$ctl" fold -i "$store" --region pass

if [ -n "${STACKD_LONG:-}" ]; then
    for parts in fold servers tags mpi web 'fold tags' 'servers mpi'; do
        # shellcheck disable=SC2086 # a list of names
        build $parts
        # shellcheck disable=SC2086
        judge $parts
    done
fi
finish
