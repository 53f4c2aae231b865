#!/bin/bash
# SPDX-License-Identifier: MIT
# A root in which the project is built for arm64 on another processor: Debian with arm64 as a foreign
# architecture, its cross compilers, and the libraries for arm64. It is kept below build/roots/, and
# needs two gigabytes and a minute.
#
#   tests/arm64/root.sh make              makes it, unless it is there
#   tests/arm64/root.sh within COMMAND... runs a command in it, in this folder, which is mounted there
#   tests/arm64/root.sh build [ARGUMENTS] builds the project: make ARCH=arm64 B=build/arm64 ARGUMENTS
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD/build/roots/arm64
release=bookworm
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

# Of packages.txt: what builds run, of this machine; and libraries, for arm64. Tags and MPI are not
# built.
programs=(make pkg-config gcc g++ clang bpftool protobuf-c-compiler uthash-dev crossbuild-essential-arm64 python3)

libraries() {
    awk '$1 ~ /^(build|test)\??$/ && $2 == "-" { sub(/\|.*/, "", $3); print $3 }' packages.txt |
        grep -E -- '-dev$' | grep -vE '@|mpi|uthash|libzydis' | sort -u | sed 's/$/:arm64/'
}

make_root() {
    [ ! -e "$root/complete" ] || return 0
    command -v debootstrap >/dev/null || { echo 'debootstrap is missing' && return 77; }
    rm -rf "$root" && mkdir -p "$root" && debootstrap --variant=minbase "$release" "$root" || return 1
    # The newer kernel is among the security updates.
    echo "deb http://deb.debian.org/debian-security $release-security main" >>"$root/etc/apt/sources.list"
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
    apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-)' >"$root/etc/apt/apt.conf.d/90host"
    # shellcheck disable=SC2046 # a list of names
    within sh -c 'dpkg --add-architecture arm64 && apt-get update -qq &&
        apt-get install -y -qq --no-install-recommends "$@" && apt-get clean' - \
        "${programs[@]}" $(libraries) && touch "$root/complete"
}

# Mounts are made in a mount namespace that lasts as long as the command.
within() {
    mkdir -p "$root$PWD" || return 1
    # shellcheck disable=SC2016 # expanded within
    unshare --mount --propagation private sh -c 'root=$1 && shift &&
        mount --bind "$PWD" "$root$PWD" && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
        exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive chroot "$root" sh -c "cd \"\$0\" && exec \"\$@\"" "$PWD" "$@"' \
        - "$root" "$@"
}

mode=${1:-}
[ $# = 0 ] || shift
case $mode in
make) make_root ;;
within) within "$@" ;;
build) make_root && within make -s -j"$(nproc)" ARCH=arm64 B=build/arm64 "$@" ;;
*) echo 'usage: tests/arm64/root.sh make|within COMMAND...|build [ARGUMENTS]' >&2 && exit 2 ;;
esac
