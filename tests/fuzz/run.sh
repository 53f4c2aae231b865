#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes all parsers of untrusted files, those of profiled processes and of recordings.
#
#   tests/fuzz/run.sh SECONDS [TARGET]...   fuzzes each target for SECONDS, one after another
#   tests/fuzz/run.sh replay                runs each target once over its corpus
#
# To fuzz takes clang, which compiles all that is fuzzed. The replay takes the library that the unit
# tests are linked with (build/san), and replay.c instead of libFuzzer.
#
# Inputs are made by corpus.py and make_perfdata.c, and grow in build/fuzz/corpus; what fails is kept in
# build/fuzz/failed. An input may take 10 s and 1 GiB, allocations of sanitizers included.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

clang=${CLANG:-clang}
out=build/fuzz
targets='analysis made cfi eh_frame_hdr elf_file interpreter pclntab java_depth perfdata import worker'
sanitize='address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer'
modules="base elf cfi analysis runtime $(cd lib/code && echo runtime/*/) callflow unwind proc stack lbr perf"

mode=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET]... | replay}
shift
[ $# = 0 ] || targets=$*

if [ "$mode" != replay ] && ! echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
    $clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null; then
    echo "$clang has no libFuzzer (Debian package libclang-rt-N-dev)"
    exit 77
fi

optimised='-O1 -g'
mkdir -p "$out/failed"
python3 tests/fuzz/corpus.py "$out/corpus"
cc -std=gnu17 -O1 -fPIC -shared -o "$out/code.so" tests/fuzz/code.c
mkdir -p "$out/corpus/perfdata" "$out/corpus/import" "$out/corpus/worker"

unset MAKEFLAGS MFLAGS MAKELEVEL
others='-lelf -ldw -lz -lzstd -llzma -lZydis -liberty -ldl'

# Links a target of clang's, or what makes its inputs, with all that is fuzzed.
make_objects() {
    objects="$out/lib/code/sym/kallsyms.o $out/lib/code/sym/alias_rank.o $out/lib/code/sym/unwind_bounds.o $out/daemon/worker/name_wire.o"
    for module in "arch/$(uname -m)" $modules; do
        for wing in code record show; do
            [ ! -d "lib/$wing/$module" ] || module=lib/$wing/$module
        done
        [ -d "$module" ] || module=lib/$module
        for source in "$module"/*.c; do
            case $source in
            lib/record/perf/import.c | lib/record/perf/import_rows.c | lib/record/perf/import_counters.c | lib/record/perf/import_passes.c) ;; # they write the store: no target does
            *) objects="$objects $out/${source%.c}.o" ;;
            esac
        done
    done
    # shellcheck disable=SC2086
    CFLAGS="-fsanitize=fuzzer-no-link,$sanitize" make -s -j"$(nproc)" CC="$clang" OPT="$optimised" B="$out" $objects
}

link() { # PROGRAM SANITIZERS SOURCE...
    local program=$1 with=$2
    shift 2
    # shellcheck disable=SC2086
    $clang -std=gnu17 -D_GNU_SOURCE $optimised -Wall -Wextra ${WERROR:+-Werror} -fsanitize=$with \
        -I. -Ilib -Ilib/code -Ilib/record -Ilib/show -Ilib/far -Ibpf -Itests/fuzz -o "$program" "$@" $objects $others
}

if [ "$mode" = replay ]; then
    clang=${CC:-gcc} optimised='-O1 -g1'
    objects='build/san/libstackd-daemon.a build/san/libstackd.a'
    others="$others $(pkg-config --libs libbpf sqlite3 libsystemd libprotobuf-c libseccomp) -lpfm -lpthread -lm"
    # shellcheck disable=SC2086
    make -s -j"$(nproc)" CC="$clang" SAN="$(cat build/san/checks 2>/dev/null || echo 1)" B=build/san $objects
else
    make_objects
fi

# Recordings of perf of a small library, and what a worker sends of it.
link "$out/make_perfdata" "$sanitize" -Itests/unit tests/fuzz/make_perfdata.c
"$out/make_perfdata" "$out/corpus/perfdata" "$out/code.so"
cp "$out"/corpus/perfdata/* "$out/corpus/import/"
link "$out/make_worker" "$sanitize" tests/fuzz/make_worker.c
"$out/make_worker" "$out/code.so" "$out/corpus/worker"

# One target once over its corpus.
replay() { # TARGET
    link "$out/replay_$1" "$sanitize" "tests/fuzz/fuzz_$1.c" tests/fuzz/replay.c
    ASAN_OPTIONS=hard_rss_limit_mb=1024 "$out/replay_$1" "$out/corpus/$1"
}

if [ "$mode" = replay ]; then
    status=0
    for target in $targets; do
        replay "$target" || status=1
    done
    exit $status
fi

status=0
for target in $targets; do
    link "$out/fuzz_$target" "fuzzer,$sanitize" "tests/fuzz/fuzz_$target.c"
    limits=(-timeout=10 -rss_limit_mb=1024 -max_len=65536 -artifact_prefix="$out/failed/$target-")
    "$out/fuzz_$target" "${limits[@]}" -max_total_time="$mode" -print_final_stats=1 \
        -verbosity=1 "$out/corpus/$target" >"$out/$target.log" 2>&1 || status=1
    tail -n 6 "$out/$target.log"
done
exit $status
