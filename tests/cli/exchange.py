# SPDX-License-Identifier: MIT
"""Random tag exports, and what must hold of merging and comparing them. Run by exchange.sh.

Exports are made here from docs/TAGS.md alone, so this is a second implementation of the format;
what stackctl makes of them is compared with sums that are computed here.
"""
import itertools
import json
import random
import subprocess
import sys
from collections import Counter

MASK = (1 << 64) - 1
NAMES = ["main", "work", "a b", "evil\\x09tab", "std::vector<int>::at(int)", "", "größer", "x\\x5cy"]


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def make(rng, path, recording, collide=False):
    """Writes an export; returns its samples as Counter of (path of locations, process, rest)."""
    lines = ["stackd-tags 1", f"recording\t{recording}\t{1700000000 + recording}\thost{recording}"
             "\t6.1.0\tcpu-clock"]
    objects = rng.sample(range(5), 3)
    for n, o in enumerate(objects):
        lines.append(f"object\t{n}\telf\t{0x1111 * (o + 1):016x}\t{o:04x}\t"
                     f"{rng.choice(['/usr/bin/p', '/opt/p', ''])}{o}")
    places = sorted({(rng.choice(objects), rng.randrange(12)) for _ in range(10)})
    ids = {}
    for o, offset in places:
        ids[o, offset] = mix((mix(0x1111 * (o + 1)) + offset) & MASK)
        lines.append(f"location\t{ids[o, offset]:016x}\t{objects.index(o)}\t{offset:x}\tcall\t"
                     f"{rng.choice(NAMES)}\tsrc.c\t{rng.randrange(3)}")
        for _ in range(rng.randrange(3)):
            lines.append(f"inlined\t{ids[o, offset]:016x}\t{rng.choice(NAMES)}\tin.h\t7")
    paths = {(): 0}
    for _ in range(25):
        parent = rng.choice(list(paths))
        place = rng.choice(places)
        child = (*parent, place)
        if child not in paths:
            paths[child] = paths[parent] * 11 & MASK ^ ids[place]
            lines.append(f"tag\t{paths[child]:016x}\t{paths[parent]:016x}\t{ids[place]:016x}")
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
    if rng.random() < 0.5:
        lines.append("novelty\tof a later version")
    lines.append("end")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return samples


def read(path):
    """The samples of an export, by what their references mean."""
    samples, objects, places, paths, processes, recordings = Counter(), {}, {}, {}, {}, []
    lines = (line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8"))
    assert next(lines) == ["stackd-tags 1"]
    paths["0" * 16] = ()
    for kind, *f in lines:
        if kind == "recording":
            recordings.append(int(f[0]))
        elif kind == "object":
            objects[f[0]] = int(f[2], 16) // 0x1111 - 1
        elif kind == "location":
            places[f[0]] = objects[f[1]], int(f[2], 16)
        elif kind == "tag":
            paths[f[0]] = (*paths[f[1]], places[f[2]])
        elif kind == "process":
            processes[f[0]] = "\t".join(f[1:5]), recordings[int(f[5])]
        elif kind == "sample":
            p = processes[f[1]]
            samples[paths[f[0]], p[0], p[1], f[2], "\t".join(f[5:])] += int(f[3])
    return samples


def main():
    stackctl, tmp = sys.argv[1:]

    def merge(out, *inputs):
        done = subprocess.run([stackctl, "merge", *inputs, "-o", out], stderr=subprocess.PIPE,
                              check=True, text=True)
        return open(out, "rb").read(), done.stderr

    rng = random.Random(5)
    for n in range(12):
        files = [f"{tmp}/in{i}" for i in range(3)]
        truth = [make(rng, f, recording=rng.randrange(4)) for f in files]
        whole, said = merge(f"{tmp}/all", *files)
        assert read(f"{tmp}/all") == sum(truth, Counter()), "sums"
        for order in itertools.permutations(files):
            assert merge(f"{tmp}/x", *order)[0] == whole, "commutative"
        left, _ = merge(f"{tmp}/ab", *files[:2])
        right, _ = merge(f"{tmp}/bc", *files[1:])
        assert merge(f"{tmp}/x", f"{tmp}/ab", files[2])[0] == whole, "associative"
        assert merge(f"{tmp}/x", files[0], f"{tmp}/bc")[0] == whole, "associative"
        assert merge(f"{tmp}/x", f"{tmp}/all")[0] == whole, "a fixed point"
        assert left != whole != right
        assert ("novelty" in "".join(open(f).read() for f in files)) == ("left out" in said)

        # The difference of an export and itself is nothing; of two, what the counts say.
        out = subprocess.run([stackctl, "diff", files[0], files[1], "--json", "--by", "tag"],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        sides = [Counter(), Counter()]
        for row in json.loads(out)["rows"]:
            for side in range(2):
                sides[side][row["tag"]] += row["self"][side]
        for side in range(2):
            by_tag = Counter()
            for key, count in truth[side].items():
                tag = 0
                for o, offset in key[0]:
                    tag = tag * 11 & MASK ^ mix((mix(0x1111 * (o + 1)) + offset) & MASK)
                by_tag[f"{tag:016x}"] += count
            assert +sides[side] == by_tag, "diff by tag"
        for by in "tag", "function":
            rows = json.loads(subprocess.run(
                [stackctl, "diff", files[0], files[0], "--json", "--by", by], check=True,
                stdout=subprocess.PIPE, text=True).stdout)["rows"]
            assert rows and all(r["change"] == 0 and not r["significant"] for r in rows)

    # Noise is not called a change: two draws from the same 40 functions, 30 times. And what did
    # change is.
    def draw(path, weights, total):
        counts = Counter(rng.choices(range(len(weights)), weights, k=total))
        lines = ["stackd-tags 1", "recording\t1\t1\th\tk\te", "object\t0\telf\t" + "1" * 16 + "\t\tp"]
        for i in range(len(weights)):
            place = mix((mix(0x1111111111111111) + i) & MASK)
            lines.append(f"location\t{place:016x}\t0\t{i:x}\tpc\tf{i}\t\t0")
            lines.append(f"tag\t{place:016x}\t{'0' * 16}\t{place:016x}")
        lines.append("process\t0\t1\t1\tp\tp")
        for i, count in counts.items():
            place = mix((mix(0x1111111111111111) + i) & MASK)
            lines.append(f"sample\t{place:016x}\t0\tp\t{count}\t{count}\t1\tentry\tcomplete\t0")
        open(path, "w").write("\n".join([*lines, "end", ""]))

    def significant(a, b):
        rows = json.loads(subprocess.run([stackctl, "diff", a, b, "--json"], check=True,
                                         stdout=subprocess.PIPE, text=True).stdout)["rows"]
        return {row["function"] for row in rows if row["significant"]}

    weights = [1.3 ** (i % 20) for i in range(40)]
    a, b = f"{tmp}/a", f"{tmp}/b"
    false = 0
    for n in range(30):
        draw(a, weights, 3000)
        draw(b, weights, 2000 + 100 * n)
        false += bool(significant(a, b))
    assert false <= 6, f"{false} of 30 comparisons of the same found a change"
    changed = list(weights)
    changed[19] *= 3
    draw(a, weights, 5000)
    draw(b, changed, 5000)
    assert "f19" in significant(a, b)


if __name__ == "__main__":
    main()
