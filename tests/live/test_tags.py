# SPDX-License-Identifier: MIT
"""Programs that keep a tag of their call path: each walk has the functions of the tag that was read
at the same moment, and what is recorded by tags alone is what the workload promises."""

import os
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from chains import Expectation
from harness import (STACKD, WORKLOADS, Recording, Skip, check, check_chains, check_whole, live,
                     record, run, scratch, user_frames, workload)

FREQUENCY = 1997
PLUGIN = os.path.join(WORKLOADS, "tagged-plugin")
FUNCTIONS = os.path.join(WORKLOADS, "tagged-functions")

# Every workload whose processes live longer than the daemon needs to recognise them. Where the C
# library's own threads or a program of another language come in, nothing is compiled with tags.
SHAPES = ("chain", "chain_nonpie", "chain_static", "chain_static_pie", "chain_stripped",
          "recursion", "deep", "threads", "fork_exec", "dlopen_dlclose", "plugin",
          "signal_handler", "sigaltstack", "vdso", "plt", "plt_ibt", "redzone", "alloca",
          "realigned", "ucontext", "tail_calls", "noreturn", "jit", "registers", "rust_names",
          "cpp_names", "exceptions", "inlined")


def needs_plugin():
    if not os.path.isdir(PLUGIN):
        raise Skip("no GCC plugin headers here (gcc-12-plugin-dev)")


LEAST = 20  # walks that say something


def judged_once(folder, path):
    store = os.path.join(folder, os.path.basename(path) + ".db")
    result = run(STACKD, "--judge-tags", "-F", FREQUENCY, "-o", store, "--", path, 1,
                 env={"STACKD_DEBUG": "1"})
    check(result.status == 0, "status %d" % result.status, result.err)
    counters = Recording(store).stats()["counters"]
    return Counter({name[5:]: counters[name] for name in counters if name.startswith("tags_")}), \
        result.err


def judged(folder, path):
    """What the oracle says of a run: the counters. Of several runs, where a busy machine lets there
    be few samples."""
    counts, errors = Counter(), ""
    for _ in range(5):
        more, said = judged_once(folder, path)
        for name, count in more.items():
            counts[name] += count
        errors += said
        if counts["right"] + counts["window"] > LEAST or counts["wrong"]:
            break
    return counts, errors


def check_judged(name, counts, errors, torn_percent=0.0, between_percent=3):
    """`torn_percent`: of samples within swapcontext(), which has changed the stack and not yet
    returned to the function that changes the tag; and within _Unwind_Resume(), which a function
    calls when it has given its caller's tag back, and is still on the stack."""
    total = sum(counts[verdict] for verdict in ("right", "window", "between", "wrong"))
    check(counts["wrong"] <= (max(3, total * torn_percent / 100 * 3) if torn_percent else 0),
          "%s: %d of %d walks differ from the tag" % (
        name, counts["wrong"], total), *re.findall(r"^tag .*", errors, re.M)[:5])
    check(counts["right"] + counts["window"] > LEAST, "%s: hardly anything was checked" % name, counts)
    check(counts["between"] <= 3 + total * between_percent / 100,
          "%s: too many samples between two functions" % name, counts)


@live
def test_tags_oracle():
    """Frame by frame, every sample of every workload that is compiled with the plugin."""
    needs_plugin()
    with scratch() as folder, ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda name: judged(folder, os.path.join(PLUGIN, name)), SHAPES))
    for name, (counts, _) in zip(SHAPES, runs):
        print(name, dict(counts))
    for name, (counts, errors) in zip(SHAPES, runs):
        check_judged(name, counts, errors, 1 if name in ("ucontext", "exceptions") else 0)


@live
def test_tags_oracle_functions():
    """...and some that any compiler could have made, with -finstrument-functions: but for the time
    in the runtime itself, which is jumped to when functions end."""
    with scratch() as folder:
        for name in ("chain", "chain_nonpie", "threads", "plugin"):
            counts, errors = judged(folder, os.path.join(FUNCTIONS, name))
            print(name, dict(counts))
            check_judged(name, counts, errors, between_percent=70)


def until_used(once):
    """Records by `once()`, which gives the recording, until tags were made use of:
    where the daemon is kept from running for a second, every sample is of a tag that it does not
    know yet. The samples are judged each time."""
    for _ in range(5):
        counters = once().stats()["counters"]
        print({name: counters[name] for name in counters if "tag" in name})
        check(not counters["tags_wrong"], "%(tags_wrong)d walks differ from the tag" % counters)
        if counters["kernel_tags"] and counters["kernel_tags_new"]:
            return
    check(False, "tags are not made use of", counters)


@live
def test_tags_auto():
    """Samples are tags as soon as these are known; the paths are what the workload promises all the
    same."""
    needs_plugin()
    with scratch() as folder:
        for name, source in (("chain", "chain"), ("chain_static_pie", "chain"),
                             ("threads", "threads"), ("tail_calls", "tail_calls")):
            def once(name=name, source=source):
                recording, result = record(os.path.join(folder, name + ".db"), "-F", FREQUENCY,
                                           "--", os.path.join(PLUGIN, name), 1)
                print(result.err)
                # A thread can be sampled before its stack has a page.
                samples = check_whole(recording, 0.5 if name == "threads" else 0)
                check_chains(samples, Expectation.of_source(source))
                return recording
            until_used(once)


@live
def test_tags_attached():
    """A process that has been running, and one that begins to keep tags when it loads a library."""
    needs_plugin()
    with scratch() as folder:
        for name in ("chain", "plugin"):
            def once(name=name):
                with workload(os.path.join(PLUGIN, name)) as process:
                    recording, _ = record(os.path.join(folder, name + ".db"), "-F", FREQUENCY,
                                          "--duration", 1, "--pid", process.pid)
                check_chains(check_whole(recording), Expectation.of_source(name))
                return recording
            until_used(once)


def mix(x):
    """docs/TAGS.md, written anew."""
    x ^= x >> 30
    x = x * 0xbf58476d1ce4e5b9 % 2**64
    x ^= x >> 27
    x = x * 0x94d049bb133111eb % 2**64
    return x ^ x >> 31


def tag_of(source, *functions):
    tag = 0
    for name in functions:
        h = 0
        for byte in name.encode() if name == "main" else name.encode() + b"\0" + source.encode():
            h = mix((h + byte + 1) % 2**64)
        tag = tag * 11 % 2**64 ^ h
    return tag


@live
def test_tags_only():
    """No walk at all: what is stored is the tags that docs/TAGS.md says."""
    needs_plugin()
    path = ("main", "steady", "alpha", "beta", "leaf")
    known = {"%#x" % tag_of("chain.c", *path[:length]) for length in range(1, len(path) + 1)}
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "--tags", "only", "-F", FREQUENCY, "--",
                                   os.path.join(PLUGIN, "chain"), 1)
        stats = recording.stats()
        rows = [line.split("\t") for line in recording.text("export", "--tags").splitlines()]
    print(stats["end_reasons"], result.err, known)
    objects = {row[1] for row in rows if row[0] == "object" and row[2] == "tag"}
    tags = {"0x" + row[3] for row in rows if row[0] == "location" and row[2] in objects}
    print(tags)
    check(stats["end_reasons"]["tag_unknown"] > stats["samples"] / 2, "samples without a tag",
          stats["end_reasons"])
    check("%#x" % tag_of("chain.c", *path) in tags, "the path's tag is not there", tags)
    check(tags - {"0x0"} <= known, "tags that no path has", tags - known)
