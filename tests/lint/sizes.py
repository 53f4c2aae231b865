#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that no function is longer than 60 lines: prints each that is, and exits with 1 if there is
one. EXCEPTED names the functions that may be longer: they fill in one object or set up one test, and
splitting them would only scatter a list. Names the longest files, too, as advice: one of far more than
600 lines usually has two subjects, and is divided by them, not at a number of lines."""

import ast
import sys

import c_source

FUNCTION_LINES = 60
LONGEST_FILES = 5  # that are named
FOLDERS = ("arch", "bpf", "lib", "daemon", "cli", "libstacktag", "libstackalloc", "libstackmpi", "plugin", "tests", "bench")
EXCEPTED = {}


def functions_of(path, text):
    """(name, first line, number of lines) of each function in a source file."""
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text, path)):
            if isinstance(node, ast.FunctionDef):
                yield node.name, node.lineno, node.end_lineno - node.lineno + 1
        return
    for item in c_source.declarations(c_source.blank(text)[0]):
        if item.has_body:
            yield item.name, item.first, item.last - item.first + 1


def faults_of(path, text):
    for name, first, length in functions_of(path, text):
        if length > FUNCTION_LINES and name not in EXCEPTED.get(path, ()):
            yield "%s:%d: %s() has %d lines, over %d" % (path, first, name, length, FUNCTION_LINES)


def main():
    texts = {path: c_source.read(path) for path in c_source.files(FOLDERS, (".c", ".h", ".cc", ".py"))}
    faults = [fault for path, text in texts.items() for fault in faults_of(path, text)]
    lines = {path: text.count("\n") for path, text in texts.items()}
    for path in sorted(lines, key=lines.get, reverse=True)[:LONGEST_FILES]:
        print("%s: %d lines" % (path, lines[path]))
    print("\n".join(faults) if faults else "no function over %d lines" % FUNCTION_LINES)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
