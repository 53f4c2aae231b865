# SPDX-License-Identifier: MIT
"""Interpreters of Python that this machine's release does not have, out of Debian sid's packages; nothing is installed.

They run with sid's C library, by its loader, so that the machine's own one need not be as new."""

import os
import subprocess
import sys

import harness
from harness import Skip

sys.path.append(os.path.join(harness.ROOT, "tests", "kernels"))

import images  # noqa: E402

LIBRARIES = ("libc6", "libgcc-s1", "libffi8", "zlib1g", "libexpat1")
PARTS = ("python%s-minimal", "libpython%s-minimal", "libpython%s-stdlib")
TRIPLE = "x86_64-linux-gnu"
START = """#!/bin/sh
export PYTHONHOME={root}/usr
exec {root}/usr/lib/{triple}/ld-linux-x86-64.so.2 --library-path {root}/usr/lib/{triple} {root}/usr/bin/python{version} "$@"
"""


def packages(version):
    """The files of an interpreter's packages."""
    lists = images.Lists("sid")
    names = LIBRARIES + tuple(part % version for part in PARTS)
    if lists.is_old():
        lists.update()
    paths = [lists.download(name) for name in names]
    if None in paths:
        raise Skip("sid's Python %s cannot be had here" % version)
    return paths


def interpreter(folder, version):
    """The path of a program, in a folder that exists, that starts an interpreter ("3.14")."""
    root, path = os.path.join(folder, "root"), os.path.join(folder, "python" + version)
    os.makedirs(images.CACHE, exist_ok=True)
    for package in packages(version):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(START.format(root=root, triple=TRIPLE, version=version))
    os.chmod(path, 0o755)
    return path
