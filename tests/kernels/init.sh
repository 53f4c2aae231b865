#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# The first process of the machine in which a kernel is tried (see run.py): makes recordings, and
# sends the folder of their stores, logs and statuses down the second serial line. run.py judges
# them outside.
export PATH=/bin LC_ALL=C STACKD_DEBUG=1
# A process of a second can be over before its names are looked for.
export KEEP_PERF_MAP=1
# The CPU time that is measured here contains what the emulator waits for a processor: beside a load, sixty times what
# it is without. A worker may take that much more of it.
export STACKD_SLOWNESS=100

/bin/busybox mkdir -p /proc /sys /dev /tmp /out
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /tmp/cgroup
mount -t cgroup2 cgroup /tmp/cgroup
echo +pids >/tmp/cgroup/cgroup.subtree_control # makes perf's implicit one available, too

note() { # to the console, with the time since the start
    echo "$(cut -d ' ' -f 1 /proc/uptime) $*"
}

daemon=stackd
# A recording lasts as long as its target has not had its CPU time, which an emulator on a busy
# machine may not give it in a minute. run.py ends a machine that hangs; the limit here is for one
# that works on forever.
record() { # NAME ARGUMENTS...: one recording
    name=$1
    shift
    note "$name"
    timeout 600 "$daemon" -o "/out/$name.db" "$@" >"/out/$name.log" 2>&1 </dev/null
    echo $? >"/out/$name.status"
}

# A counter of a recording that is under way.
counter() { # NAME COUNTER
    stackctl stats --json -i "/out/$1.db" 2>/dev/null | tr , "\n" | tr "{" "\n" |
        awk -F : -v "key=\"$2\"" '$1 == key { n += $2 } END { print n + 0 }'
}

# How many of its walks came to their end in the kernel, and how many tags stood for one.
walks() { # NAME
    echo $(($(counter "$1" kernel_walks) - $(counter "$1" kernel_fallbacks)))
}

tags() { # NAME
    counter "$1" kernel_tags
}

# One recording of what runs on, until there are enough of these: in seconds, a slow emulator may
# bring none of a program, nor the daemon to its tables.
record_until() { # walks|tags LEAST NAME ARGUMENTS...
    of=$1 least=$2 name=$3
    shift 3
    note "$name"
    timeout 600 "$daemon" -o "/out/$name.db" "$@" >"/out/$name.log" 2>&1 </dev/null &
    recorder=$!
    while sleep 1 && [ -d "/proc/$recorder" ] && [ "$("$of" "$name")" -lt "$least" ]; do :; done
    kill -TERM "$recorder"
    wait "$recorder"
    echo $? >"/out/$name.status"
}

# Is a program of this name running?
runs() { # COMM
    for comm in /proc/[0-9]*/comm; do
        if read -r it 2>/dev/null <"$comm" && [ "$it" = "$1" ]; then
            return 0
        fi
    done
    return 1
}

# One recording whose daemon stands still for two seconds while the target runs, so that more is sent
# than the ring holds, however slow the machine is.
record_stopped() { # NAME TARGET ARGUMENTS...
    name=$1 target=$2
    shift 2
    note "$name"
    "$daemon" -o "/out/$name.db" "$@" >"/out/$name.log" 2>&1 </dev/null &
    recorder=$!
    while [ -d "/proc/$recorder" ] && ! runs "$target"; do sleep 0.1; done
    sleep 1
    kill -STOP "$recorder"
    sleep 2
    kill -CONT "$recorder"
    wait "$recorder"
    echo $? >"/out/$name.status"
}

start() { # WORKLOAD...: in the background, until the end
    started=""
    for workload in "$@"; do
        "/workloads/$workload" 100 >/dev/null &
        started="$started${started:+ }$!"
    done
    sleep 0.5
}

end() {
    # shellcheck disable=SC2086 # a list of numbers
    kill $started
    wait
}

# Every workload, two at a time: one processor each. The console tells which, as a sign of life. The slower the emulator,
# the fewer samples fit into a second: so all run again, until there are as many as tests/kernels/run.py judges.
seconds=0.6
[ ! -e /workloads/quick ] || seconds=0.4
cat >/tmp/each.sh <<EOF
export PATH=/bin seconds=$seconds
EOF
cat >>/tmp/each.sh <<'EOF'
while :; do
    while read -r one two; do
        echo "  $one $two" >/dev/console
        /workloads/$one $seconds &
        [ -z "$two" ] || /workloads/$two $seconds &
        wait
    done </workloads/pairs
    echo >/tmp/listed
    read -r answer </tmp/answers
    [ "$answer" = again ] || break
done
EOF

record_each() { # NAME ARGUMENTS...: one recording of all of them
    least=$((130 * $(wc -w </workloads/pairs)))
    mkfifo /tmp/answers
    exec 4<>/tmp/answers
    (
        record "$@" -- /bin/dash /tmp/each.sh
        echo >/tmp/ended
    ) &
    while [ ! -e /tmp/ended ]; do
        sleep 0.5
        if [ -e /tmp/listed ]; then
            sleep 1.5 # a commit
            rm /tmp/listed
            if [ "$(counter "$1" samples)" -lt "$least" ]; then echo again; else echo enough; fi >&4
        fi
    done
    wait
    exec 4>&-
}

stackctl doctor --json >/out/doctor.json 2>/out/doctor.log
echo $? >/out/doctor.status

record_each started --managed --judge -F 997 --ring-bytes 64M
if [ ! -e /workloads/quick ]; then
    record stacks --judge -F 997 --ring-bytes 64M -- /bin/dash -c \
        "/workloads/sigaltstack 2 & /workloads/unreadable 2; wait"
    record_stopped lossy deep --judge -F 1997 --ring-bytes 256K -- /workloads/deep 4

    # The daemon needs CPU time as well: a load that two processors can bear.
    start threads
    record_until walks 200 attached --judge -F 997 --ring-bytes 128M --pid "$started"
    end
    start chain plugin
    # At a rate that leaves the processors to the workloads, and to what counts the walks: of the whole
    # machine, stackd is a part, and where the emulator gets a third of a processor a sample takes 6 ms.
    record_until walks 200 all -F 49 --ring-bytes 128M --all
    end
    start chain threads
    mkdir /tmp/cgroup/one
    echo "${started##* }" >/tmp/cgroup/one/cgroup.procs
    record_until walks 200 cgroup -F 997 --cgroup /tmp/cgroup/one
    end
fi

# The recordings above have had the program of samples taken, which an emulated verifier needs half a minute for: a
# quick run leaves it out of what judges no samples. The probes of allocators have six programs that walk, each of which
# the part for Python makes twice as long; in a quick run the others have it.
none='' alloc_parts="--managed -F 49"
[ ! -e /workloads/quick ] || { none="-e none" && alloc_parts="--no-managed -e none"; }

# Regions: the log has what the program measures itself.
regions=$(cat /workloads/regions.options)
# shellcheck disable=SC2086 # lists of options
record regions --managed ${none:--F 997} --ring-bytes 64M $regions -- /workloads/regions 10
moved=$(cat /workloads/moved.options)
# shellcheck disable=SC2086
[ -e /workloads/quick ] || record moved -F 97 $moved -- /workloads/moved 200

# Allocations, by probes on the allocator of a static program.
allocs=$(cat /workloads/allocs.options)
# shellcheck disable=SC2086
record allocs $alloc_parts $allocs -- /workloads/allocs_static 50

# Waits, and who ended them.
waits=$(cat /workloads/waits.options)
# shellcheck disable=SC2086
record waits --managed ${none:--F 49} $waits -- /workloads/waits 40

# Programs that keep a tag: walks beside the tags, then tags instead of walks.
if [ -d /workloads/tagged-plugin ] && [ ! -e /workloads/quick ]; then
    cat >/tmp/tagged.sh <<'EOF'
export PATH=/bin
for name in chain threads plugin tail_calls; do
    /workloads/tagged-plugin/$name 1 &
    wait
done
EOF
    record tags_judged --judge-tags -F 997 --ring-bytes 64M -- /bin/dash /tmp/tagged.sh
    start tagged-plugin/chain
    record_until tags 100 tags -F 997 --pid "$started"
    end
fi

# The programs of other compilers: the most different paths, and options that compile other code in.
for daemon in /bin/stackd-clang-*; do
    [ -x "$daemon" ] || continue
    compiler=${daemon#/bin/stackd-}
    # shellcheck disable=SC2086
    record "$compiler-regions" -F 997 --ring-bytes 64M $regions -- /workloads/regions 10
    [ ! -e /workloads/quick ] || continue
    record "$compiler" --judge -F 997 --ring-bytes 64M -- /bin/dash /workloads/short.sh
    start deep
    record_until walks 100 "$compiler-options" --depth 8 --heights --lbr=anyway -F 997 --pid "$started"
    end
    # shellcheck disable=SC2086
    record "$compiler-allocs" -F 49 $allocs -- /workloads/allocs_static 50
    # shellcheck disable=SC2086
    record "$compiler-waits" -F 49 $waits -- /workloads/waits 40
done

note "the kernel's own words:"
dmesg | grep -iE 'bug|warn|oops|rcu|bpf|perf' | tail -n 40
stty -F /dev/ttyS1 raw -echo
tar -c -z -C /out . >/dev/ttyS1
note "done"
poweroff -f
