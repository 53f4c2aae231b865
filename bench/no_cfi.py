#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with code that has no unwind information: no_cfi.py [programs|twins]... [SECONDS]

  programs  codecs, big numbers, runtimes: samples at 997 Hz, how many paths are complete, failures per
            unwind (as HPCToolkit states them), and the steps that the code says are wrong
  twins     programs built from Debian's sources with and without unwind tables, run step by step from
            the same place: each step's path has to be the same

What the machine lacks is left out, by name."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "live")]

import debian_source  # noqa: E402
import twins  # noqa: E402


STACKD, STACKCTL = (os.path.join(ROOT, "build", name) for name in ("stackd", "stackctl"))
VIDEO = ["ffmpeg", "-v", "error", "-nostdin", "-y"]
PICTURES = ["-f", "lavfi", "-i"]
TARGET = 0.999

Program = collections.namedtuple("Program", "name needs prepare command")

MUSL = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv)
{
	static int numbers[20000];
	static char text[64];
	time_t end = time(NULL) + atoi(argv[argc - 1]);
	double sum = 0;

	do {
		for (int i = 0; i < 20000; i++)
			numbers[i] = rand();
		qsort(numbers, 20000, sizeof(int), order);
		for (int i = 0; i < 2000; i++) {
			snprintf(text, sizeof(text), "%d %g", numbers[i], sum);
			sum += strtod(text, NULL) + (strstr(text, "99") != NULL);
		}
	} while (time(NULL) < end);
	return sum < 0;
}
"""

PASCAL = """
program work;
uses sysutils;
var i, j: integer; s: string; t: qword; list: array of string;
begin
  t := gettickcount64 + strtoint(paramstr(1)) * 1000;
  while gettickcount64 < t do
  begin
    setlength(list, 500);
    for i := 0 to 499 do
    begin
      s := '';
      for j := 1 to 40 do s := s + inttostr(i * j) + floattostr(i / j);
      list[i] := uppercase(s);
    end;
  end;
end.
"""

JAVA = """
import java.util.*;
public class Work {
    static int fib(int n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }
    public static void main(String[] a) {
        long end = System.currentTimeMillis() + 1000 * Integer.parseInt(a[0]);
        while (System.currentTimeMillis() < end) {
            fib(25);
            Map<String, Integer> m = new HashMap<>();
            for (int i = 0; i < 20000; i++) m.put("k" + i, i);
            new ArrayList<>(m.keySet()).stream().sorted().count();
        }
    }
}
"""

BUSYBOX = """e=$(($(date +%%s) + %d))
while [ $(date +%%s) -lt $e ]; do
    busybox gzip -c /usr/bin/python3 | busybox md5sum
    busybox seq 20000 | busybox sort -r | busybox awk '{s += $1} END {print s}'
done >/dev/null"""

GO = """
package main
import ("fmt"; "os"; "sort"; "strconv"; "strings"; "time")
func work(n int) int {
	words := map[string]int{}
	for i := 0; i < n; i++ { words[strconv.Itoa(i*7919%10007)] += i }
	var keys []string
	for k := range words { keys = append(keys, k) }
	sort.Strings(keys)
	return len(strings.Join(keys, ","))
}
func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	end, sum := time.Now().Add(time.Duration(seconds)*time.Second), 0
	for time.Now().Before(end) { sum += work(20000) }
	fmt.Fprintln(os.Stderr, sum)
}
"""


def write(work, name, text):
    with open(os.path.join(work, name), "w", encoding="ascii") as file:
        file.write(text)


def run(work, *command):
    subprocess.run(command, cwd=work, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def prepare_av1(work):
    if not os.path.exists(work + "/in.ivf"):
        run(work, *VIDEO, *PICTURES, "mandelbrot=size=640x360:rate=25", "-t", "8", "-pix_fmt",
            "yuv420p", "-c:v", "libsvtav1", "-preset", "10", "in.ivf")


def prepare_codecs(work):
    if not os.path.exists(work + "/codecs"):
        run(work, "cc", "-O2", "-o", "codecs", HERE + "/codecs.c", "-ljpeg", "-lnettle", "-lgmp")


def prepare_musl(work):
    write(work, "musl.c", MUSL)
    run(work, "musl-gcc", "-static", "-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
        "-s", "-o", "musl", "musl.c")


def prepare_pascal(work):
    write(work, "work.pas", PASCAL)
    run(work, "fpc", "-O2", "work.pas")


def prepare_java(work):
    write(work, "Work.java", JAVA)


def prepare_go(work):
    write(work, "work.go", GO)
    run(work, "go", "build", "-ldflags=-s -w", "-o", "gowork", "work.go")


def encoder(name, codec, *more):
    return Program(name, ["ffmpeg"], None,
                   lambda s: [*VIDEO, *PICTURES, "testsrc2=size=640x360:rate=25", "-t", str(3 * s),
                              "-c:v", codec, *more, "-f", "null", "-"])


def codec(name):
    return Program("codecs " + name, ["cc"], prepare_codecs, lambda s: ["./codecs", name, str(s)])


PROGRAMS = [
    encoder("x264", "libx264"),
    encoder("x265", "libx265", "-x265-params", "log-level=0"),
    encoder("SVT-AV1", "libsvtav1", "-preset", "8"),
    Program("dav1d", ["ffmpeg"], prepare_av1,
            lambda s: [*VIDEO, "-stream_loop", str(2 * s), "-c:v", "libdav1d", "-i", "in.ivf",
                       "-f", "null", "-"]),
    codec("jpeg"), codec("nettle"), codec("gmp"),
    Program("musl, static", ["musl-gcc"], prepare_musl, lambda s: ["./musl", str(s)]),
    Program("Free Pascal", ["fpc"], prepare_pascal, lambda s: ["./work", str(s)]),
    Program("Go, stripped", ["go"], prepare_go, lambda s: ["./gowork", str(s)]),
    Program("go vet", ["go"], None, lambda s: ["go", "vet", "fmt", "strconv", "net/http"]),
    Program("busybox, static", ["busybox"], None,
            lambda s: ["busybox", "sh", "-c", BUSYBOX % s]),
    Program("PyPy", ["pypy3"], None,
            lambda s: ["pypy3", "-c", "import time, json\ne, d = time.time() + %d, {}\n"
                       "while time.time() < e:\n  for i in range(20000): d[str(i)] = i * i\n"
                       "  json.dumps(d)" % s]),
    Program("Java", ["java"], prepare_java, lambda s: ["java", "Work.java", str(s)]),
    Program("node", ["node"], None,
            lambda s: ["node", "-e", "const e=Date.now()+%d*1000,z=require('zlib');let n=0;"
                       "while(Date.now()<e){n+=z.gzipSync(JSON.stringify([...Array(20000).keys()]))"
                       ".length}" % s]),
]


def record(work, command):
    store = work + "/store.db"
    for name in (store, store + "-wal", store + "-shm"):
        if os.path.exists(name):
            os.unlink(name)
    subprocess.run([STACKD, "-q", "-e", "perf::CPU-CLOCK:u", "--no-managed", "-F", "997", "-o", store, "--",
                    *command], cwd=work, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(subprocess.check_output([STACKCTL, "stats", "--json", "-i", store]))


def measure(program, work, seconds):
    """Prints a program's line; its unwinds, failures and wrong steps."""
    missing = [name for name in program.needs if not shutil.which(name)]
    if missing:
        print("%-16s left out: no %s" % (program.name, ", ".join(missing)))
        return 0, 0, 0
    try:
        if program.prepare:
            program.prepare(work)
        stats = record(work, program.command(seconds))
    except subprocess.CalledProcessError as error:
        print("%-16s left out: %s failed" % (program.name, error.cmd[0]))
        return 0, 0, 0
    unwinds, failures = stats["samples"], stats["quality"]["partial"]
    steps = stats["steps"]
    reasons = {name: count for name, count in stats["end_reasons"].items()
               if count and name != "entry"}
    complete = 1 - failures / max(unwinds, 1)
    print("%-16s %7d %8.3f %% %8d %6d %6d %6d  %8.0f ns  %s%s"
          % (program.name, unwinds, 100 * complete, failures, steps["confirmed"],
             steps["probable"], steps["wrong"], stats["kernel_ns_per_sample"], reasons or "",
             "" if complete >= TARGET else "   MISSED"), flush=True)
    return unwinds, failures, steps["wrong"]


def measure_programs(work, seconds):
    print("%-16s %7s %10s %8s %6s %6s %6s  %11s" % ("program", "samples", "complete", "failures",
                                                    "conf.", "prob.", "wrong", "kernel"))
    sums = [sum(column) for column in zip(*(measure(program, work, seconds)
                                            for program in PROGRAMS))]
    print("%d failures in %d unwinds; %d steps wrong" % (sums[1], sums[0], sums[2]))


def main():
    words = sys.argv[1:]
    seconds = int(words.pop()) if words and words[-1].isdigit() else 10
    if not os.path.exists(STACKD):
        sys.exit("no_cfi.py: %s is not built" % STACKD)
    with tempfile.TemporaryDirectory() as work:
        if not words or "programs" in words:
            measure_programs(work, seconds)
    if not words or "twins" in words:
        twins.measure(debian_source)


if __name__ == "__main__":
    main()
