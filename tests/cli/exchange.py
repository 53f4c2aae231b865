# SPDX-License-Identifier: MIT
"""Merges and compares random tag exports. Run by exchange.sh.

The exports are written from docs/TAGS.md alone, so this is a second implementation of the format.
stackctl's results are compared with sums that are computed here.
"""
import itertools
import json
import random
import subprocess
import sys
from collections import Counter

from tag_hash import chain, location_id

COUNTS = {"region.time": "region.visits", "of.later": "how often"}
NAMES = ["main", "work", "a b", "evil\\x09tab", "std::vector<int>::at(int)", "", "größer", "x\\x5cy"]


def make(rng, path, recording):
    """Writes an export; returns its samples as Counter of (path of locations, process, rest, and of
    another metric its name)."""
    lines = ["stackd-tags 1", f"recording\t{recording}\t{1700000000 + recording}\thost{recording}"
             "\t6.1.0\tcpu-clock"]
    objects = rng.sample(range(5), 3)
    for n, o in enumerate(objects):
        lines.append(f"object\t{n}\telf\t{0x1111 * (o + 1):016x}\t{o:04x}\t"
                     f"{rng.choice(['/usr/bin/p', '/opt/p', ''])}{o}")
    locations = sorted({(rng.choice(objects), rng.randrange(12)) for _ in range(10)})
    ids = {}
    for o, offset in locations:
        ids[o, offset] = location_id(0x1111 * (o + 1), offset)
        lines.append(f"location\t{ids[o, offset]:016x}\t{objects.index(o)}\t{offset:x}\tcall\t"
                     f"{rng.choice(NAMES)}\tsrc.c\t{rng.randrange(3)}")
        for _ in range(rng.randrange(3)):
            lines.append(f"inlined\t{ids[o, offset]:016x}\t{rng.choice(NAMES)}\tin.h\t7")
    paths = {(): 0}
    for _ in range(25):
        parent = rng.choice(list(paths))
        location = rng.choice(locations)
        child = (*parent, location)
        if child not in paths:
            paths[child] = chain(paths[parent], ids[location])
            lines.append(f"tag\t{paths[child]:016x}\t{paths[parent]:016x}\t{ids[location]:016x}")
    for n in range(3):
        lines.append(f"process\t{n}\t{100 + n}\t1\tcomm{n}\t/bin/p{n}")
    samples = Counter()
    for _ in range(30):
        p, n = rng.choice(list(paths)), rng.randrange(3)
        key = p, f"{100 + n}\t1\tcomm{n}\t/bin/p{n}", recording, "t", f"{100 + n}\tentry\tcomplete\t0"
        if key not in samples:
            samples[key] = rng.randrange(1, 1 << rng.randrange(1, 62))
            lines.append(f"sample\t{paths[p]:016x}\t{n}\tt\t{samples[key]}\t{samples[key] % 1000}\t"
                         f"{key[4]}")
    for metric in "region.time", "of.later":
        for p in rng.sample(list(paths), 5):
            n, visits, ns = rng.randrange(3), rng.randrange(1, 9), rng.randrange(1 << 40)
            process, rest = f"{100 + n}\t1\tcomm{n}\t/bin/p{n}", f"{100 + n}\tentry\tcomplete\t0"
            samples[p, process, recording, "t", rest, metric] += ns
            samples[p, process, recording, "t", rest, COUNTS[metric]] += visits
            lines.append(f"value\t{paths[p]:016x}\t{n}\tt\t{metric}\t{visits}\t{ns}\t{rest}")
    if rng.random() < 0.5:
        lines.append("novelty\tof a later version")
    lines.append("end")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return samples


def read(path):
    """The samples of an export, with their references resolved."""
    samples, objects, locations, paths, processes, recordings = Counter(), {}, {}, {}, {}, []
    lines = (line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8"))
    assert next(lines) == ["stackd-tags 1"]
    paths["0" * 16] = ()
    for kind, *f in lines:
        if kind == "recording":
            recordings.append(int(f[0]))
        elif kind == "object":
            objects[f[0]] = int(f[2], 16) // 0x1111 - 1
        elif kind == "location":
            locations[f[0]] = objects[f[1]], int(f[2], 16)
        elif kind == "tag":
            paths[f[0]] = (*paths[f[1]], locations[f[2]])
        elif kind == "process":
            processes[f[0]] = "\t".join(f[1:5]), recordings[int(f[5])]
        elif kind == "sample":
            p = processes[f[1]]
            samples[paths[f[0]], p[0], p[1], f[2], "\t".join(f[5:])] += int(f[3])
        elif kind == "value":
            key = paths[f[0]], *processes[f[1]], f[2], "\t".join(f[6:])
            samples[*key, f[3]] += int(f[5])
            samples[*key, COUNTS[f[3]]] += int(f[4])
    return samples


def merge(stackctl, out, *inputs):
    """The merged export and the warnings."""
    done = subprocess.run([stackctl, "merge", *inputs, "-o", out], stderr=subprocess.PIPE,
                          check=True, text=True)
    return open(out, "rb").read(), done.stderr


def diff(stackctl, *words):
    """The rows of a comparison."""
    return json.loads(subprocess.run([stackctl, "diff", *words, "--json"], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout)["rows"]


def check_merge(stackctl, tmp, files, truth):
    """A merge adds up the samples, and is commutative, associative and idempotent."""
    total, warnings = merge(stackctl, f"{tmp}/all", *files)
    assert read(f"{tmp}/all") == sum(truth, Counter()), "sums"
    for order in itertools.permutations(files):
        assert merge(stackctl, f"{tmp}/x", *order)[0] == total, "commutative"
    left, _ = merge(stackctl, f"{tmp}/ab", *files[:2])
    right, _ = merge(stackctl, f"{tmp}/bc", *files[1:])
    assert merge(stackctl, f"{tmp}/x", f"{tmp}/ab", files[2])[0] == total, "associative"
    assert merge(stackctl, f"{tmp}/x", files[0], f"{tmp}/bc")[0] == total, "associative"
    assert merge(stackctl, f"{tmp}/x", f"{tmp}/all")[0] == total, "a fixed point"
    assert left != total != right
    assert ("novelty" in "".join(open(f).read() for f in files)) == ("left out" in warnings)


def check_diff(stackctl, files, truth):
    """The difference of two exports has the counts of both; that of an export and itself is zero."""
    for metric in "cpu", "region.time", "region.visits":
        check_metric(stackctl, files, truth, metric)
        for by in "tag", "function":
            rows = diff(stackctl, files[0], files[0], "--by", by, "--metric", metric)
            assert rows and all(r["change"] == 0 and not r["significant"] for r in rows)


def check_metric(stackctl, files, truth, metric):
    sides = [Counter(), Counter()]
    for row in diff(stackctl, files[0], files[1], "--by", "tag", "--metric", metric):
        for side in range(2):
            sides[side][row["tag"]] += row["records" if metric == "cpu" else "self"][side]
        assert metric == "cpu" or row["significant"] == (row["change"] != 0), "counted exactly"
    for side in range(2):
        by_tag = Counter()
        for key, count in truth[side].items():
            tag = 0
            for o, offset in key[0]:
                tag = chain(tag, location_id(0x1111 * (o + 1), offset))
            if key[5:] == (() if metric == "cpu" else (metric,)):
                by_tag[f"{tag:016x}"] += count
        assert +sides[side] == +by_tag, "diff by tag"


def write_unnamed(path, file_id, functions, program="/opt/p"):
    """Writes an export of functions without names: {start: [samples at each address from there on]}.
    Every second address is that of a call's last byte."""
    lines = ["stackd-tags 1", "recording\t1\t1\th\tk\te", f"object\t0\telf\t{file_id:016x}\t\t{program}", "process\t0\t1\t1\tp\tp"]
    for start, counts in functions.items():
        for offset, count in enumerate(counts, start or 0x900):
            tag = location_id(file_id, offset)
            lines += [f"location\t{tag:016x}\t0\t{offset:x}\t{('pc', 'call')[offset % 2]}\t\t\t0\t{start:x}" if start else
                      f"location\t{tag:016x}\t0\t{offset:x}\t{('pc', 'call')[offset % 2]}\t\t\t0",
                      f"tag\t{tag:016x}\t{'0' * 16}\t{tag:016x}"]
            if count:
                lines.append(f"sample\t{tag:016x}\t0\tp\t{count}\t{count}\t1\tentry\tcomplete\t0")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([*lines, "end", ""]))


def check_unnamed(stackctl, tmp):
    """Functions without names are compared as functions, by where they start: none of the addresses
    has grown by 5 % of the whole, but one function has. Those of another build of the file, at the same
    path or at another one, are not compared with each other, but all with all. An address whose function is not known is one by itself."""
    def totals(b):
        return {row["function"]: row["total"] for row in diff(stackctl, f"{tmp}/a", b)}

    def status(b, limit):
        return subprocess.run([stackctl, "diff", f"{tmp}/a", b, "--fail-above", limit], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    write_unnamed(f"{tmp}/a", 0x1111, {0x100: [10] * 50, 0x200: [100] * 5, 0: [7, 8]})
    write_unnamed(f"{tmp}/b", 0x1111, {0x100: [0] * 30 + [14] * 50, 0x200: [0, 0, 100, 100, 100, 100, 100], 0: [7, 0, 8]})
    write_unnamed(f"{tmp}/c", 0x2222, {0x200: [10] * 50, 0x300: [100] * 5, 0: [15]})
    write_unnamed(f"{tmp}/d", 0x2222, {0x200: [14] * 50, 0x300: [100] * 5, 0: [15]}, "/opt/2/p")
    assert totals(f"{tmp}/b") == {"p+0x100": [500, 700], "p+0x200": [500, 500], "p+0x900": [7, 7],
                                  "p+0x902": [8, 8]}, totals(f"{tmp}/b")
    assert totals(f"{tmp}/d") == {"p [without names]": [1015, 1215]}, totals(f"{tmp}/d")
    assert [status(f"{tmp}/{b}", limit) for b, limit in (("b", "5%"), ("b", "20"), ("c", "0"), ("d", "5%"))] == [5, 0, 0, 5]


def draw(rng, path, weights, total):
    """Writes an export of `total` samples, drawn from functions with these weights."""
    counts = Counter(rng.choices(range(len(weights)), weights, k=total))
    lines = ["stackd-tags 1", "recording\t1\t1\th\tk\te", "object\t0\telf\t" + "1" * 16 + "\t\tp"]
    for i in range(len(weights)):
        tag = location_id(0x1111111111111111, i)
        lines.append(f"location\t{tag:016x}\t0\t{i:x}\tpc\tf{i}\t\t0")
        lines.append(f"tag\t{tag:016x}\t{'0' * 16}\t{tag:016x}")
    lines.append("process\t0\t1\t1\tp\tp")
    for i, count in counts.items():
        tag = location_id(0x1111111111111111, i)
        lines.append(f"sample\t{tag:016x}\t0\tp\t{count}\t{count}\t1\tentry\tcomplete\t0")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([*lines, "end", ""]))


def check_significance(stackctl, tmp, rng):
    """Noise is not reported as a change (30 pairs drawn from the same 40 functions); a change is.
    Of shares in runs of different lengths, and of amounts in runs of the same."""
    def significant(*options):
        return {row["function"] for row in diff(stackctl, a, b, *options) if row["significant"]}

    weights = [1.3 ** (i % 20) for i in range(40)]
    a, b = f"{tmp}/a", f"{tmp}/b"
    false = of_amounts = 0
    for n in range(30):
        draw(rng, a, weights, 3000)
        draw(rng, b, weights, 2000 + 100 * n)
        false += bool(significant("--share"))
        for path in a, b:
            draw(rng, path, weights, round(rng.gauss(3000, 3000**0.5)))
        of_amounts += bool(significant())
    assert false <= 6, f"{false} of 30 comparisons of the same functions found a change"
    assert of_amounts <= 6, f"{of_amounts} of 30 comparisons of the same amounts found a change"
    changed = list(weights)
    changed[19] *= 3
    draw(rng, a, weights, 5000)
    draw(rng, b, changed, 5000)
    assert "f19" in significant()


def main():
    stackctl, tmp = sys.argv[1:]
    rng = random.Random(5)
    for _ in range(12):
        files = [f"{tmp}/in{i}" for i in range(3)]
        truth = [make(rng, f, recording=rng.randrange(4)) for f in files]
        check_merge(stackctl, tmp, files, truth)
        check_diff(stackctl, files, truth)
    check_significance(stackctl, tmp, rng)
    check_unnamed(stackctl, tmp)


if __name__ == "__main__":
    main()
