#!/bin/bash
# SPDX-License-Identifier: MIT
# The Dockerfile: built with podman from a base image that debootstrap makes (no registry is asked),
# and run as docs/INSTALL.md describes, with all rights and with the fewest that suffice.
#
#   tests/container/run.sh      prints a line a test, as tests/check.sh does; LOGS is for logs
#
# It is built from what `make dist` packs, so without clang. Images and containers are kept below
# build/container/, and all mounts are made in a mount namespace of its own.
# shellcheck disable=SC2317 # called through judge
set -u
cd "$(dirname "$0")/../.." || exit 1
logs=${LOGS:-/tmp}
folder=$PWD/build/container
base=docker.io/library/debian:trixie-slim
export LC_ALL=C.UTF-8

# In a chroot the kernel names the files of other mount namespaces from outside of its root.
is_chroot() {
    local sleeper path
    path=$(readlink -f "$(command -v sleep)")
    unshare --mount sleep 10 &
    sleeper=$!
    sleep 0.5
    ! grep -q " $path\$" "/proc/$sleeper/maps"
    set -- $?
    kill "$sleeper"
    return "$1"
}

if [ "${1:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || { echo 'SKIP container-build: needs root' && exit 0; }
    command -v podman >/dev/null || { echo 'SKIP container-build: podman is not to be had here' && exit 0; }
    is_chroot && echo 'SKIP container-build: in a chroot, files of containers have other paths' && exit 0
    mkdir -p "$folder"
    exec unshare --mount --propagation private "$0" inside
fi

# podman's runtime knows cgroups of version 1 or 2, and not a hierarchy of both.
umount /sys/fs/cgroup/unified 2>/dev/null
trap end_targets EXIT
targets=()
end_targets() {
    [ ${#targets[@]} = 0 ] || kill "${targets[@]}" 2>/dev/null
    targets=()
}

pod() { podman --root "$folder/storage" --runroot "$folder/run" --cgroup-manager cgroupfs "$@"; }

# Without the right to raise limits (CAP_SYS_RESOURCE), podman cannot set its own.
files=$(ulimit -H -n) processes=$(ulimit -H -u)
[ "$processes" != unlimited ] && [ "$processes" -lt 32768 ] || processes=32768
limits=(--pids-limit 0 --ulimit "nofile=$files:$files" --ulimit "nproc=$processes:$processes")

failed=0
judge() { # NAME COMMAND...
    local name=container-$1 status
    shift
    "$@" >"$logs/$name.log" 2>&1 </dev/null
    status=$?
    case $status in
    0) echo "PASS $name" ;;
    77) echo "SKIP $name: $(tail -n 1 "$logs/$name.log")" ;;
    *) echo "FAIL $name: status $status, see $logs/$name.log" && failed=1 ;;
    esac
    return "$status"
}

base_image() {
    pod image exists "$base" && return
    tests/distros/run.sh base trixie && pod import build/roots/trixie.tar "$base" >/dev/null &&
        pod run --rm --pull=never "${limits[@]}" --privileged --pid=host --network=host "$base" true
}

build() {
    local tarball
    make -s all && tarball=$(make -s dist) || return 1
    rm -rf "$folder/context" && mkdir "$folder/context" &&
        tar -xz --strip-components=1 -C "$folder/context" -f "$tarball" || return 1
    # The lists of packages are checked against the clock as this machine checks them.
    apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-)' >"$folder/90host"
    # Without optimisation, which takes a third of the time here and changes nothing that is tested.
    pod build --isolation=chroot --pull=never --network=host "${limits[@]:2}" --build-arg MAKEFLAGS=OPT=-O0 \
        -v "$folder/90host:/etc/apt/apt.conf.d/90host:ro" -t stackd "$folder/context"
}

run() { # OPTIONS... -- ARGUMENTS...: stackd in a container that is removed
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    pod run --rm --pull=never "${limits[@]}" --network=host --pid=host -v "$folder/data:/var/lib/stackd" \
        "${options[@]}" stackd "$@"
}

# A process of the host, one of another user, everything, and a command: all recorded, with names of
# functions that only the host's files have.
records() { # OPTIONS...
    rm -rf "$folder/data" && mkdir -p "$folder/data" || return 1
    build/workloads/chain 120 >/dev/null &
    targets+=($!)
    local own=$!
    setpriv --reuid=65534 --regid=65534 --clear-groups build/workloads/recursion 120 >/dev/null &
    targets+=($!)
    local other=$!
    sleep 0.5
    run "$@" -- --pid "$own,$other" --duration 2 -o /var/lib/stackd/pid.db || return 1
    run "$@" -- --all --duration 2 -o /var/lib/stackd/all.db || return 1
    # shellcheck disable=SC2016 # expanded within
    run "$@" -- -o /var/lib/stackd/command.db -- sh -c 'i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done' ||
        return 1
    end_targets
    shows pid '/chain\]' --pid "$own" && shows pid '/recursion\]' --pid "$other" &&
        shows all ' leaf  \[' --pid "$own" && shows all ' ping  \[' --pid "$other" &&
        shows command '/dash\]'
}

# Of the whole machine, by the functions: another test may run a copy of the program, whose file has the
# same build-id, and then the path of either is shown.
shows() { # STORE PATTERN OPTIONS...: complete paths, with such a row
    build/stackctl report -i "$folder/data/$1.db" --view flat "${@:3}" >"$folder/report" || return 1
    head -n 20 "$folder/report"
    if ! grep -Eq 'samples: [1-9][0-9]+' "$folder/report" || ! grep -q "$2" "$folder/report" ||
        ! grep -Eq 'quality: (9[5-9]|100)\.[0-9]% complete' "$folder/report"; then
        echo "wrong: $1: few samples, no complete paths, or nothing of $2"
        return 1
    fi
}

# The options of its line, so that it is the line that is tried.
fewest() {
    sed -n 's/^ *\(--security-opt .*--cap-drop [^\]*\)\\$/\1/p' docs/INSTALL.md | grep .
}

# Each of these capabilities is needed: without any of them stackd fails, or has no complete paths.
needs_each() {
    local options name
    options=$(fewest) || { echo 'wrong: docs/INSTALL.md has no line of capabilities' && return 1; }
    build/workloads/chain 60 >/dev/null &
    targets+=($!)
    rm -rf "$folder/data" && mkdir -p "$folder/data"
    for name in BPF PERFMON SYS_PTRACE; do
        # shellcheck disable=SC2086 # a list of options
        if run ${options/--cap-add $name/} -- --pid $! --duration 1 -o /var/lib/stackd/without.db &&
            shows without /chain; then
            echo "wrong: nothing fails without CAP_$name"
            return 1
        fi
    done
    end_targets
}

judge base base_image || exit "$failed"
judge build build || exit 1
judge privileged records --privileged
# shellcheck disable=SC2046 # a list of options
judge capabilities records $(fewest)
judge fewest needs_each
exit "$failed"
