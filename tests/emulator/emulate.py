# SPDX-License-Identifier: MIT
"""Runs programs under the emulator of branch records and scores call paths against its truth.

Everything that this makes is emulated; see emulator.c.
"""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(os.environ.get("BUILD", os.path.join(ROOT, "build")), "emulator")
RINGS = (8, 16, 32)

# Bytes of the programs' environment that mean nothing: they move the stack, and with it, by the
# loader's and libc's paths through their code, every sample.
PADDING = int(os.environ.get("EMULATED_PADDING", "0"))

PERL = r"""
sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
my %h;
for (1 .. 3000) { $h{$_ % 7} .= "x$_"; $h{$_ % 7} =~ s/x1/y/g if $_ % 50 == 0 }
print fib(13), join(",", sort map { length } values %h), "\n";
"""

PYTHON = r"""
import json, re
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(14), len(json.dumps([{"a": i, "b": [1, 2]} for i in range(300)])))
print(len(re.findall("a(b|c)*d", "abcbcd" * 200)), sorted(range(500), key=lambda x: -x)[0])
"""


def own(name, *args):
    return [os.path.join(BUILD, name), *args]


# name: (command, instructions between samples)
PROGRAMS = {
    "deep": (own("deep"), 10000),
    "longjmp": (own("longjmp"), 10000),
    "exceptions": (own("exceptions"), 10000),
    "signals": (own("signals"), 10000),
    "tail_calls": (own("tail_calls"), 10000),
    "retpolines": (own("retpolines"), 10000),
    "threads": (own("threads"), 5000),
    "zero_calls": (own("zero_calls"), 10000),
    "perl": (["/usr/bin/perl", "-e", PERL], 20000),
    "python3": (["/usr/bin/python3", "-S", "-c", PYTHON], 100000),
}

# Handlers on a stack of their own: the interrupted stack is in no sample.
ALTSTACK = (own("signals", "alternate"), 10000)


def emulate(name, command, period, folder, samples, padding=PADDING):
    """Runs a program; the prefix of the files that the emulator has written."""
    prefix = os.path.join(folder, name)
    # glibc's wide string functions make no difference here, and valgrind is slow with some.
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "VALGRIND_LIB": BUILD,
                   "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0",
                   "PADDING": "x" * padding}
    run = subprocess.run(
        ["valgrind", "-q", "--tool=lbr-emulator", f"--prefix={prefix}", f"--period={period}",
         f"--samples={samples}", *command],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    if not os.path.exists(prefix + ".truth") or b" samples\n" not in run.stdout:
        raise RuntimeError(f"{name}: {run.stdout.decode(errors='replace')[-500:]}")
    return prefix


def parse_score(text):
    words = text.split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}


def score(data, truth, ring=32):
    """Paths as lib/code/lbr reconstructs them."""
    run = subprocess.run([os.path.join(BUILD, "score"), data, truth], capture_output=True,
                         text=True, env={"RING": str(ring)}, check=True)
    return parse_score(run.stdout)


def score_text(path, truth):
    """Paths as a command has printed them."""
    run = subprocess.run([os.path.join(BUILD, "score"), "--text", path, truth],
                         capture_output=True, text=True, check=True)
    return parse_score(run.stdout)


def remove(prefix):
    """Deletes what emulate() has made."""
    folder, name = os.path.split(prefix)
    for entry in os.listdir(folder):
        if entry.startswith(name + "."):
            os.unlink(os.path.join(folder, entry))
