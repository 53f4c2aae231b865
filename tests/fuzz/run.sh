#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes all parsers of untrusted files, those of profiled processes and of recordings.
#
#   tests/fuzz/run.sh SECONDS [TARGET]...   fuzzes each target for SECONDS, one after another
#   tests/fuzz/run.sh replay                runs each target once over its corpus
#
# Inputs are made by corpus.py and make_perfdata.c, and grow in build/fuzz/corpus; what fails is kept in
# build/fuzz/failed. An input may take 10 s and 1 GiB, allocations of sanitizers included.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

clang=${CLANG:-clang}
out=build/fuzz
targets='analysis made cfi eh_frame_hdr elf_file pclntab perfdata import worker'
sanitize='address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer'
modules='base elf cfi analysis go unwind proc stack lbr perf'

if ! echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
    $clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null; then
    echo "$clang has no libFuzzer (Debian package libclang-rt-N-dev)"
    exit 77
fi

mode=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET]... | replay}
shift
[ $# = 0 ] || targets=$*

# To be run once, it is compiled as fast as can be.
made=$out optimised='-O1 -g'
[ "$mode" != replay ] || made=$out/replay optimised='-O0 -g1'

mkdir -p "$out/failed" "$made"
python3 tests/fuzz/corpus.py "$out/corpus"
mkdir -p "$out/corpus/perfdata"
cc -std=gnu17 -O1 -fPIC -shared -o "$out/code.so" tests/fuzz/code.c
cc -std=gnu17 -D_GNU_SOURCE -Ilib -Ibpf -Itests/unit -o "$out/make_perfdata" \
    tests/fuzz/make_perfdata.c lib/base/buf.c lib/elf/*.c -lz -lzstd -llzma -lelf -ldl
"$out/make_perfdata" "$out/corpus/perfdata" "$out/code.so"
mkdir -p "$out/corpus/import"
cp "$out"/corpus/perfdata/* "$out/corpus/import/"

objects="$made/lib/sym/kallsyms.o $made/lib/sym/alias_rank.o $made/lib/sym/unwind_bounds.o $made/daemon/worker/name_wire.o"
for module in $modules; do
    for source in lib/"$module"/*.c; do
        case $source in
        lib/perf/import.c | lib/perf/import_rows.c | lib/perf/import_counters.c | lib/perf/import_passes.c) ;; # they write the store: no target does
        *) objects="$objects $made/${source%.c}.o" ;;
        esac
    done
done
unset MAKEFLAGS MFLAGS MAKELEVEL
# shellcheck disable=SC2086
CFLAGS="-fsanitize=fuzzer-no-link,$sanitize" make -s -j"$(nproc)" CC="$clang" OPT="$optimised" B="$made" $objects

# What a worker sends of a small library.
mkdir -p "$out/corpus/worker"
# shellcheck disable=SC2086
$clang -std=gnu17 -D_GNU_SOURCE $optimised -fsanitize=$sanitize -I. -Ilib -Ibpf -o "$out/make_worker" \
    tests/fuzz/make_worker.c $objects -lelf -ldw -lz -lzstd -llzma -lZydis -liberty -ldl
"$out/make_worker" "$out/code.so" "$out/corpus/worker"

status=0
for target in $targets; do
    # shellcheck disable=SC2086
    $clang -std=gnu17 -D_GNU_SOURCE $optimised -Wall -Wextra ${WERROR:+-Werror} -fsanitize=fuzzer,$sanitize \
        -I. -Ilib -Ibpf -Itests/fuzz -o "$made/fuzz_$target" "tests/fuzz/fuzz_$target.c" $objects \
        -lelf -ldw -lz -lzstd -llzma -lZydis -liberty -ldl
    limits=(-timeout=10 -rss_limit_mb=1024 -max_len=65536 -artifact_prefix="$out/failed/$target-")
    if [ "$mode" = replay ]; then
        "$made/fuzz_$target" "${limits[@]}" -runs=0 "$out/corpus/$target" 2>&1 | tail -n 3 || status=1
    else
        "$made/fuzz_$target" "${limits[@]}" -max_total_time="$mode" -print_final_stats=1 \
            -verbosity=1 "$out/corpus/$target" >"$out/$target.log" 2>&1 || status=1
        tail -n 6 "$out/$target.log"
    fi
done
exit $status
