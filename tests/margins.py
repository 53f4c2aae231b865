#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How often chance can fail the live tests that want a number of samples: margins.py FILE [NAME...]

Runs live tests (run.py --exact), and adds what check() has compared with a limit to FILE, a line each: a number that must
be larger than a constant, or a parameter. Then prints a line a place, of all runs in FILE, those nearest to their limit
first: how often chance would fail it if a host took away half of the program's time, which it can have counted as the
program's. That is how often a Poisson number, with half of the smallest number that was seen as its mean, is no larger than
the limit. More than 1 in 10^6 is too often: such a test takes more samples, or goes on until it has enough (harness.py:
until_enough(), record_until()). Other limits of chance are computed where they stand (chance.py), or what they compare is
no number of samples: CONTRIBUTING.md."""

import ast
import collections
import importlib.abc
import importlib.machinery
import importlib.util
import math
import os
import runpy
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "live")
RUN = os.path.join(HERE, "run.py")
LEAST, MOST = 10, 100000  # limits of numbers of samples; others are of things that are few, or of times and bytes
TOO_OFTEN = 1e-6


class Note(ast.NodeTransformer):
    """Replaces `a > limit` and `a >= limit` within check() by a call that notes both."""

    def __init__(self, module):
        self.module, self.is_within = module, False

    def visit_Call(self, node):  # noqa: N802 (their names)
        if not isinstance(node.func, ast.Name) or node.func.id != "check":
            return self.generic_visit(node)
        self.is_within = True
        node.args[0] = self.visit(node.args[0])
        self.is_within = False
        return node

    def visit_Compare(self, node):  # noqa: N802
        self.generic_visit(node)
        if not self.is_within or len(node.ops) > 1 or not isinstance(node.ops[0], (ast.Gt, ast.GtE)) or \
                not isinstance(node.comparators[0], (ast.Constant, ast.Name)):
            return node
        where = ast.Constant("%s:%d" % (self.module, node.lineno))
        call = ast.Call(ast.Name("note_margin", ast.Load()), [
            where, ast.Constant(isinstance(node.ops[0], ast.Gt)), node.left, node.comparators[0]], [])
        return ast.copy_location(call, node)


class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        path = self.get_filename(fullname)
        tree = ast.fix_missing_locations(Note(fullname).visit(ast.parse(self.get_data(path))))
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module):
        module.note_margin = note_margin
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        file = os.path.join(HERE, fullname + ".py")
        if path or not os.path.exists(file):
            return None
        return importlib.util.spec_from_file_location(fullname, file, loader=Loader(fullname, file))


def caller_of(where):
    """A check of harness.py is also that of the test that has called it."""
    frame = sys._getframe(2)  # pylint: disable=protected-access
    while frame and not frame.f_globals.get("__name__", "").startswith("test_"):
        frame = frame.f_back
    return "%s, called at %s:%d" % (where, frame.f_globals["__name__"], frame.f_lineno) if frame else where


def note_margin(where, is_above, number, limit):
    if isinstance(number, int) and isinstance(limit, int):
        where = where if where.startswith("test_") else caller_of(where)
        with open(os.environ["MARGINS"], "a", encoding="utf-8") as file:
            file.write("%s\t%s\t%d\t%d\n" % (where, ">" if is_above else ">=", number, limit))
    return number > limit if is_above else number >= limit


def chance_of(mean, most):
    """How often a Poisson number of that mean is no larger than `most`."""
    return math.fsum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(most + 1)) if mean else 1


def print_table(path):
    seen = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            where, operator, number, limit = line.split("\t")
            if LEAST <= int(limit) <= MOST:
                seen[where, operator, int(limit)].append(int(number))
    rows = [(chance_of(min(numbers) / 2, limit - (operator == ">=")), min(numbers), where, operator, limit, len(numbers))
            for (where, operator, limit), numbers in seen.items()]
    print("chance    least  limit  times  where")
    for chance, least, where, operator, limit, times in sorted(rows, reverse=True):
        print("%-8.1g %6d %2s%5d %6d  %s%s" % (chance, least, operator, limit, times, where,
                                              ", too often" if chance > TOO_OFTEN else ""))


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: margins.py FILE [NAME...]")
    path, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if names:
        sys.meta_path.insert(0, Finder())
        sys.path.insert(0, HERE)
        os.environ["MARGINS"] = path
        sys.argv = [RUN, "--exact", *names]
        try:
            runpy.run_path(RUN, run_name="__main__")
        except SystemExit:
            pass
    print_table(path)


if __name__ == "__main__":
    main()
