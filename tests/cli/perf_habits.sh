#!/bin/bash
# SPDX-License-Identifier: MIT
# What users of perf type: it works, or one line says what to type.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

set -f
stackd=${STACKD:-$PWD/build/stackd}
store=$tmp/s.db
make_store "$store" small small
export STACKD_STORE=$store

# works WORDS: they do the same as `as WORDS`, set before.
works() {
    # shellcheck disable=SC2086
    expect 0 "$stackctl" $1
    # shellcheck disable=SC2086
    "$stackctl" $2 >"$tmp/wanted" || fail "stackctl $2"
    cmp -s "$tmp/out" "$tmp/wanted" || fail "stackctl $1: not as stackctl $2"
}

# told WORDS TEXT: status 2, and one line with the text.
told() {
    # shellcheck disable=SC2086
    expect 2 "$stackctl" $1
    says "$2"
    [ "$(wc -l <"$tmp/err")" = 1 ] || fail "stackctl $1: more than one line: $(cat "$tmp/err")"
}

# Where the recording is.
works "report $store" "report"
works "report -i $store@1" "report --recording 1"
works "report $store@1..2" "report --recording 1..2"
works "report @1" "report --recording 1"
works "stats $store@1 --json" "stats --json --recording 1"
works "flamegraph $store@1" "flamegraph --recording 1"
works "export --folded -i $store@1" "export --folded --recording 1"
told "report -i $store@9" 'no such recording'
told "report $tmp/none.db" 'no such file'
told "$store" "did you mean 'stackctl report $store'"

# Verbs.
works "rep" "report"
works "ann main" "annotate main"
works "script" "export --perf-script"
told "expor_" "did you mean 'export'"
told "reprot" "did you mean 'report'"
works "sta" "stats"
( cd "$tmp" && cp "$store" report && "$stackctl" script report ) >"$tmp/of_name" || fail "a store named report"
"$stackctl" script "$store" | cmp - "$tmp/of_name" || fail "a store named report is read as another"
told "ex-port" "did you mean 'export'"
for verb in stat evlist buildid-list lock sched kmem mem c2c probe trace timechart archive bench; do
    told "$verb" "there is no verb '$verb': "
done
expect 2 "$stackctl" h
says "'h' could be: heap, help"

# Options: the left does what the right does.
pid=$("$stackctl" report | sed -n 's/^# process \([0-9]*\) .*/\1/p' | head -n 1)
comm=$("$stackctl" report --by command | sed -n 's/^# command \([^ :]*\).*/\1/p' | head -n 1)
works "report -p $pid" "report --pid $pid"
works "report -p$pid -n" "report --pid $pid"
works "report --comms=$comm,none" "report --comm $comm --comm none"
works "report -c $comm" "report --comm $comm"
works "report -d lib*" "report --dso lib*"
symbol=$("$stackctl" export --folded | sed 's/.*;//; s/ [0-9]*$//' | head -n 1)
works "report -S ${symbol%%(*},no" "report --symbol ${symbol%%(*} --symbol no"
works "report -S $symbol" "report --symbol $symbol"
for same in -g -G -n -v -gnv -f --stdio --header --show-nr-samples -I --call-graph=caller \
    --call-graph --show-total-period --hierarchy '-w 10' --group; do
    works "report $same" "report"
done
works "report -g caller" "report"
works "report -g callee" "report --view callers"
works "report -g graph,0.5,callee" "report --view callers"
make_store "$tmp/graph.db" fleet
works "report -g $tmp/graph.db" "report $tmp/graph.db"
works "report --no-children" "report --view callers"
works "report --children" "report --view flat"
works "report --call-graph=callee" "report --view callers"
works "report -s comm,dso,sym" "report --by command --view flat"
works "report --sort pid,symbol" "report --view flat"
works "report --sort tid" "report --by thread"
works "report -T" "report --by thread"
works "report --max-stack 2" "report --max-depth 2"
works "annotate -l main" "annotate main"
told "report -C 1" '--by cpu'
told "report --time 1,2" '--from START --to END'
told "report --fields=sym" '--json'
told "report -D" 'export --perf-script'
told "report --tui" 'flamegraph'
told "report -k vmlinux" 'kernel'
told "report --symfs /x" 'build-id'
told "report --sotr time" "did you mean '--sort'"

# What is near.
expect 3 "$stackctl" report --comm "${comm}x"
says "did you mean '$comm'"
works "report --comm ${comm:0:2}*" "report --comm $comm"
expect 2 "$stackctl" report --sort weight
says "perf's keys"

# stackd.
# Without the rights to record, stackd ends after it has read its options.
record() {
    status=$1
    wanted=$2
    shift 2
    "$stackd" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    [ $? = "$status" ] || fail "stackd $*: not $status: $(cat "$tmp/err")"
    grep -qF -- "$wanted" "$tmp/err" || fail "stackd $*: $(cat "$tmp/err")"
}
record 2 '--all' -C 1 -a
record 2 '--pid' -t 1
record 2 "did you mean '--duration'" --durtion 1 -a
record 2 '--ring-bytes' record -m 16 -a
record 2 '--duration' -a --timeout 100
record 2 'expected' record -g --call-graph dwarf -F nothing -- true
record 2 '--cgroup' -u root
record 2 'perf_event_max_sample_rate' -F max -a
record 2 'give what to record' record -g -v -T -d -s -N -z
record 2 'more than one target' -a -- sleep 1 2
record 2 'more than one target' -p 1 -- true
record 2 'leave --all out' -a --cgroup /

# --- a hundred things that users of perf type, as a table: WORDS | what it is the same as, or what is said
# A word of ours that begins with "=" is the verb that does the same; else the text of the one line.
n=0
while IFS='|' read -r words wanted; do
    words=${words//STORE/$store}
    words=${words%"${words##*[! ]}"}
    wanted=${wanted# }
    n=$((n + 1))
    case $words/$wanted in
    stackd*) # ends after it has read its options: there is no such process
        # shellcheck disable=SC2086
        "$stackd" ${words#stackd } >"$tmp/out" 2>"$tmp/err" </dev/null
        grep -qF -- "$wanted" "$tmp/err" || fail "$words: $(cat "$tmp/err")"
        [ "$(grep -c . "$tmp/err")" -le 2 ] || fail "$words: more than two lines: $(cat "$tmp/err")"
        ;;
    */=*) works "$words" "${wanted#=}" ;;
    *) told "$words" "$wanted" ;;
    esac
done <<'END'
report                              | =report
report -i STORE                     | =report
report --input=STORE                | =report
report --stdio                      | =report
report -g                           | =report
report -g caller                    | =report
report --call-graph=graph,0.5       | =report
report --no-children                | =report --view callers
report --children                   | =report --view flat
report -s comm                      | =report --by command
report --sort dso,symbol            | =report --view flat
report -s pid                       | =report --by process
report -n                           | =report
report -T                           | =report --by thread
report -G                           | =report
report --percentage relative        | =report
report --percent-limit 1            | =report --percent-limit 1
report --max-stack 3                | =report --max-depth 3
report --no-inline                  | =report --no-inline
report --header                     | =report
report --show-total-period          | =report
report -F overhead,sym              | --json
report --time 0,1                   | --from START --to END
report -C 0                         | --by cpu
report --header-only                | stackctl stats
report --stats                      | stackctl stats
report --tasks                      | --by thread
report --mmaps                      | export --json
report --dump-raw-trace             | export --perf-script
report --tui                        | flamegraph
report --symfs /x                   | build-id
report -k vmlinux                   | kernel
report --mem-mode                   | use perf
report --ignore-callees=main        | --ignore NAME
annotate main                       | =annotate main
annotate --stdio -l main            | =annotate main
annotate -M intel main              | =annotate --intel main
annotate --asm-raw main             | =annotate main
script                              | =export --perf-script
script --header                     | =export --perf-script
script -F ip,sym                    | --json
stat ls                             | stackd --region FUNC --counter NAME
evlist                              | stackctl stats
buildid-list                        | build-ids
lock report                         | stackd --wait --wakers
sched latency                       | stackd --wait
kmem stat                           | stackd --alloc
c2c report                          | use perf
probe -x prog work                  | --region FUNC
trace -p 1                          | --view waits
timechart                           | stackctl timeline
perf report                         | leave 'perf' out
inject -i x                         | copy it
bench mem                           | perf's alone
stackd -g -p 4194305                | no process 4194305
stackd --call-graph dwarf -p 4194305 | no process 4194305
stackd -F 99 -g -N -z -p 4194305    | no process 4194305
stackd --off-cpu -A -p 4194305      | no process 4194305
stackd --per-cpu --aio -p 4194305   | no process 4194305
stackd -C 0 -a                      | stackctl report --by cpu
stackd -t 1                         | --pid N
stackd -u root                      | --cgroup
stackd -m 128 -a                    | --ring-bytes
stackd -D 1000 -a                   | --from 2s
stackd --switch-output -a           | --window 1h
stackd --overwrite -a               | --keep-age
stackd -W -a                        | use perf
stackd --control fd:1 -a            | --duration
report -h                           | =report --help
report --no-header                  | =report
report --no-show-total-period       | =report
report --no-call-graph              | =report --view flat
report --skip-empty --ns            | =report
report -s overhead,symbol           | =report --view flat
report --sort=dso                   | =report --view flat
report -g graph,0.5,caller,function | =report
report -q                           | =report
report -x ,                         | --json
report -t ,                         | --json
report --field-separator=;          | --json
report -F +comm                     | --json
report -E 20                        | --percent-limit
report --entries 20                 | --percent-limit
report --samples=10                 | export --perf-script
report --switch-on x                | --from START --to END
report -e cycles                    | stackd -e EVENT
report -s srcline                   | one of perf's keys
report --bins 0                     | not a number from 1
report -i -                         | not a stream
report -y                           | stackctl report --help
annotate -s main                    | stackctl annotate FUNCTION
annotate --no-source --objdump=x main | =annotate main
annotate --addr2line=x main         | =annotate main
script --no-demangle                | --full-names
script --script=x.py                | --json
script report flamegraph            | stackctl flamegraph -o
script record sleep                 | stackctl flamegraph -o
diff -h                             | =diff --help
diff --order 1 a b                  | --json
diff                                | give two recordings
top -e cycles                       | stackd -e EVENT
top -K                              | cpu-clock:u
top --freq 99                       | stackd -e EVENT
list hw                             | libpfm4
list tracepoint                     | libpfm4
mem record                          | stackd --alloc
strace ls                           | --view waits
ftrace -h                           | perf's alone
stackd -F max -a                    | such as -F 4999
stackd --no-inherit -p 4194305      | leave it out
stackd -i -a                        | leave it out
stackd -o - -a                      | not a stream
stackd -e cycles -e instructions -a | record once for each
stackd -e cycles,instructions -p 4194305 | record once for each
stackd -e sched:sched_switch -p 4194305 | --wait
stackd -e cycles:pp -p 4194305      | :precise=2
stackd -a -G system.slice           | leave --all out
stackd -p worker                    | expected a whole number
stackd --namespaces --all-cgroups -p 4194305 | no process 4194305
stackd --no-bpf-event --synth=no -p 4194305 | no process 4194305
stackd --no-buildid --no-buildid-cache -p 4194305 | no process 4194305
stackd --proc-map-timeout 5 -p 4194305 | no process 4194305
stackd --vmlinux x -a               | leave it out
stackd --dry-run -a                 | stackctl doctor
stackd -y -a                        | stackd --help
END
[ "$n" -ge 120 ] || fail "only $n"
finish
