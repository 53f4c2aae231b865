#!/bin/bash
# SPDX-License-Identifier: MIT
# The runtime for -finstrument-functions: programs in C, C++ and Fortran, by gcc and clang, know the
# tag of their path; the in-process decoder, which reads their code, names it.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/stacktag_common"
compile "$tmp/expect.o" gcc -Ilibstacktag -c "$sources/expect.c"

instrumented() { # COMPILER SOURCE ARGUMENTS...
    local compiler=$1 source=$2
    shift 2
    compile "$tmp/ways" "$compiler" -finstrument-functions -DFUNCTIONS "$@" "$sources/$source" \
        "$tmp/expect.o" "${library[@]}"
    passes "$tmp/ways" "$compiler $source $*"
}
for compiler in gcc clang; do
    for flags in -fPIE '-no-pie -fno-pie' -O0 '-Wl,--build-id=none'; do
        # shellcheck disable=SC2086
        instrumented $compiler ways.c $flags
    done
done
instrumented g++ ways.cc -DDESTRUCTOR='"_ZN5guardD1Ev"'
[ "$failures" = 0 ] && ! command -v gfortran >/dev/null && { echo "no gfortran here"; exit 77; }
compile "$tmp/fortran.o" gfortran -finstrument-functions -J "$tmp" -c "$sources"/ways.f90
compile "$tmp/finish.o" gcc -c "$sources"/finish.c
compile "$tmp/ways" gfortran "$tmp/fortran.o" "$tmp/finish.o" "$tmp/expect.o" "${library[@]}"
passes "$tmp/ways" "Fortran"
finish
