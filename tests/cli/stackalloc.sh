#!/bin/bash
# SPDX-License-Identifier: MIT
# libstackalloc: what a listener hears of each way to allocate; programs of others, with and without
# one; where it cannot work.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"
build=$(dirname "$(realpath "$stackctl")")
sources=tests/cli/stackalloc
library=$build/libstackalloc.so

compile() { # OUTPUT COMMAND...
    local output=$1
    shift
    "$@" -O1 -Wall -D_GNU_SOURCE -o "$tmp/$output" >"$tmp/out" 2>&1 || fail "does not compile: $*: $(head "$tmp/out")"
}

compile listener.so gcc -shared -fPIC "$sources/listener.c"
compile ways g++ -std=c++17 -Wno-alloc-size-larger-than -fno-builtin "$sources/ways.cc" -pthread
compile late.so g++ -std=c++17 -shared -fPIC "$sources/late.cc"
compile early gcc -fno-builtin "$sources/early.c"

with() { # LIBRARIES COMMAND...: preloaded
    local libraries=$1
    shift
    env LD_PRELOAD="$libraries" LISTENER_OUT="$tmp/heard" "$@"
}

heard() { awk -v what="$1" '{for (i = 1; i < NF; i += 2) if ($i == what) n += $(i + 1)} END {print n + 0}' "$tmp/heard"; }

# --- every way, every block: at a mean distance of a byte, one of 42 bytes is missed with a probability of e^-42, below 10^-18
for part in c new realloc fork threads "load $tmp/late.so"; do
    # shellcheck disable=SC2086 # a part and its argument
    STACKALLOC_BYTES=1 expect 0 with "$library:$tmp/listener.so" "$tmp/ways" $part
done
# ...with other allocators beneath
for allocator in jemalloc mimalloc tcmalloc_minimal; do
    beneath=$(ldconfig -p | awk -v "name=lib$allocator.so." 'index($1, name) == 1 {print $NF; exit}')
    [ -n "$beneath" ] || continue
    for part in c new realloc fork threads; do
        STACKALLOC_BYTES=1 expect 0 with "$library:$tmp/listener.so:$beneath" "$tmp/ways" "$part"
    done
done
# ...and with few of them, where threads meet over blocks that are no samples
STACKALLOC_BYTES=20000 expect 0 with "$library:$tmp/listener.so" "$tmp/ways" threads

# --- early calls, and nobody who listens
for libraries in "$library" "$library:$tmp/listener.so"; do
    expect 0 with "$libraries" "$tmp/early"
    shows 'done'
done

# --- other people's programs: the same output, and nothing that contradicts itself
cat >"$tmp/work.cc" <<'END'
#include <iostream>
#include <map>
#include <string>
int main() { std::map<std::string, int> m; for (int i = 0; i < 9999; i++) m[std::to_string(i)] += i; std::cout << m.size() << "\n"; }
END
same() { # NAME COMMAND...
    local name=$1
    shift
    "$@" >"$tmp/plain" 2>&1 || fail "$name: fails by itself: $(tail -n 2 "$tmp/plain")"
    expect 0 with "$library" "$@"
    cat "$tmp/err" >>"$tmp/out"
    cmp -s "$tmp/plain" "$tmp/out" || fail "$name: another output: $(tail -n 2 "$tmp/out")"
    rm -f "$tmp/heard"
    STACKALLOC_BYTES=5000 expect 0 with "$library:$tmp/listener.so" "$@"
    cat "$tmp/err" >>"$tmp/out"
    cmp -s "$tmp/plain" "$tmp/out" || fail "$name: another output with a listener: $(tail -n 2 "$tmp/out")"
    [ "$(heard allocs)" -gt 5 ] || fail "$name: heard of too little: $(cat "$tmp/heard")"
    [ "$(heard frees)" -gt 0 ] || fail "$name: heard of no end: $(cat "$tmp/heard")"
    [ "$(heard errors)" = 0 ] || fail "$name: contradictions: $(cat "$tmp/heard")"
}
same g++ g++ -std=c++17 -O1 -S -o - "$tmp/work.cc"
same python3 python3 -c '
import decimal, json, re, sqlite3, subprocess, threading
db = sqlite3.connect(":memory:")
db.execute("create table t(x)")
db.executemany("insert into t values(?)", ((i,) for i in range(20000)))
def work(): json.loads(json.dumps([str(i) * 20 for i in range(5000)]))
threads = [threading.Thread(target=work) for i in range(4)]
[t.start() for t in threads] + [t.join() for t in threads]
print(db.execute("select sum(x) from t").fetchone(), subprocess.check_output(["echo", "child"]))'
# shellcheck disable=SC2016 # Perl's own
same perl perl -e 'my %h; $h{$_} = "x" x ($_ % 5000) for 1 .. 20000; my $n = 0; $n += length for values %h; print "$n\n"; system("true")'
# shellcheck disable=SC2016 # the inner shell's
same bash bash -c 'for i in {1..3000}; do a[i]=$(( i * i )); done; echo "${a[2999]} $(echo child)"'

# --- a sum over all blocks of a process is the estimate of its bytes, of some 10,000 samples: chance takes it
#     farther off than 5 standard errors in one of 1.7 million runs
cat >"$tmp/sum.c" <<'END'
#include <stdlib.h>
int main(void) { for (unsigned i = 0; i < 400000; i++) free(malloc(1000 + i % 3000)); }
END
compile sum gcc -fno-builtin "$tmp/sum.c"
rm -f "$tmp/heard"
STACKALLOC_BYTES=100000 expect 0 with "$library:$tmp/listener.so" "$tmp/sum"
awk -v sum="$(heard bytes)" 'BEGIN {truth = 400000 * 2500; error = sqrt(truth * 100000); d = sum - truth
    exit !(d < 5 * error && d > -5 * error)}' || fail "the sum: $(cat "$tmp/heard")"

# --- where it has no part: what it does not see goes on as before
compile static gcc -static "$sources/early.c"
expect 0 with "$library" "$tmp/static"
shows 'done'
compile clang_asan clang -fsanitize=address -fno-builtin "$sources/early.c"
expect 0 with "$library" "$tmp/clang_asan"
shows 'done'
[ "$(nm -D --defined-only "$library" | awk '$2 != "T"')" = '' ] || fail "it exports more than functions"
finish
