#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds and tests: tests/check.sh [GROUP]...
#
#   all        what `make check` runs, before every change: some ten minutes on two processors
#   long       what `make check-long` runs, before a release: everything that takes longer
#   unit, cli, exports, deb, lint, live, kernels, distros, container    one group, whole
#   TEST=NAME  one test (`make check TEST=NAME`)
#
# Prints one line a test: `PASS name`, `FAIL name: reason` or `SKIP name: reason`, then the CPU time of
# each group and the ten tests with most of it, and at the end exactly one line `N passed, N failed,
# N skipped`; the exit status is 1 if anything failed. A test's output is in build/check/NAME.log. A test program passes with status 0,
# is skipped with 77 (its last line of output is the reason), and fails with any other.
#
# A test skips for want of something in the machine, never for a fault of the project. If more than two say that they
# are "not judged", since the kernel has lost events, that is a failure. Nothing is run twice.
set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC B SAN DEBUG
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive WERROR=1

logs=build/check
results=$logs/results
export STACKD_TEST_TIMES=$PWD/$logs/times # a line a test and a group: what it took
jobs=$(nproc)

say() { # LINE: to the terminal and, in one write, to the results
    printf '%s\n' "$1" | tee -a "$results"
}

judge() { # NAME STATUS
    case $2 in
    0) say "PASS $1" ;;
    77) say "SKIP $1: $(tail -n 1 "$logs/$1.log")" ;;
    124) say "FAIL $1: did not end in time, see $logs/$1.log (again: make check TEST=$1)" ;;
    *)
        say "FAIL $1: status $2, see $logs/$1.log (again: make check TEST=$1)"
        tail -n 15 "$logs/$1.log" | sed 's/^/    | /' >&2
        ;;
    esac
}

# Passes the lines of a group's own runner on, and adds to each failure how to repeat it.
again() { sed -u '/ (again: /!s/^FAIL \([^ :]*\).*/& (again: make check TEST=\1)/'; }

# One lane after the other, as a package manager wants it. --close: a service that a package starts
# must not inherit the lock, and keep it.
deps() { # GROUP...
    DEPS_UPDATED=$logs/deps.updated flock --close "$logs/deps.lock" ./deps.sh "$@" >>"$logs/deps.log" 2>&1
}

# How long a build takes is the machine's: it has no limit. A test that hangs is ended.
run() { # NAME COMMAND...: one test, in the foreground
    local name=$1 limit=900 status TIMEFORMAT="%R s, %U + %S s of a CPU: $1"
    [ "${name#build-}" = "$name" ] || limit=0
    shift
    { time timeout "$limit" "$@" >"$logs/$name.log" 2>&1 </dev/null; } 2>>"$STACKD_TEST_TIMES"
    status=$?
    judge "$name" "$status"
    return "$status"
}

spawn() { # the same in the background, at most one per CPU
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    run "$@" &
}

# --- the groups ------------------------------------------------------------------------------

# No test reads the variables and types of debug information, which gcc takes a fifth of the time for.
as_tested=(CC=gcc OPT='-O2 -g1')

do_build() {
    run build-gcc make -j"$jobs" "${as_tested[@]}" all workloads mpi
}

sanitized_libraries() {
    make -k -j"$jobs" CC=gcc SAN=least B=build/san build/san/libstackd.a build/san/libstackd-daemon.a \
        >"$logs/build-first-sanitized.log" 2>&1
}

# Installs what is missing of some groups. A package manager works on one processor, so what needs the packages
# of the first groups alone is compiled while it installs the others: stackd and stackctl, and then, beside
# whatever follows, the libraries with sanitizers. What fails here has its line in build-gcc and build-sanitized.
begin() { # GROUP...: besides those that are needed to compile
    local installer
    deps build bpf || say "FAIL deps: $(tail -n 1 "$logs/deps.log")"
    { deps "$@" || say "FAIL deps: $(tail -n 1 "$logs/deps.log")"; } &
    installer=$!
    make -k -j"$jobs" "${as_tested[@]}" all >"$logs/build-first.log" 2>&1
    choose_checks least
    timed sanitized_libraries </dev/null &
    sanitized_maker=$!
    disown
    wait "$installer"
}

# Starts of stackd find the kernel's types in a small file (daemon/capture/sampler.c), but for those in
# do_kernels(), which find them as everywhere.
small_types() {
    local file=$logs/kernel.btf
    run build-btf make -s "$file" && export STACKD_BTF=$PWD/$file
}

# The warnings of clang are a part of lint-tidy; this shows that its programs link.
do_clang() {
    run build-clang make -j"$jobs" CC=clang DEBUG=1 B=build/clang all
}

sanitizers() {
    export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
}

# What was made with other checks is not used.
choose_checks() { # least|1: which checks of the sanitizers
    [ "$(cat build/san/checks 2>/dev/null)" = "$1" ] || rm -rf build/san
    mkdir -p build/san && echo "$1" >build/san/checks
}

# The Makefile chooses which tests have sanitizers, and which of their checks; with LONG=1 all have all.
do_unit() { # [--long]
    local long='' checks=least kind name
    [ "${1:-}" != --long ] || { long=LONG=1 && checks=1; }
    [ -z "${sanitized_maker:-}" ] || tail --pid="$sanitized_maker" -f /dev/null
    choose_checks "$checks"
    run build-sanitized make -j"$jobs" -k CC=gcc SAN="$checks" B=build/san $long sanitized-tests
    run build-plain-tests make -j"$jobs" -k "${as_tested[@]}" $long plain-tests
    sanitizers
    while read -r kind name; do
        case $kind in
        plain) spawn "$name-plain" "build/tests/$name" ;;
        sanitized) spawn "$name" "build/san/tests/$name" ;;
        esac
    done < <(make -s $long names-of-tests)
    wait
    [ ! -x tests/agree/run.sh ] || run walk-agree tests/agree/run.sh quick
    run walk-cost python3 bench/cost.py check
    run lbr-emulated tests/emulator/run.py
    run lbr-recorded tests/emulator/run.py recorded
    [ ! -x tests/fuzz/run.sh ] || run fuzz-replay tests/fuzz/run.sh replay
}

cli_begin() {
    export STACKD=$PWD/build/stackd STACKCTL=$PWD/build/stackctl
    make -s CC=gcc build/tests/make_store >"$logs/build-make-store.log" 2>&1 && export STORE_MAKER=$PWD/build/tests/make_store
}

cli_long=tests/cli/dist.sh # builds from the tarball

do_cli() { # [--long]
    [ "${1:-}" != --long ] || local -x STACKD_LONG=1 # tests/cli/parts.sh
    cli_begin
    for script in tests/cli/*.sh; do
        [ "$script" != "$cli_long" ] || [ "${1:-}" = --long ] || continue
        spawn "cli-$(basename "$script" .sh)" "$script"
    done
    wait
}

sources() { packaging/sources.sh "$@"; }

lint_format() { sources '*.c' '*.h' '*.cc' | xargs clang-format --dry-run -Werror; }

each_source() { # SCRIPT: run with some of the source files that ship as its arguments
    sources 'arch/*.c' 'lib/*.c' 'daemon/*.c' 'cli/*.c' 'libstackalloc/*.c' 'libstackmpi/*.c' 'libstacktag/*.c' | xargs -P "$jobs" -n 16 sh -c "$1" each
}

# The version may be any string: __FILE__ is one that no shell unquotes.
flags='-std=gnu17 -D_GNU_SOURCE -I. -Ilib -Ilib/code -Ilib/record -Ilib/show -Ilib/far -Ibpf -Ibuild/gen -DSTACKD_VERSION=__FILE__'
warnings='-Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla' # as in the Makefile

# The checks of .clang-tidy, and what clang warns of.
lint_tidy() { each_source "clang-tidy --quiet \"\$@\" -- $flags $warnings 2>&1"; }

lint_dead_stores() {
    local others=core,unix,security,apiModeling,nullability,optin,valist
    each_source "clang --analyze --analyzer-output text -Xanalyzer -analyzer-werror \
        -Xanalyzer -analyzer-disable-checker=$others \
        -Xanalyzer -analyzer-checker=deadcode.DeadStores $flags \"\$@\" 2>&1"
}

lint_shell() { { sources '*.sh'; echo .ci/run; } | xargs shellcheck; }

lint_python() {
    sources '*.py' | xargs -r python3 -c '
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path).read(), path)'
}

# The includes that tests/lint/layers.txt allows, and the lines of what it lists as core and parts.
lint_layers() { tests/lint/layers.py && tests/lint/parts.py; }

# Every function of a header has a comment.
lint_headers() { tests/lint/headers.py; }

# Names of processors outside of arch/.
lint_arch() { tests/lint/arch.py; }

# Names that others choose are opened by lib/base/named_file.c alone.
lint_opens() { tests/lint/opens.py; }

# Turns of phrase that readers of messages and help stumbled over.
lint_texts() { tests/lint/texts.py; }

# What uses registers by role compiles for a processor of two registers that does not exist.
lint_two_registers() {
    sources 'lib/*.c' 'daemon/*.c' 'cli/*.c' |
        xargs grep -lE 'STACKD_REG_|ARCH_|INSN_' | xargs -n 8 sh -c \
        "gcc $flags -fsyntax-only '-DSTACKD_ARCH_HEADER=\"../tests/unit/two_registers.h\"' \"\$@\"" each
}

# All but arch/ and bpf/ compiles for another processor, arm64, with those two registers in place of its
# folder. Headers of libraries are this machine's: they hardly depend on the processor.
lint_arm64() {
    command -v aarch64-linux-gnu-gcc || return 77
    sources 'lib/*.c' 'daemon/*.c' 'cli/*.c' 'libstackalloc/*.c' 'libstackmpi/*.c' 'libstacktag/*.c' |
        xargs -P "$jobs" -n 16 sh -c "aarch64-linux-gnu-gcc $flags $warnings -Werror -fsyntax-only \
            -idirafter /usr/include -idirafter /usr/include/$(gcc -print-multiarch) \
            '-DSTACKD_ARCH_HEADER=\"../tests/unit/two_registers.h\"' \"\$@\"" each
}

# No function over 60 lines; the longest files are named.
lint_sizes() { tests/lint/sizes.py; }

# Every pointer that may be NULL in the program goes through CHECKED (bpf/scratch.bpf.h).
lint_checked() {
    local bad
    bad=$(grep -n 'bpf_map_lookup_elem(' bpf/*.[ch] arch/*/*.bpf.h | grep -v 'CHECKED(bpf_map_lookup_elem('
        grep -nE '^__noinline .*\*' bpf/*.[ch] arch/*/*.bpf.h | grep -v ' \*given\b'
        grep -cE '^__noinline .*\*given\b[^;]*$|= CHECKED\(given\);' bpf/*.[ch] arch/*/*.bpf.h | grep '[13579]$')
    [ -z "$bad" ] || { echo "pointers compared with NULL in a way that moves:" && echo "$bad" && return 1; }
}

# lib/base/json_put.c alone writes JSON: what is printed by hand may lack escapes.
lint_json() {
    local bad
    bad=$(grep -nE '\\":' -- lib/base/*.[ch] lib/*/*/*.[ch] cli/*.[ch] cli/*/*.[ch] daemon/*.[ch] daemon/*/*.[ch] mpi/*.[ch])
    [ -z "$bad" ] || { echo "JSON that base/json_put.h does not write:" && echo "$bad" && return 1; }
}

lint_begin() {
    export -f sources each_source lint_format lint_tidy lint_dead_stores lint_shell lint_python \
        lint_layers lint_headers lint_arch lint_opens lint_texts lint_two_registers lint_arm64 \
        lint_sizes lint_checked lint_json
    export jobs flags warnings
    run lint-bpf make build/gen/stackd.skel.h build/gen/pprof.pb-c.h build/gen/otlp.pb-c.h build/gen/web_files.inc build/gen/one_file.html.inc build/gen/left_out.h
}

do_lint() { # [--long]
    lint_begin
    spawn lint-format bash -o pipefail -c lint_format
    spawn lint-shell bash -o pipefail -c lint_shell
    spawn lint-python bash -o pipefail -c lint_python
    spawn lint-layers bash -o pipefail -c lint_layers
    spawn lint-headers bash -o pipefail -c lint_headers
    spawn lint-arch bash -o pipefail -c lint_arch
    spawn lint-opens bash -o pipefail -c lint_opens
    spawn lint-texts bash -o pipefail -c lint_texts
    spawn lint-two-registers bash -o pipefail -c lint_two_registers
    spawn lint-sizes bash -o pipefail -c lint_sizes
    spawn lint-checked bash -o pipefail -c lint_checked
    spawn lint-json bash -o pipefail -c lint_json
    wait
    [ "${1:-}" = --long ] || return 0
    run lint-arm64 bash -o pipefail -c lint_arm64
    run lint-tidy bash -o pipefail -c lint_tidy
    run lint-dead-stores bash -o pipefail -c lint_dead_stores
}

# The tests in which other programs read the exports; they judge and report for themselves. Each has a time to
# end in; all of them have none, for that would judge how slow the machine is.
do_exports() { # [--long] or names of tests
    [ "${1:-}" != --long ] || local -x STACKD_LONG=1
    local needs=(exports)
    case " $* " in *' --long '* | *firefox*) needs+=(firefox) ;; esac
    deps "${needs[@]}" || say "FAIL deps: $(tail -n 1 "$logs/deps.log")"
    /usr/bin/python3 tests/exports/run.py --logs "$logs" "$@" </dev/null | again | tee -a "$results"
    case ${PIPESTATUS[0]} in
    0) ;;
    1) grep -q '^FAIL export-' "$results" || say "FAIL exports: the tests broke off" ;;
    *) say "FAIL exports: the tests broke off" ;;
    esac
}

# The live tests, which report in the same form. Each has a time to end in, too.
do_live() { # [--long] or names of tests
    [ "${1:-}" != --long ] || local -x STACKD_LONG=1
    /usr/bin/python3 tests/live/run.py --logs "$logs" --jobs "$jobs" "$@" </dev/null |
        again | tee -a "$results"
    case ${PIPESTATUS[0]} in
    0) ;;
    1) grep -q '^FAIL live-' "$results" || say "FAIL live: the tests broke off" ;;
    *) say "FAIL live: the tests broke off" ;;
    esac
}

# The tests of the Debian package, whose root is made while other tests run.
begin_deb() {
    deps package deb || say "FAIL deps: $(tail -n 1 "$logs/deps.log")"
    deb_folder=$(mktemp -d)
    trap 'rm -rf "$deb_folder"' EXIT
    deb_root=$deb_folder/root # for anybody to read, which the folder is not
    nice tests/deb/run.sh root "$deb_root" >"$logs/deb-root.log" 2>&1 </dev/null &
    deb_maker=$!
    disown
}

do_deb() {
    [ -n "${deb_maker:-}" ] || begin_deb
    tail --pid="$deb_maker" -f /dev/null
    LOGS=$logs timeout 600 tests/deb/run.sh test "$deb_root" </dev/null | again | tee -a "$results"
    case ${PIPESTATUS[0]} in
    0) ;;
    1) grep -q '^FAIL deb-' "$results" || say "FAIL deb: the tests broke off" ;;
    *) say "FAIL deb: the tests broke off" ;;
    esac
}

# The tests in roots of other releases of Debian: CI runs one, whose root is made beside other tests.
begin_distro() { # RELEASE
    mkdir -p "$logs/distros"
    deps deb || say "FAIL deps: $(tail -n 1 "$logs/deps.log")"
    nice tests/distros/run.sh root "$1" >"$logs/distros/root-$1.log" 2>&1 </dev/null &
    distro_maker=$!
    disown
}

do_distro() { # test|quick RELEASE
    [ -n "${distro_maker:-}" ] || begin_distro "$2"
    tail --pid="$distro_maker" -f /dev/null
    distro_maker=''
    LOGS=$logs/distros timeout 1800 tests/distros/run.sh "$1" "$2" </dev/null | again | tee -a "$results"
    case ${PIPESTATUS[0]} in
    0) ;;
    1) grep -q "^FAIL distro-$2" "$results" || say "FAIL distro-$2: the tests broke off" ;;
    *) say "FAIL distro-$2: the tests broke off" ;;
    esac
}

# The Dockerfile, and the rights that a container needs.
do_container() {
    deps container || say "FAIL deps: $(tail -n 1 "$logs/deps.log")"
    LOGS=$logs timeout 900 tests/container/run.sh </dev/null | again | tee -a "$results"
    case ${PIPESTATUS[0]} in
    0) ;;
    1) grep -q '^FAIL container-' "$results" || say "FAIL container: the tests broke off" ;;
    *) say "FAIL container: the tests broke off" ;;
    esac
}

# The tests on other kernels, and of the programs of other compilers, as far as they are available.
do_kernels() { # ARGUMENTS...: of tests/kernels/run.py
    deps kernels || say "FAIL deps: $(tail -n 1 "$logs/deps.log")"
    case " $* " in
    *' one '*) deps newest ;;
    *) deps newest compilers ;;
    esac
    timeout 3600 env -u STACKD_BTF python3 tests/kernels/run.py --logs "$logs" "$@" </dev/null | again | tee -a "$results"
    case ${PIPESTATUS[0]} in
    0) ;;
    1) grep -q '^FAIL kernel-' "$results" || say "FAIL kernels: the tests broke off" ;;
    *) say "FAIL kernels: the tests broke off" ;;
    esac
}

# The port to arm64, which is in the making, in an emulated machine.
do_arm64() {
    deps arm64 || say "FAIL deps: $(tail -n 1 "$logs/deps.log")"
    timeout 3600 env -u STACKD_BTF python3 tests/arm64/run.py --logs "$logs" </dev/null | again | tee -a "$results"
    case ${PIPESTATUS[0]} in
    0) ;;
    1) grep -q '^FAIL arm64-' "$results" || say "FAIL arm64: the tests broke off" ;;
    *) say "FAIL arm64: the tests broke off" ;;
    esac
}

timed() { # COMMAND...: a group, whose time gets a line
    local TIMEFORMAT="%R s, %U + %S s of a CPU: group $*"
    { time "$@" 2>&3; } 3>&2 2>>"$STACKD_TEST_TIMES"
}

# The groups of `make check`, in lanes that run at once. Those that wait much of the time, for package
# managers, an emulated machine and servers, begin first; the longest, of live tests, keeps all processors
# busy to the end: it has a test more than there are processors, since some tests wait.
check_live() {
    timed do_live --apart --jobs "$((jobs + 1))"
    timed do_cli
}

check_unit() {
    timed do_unit
    timed do_lint
}

# All groups, whole: one lane tests this build here, one waits for other systems' roots, kernels and
# containers, and one for servers.
long_here() {
    STACKD_LONG=1 timed do_unit --long # tests/unit/length.h
    timed do_cli --long
    timed do_live --long --apart
    run walk-agree-full tests/agree/run.sh full
    run fuzz-short tests/fuzz/run.sh 60
    run soak make -s soak SECONDS=900
}

long_of_servers() {
    timed do_exports --long
    timed do_lint --long
    timed do_clang
}

long_elsewhere() {
    timed do_deb
    timed do_kernels
    timed do_arm64
    timed do_distros
    timed do_container
}

do_distros() {
    for release in bookworm trixie sid; do
        do_distro test "$release"
    done
}

# One test, by its name: the beginning of its name is its group.
do_test() { # NAME
    local name=$1
    case $name in
    build-gcc) do_build ;;
    build-clang) do_clang ;;
    test_*-plain)
        make -j"$jobs" CC=gcc "build/tests/${name%-plain}" >"$logs/build-$name.log" 2>&1
        run "$name" "build/tests/${name%-plain}"
        ;;
    test_*)
        make -j"$jobs" CC=gcc SAN=1 B=build/san "build/san/tests/$name" >"$logs/build-$name.log" 2>&1
        sanitizers
        run "$name" "build/san/tests/$name"
        ;;
    lint-*)
        lint_begin
        run "$name" bash -o pipefail -c "${name//-/_}"
        ;;
    cli-*) do_build && cli_begin && run "$name" "tests/cli/${name#cli-}.sh" ;;
    live-*) do_build && do_live --exact "$name" ;;
    export-*) do_build && do_exports --exact "$name" ;;
    walk-agree) run "$name" tests/agree/run.sh quick ;;
    walk-cost) do_build && run "$name" python3 bench/cost.py check ;;
    lbr-emulated) run "$name" tests/emulator/run.py ;;
    lbr-recorded) run "$name" tests/emulator/run.py recorded ;;
    fuzz-replay) run "$name" tests/fuzz/run.sh replay ;;
    kernel-clang-* | kernel-stacks) do_build && do_kernels own ;;
    kernel-*)
        name=${name#kernel-}
        do_build && do_kernels "${name%%-*}"
        ;;
    arm64-*) do_build && do_arm64 ;;
    deb-*) do_build && do_deb ;;
    distro-*)
        name=${name#distro-}
        do_distro test "${name%%-*}"
        ;;
    container-*) do_container ;;
    *) say "FAIL $name: no test has such a name" ;;
    esac
}

# ---------------------------------------------------------------------------------------------

rm -rf "$logs"
mkdir -p "$logs"
: >"$results"

packages=(build bpf test)
case " ${*:-all} " in *lint* | *' all '* | *' long '*) packages+=(lint) ;; esac
case " $* " in *lint* | *' long '*) packages+=(analysis) ;; esac
case " $* " in *' long '* | *' live '*) packages+=(long) ;; esac
case " ${*:-all} " in
*' all '*) timed begin "${packages[@]}" ;;
*) timed deps "${packages[@]}" || say "FAIL deps: $(tail -n 1 "$logs/deps.log")" ;;
esac

for group in "${@:-all}"; do
    case $group in
    all)
        timed do_build
        small_types
        timed do_kernels --quick --compilers one 6.1 own &
        timed do_exports &
        check_unit &
        check_live &
        wait
        timed do_live --alone
        ;;
    long)
        begin_deb
        timed do_build
        long_here &
        long_elsewhere &
        long_of_servers &
        wait
        timed do_live --long --alone
        ;;
    TEST=*) do_test "${group#TEST=}" ;;
    distros) do_distros ;;
    unit) do_unit --long ;;
    lint) do_lint --long ;;
    cli | exports | live) do_build && "do_$group" --long ;;
    deb | kernels | arm64 | container) do_build && "do_$group" ;;
    *)
        echo "usage: tests/check.sh [all|long|unit|cli|exports|deb|lint|live|kernels|arm64|distros|container|TEST=NAME]..." >&2
        exit 2
        ;;
    esac
done

# Lines of the CPU time, on the clock, and the name, most first: of groups, or of tests.
costs() { # group|test
    sed -n 's/^\([0-9.]*\) s, \([0-9.]*\) + \([0-9.]*\) s of a CPU: \(.*\)/\2 \3 \1 \4/p' "$STACKD_TEST_TIMES" 2>/dev/null |
        awk -v kind="$1" '($4 == "group") == (kind == "group") {
            printf "%8.1f s of CPU time, %7.1f s: %s\n", $1 + $2, $3, kind == "group" ? $5 : $4 }' | sort -rn
}

count() { grep -c "^$1" "$results"; }
unjudged=$(count 'SKIP [^ ]*: not judged') # tests/live/harness.py: UNJUDGED
[ "$unjudged" -le 2 ] || say "FAIL judged: $unjudged tests are not judged, since events were lost: at most 2 may be"
costs group
echo 'The ten tests with most CPU time:'
costs test | head -n 10
failed=$(count 'FAIL ')
echo "$(count 'PASS ') passed, $failed failed, $(count 'SKIP ') skipped"
[ "$failed" = 0 ]
