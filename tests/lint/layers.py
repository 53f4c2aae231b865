#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds every include of the project against tests/lint/layers.txt: a folder includes headers of
itself and of the folders that its line names, which stand on lines above. What a build may leave out
(the lines `optional PART: ...`) is included by folders of the same part alone. Prints each include
that does not fit; exits with 1 if there is one."""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Files of bpf/ that a line names as folders are named.
SHARED = {"bpf/stackd_abi.h": "abi", "bpf/walk.h": "walk"}
ARCH = "arch"  # one layer: the interface, and a folder for each processor
ROOTS = ("", "lib", "lib/code", "lib/record", "lib/show", "lib/far", "bpf")  # -I of the Makefile, as folders of the project
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
SOURCE = re.compile(r"\.(c|h|cc)$")


OPTIONAL = re.compile(r"optional (\w+)$")


def read_layers(path):
    """({folder: the folders that it may include}, {folder: the part that it is of}, faults). A folder
    named before its own line, or twice, is a fault of the statement itself: it would allow a cycle. A
    line without a colon goes on with the one before."""
    layers, parts, faults, last = {}, {}, [], ""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            folder, colon, allowed = line.split("#")[0].rpartition(":")
            folder, allowed = folder.strip() if colon else last, allowed.split()
            if not folder:
                continue
            if OPTIONAL.match(folder):
                faults += ["layers.txt:%d: %s has no line above" % (number, name)
                           for name in allowed if name not in layers]
                parts.update(dict.fromkeys(allowed, OPTIONAL.match(folder)[1]))
                continue
            faults += ["layers.txt:%d: %s has no line above" % (number, name)
                       for name in allowed if name not in SHARED.values() and name not in layers]
            if colon and folder in layers:
                faults.append("layers.txt:%d: %s has a line already" % (number, folder))
            layers.setdefault(folder, set()).update(allowed)
            last = folder
    return layers, parts, faults + cross_parts(layers, parts)


def cross_parts(layers, parts):
    """The faults of folders that may include what a build can leave out while it has the folder."""
    return ["layers.txt: %s may include %s, which make WITHOUT=%s leaves out" % (folder, name, parts[name])
            for folder, allowed in layers.items() for name in sorted(allowed)
            if name in parts and parts[name] != parts.get(folder)]


def resolve(folder, name):
    """The path of an included file below the root; None: it is generated."""
    for base in (folder,) + ROOTS:
        path = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(ROOT, path)):
            return path
    return None


def layer_of(folder):
    """The folder whose line in layers.txt counts for a folder's files."""
    return ARCH if folder.startswith(ARCH + "/") else folder


def fault_of(folder, name, layers):
    """The fault of an include, or None."""
    path = resolve(folder, name)
    if path is None:
        return None
    target = layer_of(os.path.dirname(path))
    if target == layer_of(folder) or target in layers[layer_of(folder)]:
        return None
    if path in SHARED and SHARED[path] in layers[layer_of(folder)]:
        return None
    return 'includes "%s": %s may not include %s' % (name, folder, target)


def check(folder, layers):
    """The faults of a folder's files."""
    faults = []
    for entry in sorted(os.listdir(os.path.join(ROOT, folder))):
        path = os.path.join(folder, entry)
        if not SOURCE.search(entry):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        for match in INCLUDE.finditer(text):
            fault = fault_of(folder, match[1], layers)
            if fault:
                faults.append("%s:%d: %s" % (path, text.count("\n", 0, match.start()) + 1, fault))
    return faults


def folders_with_code():
    for top in (ARCH, "bpf", "lib", "daemon", "cli", "mpi", "libstacktag", "libstackalloc",
                "libstackmpi", "plugin"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            if any(SOURCE.search(name) for name in files):
                yield os.path.relpath(folder, ROOT)


def main():
    layers, parts, faults = read_layers(os.path.join(HERE, "layers.txt"))
    for folder in sorted(folders_with_code()):
        if layer_of(folder) in layers:
            faults += check(folder, layers)
        else:
            faults.append("layers.txt: %s has no line" % folder)
    faults += ["layers.txt: there is no folder %s" % folder for folder in layers
               if not os.path.isdir(os.path.join(ROOT, folder))]
    print("\n".join(faults) if faults else "%d folders, each below those it includes; %d of them can be left out"
          % (len(layers), len(parts)))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
