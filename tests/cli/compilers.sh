#!/bin/bash
# SPDX-License-Identifier: MIT
# Warnings of untested compilers do not fail a build: only the tests set WERROR. Every clang here
# finds the headers of the BPF program, whichever compiler builds the remainder; what they make of it
# is tried on kernels (tests/kernels).
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

commands() { # VARIABLE=VALUE...: the commands that make would run for all targets
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
    make -s B="$tmp/$clang" CC=clang CLANG="$clang -fsyntax-only" WERROR=1 "$object" >"$tmp/log" 2>&1 ||
        fail "the program by $clang: $(tail -n 3 "$tmp/log")"
done
finish
