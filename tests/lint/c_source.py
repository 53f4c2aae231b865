# SPDX-License-Identifier: MIT
"""Splits C and C++ source files into the declarations and function definitions at file scope, for
the checks of this folder. It counts braces rather than parsing: the project's own code, which
clang-format has laid out, needs no more."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
                   r"|^[ \t]*\#(?:\\\n|//[^\n]*|/\*.*?\*/|[^\n])*", re.S | re.M)
CONTAINER = re.compile(r"\b(?:namespace|extern|class|struct|union|enum)\b[^()=]*$")
NO_FUNCTION = re.compile(r"\s*(?:typedef|_Static_assert|static_assert)\b|[^(]*=|[^(]*\(\s*\*")
MACRO_CALL = re.compile(r"[A-Z][A-Z0-9_]*\s*\([^()]*\)")  # SEC("..."), CFI_FIXED(uint8_t)
NAME = re.compile(r"(~?\w+|operator *\W+)\s*\(")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")


class Declaration:
    """A prototype or a function definition: its name and its first and last line, from 1."""

    def __init__(self, name, first, last, has_body):
        self.name, self.first, self.last, self.has_body = name, first, last, has_body


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def files(folders, suffixes):
    """The paths, below the root, of all files in these folders that end in one of the suffixes."""
    for top in folders:
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, top))):
            for name in sorted(names):
                if name.endswith(suffixes):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def blank(text):
    """The text with comments, literals and preprocessor lines overwritten by spaces, so that
    positions and line numbers stay; and the lines that have a comment."""
    commented = set()

    def overwrite(match):
        token = match[0]
        first = line_of(text, match.start())
        if token.startswith(("//", "/*")):
            commented.update(range(first, first + token.count("\n") + 1))
        else:
            for inner in re.finditer(r"//[^\n]*|/\*.*?\*/", token, re.S):
                if token.lstrip().startswith("#"):
                    commented.add(first + token.count("\n", 0, inner.start()))
        return "\n".join(" " * len(line) for line in token.split("\n"))

    return TOKEN.sub(overwrite, text), commented


def closing(code, opening):
    """The position of the brace that closes the one at `opening`, or the end of the text."""
    depth = 0
    for match in re.finditer(r"[{}]", code[opening:]):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return opening + match.start()
    return len(code) - 1


def declared(code, start, end, last, has_body):
    """The declaration whose text up to its `;` or `{` is code[start:end], or None if that is not a
    function's."""
    head = code[start:end]
    plain = MACRO_CALL.sub("", ATTRIBUTE.sub("", head), count=1)
    name = NAME.search(plain)
    if not name or NO_FUNCTION.match(plain):
        return None
    first = start + len(head) - len(head.lstrip())
    return Declaration(name[1], line_of(code, first), line_of(code, last), has_body)


def declarations(code):
    """The prototypes and function definitions of a blanked text, those in namespaces and classes
    too, in order."""
    found, start, position = [], 0, 0
    for_end = re.compile(r"[;{}]")
    while True:
        match = for_end.search(code, position)
        if not match:
            return found
        at, position = match.start(), match.end()
        if match[0] == "{":
            head = ATTRIBUTE.sub("", code[start:at])
            if CONTAINER.search(head) and not head.rstrip().endswith(")"):
                start = position
                continue
            position = closing(code, at) + 1
            item = declared(code, start, at, position - 1, True)
            if item is None:
                continue  # an initialiser: the declaration goes on up to its `;`
            found.append(item)
        elif match[0] == ";":
            item = declared(code, start, at, at, False)
            if item:
                found.append(item)
        start = position
