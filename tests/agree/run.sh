#!/bin/bash
# SPDX-License-Identifier: MIT
# Compares the kernel half's walk with libdw over real files: tests/agree/run.sh [quick|full].
#
# quick compares a few files that every Debian has; full compares all of the list, which are of the
# packages that the project builds, tests and measures with, and the largest others of this machine,
# up to 64 files. Missing files are named. walk_agree.c describes the comparison.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
unset MAKEFLAGS MFLAGS MAKELEVEL

triple=$(gcc -print-multiarch)
lib=/usr/lib/$triple
gcc=$(dirname "$(gcc -print-libgcc-file-name)")
least=50 # files, in full

quick=("$lib/libc.so.6" "$lib/ld-linux-x86-64.so.2" "$lib/libcrypto.so.3" "$lib/libstdc++.so.6"
    "$lib/libm.so.6" "$lib/libgcc_s.so.1")
full=("${quick[@]}" "$lib"/libLLVM-*.so.1 "$lib"/libclang-*.so.* "$lib"/libclang-cpp.so.*
    "$gcc/cc1plus" "$gcc/cc1" "$gcc/lto1" "$gcc/collect2" "$lib"/libpython3.*.so.1.0
    /usr/bin/python3 "$lib"/liblammps.so.* /usr/bin/lmp /usr/bin/clang /usr/bin/gdb
    /usr/bin/perf /usr/bin/sqlite3 "$lib"/libsqlite3.so.0 /usr/bin/openssl "$lib"/libssl.so.3
    /usr/bin/ld.bfd /usr/bin/as /usr/bin/make /usr/bin/bash /usr/bin/shellcheck
    /usr/bin/cppcheck /usr/sbin/bpftool "$lib"/libbpf.so.1 "$lib"/libdw.so.1 "$lib"/libelf.so.1
    "$lib"/libzstd.so.1 "$lib"/libz.so.1 "$lib"/libz3.so.4 "$lib"/libgfortran.so.5
    "$lib"/libmpi.so.* "$lib"/libsystemd.so.0 "$lib"/libpthread.so.0)

files=()
declare -A seen

add() { # FILE: unless it is one already, or not an ELF file
    local id magic=
    id=$(stat -Lc %d:%i "$1")
    IFS= read -r -n 4 magic <"$1" 2>/dev/null || true
    [ "$magic" = $'\x7fELF' ] && [ -z "${seen[$id]:-}" ] || return 0
    seen[$id]=1
    files+=("$1")
}

case ${1:-full} in
quick) names=("${quick[@]}") rows=(--rows) ;;
full) names=("${full[@]}") rows=(--rows) ;;
*)
    echo "usage: tests/agree/run.sh [quick|full]" >&2
    exit 2
    ;;
esac

make -s SAN="$(cat build/san/checks 2>/dev/null || echo 1)" B=build/san build/san/agree/walk_agree
for name in "${names[@]}"; do
    if [ -e "$name" ]; then
        add "$name"
    else
        echo "not here: $name"
    fi
done
if [ "${1:-full}" = full ]; then
    while [ ${#files[@]} -lt 64 ] && read -r name; do
        add "$name"
    done < <(find "$lib" /usr/bin /usr/sbin /usr/libexec -maxdepth 1 -type f -size +100k \
        -printf '%s %p\n' | sort -rn | cut -d' ' -f2-)
    [ ${#files[@]} -ge $least ] || { echo "only ${#files[@]} files, $least are wanted" && exit 1; }
fi
exec build/san/agree/walk_agree "${rows[@]}" "${files[@]}"
