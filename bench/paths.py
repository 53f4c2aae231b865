#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole programs of many kinds, and how many of their paths are complete:
paths.py [--keep DIR] [--seconds N] [NAME...]

Each program is recorded from its start to its end, at 997 Hz, with --judge, and takes some seconds. A
line has its samples, the share of complete paths, wrong ones by the judge (a frame differs from the
second walk's, or a step is contradicted), how many it has found right, how many are right and end
before the second walk's, with a mark (less), the steps that a check has refuted, before which paths
end with a mark (refuted), and the reasons why paths are not complete, largest first. A name that
ends with a * stands for all that begin so. What the machine lacks is left out, by name."""

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import no_cfi  # noqa: E402
import programs  # noqa: E402

Program = no_cfi.Program
STACKD = os.environ.get("STACKD", no_cfi.STACKD)
STACKCTL = os.environ.get("STACKCTL", no_cfi.STACKCTL)
TARGET = 0.999
TOTAL = "%-16s %7d samples, %.3f %% complete; %d wrong; %d of %d programs below %.1f %%"

FIB = {
    "scheme": "(define (fib n) (if (< n 2) 1 (+ (fib (- n 1)) (fib (- n 2)))))\n",
    "lisp": "(defun fib (n) (if (< n 2) 1 (+ (fib (- n 1)) (fib (- n 2)))))\n",
    "ocaml": "let rec fib n = if n < 2 then 1 else fib (n - 1) + fib (n - 2)\n"
             "module M = Map.Make(String)\n"
             "let () = let m = ref M.empty in for i = 0 to 150000 do\n"
             "m := M.add (string_of_int (i * 7919)) (fib (i mod 12)) !m done;\n"
             "print_int (M.fold (fun _ a b -> a + b) !m 0)\n",
    "haskell": "import qualified Data.Map.Strict as M\n"
               "main :: IO ()\n"
               "main = do\n"
               "  let m = M.fromList [(show (i * 7919), i) | i <- [1 .. 200000 :: Int]]\n"
               "  print (sum (M.elems (M.map (* 3) m)), length (concatMap show [1 .. 900000 :: Int]))\n",
    "coq": "Fixpoint fib (n : nat) := match n with S (S m as p) => fib p + fib m | _ => 1 end.\n"
           "Lemma a : fib 21 = fib 21. Proof. vm_compute. reflexivity. Qed.\n"
           "Require Import List Arith Lia.\n"
           "Lemma b : forall x y z, x < y -> y < z -> x + 7 < z + 8 /\\ 2 * x < 2 * z.\n"
           "Proof. intros; split; lia. Qed.\n"
           "Lemma c : length (map fib (seq 0 20)) = 20. Proof. vm_compute. reflexivity. Qed.\n",
    "rust": "use std::collections::HashMap;\nfn main() { let mut m = HashMap::new();\n"
            "for i in 0..%d_u64 { *m.entry(format!(\"{}\", i * 7919 %% 100003)).or_insert(0) += i; }\n"
            "let mut k: Vec<_> = m.iter().collect(); k.sort(); println!(\"{}\", k.len()); }\n",
}

R_WORK = "x <- matrix(rnorm(640000), 800); for (i in 1:8) { s <- solve(x + i); y <- crossprod(s, x) }; " \
         "d <- data.frame(a = runif(40000), b = sample(letters, 40000, TRUE)); " \
         "print(summary(lm(a ~ b, d))$r.squared); print(sum(sapply(1:300000, function(i) i %% 7)))"
NUMPY = "import numpy as n; x = n.random.rand(700, 700); s = 0\n" \
        "for i in range(6): s += n.linalg.eigvalsh(x @ x.T)[0] + n.linalg.inv(x + i)[0, 0]\n" \
        "y = n.random.rand(2000000)\nfor i in range(8): s += n.sort(y).sum() + n.fft.fft(y).real[1]"
OCTAVE = "x = rand(700); for i = 1:6, y = inv(x + i) * x; s = svd(x(1:300, 1:300)); end; " \
         "z = 0; for i = 1:300000, z = z + mod(i, 7); end; disp(z + y(1) + s(1))"
PERL = "my %%h; for my $i (1 .. %d00000) { my $k = 'k' . ($i * 7919 %% 50021); $h{$k} .= 'x'; " \
       "$h{$k} =~ s/x{5,}/y/g } print scalar(sort keys %%h)"
RUBY = "h = {}; (1..%d00000).each { |i| h[\"k#{i * 7919 %% 50021}\"] = i.to_s.reverse }; puts h.sort.size"
PHP = "$h = []; for ($i = 0; $i < %d00000; $i++) { $h['k' . ($i * 7919 %% 50021)] = md5((string)$i); } " \
      "ksort($h); echo count($h), preg_match_all('/a+b/', implode(',', $h));"
LUA = "local h = {} for i = 1, %d00000 do h['k' .. i * 7919 %% 50021] = tostring(i):rep(3) end " \
      "local k = {} for n in pairs(h) do k[#k + 1] = n end table.sort(k) print(#k)"
TCL = "for {set i 0} {$i < %d00000} {incr i} {dict set h [expr {$i * 7919 %% 50021}] [string repeat a$i 3]}\n" \
      "puts [llength [lsort [dict keys $h]]]\n"
GUILE = FIB["scheme"] + "(display (fib 32)) (display (length (sort (map (lambda (i) (modulo (* i 7919) 50021)) " \
    "(iota 400000)) <)))"
NODE = "const m = new Map(); for (let i = 0; i < %d00000; i++) m.set('k' + i * 7919 %% 50021, [i, i + 1]);" \
       "function f(n) { return n < 2 ? 1 : f(n - 1) + f(n - 2) } console.log(m.size, f(32), " \
       "JSON.stringify([...m]).length, [...m.keys()].sort().length)"
ERL = "F = fun F(N) when N < 2 -> 1; F(N) -> F(N-1) + F(N-2) end, io:format(\"~p~n\", [F(22)]), " \
      "L = [integer_to_list(I * 7919 rem 50021) || I <- lists:seq(1, %d00000)], " \
      "io:format(\"~p~n\", [length(lists:usort(L))]), halt()."
ELIXIR = "1..%d00000 |> Enum.map(&(Integer.to_string(rem(&1 * 7919, 50021)))) |> Enum.uniq() |> " \
         "Enum.sort() |> length() |> IO.inspect()"
SQL = "CREATE TABLE t(a int, b text); INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 200000) i; " \
      "CREATE INDEX ON t(b); ANALYZE t; " \
      "SELECT count(*) FROM t x JOIN t y ON x.b = y.b WHERE x.a %% 3 = 0; " \
      "SELECT substr(b, 1, 2), count(*), avg(a), max(b) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 3;"
POSTGRES = """set -e; b=$(ls -d /usr/lib/postgresql/*/bin | tail -1); rm -rf pg; mkdir pg; chown nobody pg . ; cat >pg.sh <<'E'
%s/initdb -D pg/d -U x -A trust >/dev/null
%s/postgres --single -D pg/d -j postgres <pg.sql >/dev/null
E
sed -i "s,%s,$b,g" pg.sh; exec setpriv --reuid=nobody --clear-groups sh -e pg.sh"""
REDIS = """redis-server --port 7399 --save '' --daemonize no >/dev/null & p=$!; sleep 1
redis-benchmark -p 7399 -q -n 60000 -t set,get,lpush,lrange_100,zadd >/dev/null; kill $p; wait $p || true"""
GDB = ["gdb", "-batch", "-nx", "-ex", "info functions alloc", "-ex", "info types struct",
       "-ex", "list main", "-ex", "info scope main"]
C_PICTURE = "sphere { <0,0,0>, 1 pigment { marble turbulence 1 } finish { reflection 0.4 phong 1 } " \
            "translate x*%d rotate y*%d }"


def prepare(name, text):
    return lambda work: no_cfi.write(work, name, text)


def large_c(work):
    programs.large_source(work, 1)


def prepare_sample(work):
    """Some MB of text and of an executable, of which codecs have something to do."""
    with open(work + "/sample", "wb") as out:
        for name in ("/usr/bin/python3", "/usr/lib/x86_64-linux-gnu/libc.so.6",
                     "/usr/share/perl/5.36/unicore/Name.pl"):
            if os.path.exists(name):
                with open(name, "rb") as file:
                    out.write(file.read(12 << 20))


def prepare_sound(work):
    no_cfi.run(work, sys.executable, "-c", "import math, struct, wave\n"
               "w = wave.open('in.wav', 'wb'); w.setparams((2, 2, 44100, 0, 'NONE', ''))\n"
               "w.writeframes(b''.join(struct.pack('<hh', int(9000 * math.sin(i / 9) + i * 7919 % 5000),"
               "int(9000 * math.sin(i / (20 + i / 90000)))) for i in range(44100 * 40)))")


def prepare_video(work):
    with open(work + "/in.yuv", "wb") as file:
        for t in range(40):
            for size in (640 * 360, 320 * 180, 320 * 180):
                file.write(bytes((i * (t + 3) // 640 ^ i * 5 // 7) & 255 for i in range(320)) * (size // 320))


def prepare_repository(work):
    os.mkdir(work + "/repository")
    programs.repository(work + "/repository", 1)


def prepare_rust(work):
    no_cfi.write(work, "r.rs", FIB["rust"] % 9)


def prepare_ocaml(work):
    no_cfi.write(work, "o.ml", FIB["ocaml"])
    no_cfi.run(work, "ocamlfind" if shutil.which("ocamlfind") else "ocamlopt",
               *(["ocamlopt", "-package", "str"] if shutil.which("ocamlfind") else []), "-o", "o", "o.ml")


def prepare_haskell(work):
    no_cfi.write(work, "h.hs", FIB["haskell"])
    no_cfi.run(work, "ghc", "-O", "-o", "h", "h.hs")


def prepare_pov(work):
    no_cfi.write(work, "p.pov", "light_source { <9,9,-9> rgb 1 } plane { y, -1 pigment { checker rgb 1, rgb 0 } } "
                 "camera { location <0,2,-9> look_at 0 }" + "".join(C_PICTURE % (i, 40 * i) for i in range(5)))


def prepare_postgres(work):
    no_cfi.write(work, "pg.sql", SQL.replace("%%", "%") + "\n")
    os.chmod(work, 0o755)


def prepare_gs(work):
    no_cfi.write(work, "g.ps", "/Times-Roman findfont 9 scalefont setfont 1 1 60 { /p exch def "
                 "1 1 80 { dup 9 mul 20 exch moveto p mul 40 string cvs show p 3 mul 0.3 0.6 sethsbcolor } for "
                 "100 100 p 4 mul 0 300 arc fill showpage } for")


def one(name, needs, command, make=None):
    return Program(name, [needs], make, command if callable(command) else lambda _s: command)


def of_programs(name, known):
    """A program of programs.py, which wants a size."""
    def make(work):
        if known.prepare:
            known.prepare(work, 2)
    return Program(name, [known.needs], make, lambda _s: programs.command_of(known, 2))


def scaled(name, needs, words, text, scale=1):
    return one(name, needs, lambda s: [*words, text % (s * scale)])


PROGRAMS = [
    *[of_programs(p.name, p) for p in programs.PROGRAMS + programs.MORE if p.name != "openssl" and
      (p.name != "lmp" or os.path.exists(programs.MELT))],
    one("clang", "clang", ["clang", "-O3", "-c", "large.c"], large_c),
    one("gfortran", "gfortran", ["gfortran", "-O3", "-c", "f.f90"], prepare(
        "f.f90", "".join("subroutine s%d(a, n)\ninteger n, i, j\nreal(8) a(n, n)\ndo i = 2, n\ndo j = 2, n\n"
                         "a(i, j) = a(i-1, j) * %d + sqrt(abs(a(j, i-1)))\nend do\nend do\na = matmul(a, a)\n"
                         "end subroutine\n" % (i, i) for i in range(60)))),
    one("rustc", "rustc", ["rustc", "-O", "r.rs"], prepare_rust),
    one("go build", "go", ["go", "build", "-a", "-o", "/dev/null", "encoding/json"]),
    one("ghc", "ghc", ["ghc", "-O", "-fforce-recomp", "h.hs"], prepare("h.hs", FIB["haskell"])),
    one("haskell", "ghc", ["./h"], prepare_haskell),
    one("ocamlopt", "ocamlopt", ["sh", "-c", "for i in 1 2 3 4 5 6; do ocamlopt -O3 -c o.ml; done"],
        prepare("o.ml", FIB["ocaml"])),
    one("ocaml", "ocamlopt", ["./o"], prepare_ocaml),
    one("ocaml bytes", "ocaml", ["ocaml", "o.ml"], prepare("o.ml", FIB["ocaml"])),
    one("coqc", "coqc", ["coqc", "c.v"], prepare("c.v", FIB["coq"])),
    one("R", "R", ["R", "--vanilla", "-s", "-e", R_WORK]),
    one("numpy", "python3", ["/usr/bin/python3", "-c", NUMPY]),
    one("octave", "octave-cli", ["octave-cli", "--no-init-file", "--eval", OCTAVE]),
    scaled("perl hash", "perl", ["perl", "-e"], PERL, 4),
    scaled("ruby", "ruby", ["ruby", "-e"], RUBY, 4),
    scaled("ruby --yjit", "ruby", ["ruby", "--yjit", "-e"], RUBY, 4),
    scaled("php", "php", ["php", "-r"], PHP, 4),
    scaled("php jit", "php", ["php", "-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=64M", "-d",
                              "opcache.jit=tracing", "-r"], PHP, 4),
    scaled("lua", "lua5.4", ["lua5.4", "-e"], LUA, 4),
    scaled("luajit", "luajit", ["luajit", "-e"], LUA, 4),
    one("tcl", "tclsh", ["tclsh", "t.tcl"], prepare("t.tcl", TCL % 6)),
    one("guile", "guile", ["guile", "--no-auto-compile", "-c", GUILE]),
    scaled("node", "node", ["node", "-e"], NODE, 4),
    one("java", "java", lambda s: ["java", "Work.java", str(s)], no_cfi.prepare_java),
    scaled("erlang", "erl", ["erl", "-noshell", "-eval"], ERL, 1),
    scaled("elixir", "elixir", ["elixir", "-e"], ELIXIR, 2),
    one("racket", "racket", ["racket", "-e", FIB["scheme"] + "(display (fib 38))"]),
    one("chez", "scheme", ["scheme", "--script", "c.ss"], prepare("c.ss", FIB["scheme"] + "(display (fib 38))")),
    one("sbcl", "sbcl", ["sbcl", "--script", "s.lisp"], prepare("s.lisp", FIB["lisp"] + "(print (fib 37))")),
    one("maxima", "maxima", ["maxima", "--very-quiet", "--batch-string", "factor(2^157-1); expand((x+y+z+1)^40)$ "
                             "integrate(1/(x^5+1), x); taylor(tan(sin(x)), x, 0, 40);"]),
    one("sqlite index", "sqlite3", ["sqlite3", ":memory:",
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) "
        "SELECT sum(i * 7 % 13), group_concat(i % 10) LIKE '%12%' FROM n"]),
    one("postgres", "psql", ["sh", "-c", POSTGRES], prepare_postgres),
    one("redis", "redis-server", ["sh", "-c", REDIS]),
    one("gdb", "gdb", [*GDB, os.path.join(HERE, "..", "build", "stackd")]),
    one("valgrind", "valgrind", ["valgrind", "-q", "sqlite3", ":memory:", "SELECT 1"]),
    one("x265", "x265", ["x265", "--log-level", "none", "--input", "in.yuv", "--input-res", "640x360", "--fps",
                         "25", "-o", "/dev/null"], prepare_video),
    one("x265 --no-asm", "x265", ["x265", "--no-asm", "--log-level", "none", "--input", "in.yuv", "--input-res",
                                  "640x360", "--fps", "25", "-f", "8", "-o", "/dev/null"], prepare_video),
    one("lame", "lame", ["lame", "--quiet", "-h", "in.wav", "out.mp3"], prepare_sound),
    one("flac", "flac", ["flac", "-s", "-8", "-f", "-e", "-p", "in.wav"], prepare_sound),
    one("oggenc", "oggenc", ["oggenc", "-Q", "in.wav"], prepare_sound),
    one("xz", "xz", ["xz", "-kf", "sample"], prepare_sample),
    one("zstd", "zstd", ["zstd", "-17", "-kqf", "sample"], prepare_sample),
    one("bzip2", "bzip2", ["bzip2", "-kf", "sample"], prepare_sample),
    one("gpg", "gpg", ["sh", "-c", "gpg --homedir . --batch --passphrase x --pinentry-mode loopback "
                       "-c -o - sample | wc -c"], prepare_sample),
    *[one("openssl " + c, "openssl", ["openssl", "speed", "-seconds", "1", "-evp", c])
      for c in ("aes-256-gcm", "chacha20-poly1305", "sha512")],
    *[one("openssl " + c, "openssl", ["openssl", "speed", "-seconds", "1", c])
      for c in ("rsa2048", "ecdsap256", "ed25519")],
    one("gs", "gs", ["gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=png16m", "-r200", "-o", "/dev/null", "g.ps"],
        prepare_gs),
    one("magick", "convert", ["convert", "-size", "1600x1200", "plasma:red-blue", "-blur", "0x4", "-resize",
                              "60%", "-distort", "SRT", "20", "o.png"]),
    one("povray", "povray", ["povray", "-D", "-GA", "+Ip.pov", "+Op.png", "+W800", "+H600", "+A"], prepare_pov),
    one("gp", "gp", ["sh", "-c", "echo 'factor(2^197-1); polroots(x^90+x+1); bnfinit(x^5-x+7)' | gp -q"]),
    one("z3", "z3", ["z3", "z.smt2"], prepare("z.smt2", "(declare-const x (_ BitVec 32))\n(declare-const y "
        "(_ BitVec 32))\n(assert (= (bvmul x y) #x5f3759df))\n(assert (bvugt x #x00000fff))\n"
        "(assert (bvugt y #x00000fff))\n(assert (bvult (bvadd x y) #x0fffffff))\n(check-sat)\n")),
    one("gnuplot", "gnuplot", ["gnuplot", "-e", "set terminal svg; set output '/dev/null'; set isosamples 300; "
                               "set hidden3d; splot sin(x*y/9)*cos(x)"]),
    one("make -j2", "make", ["sh", "-c", "printf 'all:%s\\n%%.o: %%.c ; gcc -O1 -c $<\\n' \" $(for i in 1 2 3 4 5 "
                             "6 7 8; do printf 'int f%d(int a) { return a * %d; }' $i $i >s$i.c; printf 's%d.o ' "
                             "$i; done)\" >Makefile; make -s -j2"]),
    one("jq", "jq", ["sh", "-c", "jq -n '[range(300000) | {a: ., b: (. * 7919 % 50021 | tostring)}]' | "
                     "jq 'group_by(.b) | map(length) | add'"]),
    one("vim", "vim", ["sh", "-c", "yes 'some text of a line 1234' | head -60000 >v; vim -Nesu NONE -c "
                       "'%s/\\d\\+/\\=submatch(0)+1/g' -c sort -c wq v"]),
]


class Broken(Exception):
    """stackd has failed, which it does not if only the program does."""


def record(work, command, keep):
    store = keep or work + "/store.db"
    for name in (store, store + "-wal", store + "-shm"):
        if os.path.exists(name):
            os.unlink(name)
    done = subprocess.run([STACKD, "-q", "--judge", "--no-managed", "-F", "997", "-o", store, "--", *command], cwd=work,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          check=False)
    if done.returncode:
        raise Broken("stackd: status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-500:]))
    return json.loads(subprocess.check_output([STACKCTL, "stats", "--json", "-i", store]))


def measure(program, options):
    """Prints a program's line; its samples, failures and wrong steps, or None if it is left out."""
    missing = [name for name in program.needs if not shutil.which(name)]
    with tempfile.TemporaryDirectory() as work:
        try:
            if missing:
                raise FileNotFoundError("no " + ", ".join(missing))
            if program.prepare:
                program.prepare(work)
            keep = options.keep and os.path.join(os.path.abspath(options.keep), program.name.replace(" ", "_"))
            stats = record(work, program.command(options.seconds), keep)
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print("%-16s left out: %s" % (program.name, error), flush=True)
            return None
        except Broken as error:
            print("%-16s FAILED: %s" % (program.name, error), flush=True)
            options.failed += 1
            return None
    samples, partial = stats["samples"], samples_not_complete(stats)
    counters = stats["counters"]
    wrong = counters["judged_wrong"] + counters["judged_made_wrong"]
    reasons = sorted(((count, name) for name, count in stats["end_reasons"].items()
                      if count and name not in ("entry", "no_user")), reverse=True)
    complete = 1 - partial / max(samples, 1)
    print("%-18s %7d %8.3f %% %6d %8d %6d %8d  %s%s"
          % (program.name, samples, 100 * complete, wrong,
             counters["judged_right"] + counters["judged_made_right"], counters["judged_less"],
             stats["steps"]["wrong"], ", ".join("%s %d" % (name, count) for count, name in reasons),
             "" if complete >= TARGET else "   BELOW"), flush=True)
    return samples, partial, wrong


def samples_not_complete(stats):
    """Paths that alignment has completed have not been walked to their end."""
    return stats["quality"]["partial"] + stats["quality"]["reconstructed"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", metavar="DIR", help="keep each store there")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.failed = 0
    print("%-18s %7s %10s %6s %8s %6s %8s  %s" % ("program", "samples", "complete", "wrong", "right", "less",
                                                  "refuted", "others end"))
    rows = [measure(p, options) for p in PROGRAMS
            if not options.names or any(fnmatch.fnmatch(p.name, n) for n in options.names)]
    rows = [row for row in rows if row]
    samples, partial, wrong = (sum(column) for column in zip(*rows)) if rows else (0, 0, 0)
    below = sum(1 - row[1] / max(row[0], 1) < TARGET for row in rows)
    print(TOTAL % ("all", samples, 100 - 100 * partial / max(samples, 1), wrong, below, len(rows), 100 * TARGET))
    return 1 if options.failed else 0


if __name__ == "__main__":
    sys.exit(main())
