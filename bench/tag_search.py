# SPDX-License-Identifier: MIT
"""Tags searched for and counted, beside Besnard et al. (2019): tag_search.py quick|full [PART...]

  collide    call paths of six programs, by their call graphs: the number that share a tag
  observed   programs from Debian's source packages, compiled with the plugin and run under
             `stackd --tags only`: the share of their tags that `stackctl decode` finds by search

Ends with 1 if a target is missed."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian_source  # noqa: E402
import tag_programs  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("STACKD_BUILD", ROOT + "/build")
COLLIDE = ["vim", "gdb", "gnuplot", "nano", "htop", "tar"]
PAPER_COLLISIONS = 0.5  # percent, at most
BUDGET_MS = 10
PAPER_DECODED = 85  # percent over all, about 60 for gdb, with budgets of seconds
misses = []

Source = debian_source.Source


def script(work):
    """Lua at work on strings, tables, closures, coroutines, errors, and its own compiler."""
    with open(work + "/in.lua", "w", encoding="ascii") as file:
        file.write("""
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {}
for i = 1, 60000 do t[i] = tostring((i * 7919) % 100003) .. string.format(":%5.2f", i / 3) end
table.sort(t, function(a, b) return a < b end)
local s = table.concat(t, ","):gsub("%d+", function(x) return x + 1 end)
local words = {}
for w in s:gmatch("%d+") do words[w] = (words[w] or 0) + 1 end
local co = coroutine.wrap(function() while true do coroutine.yield(fib(5)) end end)
for i = 1, 40000 do co() end
for i = 1, 300 do
  load("return function(a, b) local c = a + b * " .. i .. " if c > 3 then return c end end")()
end
print(fib(24), #s, pcall(error, {}))
""")


def code(work):
    """C for a compiler."""
    with open(work + "/in.c", "w", encoding="ascii") as file:
        for i in range(1, 60000):
            file.write("""
struct s%(i)d { int a, b[8]; struct s%(i)d *n; };
static int f%(i)d(struct s%(i)d *p, int k) { int r = 0, i; for (i = 0; i < k; i++) {
  if (p->b[i %% 8] > k * 3 + (i << 2)) r += f%(i)d(p->n, k - 1) ? p->a : ~k;
  else switch (k) { case 1: r++; break; case 2: r -= (int)(k * 1.5);
    default: while (r > 5) r /= 2; } }
  return r ? r : (k, r + sizeof(struct s%(i)d)); }
int g%(i)d(int a) { struct s%(i)d x = { a, { 1, 2 } };
  return f%(i)d(&x, a) + (a > 3 ? f%(i)d(x.n, (int)"abc"[a & 1]) : -1); }
""" % {"i": i})
    with open(work + "/config.h", "w", encoding="ascii") as file:
        file.write('#define TCC_VERSION "0"\n#define CONFIG_TCCDIR "."\n')


def data(work):
    """Something to compress: this project's own program, a few times."""
    with open(BUILD + "/stackctl", "rb") as whole, open(work + "/in.dat", "wb") as file:
        file.write(whole.read(3000000) * 6)


C_SOURCES = [
    Source("lua", "lua5.4", "src", ["l[!u]*.c", "lua.c", "lundump.c", "lutf8lib.c"],
           ["-DLUA_USE_LINUX"], ["-lm", "-ldl"], script, ["in.lua"]),
    Source("tcc", "tcc", ".", ["tcc.c"], ["-DONE_SOURCE=1", "-I@WORK@"], ["-lm", "-ldl"], code,
           ["-nostdinc", "-c", "in.c", "-o", "out.o"]),
    Source("bzip2", "bzip2", ".", ["bzip2.c", "blocksort.c", "huffman.c", "crctable.c",
                                   "randtable.c", "compress.c", "decompress.c", "bzlib.c"],
           [], [], data, ["-9", "-k", "-c", "in.dat"]),
]
CXX_SOURCES = [
    Source("lzip", "lzip", ".", ["*.cc"], ['-DPROGVERSION="1"'], [], data,
           ["-k", "-c", "in.dat"]),
] + tag_programs.SOURCES


# --- collisions ------------------------------------------------------------------------------

def collide_rows(limit):
    print("\ncall paths of up to 10 functions (or %d million), by the call graph of the binary\n"
          "%-9s %9s %9s %13s %5s %11s %9s  %s" % (
              limit / 1e6, "program", "functions", "calls", "paths", "depth", "collisions", "share",
              "paper"))
    for name in COLLIDE:
        path = shutil.which(name)
        if not path:
            print("%-9s is not installed" % name)
            continue
        done = subprocess.run([BUILD + "/bench/tag_collide", str(limit), os.path.realpath(path)],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            print("%-9s %s" % (name, done.stderr.strip()))
            misses.append("collisions in " + name)
            continue
        _, nodes, edges, depth, paths, found = done.stdout.split("\t")
        share = 100 * int(found) / int(paths)
        print("%-9s %9s %9s %13s %4s%s %11d %8.4f%%  <= %.1f%%" % (
            name, nodes, edges, paths, depth, " " if int(depth) == 10 else "+", int(found), share,
            PAPER_COLLISIONS))
        if share > PAPER_COLLISIONS:
            misses.append("collisions in " + name)


# --- observed tags ---------------------------------------------------------------------------

def observed(path, arguments, work):
    """{tag: samples} of a run, and the output of stackd."""
    store, export = work + "/run.db", work + "/run.tags"
    for old in (store, store + "-wal", store + "-shm"):
        if os.path.exists(old):
            os.remove(old)
    done = subprocess.run([BUILD + "/stackd", "--tags", "only", "-F", "4000", "-o", store, "--", path,
                           *arguments], cwd=work, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    subprocess.run([BUILD + "/stackctl", "export", "--tags", "-i", store, "-o", export], check=True)
    kinds, tags, parents, counts = {}, {}, {}, collections.Counter()
    with open(export, encoding="utf-8") as file:
        for line in file:
            kind, *f = line.rstrip("\n").split("\t")
            if kind == "object":
                kinds[f[0]] = f[1]
            elif kind == "location" and kinds[f[1]] == "tag":
                tags[f[0]] = int(f[2], 16)
            elif kind == "tag":
                parents[f[0]] = f[1], f[2]
            elif kind == "sample":
                at, root = f[0], None
                while at in parents:
                    at, root = parents[at]
                if root in tags:
                    counts[tags[root]] += int(f[3])
    return counts, done.stderr


def decode(path, counts):
    """The shares of tags and of samples that are found; milliseconds of processor time per tag."""
    words = "".join("%016x\n" % tag for tag, _ in counts.most_common())
    done = subprocess.run([BUILD + "/stackctl", "decode", "--json", "--budget", str(BUDGET_MS),
                           "-m", path], input=words, capture_output=True, text=True, check=False)
    answers = json.loads(done.stdout)["tags"]
    found = [a for a in answers if a["status"] == "found"]
    return (len(found), sum(counts[int(a["tag"], 16)] for a in found),
            sum(a["spent_ns"] for a in answers) / len(answers) / 1e6,
            sum(len(a["paths"]) > 1 for a in found))


def observed_rows(language, sources, target, folders, work):
    total, right = 0, 0
    for source in sources:
        path = work + "/" + source.name
        flags = ["-fplugin=" + BUILD + "/stacktag.so"] + [
            flag.replace("@WORK@", work) for flag in source.flags]
        source.prepare(work)
        debian_source.build(source._replace(flags=flags), folders[source.name], path, [],
                           [BUILD + "/libstacktag.a", "-lpthread"])
        counts, errors = observed(path, source.arguments, work)
        if not counts:
            print("%-9s nothing was observed: %s" % (source.name, errors.strip()))
            misses.append("tags of " + source.name)
            continue
        found, samples, ms, many = decode(path, counts)
        total, right = total + len(counts), right + found
        print("%-9s %-4s %6d %7.1f%% %9.1f%% %9.2f %9d" % (
            source.name, language, len(counts), 100 * found / len(counts),
            100 * samples / sum(counts.values()), ms, many))
    share = 100 * right / max(total, 1)
    met = share >= target
    print("%-9s %-4s %6d %7.1f%%   (at least %d%%: %s; the paper: %d%%)" % (
        "all", language, total, share, target, "met" if met else "MISSED", PAPER_DECODED))
    if not met:
        misses.append("tags decoded in " + language)


def observed_part(work):
    if not os.path.exists(BUILD + "/stacktag.so"):
        print("\nno GCC plugin headers here (gcc-N-plugin-dev): no programs with tags")
        return
    print("\ntags observed in a run, decoded by search alone, %d ms each\n%-14s %6s %8s %10s %9s %9s"
          % (BUDGET_MS, "program", "tags", "decoded", "of samples", "ms a tag", "ambiguous"))
    try:
        folders = debian_source.fetch(work, C_SOURCES + CXX_SOURCES)
    except OSError as error:
        print("no sources: %s" % error)
        misses.append("sources")
        return
    observed_rows("C", C_SOURCES, 99, folders, work)
    observed_rows("C++", CXX_SOURCES, 95, folders, work)


def main():
    if "STACKD_BUILD" not in os.environ:
        subprocess.run(["make", "-s", "-C", ROOT, "all", "build/bench/tag_collide"],
                       check=True)
    full = sys.argv[1:2] != ["quick"]
    parts = sys.argv[2:] or ["collide"] + full * ["observed"]
    with tempfile.TemporaryDirectory(prefix="stackd-bench-") as work:
        if "collide" in parts:
            collide_rows(200000000 if full else 2000000)
        if "observed" in parts:
            observed_part(work)
    for miss in misses:
        print("missed: " + miss)
    return bool(misses)


if __name__ == "__main__":
    sys.exit(main())
