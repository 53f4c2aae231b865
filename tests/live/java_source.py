# SPDX-License-Identifier: MIT
"""Makes a Java program whose methods can each be reached by one path only, and knows the line of each call.

A path P is a chain of methods f_P_0, f_P_1, ... of random kinds of calls. The last one makes exceptions, which the virtual
machine fills with the stack's trace: a native method that is never inlined, so that most samples hit it."""

import random

KINDS = ("plain", "static_class", "lambda", "stream", "sort", "locked", "finally", "catch", "recursion", "constructor",
         "anonymous", "interface")
CLASS = "java_paths"


class Source:
    def __init__(self):
        self.lines = []
        self.expected = {}  # by (path, step): the lines at which its methods may call

    def put(self, text, key=None):
        """Adds a line, at which the methods of a step (path, step) call."""
        self.lines.append(text)
        if key:
            self.expected.setdefault(key, set()).add(len(self.lines))


def put_link(s, kind, path, step):
    """A method that calls the next one: by a call at one line, of which no other method is."""
    key, call = (path, step), "f_%d_%d" % (path, step + 1)
    s.put("\tstatic int f_%d_%d(int x) {" % key)
    if kind == "plain":
        s.put("\t\treturn %s(x) + 1;" % call, key)
    elif kind == "static_class":
        s.put("\t\treturn C_%d_%d.in(x);" % key, key)
    elif kind == "lambda":
        s.put("\t\tjava.util.function.IntUnaryOperator o = y ->")
        s.put("\t\t\t%s(y);" % call, key)
        s.put("\t\treturn o.applyAsInt(x);", key)
    elif kind == "stream":
        s.put("\t\treturn java.util.stream.IntStream.of(x, x + 1).map(y ->")
        s.put("\t\t\t%s(y))" % call, key)
        s.put("\t\t\t.sum();", key)
    elif kind == "sort":
        s.put("\t\tInteger[] a = {x & 7, x & 3};")
        s.put("\t\tjava.util.Arrays.sort(a, (p, q) ->")
        s.put("\t\t\t%s(p) - q);" % call, key)
        s.expected[key].add(len(s.lines) - 1)
        s.put("\t\treturn a[0];")
    elif kind == "locked":
        s.put("\t\tsynchronized (java_paths.class) {")
        s.put("\t\t\treturn %s(x);" % call, key)
        s.put("\t\t}")
    elif kind == "finally":
        s.put("\t\ttry {")
        s.put("\t\t\treturn %s(x);" % call, key)
        s.put("\t\t} finally {")
        s.put("\t\t\tsink++;")
        s.put("\t\t}")
    elif kind == "catch":
        s.put("\t\ttry {")
        s.put("\t\t\tthrow new IllegalStateException();", key)
        s.put("\t\t} catch (IllegalStateException e) {")
        s.put("\t\t\treturn %s(x);" % call, key)
        s.put("\t\t}")
    elif kind == "recursion":
        s.put("\t\tif (x >> 20 < 4)")
        s.put("\t\t\treturn f_%d_%d(x + (1 << 20));" % key, key)
        s.put("\t\treturn %s(x & 0xfffff);" % call, key)
    elif kind == "constructor":
        s.put("\t\treturn new C_%d_%d(x).made;" % key, key)
    elif kind == "anonymous":
        s.put("\t\treturn new Object() {")
        s.expected[key] = {len(s.lines)}
        s.put("\t\t\tint f_%d_%d(int y) {" % key)
        s.put("\t\t\t\treturn %s(y);" % call, key)
        s.put("\t\t\t}")
        s.put("\t\t}.f_%d_%d(x);" % key, key)
    else:
        s.put("\t\treturn STEPS[x & 1].C_%d_%d(x);" % key, key)
    s.put("\t}")


def put_leaf(s, path, step):
    s.put("\tstatic int f_%d_%d(int x) {" % (path, step))
    s.put("\t\tfor (int i = 0; i < 3; i++)")
    s.put("\t\t\tx += new Throwable().hashCode() & 1;", (path, step))
    s.put("\t\treturn x;")
    s.put("\t}")


def put_classes(s, links):
    """What methods of some kinds call: it calls the next one."""
    calls = [key for key, kind in links if kind == "interface"]
    for (path, step), kind in links:
        if kind not in ("static_class", "constructor"):
            continue
        s.put("\tstatic class C_%d_%d {" % (path, step))
        if kind == "constructor":
            s.put("\t\tfinal int made;")
            s.put("\t\tC_%d_%d(int x) {" % (path, step))
            s.put("\t\t\tmade = f_%d_%d(x);" % (path, step + 1), (path, step))
        else:
            s.put("\t\tstatic int in(int x) {")
            s.put("\t\t\treturn f_%d_%d(x);" % (path, step + 1), (path, step))
        s.put("\t\t}")
        s.put("\t}")
    for name in ("interface Step", "static class Even implements Step", "static class Odd implements Step"):
        s.put("\t%s {" % name)
        for key in calls:
            if name == "interface Step":
                s.put("\t\tint C_%d_%d(int x);" % key)
                continue
            s.put("\t\tpublic int C_%d_%d(int x) {" % key)
            s.put("\t\t\treturn f_%d_%d(x);" % (key[0], key[1] + 1), key)
            s.put("\t\t}")
        s.put("\t}")


def make(seed, paths=6, steps=7):
    """The source, the lines that are expected, and the number of a path's last step."""
    chance, s, links = random.Random(seed), Source(), []
    kinds = [kind for _ in range(1 + paths * steps // len(KINDS)) for kind in KINDS]
    chance.shuffle(kinds)
    s.put("class %s {" % CLASS)
    s.put("\tstatic long sink;")
    s.put("\tstatic final Step[] STEPS = {new Even(), new Odd()};")
    for path in range(paths):
        for step in range(steps):
            links.append(((path, step), kinds[path * steps + step]))
            put_link(s, links[-1][1], path, step)
        put_leaf(s, path, steps)
    put_classes(s, links)
    s.put("\tpublic static void main(String[] arguments) {")
    s.put("\t\tjava.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();")
    s.put("\t\tlong end = threads.getCurrentThreadCpuTime() + (long)(Double.parseDouble(arguments[0]) * 1e9);")
    s.put("\t\tfor (int x = 0; threads.getCurrentThreadCpuTime() < end; x = x + 1 & 0xffff) {")
    for path in range(paths):
        s.put("\t\t\tsink += f_%d_0(x);" % path, (path, -1))
    s.put("\t\t}")
    s.put("\t}")
    s.put("}")
    return "\n".join(s.lines) + "\n", s.expected, steps
