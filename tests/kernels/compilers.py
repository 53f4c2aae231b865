# SPDX-License-Identifier: MIT
"""The compilers of the BPF program that are there, and the daemon with the program of each.

They are found by looking: clang-14 and newer among this machine's commands; in the roots of other
releases below build/roots, which tests/distros makes; and objects that were put into
build/bpf/clang-N. The program is compiled where its compiler is, with the headers of that release,
and linked into the daemon here, by the Makefile."""

import glob
import os
import re
import shutil

import harness
from harness import check

OLDEST = 14
OBJECTS = os.path.join(harness.BUILD, "bpf")
ROOTS = os.path.join(harness.BUILD, "roots")
SOURCES = ("bpf", "arch", "Makefile", "CHANGELOG.md")


def version_of(name):
    """N of clang-N; None: it is not the name of a compiler that is tried."""
    found = re.fullmatch(r"clang-(\d+)", os.path.basename(name))
    return int(found[1]) if found and int(found[1]) >= OLDEST else None


def commands(root=""):
    """Versions of the compilers among the commands of a root."""
    folders = os.environ["PATH"].split(":") if not root else ["/usr/bin"]
    return {version_of(path) for folder in folders for path in glob.glob(root + folder + "/clang-*")
            } - {None}


def default():
    """The version of the compiler that `make` uses."""
    found = re.search(r"version (\d+)", harness.run("clang", "--version").out)
    return int(found[1]) if found else None


def has_object(version):
    """Is there a program that is no older than its source?"""
    path = "%s/clang-%d/stackd.bpf.o" % (OBJECTS, version)
    return os.path.exists(path) and all(
        os.stat(source).st_mtime <= os.stat(path).st_mtime
        for pattern in ("bpf/*.[ch]", "arch/*.h", "arch/*/*.h")
        for source in glob.glob(os.path.join(harness.ROOT, pattern)))


def found():
    """{version: root} of all compilers; the root is "" for this machine, None for an object."""
    objects = {version_of(path) for path in glob.glob(OBJECTS + "/clang-*")} - {None}
    everywhere = {version: None for version in objects if has_object(version)}
    for root in sorted(glob.glob(ROOTS + "/*")):
        everywhere.update({version: root for version in commands(root)})
    everywhere.update({version: "" for version in commands()})
    return dict(sorted(everywhere.items()))


def make(*arguments):
    result = harness.run("make", "-s", *arguments, timeout=3600)
    check(result.status == 0, "make %s: status %d" % (arguments[-1], result.status), result.err)


def compile_in(root, version):
    """Has a root's compiler make the object."""
    name = "build/bpf/clang-%d/stackd.bpf.o" % version
    inside = os.path.join(root, "tmp/stackd-bpf")
    shutil.rmtree(inside, ignore_errors=True)
    os.makedirs(inside)
    for source in SOURCES:
        path = os.path.join(harness.ROOT, source)
        (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, os.path.join(inside, source))
    result = harness.run("chroot", root, "make", "-s", "-C", "/tmp/stackd-bpf", "B=build", name,
                         timeout=3600)
    check(result.status == 0, "clang-%d in %s: status %d" % (version, root, result.status),
          result.err)
    os.makedirs("%s/clang-%d" % (OBJECTS, version), exist_ok=True)
    shutil.copy(os.path.join(inside, name), "%s/clang-%d/stackd.bpf.o" % (OBJECTS, version))
    shutil.rmtree(inside)


def daemon(version, root):
    """The path of the daemon with a compiler's program."""
    if root and not has_object(version):
        compile_in(root, version)
    path = "%s/clang-%d/stackd" % (OBJECTS, version)
    make("-C", harness.ROOT, "B=" + harness.BUILD, path)
    return path
