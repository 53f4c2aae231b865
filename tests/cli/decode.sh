#!/bin/bash
# SPDX-License-Identifier: MIT
# stackctl decode: tags of a program that the plugin instrumented, tags of recordings by what other
# recordings observed, and bad input.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small hostile
"$stackctl" export --tags -i "$store" --recording 1 -o "$tmp/one" || fail 'export'
tag=$(awk -F'\t' '$1 == "sample" && $5 == 60 { print $2 }' "$tmp/one")

# --- by observed calls
for model in "$store" "$tmp/one"; do
    expect 0 "$stackctl" decode -m "$model" --budget 1000000 "$tag"
    shows 'main (prog+0x1110) > app::work() (prog+0x1220)'
done
awk -F'\t' '$1 == "tag" { print $2 }' "$tmp/one" >"$tmp/tags"
# shellcheck disable=SC2024
"$stackctl" decode -m "$tmp/one" --budget 1000000 --json <"$tmp/tags" >"$tmp/out" 2>"$tmp/err" ||
    fail "tags from standard input: $(cat "$tmp/err")"
python3 - "$tmp/out" "$tmp/one" <<'END' || fail 'decode --json'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["asked"] == d["found"] == len(d["tags"]), d
tags = {}
for line in open(sys.argv[2]):
    f = line.rstrip("\n").split("\t")
    if f[0] == "tag":
        tags[f[1]] = tags.get(f[2], 0) + 1
for t in d["tags"]:
    assert t["status"] == "found"
    assert [len(p["functions"]) for p in t["paths"]] == [tags[t["tag"]]], t
END

# --- bad input
expect 2 "$stackctl" decode "$tag"
says 'a model is needed'
expect 2 "$stackctl" decode -m "$tmp/none" "$tag"
says "$tmp/none"
expect 3 "$stackctl" decode -m /bin/true "$tag"
expect 2 "$stackctl" decode -m "$store" nothex
says "'nothex' is not a tag"
expect 2 "$stackctl" decode -m "$store" "$tag:nobody"
says "the model has no function 'nobody'"
expect 2 "$stackctl" decode -m "$store" --root nobody "$tag"
expect 2 "$stackctl" decode -m "$store" --budget x "$tag"
expect 3 "$stackctl" decode -m "$store" --budget 0 "$tag"
shows 'not found in the budget of 0 ms'
expect 3 "$stackctl" decode -m "$store" --budget 50 123456789abcdef0
says '0 of 1 tag decoded'
! grep -q ' > ' "$tmp/out" || fail 'a path for a tag that is none'

# --- an ordinary program: its call sites and instructions, by its code alone
cat >"$tmp/plain.c" <<'END'
#define FRAME __attribute__((noinline, noclone))
typedef long number;

FRAME number leaf(number n) { __asm__ volatile("nop" : "+r"(n)); return n; }
FRAME number middle(number n) { return leaf(n + 1) + leaf(n + 2); }
FRAME number tail(number n) { n += leaf(n); return middle(n); }
number (*volatile pointer)(number) = tail;

FRAME number work(number n) { return pointer(n) + middle(n) + 1; }

__attribute__((force_align_arg_pointer)) void start(void)
{
	number status = work(1);

	__asm__ volatile("syscall" : : "a"(60L), "D"(status) : "memory");
}
__asm__(".globl _start\n_start: .cfi_startproc\n.cfi_undefined rip\nxor %ebp, %ebp\ncall start\nhlt\n"
	".cfi_endproc\n.type _start, @function\n.size _start, . - _start");
END
gcc -O2 -nostdlib -static -fasynchronous-unwind-tables -Wl,--build-id,--eh-frame-hdr \
    "$tmp/plain.c" -o "$tmp/plain" ||
    fail 'building without a library'
cat >"$tmp/chain.py" <<'END'
# The tag of a path of functions: each waits at its n-th call, the last is at its n-th instruction.
# A word is FUNCTION:N, or FILE=FUNCTION:N for one of another file than the program.
import re, subprocess, sys
from tag_hash import chain, location_id
def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
class File:
    def __init__(self, path):
        self.id = int(re.search(r"Build ID: ([0-9a-f]{16})", run("readelf", "-n", path)).group(1), 16)
        self.loads = [[int(x, 16) for x in l.split()[1:6] if x.startswith("0x")]
                      for l in run("readelf", "-lW", path).splitlines()
                      if l.strip().startswith("LOAD")]
        self.code, at = {}, None
        for line in run("objdump", "-d", "--no-show-raw-insn", path).splitlines():
            m = re.match(r"[0-9a-f]+ <(.*)>:", line)
            at = m.group(1) if m else at
            m = re.match(r" *([0-9a-f]+):\s+(\S*)", line)
            if m:
                self.code.setdefault(at, []).append((int(m.group(1), 16), m.group(2)))
    def location(self, name, i, waits):
        code = self.code[name]
        if waits:
            i = [k for k, c in enumerate(code) if c[1].startswith("call")][i] + 1
        vaddr = code[i][0] - waits
        offset = next(vaddr - l[1] + l[0] for l in self.loads if l[1] <= vaddr < l[1] + l[3])
        return location_id(self.id, offset)
files, tag = {}, 0
for k, word in enumerate(sys.argv[2:]):
    path, _, step = word.rpartition("=")
    path = path or sys.argv[1]
    files[path] = files.get(path) or File(path)
    name, n = step.split(":")
    tag = chain(tag, files[path].location(name, int(n), k + 3 < len(sys.argv)))
print(f"{tag:016x}")
END
cp "$tmp/plain" "$tmp/stripped"
strip "$tmp/stripped"
for path in '_start:0 start:0 work:1 middle:1 leaf:1' '_start:0 start:0 work:0 tail:0 leaf:0' \
    '_start:0 start:0 work:0 middle:0 leaf:1'; do # the last: tail() has left for middle()
    # shellcheck disable=SC2086
    tag=$(PYTHONPATH=tests/cli python3 "$tmp/chain.py" "$tmp/plain" $path) || fail "chain $path"
    for model in plain stripped; do
        expect 0 "$stackctl" decode -m "$tmp/$model" --strict --budget 1000000 "$tag"
        [ "$(sed 's/.*\t//; s/>/\n/g' "$tmp/out" | wc -l)" = 5 ] || fail "$path: $(cat "$tmp/out")"
    done
    expect 0 "$stackctl" decode -m "$tmp/plain" --budget 1000000 "$tag"
    [ "$(sed 's/.*\t//; s/ ([^)]*)//g; s/ > / /g' "$tmp/out")" = "${path//:[0-9]/}" ] ||
        fail "$path: $(cat "$tmp/out")"
done
expect 3 "$stackctl" decode -m "$tmp/plain" --budget 50 --strict 123456789abcdef0

# --- a program and a library that it names: found, unless asked not to look
mkdir "$tmp/lib"
echo 'long far(long n) { __asm__ volatile("nop" : "+r"(n)); return n; }
long near(long n) { return far(n + 1) + 1; }' >"$tmp/near.c"
sed 's/^FRAME number leaf.*/number near(number n);/; s/leaf(/near(/g' "$tmp/plain.c" >"$tmp/user.c"
gcc -O2 -fno-inline -nostdlib -shared -fPIC -Wl,--build-id "$tmp/near.c" -o "$tmp/lib/libnear.so" ||
    fail 'building the library'
gcc -O2 -nostdlib -fasynchronous-unwind-tables -Wl,--build-id,--eh-frame-hdr "$tmp/user.c" \
    -o "$tmp/user" "$tmp/lib/libnear.so" "-Wl,-rpath,\$ORIGIN/lib" || fail 'building with a library'
tag=$(PYTHONPATH=tests/cli python3 "$tmp/chain.py" "$tmp/user" _start:0 start:0 work:1 middle:1 \
    "$tmp/lib/libnear.so=near:0" "$tmp/lib/libnear.so=far:0") || fail 'chain through a library'
expect 0 "$stackctl" decode -m "$tmp/user" --strict --budget 1000000 "$tag"
[ "$(sed 's/.*\t//; s/ ([^)]*)//g' "$tmp/out")" = '_start > start > work > middle > near > far' ] ||
    fail "through a library: $(cat "$tmp/out")"
expect 0 "$stackctl" decode -m "$tmp/user" -m "$tmp/lib/libnear.so" --no-libraries --strict \
    --budget 1000000 "$tag"
expect 3 "$stackctl" decode -m "$tmp/user" --no-libraries --strict --budget 200 "$tag"
rm -r "${tmp:?}/lib"
expect 3 "$stackctl" decode -m "$tmp/user" --strict --budget 200 "$tag"
says 'libnear.so, which is not here'
printf 'int f(void) { return 1; }' | gcc -xc -O2 -fno-asynchronous-unwind-tables -nostdlib -shared \
    -fvisibility=hidden -s - -o "$tmp/bare.so" || fail 'building without unwind information'
expect 2 "$stackctl" decode -m "$tmp/bare.so" "$tag"
says 'no section .btloc, no unwind information, no symbols'

# --- -finstrument-functions, by the code, too
build=$(dirname "$stackctl")
cat >"$tmp/hooks.c" <<'END'
#include "stacktag.h"
#include <stdio.h>
#include <stdlib.h>

#define FRAME __attribute__((noinline))

FRAME void leaf(void) { printf("%016lx\n", (unsigned long)stacktag_get()); }
static inline int inlined(int n) { leaf(); return n + 1; }
FRAME int recurse(int n) { return n ? recurse(n - 1) + 1 : (leaf(), 0); }
FRAME static int compare(const void *a, const void *b) { leaf(); return *(int *)a - *(int *)b; }
int (*volatile pointer)(int) = recurse;
FRAME int work(void)
{
	int v[2] = {2, 1};

	qsort(v, 2, sizeof(*v), compare);
	return pointer(10) + inlined(v[0]);
}
int main(void) { return work() == 77; }
END
gcc -O2 -finstrument-functions -Ilibstacktag "$tmp/hooks.c" -o "$tmp/hooks" "$build/libstacktag.a" \
    -lpthread || fail 'building with -finstrument-functions'
"$tmp/hooks" >"$tmp/tags" || fail '-finstrument-functions'
# shellcheck disable=SC2024
"$stackctl" decode -m "$tmp/hooks" --budget 1000000 --strict <"$tmp/tags" >"$tmp/out" 2>"$tmp/err" ||
    fail "decode: $(cat "$tmp/err")"
shows 'main > work > compare > leaf'
shows 'main > work > inlined > leaf'
[ "$(grep -o recurse "$tmp/out" | wc -l)" = 11 ] || fail "$(cat "$tmp/out")"
strip "$tmp/hooks"
# shellcheck disable=SC2024
"$stackctl" decode -m "$tmp/hooks" --budget 1000000 --strict <"$tmp/tags" >"$tmp/out" 2>"$tmp/err" ||
    fail "decode stripped: $(cat "$tmp/err")"

# --- an instrumented program
if [ ! -e "$build/stacktag.so" ] || ! command -v g++ >/dev/null; then
    echo 'the plugin is not built: programs are left out'
    finish
fi
cat >"$tmp/p.cc" <<'END'
#include "stacktag.h"
#include <cstdio>
#include <cstdlib>
#include <thread>

#define FRAME __attribute__((noinline))
#define STAY asm volatile("")

FRAME void leaf()
{
	printf("%016lx\n", (unsigned long)stacktag_get());
	STAY;
}

struct base {
	virtual void run(int n) = 0;
	virtual ~base() {}
};

struct derived : base {
	FRAME void run(int n) override
	{
		if (n)
			run(n - 1);
		else
			leaf();
		STAY;
	}
};

FRAME static int compare(const void *a, const void *b)
{
	leaf();
	STAY;
	return *(const int *)a - *(const int *)b;
}

FRAME void work(base *b)
{
	int numbers[2] = {2, 1};

	b->run(40);
	qsort(numbers, 2, sizeof(int), compare);
	STAY;
}

int main()
{
	derived d;

	work(&d);
	std::thread(work, &d).join();
	return 0;
}
END
# shellcheck disable=SC2086
g++ -O2 -fplugin="$build/stacktag.so" -Ilibstacktag "$tmp/p.cc" -o "$tmp/p" "$build/libstacktag.a" \
    -lpthread || fail 'building with the plugin'
"$tmp/p" >"$tmp/tags" || fail 'the program'
[ "$(sort -u "$tmp/tags" | wc -l)" = 4 ] || fail "$(cat "$tmp/tags")"
cp "$tmp/p" "$tmp/stripped"
strip "$tmp/stripped"
for model in p stripped; do
    "$stackctl" decode -m "$tmp/$model" --budget 1000000 --strict <"$tmp/tags" >"$tmp/out" 2>"$tmp/err" ||
        fail "decode: $(cat "$tmp/err")"
    shows 'main > work(base*) > compare(void const*, void const*) > leaf()'
    [ "$(grep -c 'derived::run(int) > leaf()' "$tmp/out")" = 2 ] || fail "$(cat "$tmp/out")"
    [ "$(grep -o 'derived::run(int)' "$tmp/out" | wc -l)" = 82 ] || fail "$(cat "$tmp/out")"
done
expect 0 "$stackctl" decode -m "$tmp/p" --budget 1000000 --root main "$(head -n 1 "$tmp/tags"):leaf()"
head -c -200 "$tmp/p" >"$tmp/cut" # the section headers are at the end
expect 2 "$stackctl" decode -m "$tmp/cut" "$tag"
says 'cut short'
python3 - "$tmp/p" "$tmp/bad" <<'END'
import subprocess, sys
at = next(l.split() for l in subprocess.run(["readelf", "-SW", sys.argv[1]], check=True, text=True,
          stdout=subprocess.PIPE).stdout.replace("[ ", "[").splitlines() if " .btloc " in l)
data = bytearray(open(sys.argv[1], "rb").read())
data[int(at[4], 16)] = 41
open(sys.argv[2], "wb").write(data)
END
expect 2 "$stackctl" decode -m "$tmp/bad" "$tag"
says 'its section .btloc is damaged at offset 0x0: a record has an impossible size'
finish
