#!/bin/bash
# SPDX-License-Identifier: MIT
# A warning of a compiler that we have not tried ends nobody's build: only the tests ask for that.
# And any clang here finds the headers of the program, whichever compiler the rest is built by.
# shellcheck disable=SC1091,SC2154 # what common gives
. "$(dirname "$0")/common"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

commands() { # VARIABLE=VALUE...: what make would run for all that it can build
    make -n B="$tmp/none" "$@" all unit-tests workloads walk-bench 2>"$tmp/errors" ||
        fail "make -n $*: $(tail -n 3 "$tmp/errors")"
}

commands WERROR= >"$tmp/plain"
grep -q -- -Wextra "$tmp/plain" || fail "no warnings are asked for"
! grep -m 1 -- -Werror "$tmp/plain" >&2 || fail "a user's build ends at a warning"
commands WERROR=1 >"$tmp/strict"
[ "$(grep -c -- -Wextra "$tmp/strict")" = "$(grep -c -- -Werror "$tmp/strict")" ] ||
    fail "in the tests' build there are commands whose warnings are no errors"

for clang in clang $(compgen -c clang- | grep -x 'clang-[0-9]*' | sort -u); do
    object=$tmp/$clang/gen/stackd.bpf.o
    make -s B="$tmp/$clang" CC=clang CLANG="$clang" WERROR=1 "$object" >"$tmp/log" 2>&1 ||
        fail "the program by $clang: $(tail -n 3 "$tmp/log")"
done
finish
