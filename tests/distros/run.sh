#!/bin/bash
# SPDX-License-Identifier: MIT
# The project on other releases of Debian, with their compilers, libraries and Python, on this
# machine's kernel.
#
#   tests/distros/run.sh base RELEASE    makes build/roots/RELEASE.tar, an empty root
#   tests/distros/run.sh root RELEASE    makes its root, or brings it up to date (may run beside others)
#   tests/distros/run.sh test RELEASE    in it: make demo, make check-unit, a dozen live tests
#   tests/distros/run.sh quick RELEASE   the same with some unit tests, without sanitizers, for CI
#
# Prints a line a test as tests/check.sh does; LOGS is for logs. Roots are kept below build/roots/.
#
# A root has a copy of the sources, and nothing that was built. Its mounts (the machine's /sys and
# /dev, a /proc) are made in a mount namespace that lasts as long as what runs in it, so none is ever
# seen outside; and what still runs when a step ends is killed, whoever started it in that root.
# shellcheck disable=SC2317 # called through judge and relay
set -u
cd "$(dirname "$0")/../.." || exit 1
mode=${1:-} release=${2:-}
logs=${LOGS:-/tmp}
roots=$PWD/build/roots
root=$roots/$release
outer=''
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

live=(chain threads fork-exec dlopen-dlclose signal-handler vdso exceptions rust-names threads-attached
    uretprobe all status_of_command erlang)
# The tests that depend most on libraries and compilers.
quick_unit='elf|recipe|walk|cfi|symbolizer|recorder|store|proc_real|demangle|code_model|tag_search|export'

# --- roots -----------------------------------------------------------------------------------

make_base() { # the archive of an empty root
    [ ! -e "$root.tar" ] || return 0
    mkdir -p "$roots" && rm -rf "$root.base" || return 1
    debootstrap --variant=minbase "$release" "$root.base" &&
        tar -C "$root.base" -cf "$root.tar.new" . && rm -rf "$root.base" && mv "$root.tar.new" "$root.tar"
}

make_root() {
    if [ ! -d "$root" ]; then
        make_base && rm -rf "$root.new" && mkdir "$root.new" &&
            tar -C "$root.new" -xf "$root.tar" && mv "$root.new" "$root" || return 1
    fi
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
    apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-)' >"$root/etc/apt/apt.conf.d/90host"
    within sh -c 'dpkg --configure -a && apt-get update -qq && apt-get dist-upgrade -y -qq --no-install-recommends &&
        apt-get install -y -qq --no-install-recommends make && apt-get clean' || return 1
    copy_sources && within make -s -C /src deps GROUPS="build bpf test"
}

copy_sources() {
    rm -rf "$root/src" && mkdir "$root/src" || return 1
    packaging/sources.sh | tar -c -T - | tar -x --no-same-owner -C "$root/src"
}

within() { # COMMAND...: in the root, with mounts of its own
    local status
    # shellcheck disable=SC2016 # expanded within
    unshare --mount --propagation private sh -c 'root=$1 && shift &&
        mount --bind "$root" "$root" && mount -t proc proc "$root/proc" &&
        mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
        { [ -d "$root/sys/kernel/tracing/events" ] || mount -t tracefs none "$root/sys/kernel/tracing" || :; } &&
        exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"' - "$root" "$@" &
    outer=$!
    wait "$outer" # which a signal ends
    status=$?
    outer=''
    end_all
    return "$status"
}

end_all() { # what runs in the root
    local process
    [ -z "$outer" ] || kill -9 "$outer" 2>/dev/null
    for process in /proc/[0-9]*; do
        if [ "$process/root" -ef "$root" ]; then
            kill -9 "${process#/proc/}" 2>/dev/null
        fi
    done
}

# --- tests -----------------------------------------------------------------------------------

failed=0
judge() { # NAME COMMAND...
    local name=distro-$release-$1 status
    shift
    "$@" >"$logs/$name.log" 2>&1 </dev/null
    status=$?
    case $status in
    0) echo "PASS $name" ;;
    *)
        echo "FAIL $name: status $status, see $logs/$name.log"
        tail -n 15 "$logs/$name.log" | sed 's/^/    | /' >&2
        failed=1
        ;;
    esac
    return "$status"
}

relay() { # NAME COMMAND...: a command that prints lines as tests/check.sh does
    local name=distro-$release-$1 status
    shift
    "$@" 2>"$logs/$name.errors" </dev/null | tee "$logs/$name.log" |
        grep --line-buffered -E '^(PASS|FAIL|SKIP) ' | sed -u "s/ / distro-$release-/"
    status=${PIPESTATUS[0]}
    if [ "$status" -gt 1 ] || ! grep -qE '^(PASS|FAIL) ' "$logs/$name.log"; then
        echo "FAIL $name: the tests broke off (status $status), see $logs/$name.errors"
        status=1
    fi
    [ "$status" = 0 ] || failed=1
    rm -rf "${logs:?}/$name" && cp -r "$root/src/build/check" "$logs/$name" 2>/dev/null
}

# The demo builds everything; its output must be complete.
demo() {
    within make -C /src demo || return 1
    grep -Eq 'samples: [1-9][0-9]{2}' "$log_of_demo" || { echo 'wrong: few samples' && return 1; }
    grep -Eq 'quality: (9[5-9]|100)\.[0-9]% complete' "$log_of_demo" || { echo 'wrong: quality' && return 1; }
}

quick_unit() {
    # shellcheck disable=SC2016 # expanded within
    within sh -c 'cd /src && mkdir -p build/check &&
        tests=$(ls tests/unit/test_*.c | sed "s|.*/||; s|\.c$||" | grep -E "^test_($1)") &&
        make -s -j"$(nproc)" -k LDFLAGS=-O0 $(printf "build/tests/%s " $tests) # the tests, not what they test
        printf "%s\n" $tests | xargs -P "$(nproc)" -n 1 sh -c "
            build/tests/\$0 >build/check/\$0.log 2>&1
            case \$? in
            0) echo PASS \$0 ;;
            77) echo SKIP \$0: \$(tail -n 1 build/check/\$0.log) ;;
            *) echo FAIL \$0: see its log ;;
            esac"' - "$quick_unit"
}

live_tests() {
    # shellcheck disable=SC2016 # expanded within
    within sh -c 'cd /src && make -s -j"$(nproc)" all build/workloads/done &&
        exec /usr/bin/python3 -W error tests/live/run.py --logs build/check --exact "$@"' - \
        "${live[@]/#/live-}"
}

# ---------------------------------------------------------------------------------------------

case $mode in base | root | test | quick) ;; *) release='' ;; esac
if [ -z "$release" ]; then
    echo 'usage: tests/distros/run.sh base|root|test|quick RELEASE' >&2
    exit 2
fi
log_of_demo=$logs/distro-$release-demo.log
trap end_all EXIT
trap 'exit 130' INT TERM HUP

case $mode in base | root)
    "make_$mode"
    exit
    ;;
esac
judge demo demo || exit 1
if [ "$mode" = test ]; then
    relay unit within make -C /src check-unit
else
    relay unit quick_unit
fi
relay live live_tests
exit "$failed"
