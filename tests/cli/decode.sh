#!/bin/bash
# stackctl decode: tags of a program that the plugin instrumented, tags of recordings by what other
# recordings observed, and bad input.
# shellcheck disable=SC1091,SC2154 # what common gives
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small hostile
"$stackctl" export --tags -i "$store" --recording 1 -o "$tmp/one" || fail 'export'
tag=$(awk -F'\t' '$1 == "sample" && $5 == 60 { print $2 }' "$tmp/one")

# --- by observed calls
for model in "$store" "$tmp/one"; do
    expect 0 "$stackctl" decode -m "$model" --budget 1000 "$tag"
    shows 'main (prog+0x1110) > app::work() (prog+0x1220)'
done
awk -F'\t' '$1 == "tag" { print $2 }' "$tmp/one" >"$tmp/tags"
# shellcheck disable=SC2024
"$stackctl" decode -m "$tmp/one" --budget 1000 --json <"$tmp/tags" >"$tmp/out" 2>"$tmp/err" ||
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
expect 2 "$stackctl" decode -m /bin/true "$tag"
says '/bin/true is not instrumented: it has no section .btloc'
expect 2 "$stackctl" decode -m "$store" nothex
says "'nothex' is not a tag"
expect 2 "$stackctl" decode -m "$store" "$tag:nobody"
says "the model has no function 'nobody'"
expect 2 "$stackctl" decode -m "$store" --root nobody "$tag"
expect 2 "$stackctl" decode -m "$store" --budget x "$tag"
expect 3 "$stackctl" decode -m "$store" --budget 0 "$tag"
shows 'not found in the budget of 0 ms'
expect 3 "$stackctl" decode -m "$store" --budget 50 123456789abcdef0
says '0 of 1 tags decoded'
! grep -q ' > ' "$tmp/out" || fail 'a path for a tag that is none'

# --- an instrumented program
build=$(dirname "$stackctl")
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
    "$stackctl" decode -m "$tmp/$model" --budget 1000 --strict <"$tmp/tags" >"$tmp/out" 2>"$tmp/err" ||
        fail "decode: $(cat "$tmp/err")"
    shows 'main > work(base*) > compare(void const*, void const*) > leaf()'
    [ "$(grep -c 'derived::run(int) > leaf()' "$tmp/out")" = 2 ] || fail "$(cat "$tmp/out")"
    [ "$(grep -o 'derived::run(int)' "$tmp/out" | wc -l)" = 82 ] || fail "$(cat "$tmp/out")"
done
expect 0 "$stackctl" decode -m "$tmp/p" --budget 1000 --root main "$(head -n 1 "$tmp/tags"):leaf()"
head -c -200 "$tmp/p" >"$tmp/cut" # the section headers are at the end
expect 2 "$stackctl" decode -m "$tmp/cut" "$tag"
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
