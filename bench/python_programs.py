#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the functions of Python in real programs: python_programs.py [--python PATH] [--seconds N] [PROGRAM...]

Each program that the interpreter has the packages for is recorded twice. First at 4,999 Hz with --judge: each frame's name, first
line and line are held against its source file, as the interpreter itself compiles it, and each walk is done a second time with
all functions read anew. Then the interpreter's own faulthandler writes a trace after each 2 ms of CPU time, and is itself the
region that is recorded: its traces and the paths of the same moments are compared one by one.

A program is a piece of Python below, run again and again for N seconds of CPU time (2). --python: /usr/bin/python3 unless said
otherwise; packages that are elsewhere are found by PYTHONPATH. --run COMMAND judges the samples of another command, such as
"gdb -x script.py", by the sources that --python compiles; a COMMAND of options ("--pid 7 --duration 9") is stackd's.

Prints a table, and ends with status 1 if anything is wrong. Columns: samples with functions or activations of Python; the share
that has all functions; activations in transition, and paths with functions that are not proven or with native frames alone;
frames that are right, without a source, and wrong; walks that are equal when done again, and that are not; traces that are
equal, and whose path has marks."""

import argparse
import collections
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "live"))
import test_python  # noqa: E402
from harness import DONE, MANAGED, NO_SAMPLING, STACKCTL, record, run  # noqa: E402
from test_regions import instances  # noqa: E402

EVAL = "_PyEval_EvalFrameDefault"

# What each program runs first, and then over and over. `folder` is an empty folder that it may write to.
PROGRAMS = {
    "django": ("""
import django, io
from django.conf import settings
settings.configure(DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}, ROOT_URLCONF='__main__',
    ALLOWED_HOSTS=['*'], INSTALLED_APPS=['django.contrib.contenttypes', 'django.contrib.auth'], SECRET_KEY='x',
    TEMPLATES=[{'BACKEND': 'django.template.backends.django.DjangoTemplates'}],
    MIDDLEWARE=['django.middleware.common.CommonMiddleware', 'django.middleware.gzip.GZipMiddleware'])
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpResponse
from django.template import Context, Template
from django.test import Client
from django.urls import path
call_command('migrate', verbosity=0)
page = Template('{% for u in users %}<p>{{ u.username|upper }} {{ u.email|default:"none" }}</p>{% endfor %}')
def index(request):
    return HttpResponse(page.render(Context({'users': User.objects.filter(id__gt=5).order_by('-username')})))
urlpatterns = [path('users/', index)]
User.objects.bulk_create(User(username='user%d' % i) for i in range(40))
client = Client()
""", "assert client.get('/users/').status_code == 200"),
    "numpy": ("""
import numpy as np
def smooth(a): return np.apply_along_axis(lambda row: np.convolve(row, [1, 2, 1], 'same'), 0, a)
""", """
a = np.random.rand(60, 60)
np.linalg.eigh(a + a.T)
smooth(a)
np.vectorize(lambda v: v * v if v > .5 else 0)(a).sum()
str(a[:5])
"""),
    "scipy": ("""
import numpy as np
from scipy import integrate, optimize, interpolate
def f(x): return np.sin(x) + x * x / 10
""", """
optimize.minimize(lambda v: f(v[0]) + v[1] ** 2, [1., 2.])
integrate.quad(f, 0, 5)
optimize.brentq(lambda x: f(x) - 1, 0, 3)
interpolate.CubicSpline(range(9), range(9))(2.5)
integrate.solve_ivp(lambda t, y: -y, (0, 3), [1.])
"""),
    "mercurial": ("""
from mercurial import demandimport
from mercurial import ui as uimod, hg, commands, context, patch, mdiff
from mercurial.hgweb import hgweb_mod
os.environ['HGPLAIN'] = '1'
u = uimod.ui.load()
u.setconfig(b'ui', b'username', b'a'); u.setconfig(b'ui', b'quiet', b'yes')
hg.peer(u, {}, folder.encode() + b'/r', create=True)
repo = hg.repository(u, folder.encode() + b'/r')
turn = 0
""", """
turn += 1
name = folder + '/r/f%d' % (turn % 7)
open(name, 'a').write('line %d\\n' % turn)
u.pushbuffer()
commands.addremove(u, repo)
commands.commit(u, repo, message=b'change')
commands.log(u, repo, limit=20, patch=True)
commands.status(u, repo)
u.popbuffer()
"""),
    "ansible": ("""
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.inventory.manager import InventoryManager
from ansible.vars.manager import VariableManager
from ansible.playbook import Playbook
open(folder + '/p.yml', 'w').write('- hosts: all\\n  gather_facts: no\\n  vars: {a: [1, 2, 3]}\\n  tasks:\\n' + ''.join(
    '  - name: t%d {{ a }}\\n    debug: {msg: "{{ a | map(\\'int\\') | sum }}"}\\n    when: a | length > 2\\n' % i for i in range(12)))
loader = DataLoader()
inventory = InventoryManager(loader=loader, sources='h1,h2,')
variables = VariableManager(loader=loader, inventory=inventory)
""", """
book = Playbook.load(folder + '/p.yml', variable_manager=variables, loader=DataLoader())
for play in book.get_plays():
    for block in play.compile():
        for task in block.block:
            values = variables.get_vars(play=play, task=task, host=inventory.get_host('h1'))
            Templar(loader=loader, variables=values).template(task.args) if task.args else None
            task.evaluate_conditional(Templar(loader=loader, variables=values), values)
"""),
    "pip": ("""
import pip
from pip._internal.cli.main import main as pip_main
import contextlib, io
""", """
with contextlib.redirect_stdout(io.StringIO()):
    pip_main(['list', '--no-index', '--disable-pip-version-check'])
    pip_main(['check', '--disable-pip-version-check'])
"""),
    "setuptools": ("""
import setuptools, io, contextlib
from setuptools import sandbox, dist
from distutils.core import run_setup
os.chdir(folder)
os.makedirs('pkg/sub')
open('pkg/__init__.py', 'w').write('x = 1')
open('pkg/sub/__init__.py', 'w').write('y = 1')
open('setup.py', 'w').write('''from setuptools import setup, find_packages
setup(name='pkg', version='1', packages=find_packages(), entry_points={'console_scripts': ['p=pkg:x']})''')
""", "run_setup('setup.py', ['-q', 'sdist', 'bdist_egg'])"),
    "unittest": ("""
import unittest, io
names = ['json', 'generators', 'contextlib', 'textwrap', 'dataclasses', 'enum', 'collections', 'functools', 'coroutines',
         'itertools', 'descr', 're']
loader = unittest.defaultTestLoader
turn = 0
import warnings; warnings.simplefilter('ignore')
import test.support; test.support.verbose = 0
""", """
turn += 1
unittest.TextTestRunner(stream=io.StringIO()).run(loader.loadTestsFromName('test.test_' + names[turn % len(names)]))
"""),
    "asyncio": ("""
import asyncio
async def serve(reader, writer):
    while True:
        line = await reader.readline()
        if not line: break
        writer.write(bytes(reversed(line[:-1])) + b'\\n'); await writer.drain()
    writer.close()
async def ask(port, n):
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    for i in range(n):
        writer.write(b'x' * i + b'\\n'); await reader.readline()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        await asyncio.gather(*(ask(port, 30) for _ in range(10)))
        await asyncio.sleep(0)
""", "asyncio.run(main())"),
    "http": ("""
import http.server, http.client, threading, socketserver, json
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *_): pass
    def do_GET(self):
        body = json.dumps({'path': self.path, 'sum': sum(map(lambda v: v * v, range(500)))}).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def client():
    c = http.client.HTTPConnection(*server.server_address)
    for i in range(30):
        c.request('GET', '/%d' % i); json.loads(c.getresponse().read())
    c.close()
""", """
clients = [threading.Thread(target=client) for _ in range(8)]
[c.start() for c in clients]
[c.join() for c in clients]
"""),
    "gevent": ("""
import gevent, gevent.queue, gevent.pool, gevent.lock
def produce(q, n):
    for i in range(n): q.put(sum(range(i))); gevent.sleep(0)
def consume(q, n): return [sorted(range(q.get() % 50), key=lambda v: -v) for _ in range(n)]
""", """
q, p = gevent.queue.Queue(3), gevent.pool.Pool(8)
[p.spawn(f, q, 30) for _ in range(4) for f in (produce, consume)]
p.join()
"""),
    "greenlet": ("""
import greenlet
def inner(parent, n):
    while True: parent.switch(sum(i * i for i in range(n)))
def outer(n): return [greenlet.greenlet(inner) for _ in range(5)]
""", """
for n, g in enumerate(outer(5)):
    g.switch(greenlet.getcurrent(), 200)
    for _ in range(20): g.switch()
"""),
    "parse": ("""
import ast, glob, tokenize, symtable, traceback, re
files = sorted(glob.glob(os.path.dirname(ast.__file__) + '/*.py'))
turn = 0
class Visitor(ast.NodeVisitor):
    def visit_Name(self, node): re.sub('[a-m]', lambda m: m.group().upper(), node.id)
""", """
turn += 1
text = open(files[turn % len(files)], encoding='utf-8', errors='replace').read()
Visitor().visit(ast.parse(text))
list(tokenize.generate_tokens(iter(text.splitlines(True)).__next__))
"""),
}

RUNNER = r"""
import faulthandler, os, signal, sys, time

def run(folder, seconds, *traces):
    del sys.argv[1:]
    values = sys.modules['__main__'].__dict__
    values.update({'os': os, 'folder': folder})
    paths = [os.path.abspath(folder + '/../' + name) for name in ('first.py', 'again.py')]
    first, again = [compile(open(path).read(), path, 'exec') for path in paths]
    exec(first, values)
    if traces:
        log = open(traces[0], 'w')
        faulthandler.register(signal.SIGVTALRM, file=log, all_threads=False)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.002, 0.002)
    end = time.process_time() + float(seconds)
    try:
        while time.process_time() < end:
            exec(again, values)
    finally:
        if traces:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0, 0)
            faulthandler.unregister(signal.SIGVTALRM)

run(*sys.argv[1:])
"""

# Prints the functions of source files: {file: [[name, first line, [lines]]]}
COMPILER = r"""
import dis, json, os, sys, tokenize, types, warnings
warnings.simplefilter('ignore')
def walk(code, found):
    if hasattr(code, 'co_lines'): lines = {line for _, _, line in code.co_lines() if line is not None}
    else: lines = {line for _, line in dis.findlinestarts(code)}
    found.append([getattr(code, 'co_qualname', code.co_name), code.co_firstlineno, sorted(lines)])
    for const in code.co_consts:
        if isinstance(const, types.CodeType): walk(const, found)
result = {}
for name in json.load(sys.stdin):
    path = name
    if name.startswith('<frozen '):
        module = name[8:-1].replace('.', '/')
        for end in ('.py', '/__init__.py'):
            if os.path.exists(os.path.dirname(os.__file__) + '/' + module + end):
                path = os.path.dirname(os.__file__) + '/' + module + end
    try:
        with tokenize.open(path) as file: text = file.read()
        result[name] = []
        walk(compile(text, name, 'exec', dont_inherit=True), result[name])
    except (OSError, SyntaxError, ValueError):
        result.pop(name, None)
print(json.dumps(result))
"""


def python_paths(export):
    """(frames root first, samples) of each path, each frame as (name, kind, file, line)."""
    symbols, stacks = export["symbols"], export["stacks"]
    for entry in export["entries"]:
        path, at = [], entry["stack"]
        while at >= 0:
            at, number = stacks[at]
            frame = export["frames"][number]
            symbol = symbols[frame["symbol"]]
            path.append((symbol["name"], symbol["kind"], frame.get("file"), frame.get("line")))
        yield path[::-1], entry["samples"]


def export_of(store, *options):
    return json.loads(run(STACKCTL, "export", "--json", "--interpreter=show", "-i", store, *options).out)


def class_of(path):
    """Whether all functions of a path are there: one of the columns below."""
    names = [frame[0] for frame in path]
    if any(name.startswith(("[frames not", "[name lost")) for name in names):
        return "unproven"
    if not any(frame[1] == "python" for frame in path):
        return "native" if EVAL in names else "none"
    last = len(names) - 1 - names[::-1].index(EVAL) if EVAL in names else -1
    if last >= 0 and (not last or path[last - 1][1] != "python"):  # it carries the functions before it
        return "in transition"
    return "exact"


def check_sources(python, frames):
    """How many frames are right and wrong by their source files, and without a source; frames: {(name, file, line): samples}"""
    files = sorted({file for _, file, _ in frames if file})
    out = subprocess.run([python, "-c", COMPILER], input=json.dumps(files), stdout=subprocess.PIPE, check=True, text=True).stdout
    sources = json.loads(out)
    counts, wrong = collections.Counter(), []
    for (name, file, line), samples in frames.items():
        match = re.fullmatch(r"(.*?)(?: \([^()]+:(\d+)\))?", name)
        functions = sources.get(file)
        if functions is None:
            counts["no source"] += samples
            continue
        first = int(match[2]) if match[2] else None
        # Before 3.11 a code object has no qualified name.
        is_right = any(known == match[1] and first in (None, begin) and (line in lines or not line or line == begin)
                       for known, begin, lines in functions)
        counts["right" if is_right else "wrong"] += samples
        if not is_right:
            wrong.append((name, file, line, samples))
    return counts, wrong


def sampled(python, folder, *command):
    """Samples in each class, frames in each of check_sources(), those that are wrong, and counters."""
    store = os.path.join(folder, "sampled.db")
    recording, _ = record(store, *MANAGED, "-F", "4999", "--judge", "--ring-bytes", "64M", *command)
    counters = recording.stats()["counters"]
    kinds, frames = collections.Counter(), collections.Counter()
    for path, samples in python_paths(export_of(store)):
        kinds[class_of(path)] += samples
        for function, kind, file, line in path:
            if kind == "python":
                frames[(function, file, line)] += samples
    found, wrong = check_sources(python, frames)
    return kinds, found, wrong, counters


def traced(python, folder, seconds, is_greenlet):
    """Traces that were equal, those whose path has marks, and the first that differs. A trace in a greenlet ends where that has
    begun; paths go on with the greenlet that has switched to it."""
    store, traces = os.path.join(folder, "traced.db"), os.path.join(folder, "traces")
    os.makedirs(folder + "/more")
    maps = run(python, "-c", "print(open('/proc/self/maps').read())").out
    file = (re.findall(r"/\S+/libpython3\.\d+d?\.so\S*", maps) or re.findall(r"/\S+/python3\.\d+d?$", maps, re.M))[0]
    if "_Py_DumpTraceback" not in run("nm", "-D", file).out + run("nm", file).out:
        return {"equal": 0, "marked": 0, "wrong": None}  # it is not exported, and there are no symbols (Debian 13)
    recording, result = record(store, *MANAGED, *NO_SAMPLING, "--ring-bytes", "64M", "--region", "_Py_DumpTraceback@" + file, "--",
                               python, folder + "/runner.py", folder + "/more", str(seconds), traces)
    if "Traceback" in result.err:
        return {"equal": 0, "marked": 0, "wrong": ("the program has failed: " + result.err[-600:], None)}
    written, paths = read_traces(traces), test_python.pass_paths(store)
    by_thread = instances(folder, recording)
    passes = sorted((each for thread in by_thread.values() for each in thread), key=lambda each: each[0])
    if recording.stats()["counters"]["regions_sent"] != len(passes) or len(passes) - len(written) not in (0, 1):
        return {"equal": 0, "marked": 0, "wrong": ("traces and passes: %d" % len(written), len(passes))}
    found = {"equal": 0, "marked": 0, "wrong": None}
    for (trace, is_cut), (*_, tag) in zip(written, passes):
        path = paths[tag]
        if path is None:
            found["marked"] += 1
        elif is_equal(path[:len(trace)] if is_cut or is_greenlet else path, trace):
            found["equal"] += 1
        else:
            found["wrong"] = found["wrong"] or (trace, path)
    return found


def is_equal(path, trace):
    """A trace has the name of a code object, which some programs replace in those that they make, and not its qualified one."""
    return len(path) == len(trace) and all(a == b or (a[1:] == b[1:] and not os.path.exists(a[1]))
                                           for a, b in zip(path, trace))


def read_traces(path):
    """As test_python.read_traces(), with whether a trace was cut, as those of more than 100 functions are."""
    traces = []
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        for line in file:
            if line.endswith("(most recent call first):\n"):
                traces.append(([], False))
                continue
            match = re.fullmatch(r'  File "(.*)", line (\d+|\?\?\?) in (.*)\n', line)
            if not match:
                traces[-1] = (traces[-1][0], True)
                continue
            at, number, name = match.groups()
            if at != "<shim>":
                traces[-1][0].append((name, at, int(number) if number.isdigit() and int(number) else None))
    return traces


def judge(python, name, seconds):
    """Prints the row of a program; whether nothing is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in zip(("first.py", "again.py", "runner.py"), (*PROGRAMS[name], RUNNER)):
            with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                out.write(text)
        if subprocess.run([python, folder + "/runner.py", tempfile.mkdtemp(dir=folder), "0"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE).returncode:
            print("%-12s cannot run" % name, flush=True)
            return True
        os.makedirs(folder + "/work")
        found = sampled(python, folder, "--", python, folder + "/runner.py", folder + "/work", str(seconds))
        return row(name, found, traced(python, folder, seconds, name in ("gevent", "greenlet")))


def row(name, sampled_of_it, traces):
    """Prints a row; whether nothing is wrong."""
    kinds, found, wrong, counters = sampled_of_it
    of_python = sum(kinds.values()) - kinds["none"]
    print("%-12s %8d %9.3f %% %6d %6d %6d %9d %6d %6d %8d %6d %7d %7d  %s" % (
        name, of_python, 100 * kinds["exact"] / max(of_python, 1), kinds["in transition"], kinds["unproven"], kinds["native"],
        found["right"], found["no source"], found["wrong"], counters["judged_managed_right"], counters["judged_managed_wrong"],
        traces["equal"], traces["marked"], "WRONG" if traces["wrong"] else ""), flush=True)
    unproven = {key: value for key, value in counters.items() if value and "managed_un" in key}
    if unproven:
        print("             ", unproven)
    for each in wrong[:5]:
        print("    wrong:", *each)
    if traces["wrong"]:
        print("    trace: %s\n    path:  %s" % traces["wrong"][:2])
    return not wrong and not traces["wrong"] and not counters["judged_managed_wrong"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--run", metavar="COMMAND")
    parser.add_argument("programs", nargs="*", choices=[[], *PROGRAMS])
    args = parser.parse_args()
    print("%-12s %8s %11s %6s %6s %6s %9s %6s %6s %8s %6s %7s %7s" % (
        "", "samples", "exact", "trans.", "unpr.", "native", "frames", "no src", "wrong", "judged", "wrong", "traces", "marked"))
    if args.run:
        with tempfile.TemporaryDirectory() as folder:
            words = ([] if args.run[0] == "-" else ["--"]) + shlex.split(args.run)
            sys.exit(not row("command", sampled(args.python, folder, *words), {"equal": 0, "marked": 0, "wrong": None}))
    sys.exit(not all([judge(args.python, name, args.seconds) for name in args.programs or PROGRAMS]))


if __name__ == "__main__":
    main()
