#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl doctor: its form, and machines that lack something.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

export STACKD_STORE=$tmp/none.db

status_of() { # CHECK: its status in the JSON of the last command
    python3 -c '
import json, sys
print(next(c["status"] for c in json.load(open(sys.argv[1]))["checks"] if c["id"] == sys.argv[2]))
' "$tmp/out" "$1"
}

is() { # CHECK STATUS
    [ "$(status_of "$1")" = "$2" ] || fail "$1 is not $2: $(grep -F "\"$1\"" "$tmp/out")"
}

# --- this machine, with unknown results
"$stackctl" doctor --json >"$tmp/out" 2>"$tmp/err"
status=$?
python3 - "$tmp/out" "$status" <<'END' || fail 'form of --json'
import json, sys
d = json.load(open(sys.argv[1]))
ids = [c["id"] for c in d["checks"]]
# Scripts identify checks by these names: they may be added to, but not renamed.
known = """kernel.version kernel.btf kernel.bpf rights perf.paranoid perf.event perf.rate perf.cpu-limit
    pmu.cycles pmu.branch-records kallsyms memlock debuginfo store""".split()
assert d["schema"] == 1 and len(ids) == len(set(ids)) and set(known) <= set(ids), ids
for c in d["checks"]:
    assert c["status"] in ("ok", "warn", "fail") and c["finding"], c
    assert c["status"] != "fail" or c["remedy"], c
    assert "\n" not in c["finding"] + c["remedy"], c
can = all(c["status"] != "fail" for c in d["checks"])
assert d["can_record"] == can and int(sys.argv[2]) == (0 if can else 4)
END
"$stackctl" doctor >/dev/full 2>"$tmp/err"
[ $? = 1 ] || fail 'doctor > /dev/full: not 1'

# --- a simulated machine
proc=$tmp/proc sys=$tmp/sys
mkdir -p "$proc/sys/kernel" "$proc/self" "$sys/kernel/btf"
: >"$sys/kernel/btf/vmlinux"
set_kernel() { # NAME VALUE
    echo "$2" >"$proc/sys/kernel/$1"
}
set_kernel osrelease 6.1.0-28-amd64
set_kernel perf_event_paranoid 3
set_kernel kptr_restrict 1
set_kernel perf_event_max_sample_rate 100000
set_kernel perf_cpu_time_max_percent 25
printf 'CapEff:\t000001ffffffffff\n' >"$proc/self/status"
echo 'ffffffff81000000 T _stext' >"$proc/kallsyms"
echo '1 2 3' >"$proc/self/schedstat"
printf 'vendor_id\t: GenuineIntel\nflags\t\t: fpu\n' >"$proc/cpuinfo"
doctor=(env STACKD_PROC_ROOT="$proc" STACKD_SYS_ROOT="$sys" "$stackctl" doctor --json)

"${doctor[@]}" >"$tmp/out"
for check in kernel.version kernel.btf rights perf.paranoid perf.rate perf.cpu-limit kallsyms waits store pid-namespace; do
    is $check ok
done
is pmu.branch-records warn

mkdir "$proc/self/ns"
: >"$proc/self/ns/pid" # a file with another inode than that of the first namespace
expect 4 "${doctor[@]}"
is pid-namespace fail
shows --pid=host
rm "$proc/self/ns/pid"

rm "$proc/self/schedstat"
"${doctor[@]}" >"$tmp/out"
is waits warn
shows CONFIG_SCHED_INFO

rm "$sys/kernel/btf/vmlinux"
expect 4 "${doctor[@]}"
is kernel.btf fail
shows CONFIG_DEBUG_INFO_BTF
expect 4 env STACKD_PROC_ROOT="$proc" STACKD_SYS_ROOT="$sys" "$stackctl" doctor
shows 'This machine cannot record'
: >"$sys/kernel/btf/vmlinux"

set_kernel osrelease 5.10.0
expect 4 "${doctor[@]}"
is kernel.version fail
set_kernel osrelease 6.0.9
expect 4 "${doctor[@]}"
is kernel.version fail
set_kernel osrelease 6.12.1

rm "$proc/sys/kernel/perf_event_paranoid"
expect 4 "${doctor[@]}"
is perf.paranoid fail
set_kernel perf_event_paranoid 2

set_kernel perf_event_max_sample_rate 500
set_kernel perf_cpu_time_max_percent 1
echo '0000000000000000 T _stext' >"$proc/kallsyms"
set_kernel kptr_restrict 2
"${doctor[@]}" >"$tmp/out"
is perf.rate warn
is perf.cpu-limit warn
is kallsyms warn

printf 'CapEff:\t0000000000000000\n' >"$proc/self/status"
"${doctor[@]}" >"$tmp/out"
if [ "$(id -u)" = 0 ]; then is rights fail; else is rights warn; fi
is kernel.bpf ok # not tried
printf 'CapEff:\t000000c000000000\n' >"$proc/self/status"
"${doctor[@]}" >"$tmp/out"
is rights ok

# --- branch records: Intel's, AMD's, a PMU without any
pmu=$sys/bus/event_source/devices/cpu
mkdir -p "$pmu/caps"
"${doctor[@]}" >"$tmp/out"
is pmu.branch-records warn
shows 'has no branch records (GenuineIntel)'
echo 32 >"$pmu/caps/branches"
"${doctor[@]}" >"$tmp/out"
is pmu.branch-records ok
shows '32 branch records with a call-stack mode'
printf 'vendor_id\t: AuthenticAMD\nflags\t\t: fpu amd_lbr_v2 sse\n' >"$proc/cpuinfo"
"${doctor[@]}" >"$tmp/out"
is pmu.branch-records warn
shows LbrExtV2

# --- the store
make_store "$tmp/s.db" small
STACKD_STORE=$tmp/s.db "${doctor[@]}" >"$tmp/out"
shows '1 recording,'
echo text >"$tmp/text.db"
STACKD_STORE=$tmp/text.db "${doctor[@]}" >"$tmp/out"
is store warn
finish
