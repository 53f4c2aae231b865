# SPDX-License-Identifier: MIT
"""Random call trees of Python functions: python_tree.py LEAVES OUT SEED SECONDS THREADS [TURNS [TRACES COUNT]]

Each of 64 paths ends in a native function of its own, in the library LEAVES (python_leaves.c). The
functions of a path call each other in a random one of the ways below. A first run writes each path
to OUT, as the interpreter itself has its frames, and then the same calls are made for some SECONDS,
by some THREADS at once (0: by the first one). A leaf takes so many TURNS of its loop. With TRACES, the interpreter
itself writes its frames there each millisecond, wherever it is interrupted, and it ends behind COUNT of these instead."""

import contextlib
import ctypes
import faulthandler
import functools
import gc
import json
import os
import random
import re
import signal
import sys
import threading
import time
import types
import weakref

# How one function calls the next: its lines. INLINE: without a native frame in between (3.11).
INLINE = {
    "plain": ["return {next}(n)"],
    "lines": ["x = (", "    n +", "    0)", "return (", "    {next}(", "        x", "    )", ")"],
    "loop": ["for i in range(2):", "    if i:", "        r = {next}(n)", "return r"],
    "listcomp": ["return [{next}(v) for v in (n,)]"],
    "method": ["class C:", "    def m(self, *a, **k):", "        return {next}(n)", "return C().m(1, b=2)"],
    "lambda": ["return (lambda v: {next}(v))(n)"],
    "except": ["try:", "    raise KeyError(n)", "except KeyError:", "    return {next}(n)"],
    "finally": ["try:", "    int('x')", "except ValueError:", "    pass", "finally:", "    {next}(n)"],
    "recursion": ["def r(d):", "    return r(d - 1) if d else {next}(n)", "return r(7)"],
    "large": ["def g(a, b, c, d, e, f, *x, **y):", "    z = [a, b, (c, (d, (e, (f, [x, {next}(n)])))), y]", "    return z",
              "return g(1, 2, 3, 4, 5, 6, 7, 8, 9, h=n)"],
    "redefined": ["def g(n):", "    return 1", "g(n)", "def g(n):", "    return {next}(n)", "g(n)"],
}
NATIVE = {
    "map": ["return list(map({next}, [n]))[0]"],
    "sorted": ["return sorted([n], key={next})"],
    "partial": ["return functools.partial({next}, n)()"],
    "cache": ["return functools.lru_cache(maxsize=None)({next})(n)"],
    "star": ["return {next}(*(n,))"],
    "keywords": ["return {next}(**{{'n': n}})"],
    "genexpr": ["return any({next}(v) for v in (n,))"],
    "generator": ["def g():", "    yield 1", "    yield {next}(n)", "return list(g())"],
    "yieldfrom": ["def g():", "    yield {next}(n)", "def h():", "    yield from g()", "for v in h():", "    pass"],
    "coroutine": ["async def g():", "    return {next}(n)", "async def h():", "    return await g()", "try:",
                  "    h().send(None)", "except StopIteration:", "    pass"],
    "init": ["class C:", "    def __init__(self):", "        self.r = {next}(n)", "return C()"],
    "property": ["class C:", "    @property", "    def p(self):", "        return {next}(n)", "return C().p"],
    "with": ["class C:", "    def __enter__(self):", "        {next}(n)", "    def __exit__(self, *a):",
             "        return True", "with C():", "    pass"],
    "exit": ["class C:", "    def __enter__(self):", "        pass", "    def __exit__(self, *a):", "        {next}(n)",
             "        return True", "with C():", "    raise OSError"],
    "add": ["class C:", "    def __radd__(self, o):", "        return {next}(n)", "return 1 + C()"],
    "getattr": ["class C:", "    def __getattr__(self, name):", "        return {next}(n)", "return C().whatever"],
    "del": ["class C:", "    def __del__(self):", "        {next}(n)", "c = C()", "del c"],
    "exec": ["exec(compile('\\n\\nf(n)', '<made %d>' % {path}, 'exec'), {{'f': {next}, 'n': n}})"],
    "reduce": ["return functools.reduce(lambda a, b: {next}(n), [1, 2])"],
    "callback": ["return CALLBACK({next})(n)"],
    "asyncfor": ["async def g():", "    yield {next}(n)", "async def h():", "    async for v in g():", "        pass",
                 "try:", "    h().send(None)", "except StopIteration:", "    pass"],
    "asyncwith": ["class C:", "    async def __aenter__(self):", "        return {next}(n)",
                  "    async def __aexit__(self, *a):", "        pass", "async def h():", "    async with C():",
                  "        pass", "try:", "    h().send(None)", "except StopIteration:", "    pass"],
    "throw": ["def g():", "    try:", "        yield", "    except KeyError:", "        yield {next}(n)", "v = g()", "next(v)",
              "v.throw(KeyError)"],
    "close": ["def g():", "    try:", "        yield", "    finally:", "        {next}(n)", "v = g()", "next(v)", "v.close()"],
    "hash": ["class C:", "    def __hash__(self):", "        {next}(n)", "        return 1", "{{C(): n}}"],
    "equal": ["class C:", "    def __eq__(self, o):", "        {next}(n)", "        return True", "[0].index(C())"],
    "format": ["class C:", "    def __format__(self, s):", "        {next}(n)", "        return ''", "f'{{C()}}'"],
    "less": ["class C:", "    def __lt__(self, o):", "        {next}(n)", "        return True", "sorted([C(), C()])"],
    "iterate": ["class C:", "    def __iter__(self):", "        return self", "    def __next__(self):",
                "        {next}(n)", "        raise StopIteration", "list(C())"],
    "substitute": ["re.compile('x').sub(lambda m: str({next}(n)), 'x')"],
    "weakref": ["class C:", "    pass", "c = C()", "r = weakref.ref(c, lambda r: {next}(n))", "del c"],
    "meta": ["class M(type):", "    def __new__(*a):", "        {next}(n)", "        return type.__new__(*a)",
             "class C(metaclass=M):", "    pass"],
    "contextmanager": ["@contextlib.contextmanager", "def g():", "    {next}(n)", "    yield", "with g():", "    pass"],
    "module": ["m = types.ModuleType('m%d' % {path})", "m.f, m.n = {next}, n",
               "exec(compile('def g():\\n\\n f(n)\\ng()', '<module %d>' % {path}, 'exec'), m.__dict__)"],
}
# Ways that only the main thread has, if it is the only one.
ALONE = {
    "signal": ["try:", "    signal.signal(signal.SIGUSR1, lambda *a: {next}(n))", "    os.kill(os.getpid(), signal.SIGUSR1)",
               "    n = n", "finally:", "    signal.signal(signal.SIGUSR1, signal.SIG_IGN)"],
}
# Ways of which a path has one at most: within a hook or a collection, there are none.
ONCE = {
    "profile": ["def g():", "    pass", "def h(frame, event, arg):", "    sys.setprofile(None)", "    {next}(n)",
                "sys.setprofile(h)", "g()"],
    "trace": ["def g():", "    return n", "def h(frame, event, arg):", "    sys.settrace(None)", "    {next}(n)",
              "sys.settrace(h)", "g()"],
    "collect": ["class C:", "    def __del__(self):", "        {next}(n)", "c = C()", "c.c = c", "del c", "gc.collect()"],
}
LINKS = {**INLINE, **NATIVE, **ALONE, **ONCE}
NAMES = ["leaf_%d%d" % (i // 8, i % 8) for i in range(64)]
callback = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.c_long)
state = {"learns": True}
truth, links = {}, {}


def learn(path):
    frame, chain = sys._getframe(1), []
    while frame:
        code = frame.f_code
        chain.append((getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno))
        frame = frame.f_back
    truth[NAMES[path]] = chain[::-1]


def choose(chance, alone):
    """The ways in which the functions of a path call each other."""
    kinds = []
    for _ in range(chance.randint(2, 12)):
        seldom = not set(kinds) & set(ONCE)
        kinds.append(chance.choice(sorted({**INLINE, **NATIVE, **(ALONE if alone else {}),
                                           **(ONCE if alone and seldom else {})})))
    return kinds


def make(path, scope, chance, alone):
    kinds = choose(chance, alone)
    lines = []
    for i, kind in enumerate(kinds):
        lines += [""] * chance.randint(0, 3) + ["def f_%d_%d(n):" % (path, i)]
        lines += ["    " + line.format(next="f_%d_%d" % (path, i + 1), path=path) for line in LINKS[kind]]
    lines += ["def f_%d_%d(n):" % (path, len(kinds)),
              "    return LEAF_%d(n) if not state['learns'] else learn(%d)" % (path, path)]
    exec(compile("\n".join(lines), "/made/path_%d.py" % path, "exec"), scope)
    links[NAMES[path]] = kinds
    return scope["f_%d_0" % path]


def run_all(roots, turns, is_over):
    while True:
        for root in roots:
            root(turns)
        if is_over():
            return


def trace(path, count):
    """Begins to write traces. Returns a function that says whether there are so many, and then ends them."""
    out, size, traces = open(path, "wb+"), 0, 0
    faulthandler.register(signal.SIGALRM, file=out, all_threads=False)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

    def is_over():
        nonlocal size, traces
        more = os.pread(out.fileno(), 1 << 30, size)
        size += len(more)
        traces += more.count(b"most recent call first")
        if traces >= count:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return traces >= count
    return is_over


def main():
    library, out, seed, seconds, n_threads, *more = sys.argv[1:]
    turns, traces, count = (more + ["100000", "", "0"][len(more):])
    leaves, chance = ctypes.PyDLL(library), random.Random(int(seed))
    scope = {"functools": functools, "state": state, "learn": learn, "re": re, "weakref": weakref, "types": types,
             "contextlib": contextlib, "signal": signal, "os": os, "sys": sys, "gc": gc,
             "CALLBACK": lambda f: callback(lambda v: (f(v), 0)[1])}
    for path, name in enumerate(NAMES):
        scope["LEAF_%d" % path] = getattr(leaves, name)
    roots = [make(path, scope, chance, n_threads == "0") for path in range(len(NAMES))]
    run_all(roots, 0, lambda: True)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"paths": truth, "links": links}, file)
    state["learns"] = False
    end = time.process_time() + float(seconds)
    is_over = trace(traces, int(count)) if traces else lambda: time.process_time() >= end
    threads = [threading.Thread(target=run_all, args=(roots, int(turns), is_over)) for _ in range(int(n_threads))]
    for thread in threads:
        thread.start()
    if not threads:
        run_all(roots, int(turns), is_over)
    for thread in threads:
        thread.join()


main()
