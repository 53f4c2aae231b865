#!/bin/bash
# SPDX-License-Identifier: MIT
# The Debian package: made, looked over by lintian, installed in a root of its own, run there by
# systemd, and removed.
#
#   tests/deb/run.sh root DIR      makes the root (takes a while, may run beside other tests)
#   tests/deb/run.sh test DIR      prints a line a test, as tests/check.sh does; LOGS is for logs
#
# The root's systemd is the first process of namespaces of its own, in a cgroup of its own: nothing
# of it is left when it is killed, and nothing of the machine is changed.
set -u
cd "$(dirname "$0")/../.." || exit 1
logs=${LOGS:-/tmp}
build=${STACKD_BUILD:-build}
root=$2
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

make_root() {
    local release
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    debootstrap --variant=minbase --include=systemd "$release" "$root" && touch "$root.done"
}

failed=0
judge() { # NAME COMMAND...
    local name=$1 status
    shift
    "$@" >"$logs/deb-$name.log" 2>&1 </dev/null
    status=$?
    case $status in
    0) echo "PASS deb-$name" ;;
    77) echo "SKIP deb-$name: $(tail -n 1 "$logs/deb-$name.log")" ;;
    *) echo "FAIL deb-$name: status $status, see $logs/deb-$name.log" && failed=1 ;;
    esac
    return "$status"
}

package() {
    make -s B="$build" deb && lintian --fail-on error "$build"/stackd_*.deb
}

# Prints each step before it runs, so that the log shows which one failed.
expect() { # WORDS COMMAND...
    local words=$1
    shift
    echo "+ $*"
    "$@" || { echo "wrong: $words" && return 1; }
}

inside() { chroot "$root" "$@"; }

install_it() {
    rm -f "$root"/tmp/stackd_*.deb
    cp "$build"/stackd_*.deb "$root/tmp/" || return 1
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
    inside apt-get update -qq
    # shellcheck disable=SC2016 # expanded inside
    expect 'apt installs it' inside sh -c \
        'apt-get install -y -qq --no-install-recommends /tmp/stackd_*.deb' || return 1
    expect 'stackctl runs' inside stackctl version || return 1
    expect 'stackd runs' inside stackd --version || return 1
    expect 'dpkg knows every file as it is' inside dpkg --verify stackd || return 1
    expect 'the library is found' inside sh -c 'ldconfig -p | grep -q libstacktag.so.1' || return 1
    # shellcheck disable=SC2016 # expanded inside
    expect 'the library to preload loads' inside sh -c \
        'test "$(LD_PRELOAD=/usr/lib/stackd/libstackalloc.so /bin/echo ok 2>&1)" = ok' || return 1
    expect 'the group is there' inside getent group stackd || return 1
    inside systemd-analyze verify --man=no stackd.service stackd-push.service stackd-metrics.service \
        stackd-metrics.timer >"$logs/deb-verify" 2>&1
    [ ! -s "$logs/deb-verify" ] || { cat "$logs/deb-verify" && echo 'wrong: the units' && return 1; }
}

# --- the service, under a systemd of its own

systemd_in_root() { # the first process of its namespaces
    mount --make-rprivate / && mount --bind "$root" "$root" || exit 1
    mount -t proc proc "$root/proc" && mount -t sysfs sysfs "$root/sys" &&
        mount -t cgroup2 none "$root/sys/fs/cgroup" && mount -t tmpfs none "$root/run" &&
        mount --rbind /dev "$root/dev" || exit 1
    mount -t bpf none "$root/sys/fs/bpf"
    mount -t tracefs none "$root/sys/kernel/tracing"
    exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" \
        /lib/systemd/systemd --system --unit=basic.target --log-level=warning
}

begin_systemd() { # sets $first and $group
    local groups outer
    groups=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
    group=$groups/stackd-deb-$$
    if [ -z "$groups" ] || ! mkdir "$group"; then
        echo 'no cgroup can be made for a systemd'
        return 77
    fi
    bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "$group" \
        unshare --mount --pid --cgroup --uts --ipc --fork "$0" systemd "$root" &
    outer=$!
    for _ in $(seq 6000); do
        first=$(pgrep -P "$outer" | head -n 1)
        [ -z "$first" ] || ! in_service systemctl list-units >/dev/null 2>&1 || return 0
        kill -0 "$outer" 2>/dev/null || break
        sleep 0.1
    done
    end_systemd
    echo 'systemd cannot run in namespaces of its own here'
    return 77
}

in_service() { # COMMAND...: beside that systemd; without it, just in the root
    if [ -n "$first" ]; then
        nsenter -t "$first" -m -p -C -u -i -r -w -- "$@"
    else
        inside "$@"
    fi
}

end_systemd() {
    [ -z "$first" ] || kill -9 "$first" 2>/dev/null
    first=''
    wait
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
}

samples_of_service() {
    in_service stackctl list --json -i /var/lib/stackd/0/store.db | grep -Eq '"samples":[1-9]'
}

# The processes that read files: another user, no capability, and a filter of system calls.
workers() {
    # shellcheck disable=SC2016 # expanded inside
    in_service sh -c 'for p in /proc/[0-9]*; do
        status=$(cat "$p/status" 2>/dev/null) # in one piece, for a worker may end
        has() { printf "%s\n" "$status" | grep -q "$1"; }
        has "^Name:.stackd-worker" || continue
        printf "%s\n" "$status" | grep -E "^(Uid|CapEff|CapPrm|Seccomp|NoNewPrivs):"
        has "^Uid:.6[0-9]*.6" && has "^CapPrm:.0000000000000000$" && has "^Seccomp:.2" || exit 1
        found=yes
    done
    test "$found" = yes'
}

metrics() {
    local file=/var/lib/prometheus/node-exporter/stackd.prom
    inside mkdir -p "${file%/*}"
    expect 'the metrics are written' in_service systemctl start stackd-metrics.service || return 1
    expect 'anybody reads them' in_service setpriv --reuid 65534 --clear-groups \
        grep -m 1 '^stackd_samples_total' "$file" || return 1
    expect 'the timer starts' in_service systemctl enable --now stackd-metrics.timer
}

service() {
    in_service systemctl is-enabled stackd && echo 'wrong: enabled by itself' && return 1
    expect 'it starts, and says that it is ready' in_service systemctl start stackd ||
        { in_service journalctl -u stackd --no-pager; return 1; }
    in_service systemctl status stackd --no-pager
    for _ in $(seq 6000); do
        ! samples_of_service || break
        sleep 0.1
    done
    expect 'it records' samples_of_service || return 1
    [ "$(in_service systemctl show -P WatchdogUSec stackd)" = 1min ] || { echo 'wrong: no watchdog' && return 1; }
    expect 'it has a budget' in_service grep -azq -e '^--max-cpu$' \
        "/proc/$(in_service systemctl show -P MainPID stackd)/cmdline" || return 1
    expect 'its workers have no rights' workers || return 1
    expect 'its exposure is small' in_service systemd-analyze security --no-pager --threshold=30 stackd ||
        return 1
    metrics || return 1
    expect 'it can read the names of the kernel' in_service grep -q -m 1 ' T ' \
        "/proc/$(in_service systemctl show -P MainPID stackd)/root/proc/kallsyms" || return 1
    expect 'it stops' in_service systemctl stop stackd || return 1
    [ "$(in_service systemctl show -P Result stackd)" = success ] ||
        { in_service systemctl show stackd | grep -i result; return 1; }
    expect 'a member of the group reads the recording' in_service setpriv --reuid 64992 --regid 64992 \
        --groups "$(inside getent group stackd | cut -d: -f3)" \
        stackctl report --stdio --view flat --percent-limit 5 || return 1
    ! in_service setpriv --reuid 64992 --regid 64992 --clear-groups stackctl report --stdio ||
        { echo 'wrong: anybody reads it' && return 1; }
    expect 'it can be enabled' in_service systemctl enable --now stackd
}

removal() {
    expect 'apt removes it, running' in_service apt-get remove -y -qq stackd || return 1
    if [ -n "$first" ]; then
        ! grep -q . "$group/system.slice/stackd.service/cgroup.procs" 2>/dev/null ||
            { echo 'wrong: it still runs' && return 1; }
        expect 'a removed package keeps recordings' \
            test -e "$root/var/lib/stackd/0/store.db" || return 1
    fi
    expect 'apt purges it' in_service apt-get purge -y -qq stackd || return 1
    find "$root/etc" "$root/lib/" "$root/usr/" "$root/var" -name '*stackd*' -o -name '*stackctl*' \
        -o -name '*stacktag*' | grep -v "^$root/var/\(log\|cache\)" >"$logs/deb-left"
    [ ! -s "$logs/deb-left" ] || { echo "wrong: left behind:" && cat "$logs/deb-left" && return 1; }
}

run_service() {
    begin_systemd || return $?
    service
}

case $1 in
root) make_root ;;
systemd) systemd_in_root ;;
test)
    judge package package || exit 1
    if [ "$(id -u)" != 0 ] || [ ! -e "$root.done" ]; then
        echo "SKIP deb-install: no root could be made by debootstrap (${logs##*/}/deb-root.log)"
        exit 0
    fi
    if judge install install_it; then
        first='' group=/nonexistent
        trap end_systemd EXIT
        judge service run_service
        judge removal removal
    fi
    exit "$failed"
    ;;
*)
    echo 'usage: tests/deb/run.sh root|test DIR' >&2
    exit 2
    ;;
esac
