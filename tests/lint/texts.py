#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Collects what the programs say: each message, each line of help, each text of a page. With --list it prints
them, one a line behind its file and line, so that someone can read all of them in one go. Without, it prints
those that have a turn of phrase that readers stumbled over, and exits with 1 if there is one.

A text is what a row of adjacent string literals makes, in C, or a literal in the page's JavaScript, if it has two
words. SQL, JSON, HTML and C that the programs write, and the texts of BPF's map definitions, are none."""

import re
import sys

import c_source

FOLDERS = ("cli", "daemon", "lib", "mpi", "libstackalloc", "libstackmpi", "libstacktag", "plugin", "web")
LITERAL = r'"(?:\\.|[^"\\\n])*"'
MACRO = r"(?:PRI[a-z]+\d*|[A-Z][A-Z0-9_]{3,})"
ROW = re.compile(r"/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])*'|(?P<row>%s(?:\s+(?:%s|%s))*)" % (LITERAL, LITERAL, MACRO),
                 re.S)
SCRIPT_ROW = re.compile(r"/\*.*?\*/|//[^\n]*|(?P<row>%s|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)" % LITERAL, re.S)
PART = re.compile(r"%s|%s" % (LITERAL, MACRO))
NO_TEXT = re.compile(r"^\s*(?:SELECT|INSERT|CREATE|DELETE|UPDATE|PRAGMA|WITH|BEGIN|DROP|ALTER|ATTACH|WHERE|AND|FROM|JOIN|"
                     r"ORDER|GROUP|UNION|LIMIT|SAMPLE|FORMAT|<\w|</|\{|\.[A-Z]{2}|\$|#include|[\w-]+/[\w-]+;|set )|"
                     r"\bFROM [a-z_]+\b|::before|\bINTEGER\b|<svg|</\w+>|\\n\.\w\w|\bfunction\s*\(")
WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? +'?[A-Za-z]{2,}")

# What readers stumbled over, with the reason.
ODD = (
    (r"^Do not\b|[.:] [Dd]o not\b|, and do not\b", "say what to type instead"),
    (r"\bbegin of\b", "the beginning of"),
    (r"\bFor such a\b|\bof such a\b", "name the thing"),
    (r"\bwhere to\?|\bA page is nothing\b", "say what to type"),
    (r"what it has: ", "name what the recording has"),
    (r"\b0 ns hit\b", "name the function that has no samples"),
    (r"\b(?:is|are) told\b", "who says what?"),
    (r"\binformations\b|\bdatas\b", "no plural"),
    (r"'%s' is none of\b", "give one of"),
    (r"\bwhich \w+\?", "say what to type"),
    (r"\bare of --|\bis of --", "works with --"),
    (r"\ballows to\b|\bpermits to\b", "lets one"),
)


def texts(path):
    """(line, text) of each text in a file."""
    source = c_source.read(path)
    pattern = SCRIPT_ROW if path.endswith(".js") else ROW
    for match in pattern.finditer(source):
        row = match["row"]
        if not row:
            continue
        start = source.rfind("\n", 0, match.start()) + 1
        if source[start:match.start()].lstrip().startswith(("#include", "import ", "SEC(", "_Static_assert", "static_assert")):
            continue
        if path.endswith(".js"):
            text = row[1:-1]
        else:
            parts = PART.findall(row)
            text = "".join(p[1:-1] if p[0] == '"' else "<%s>" % p for p in parts)
        text = text.replace('\\"', '"').strip()
        if WORDS.search(text) and not NO_TEXT.search(text):
            yield c_source.line_of(source, match.start()), text


def main():
    listing = "--list" in sys.argv[1:]
    n = faults = 0
    for path in c_source.files(FOLDERS, (".c", ".h", ".js")):
        for line, text in texts(path):
            n += 1
            if listing:
                print("%s:%d: %s" % (path, line, text.replace("\\n", "\n        ").rstrip()))
            for pattern, why in ODD:
                if not listing and re.search(pattern, text):
                    print("%s:%d: '%s': %s: %s" % (path, line, pattern, why, text))
                    faults += 1
    if listing:
        print("%d texts" % n, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
