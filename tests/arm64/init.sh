#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# The first process of the emulated arm64 machine (see run.py): records the workloads, and sends the
# folder of stores, logs and statuses down the second serial line.
export PATH=/bin LC_ALL=C STACKD_DEBUG=1
# The CPU time that is measured here contains what the emulator waits for a processor.
export STACKD_SLOWNESS=100

/bin/busybox mkdir -p /proc /sys /dev /tmp /out
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp

note() { # to the console, with the time since the start
    echo "$(cut -d ' ' -f 1 /proc/uptime) $*"
}

record() { # NAME ARGUMENTS...: one recording
    name=$1
    shift
    note "$name"
    timeout 900 stackd -o "/out/$name.db" "$@" >"/out/$name.log" 2>&1 </dev/null
    echo $? >"/out/$name.status"
}

# Every workload, two at a time: one processor each. Each runs twice: a first time before there are tables.
cat >/tmp/each.sh <<'EOS'
export PATH=/bin
for turn in 1 2; do
    while read -r one two; do
        echo "  $turn $one $two" >/dev/console
        /workloads/$one 1 &
        [ -z "$two" ] || /workloads/$two 1 &
        wait
    done </workloads/pairs
done
EOS

note "$(uname -r)"
record started --judge --no-managed -F 997 --ring-bytes 64M -- /bin/dash /tmp/each.sh

note "the kernel's own words:"
dmesg | grep -iE 'bug|warn|oops|rcu|bpf|perf' | tail -n 40
stty -F /dev/ttyS0 raw -echo
tar -c -z -C /out . >/dev/ttyS0
sleep 1
note "done"
poweroff -f
