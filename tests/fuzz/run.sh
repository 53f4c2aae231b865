#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes everything that parses files which others control: a profiled process, or who recorded.
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
targets='cfi elf_file perfdata'
flags='-std=gnu17 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror
       -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
       -Ilib -Ibpf -Itests/fuzz'

if ! echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
    $clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null; then
    echo "$clang has no libFuzzer (Debian package libclang-rt-14-dev)"
    exit 77
fi

mode=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET]... | replay}
shift
[ $# = 0 ] || targets=$*

mkdir -p "$out/failed"
python3 tests/fuzz/corpus.py "$out/corpus"
mkdir -p "$out/corpus/perfdata"
cc -std=gnu17 -D_GNU_SOURCE -Ilib -Ibpf -Itests/unit -o "$out/make_perfdata" \
    tests/fuzz/make_perfdata.c lib/base/buf.c -lzstd
"$out/make_perfdata" "$out/corpus/perfdata"
status=0
for target in $targets; do
    # shellcheck disable=SC2086
    $clang $flags -o "$out/fuzz_$target" "tests/fuzz/fuzz_$target.c" \
        lib/base/*.c lib/elf/*.c lib/recipe/*.c lib/perfdata/*.c -lelf -lz -lzstd
    limits=(-timeout=10 -rss_limit_mb=1024 -max_len=65536 -artifact_prefix="$out/failed/$target-")
    if [ "$mode" = replay ]; then
        "$out/fuzz_$target" "${limits[@]}" -runs=0 "$out/corpus/$target" 2>&1 | tail -n 3 || status=1
    else
        "$out/fuzz_$target" "${limits[@]}" -max_total_time="$mode" -print_final_stats=1 \
            -verbosity=1 "$out/corpus/$target" >"$out/$target.log" 2>&1 || status=1
        tail -n 6 "$out/$target.log"
    fi
done
exit $status
