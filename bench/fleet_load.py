#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Varied real work for recordings of a fleet's hosts: compilers, interpreters, a database, compression
and tools of text, as many at once as there are CPUs: bench/fleet_load.py FOLDER SECONDS SEED [NAME...]"""

import os
import random
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

CXX = "\n".join("#include <%s>" % name for name in (
    "algorithm", "functional", "iostream", "map", "memory", "regex", "string", "thread", "vector")) + """
std::map<std::string, std::vector<std::string>> words;
int main(int argc, char **argv) {
    std::regex word("[a-z]+([0-9]*)(x|yy)?");
    for (int i = 1; i < argc; i++)
        for (std::sregex_iterator at, end; at != end; ++at) words[argv[i]].push_back(at->str());
    return (int)words.size();
}
"""

PYTHON = """
import ast, collections, glob, json, os, re, sys
folder = os.path.dirname(os.__file__)
words = collections.Counter()
for path in sorted(glob.glob(folder + "/*.py"))[:60]:
    text = open(path, errors="replace").read()
    words.update(re.findall(r"[A-Za-z_]+", text))
    tree = ast.parse(text)
    words.update(type(node).__name__ for node in ast.walk(tree))
json.loads(json.dumps(words.most_common(20000)))
"""

SQL = """
CREATE TABLE t(a INTEGER, b TEXT, c REAL); CREATE TABLE u(a INTEGER PRIMARY KEY, d TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
INSERT INTO t SELECT i * 7919 % 100003, hex(i), i / 3.0 FROM n;
INSERT OR REPLACE INTO u SELECT a, b || c FROM t; CREATE INDEX x ON t(b);
SELECT count(*), sum(length(d)) FROM t JOIN u USING (a) WHERE b LIKE '3%' OR d LIKE '%77%';
SELECT substr(b, 1, 2), count(*), avg(c) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 5;
"""

# A shell command each; the folder has load.cc, load.py, load.sql and a file of text.
WORK = {
    "g++": "g++ -O2 -std=c++17 -c load.cc -o /dev/null",
    "gcc": "cat %s/lib/base/text.c %s/lib/base/buf.c | gcc -O2 -I%s/lib -D_GNU_SOURCE -x c -c - -o /dev/null"
           % (ROOT, ROOT, ROOT),
    "python3": "python3 load.py",
    "sqlite3": "sqlite3 :memory: < load.sql",
    "gzip": "gzip -9 < text | gunzip | wc",
    "xz": "xz -3 < text > /dev/null",
    "sort": "sort -k2 < text | uniq -c | sort -n | tail -1",
    "perl": "perl -ne 'for (split) {$n{lc $_}++} END {print scalar keys %n}' text",
    "awk": "awk '{for (i = 1; i <= NF; i++) n[$i]++} END {print length(n)}' text",
    "openssl": "openssl dgst -sha256 text && openssl enc -aes-256-cbc -pbkdf2 -k x -in text -out /dev/null",
    "git": "git -C %s log --stat -n 60 > /dev/null" % ROOT,
    "find": "find /usr/share /usr/lib -name '*.so*' -size +1k -printf '%s\\n' > /dev/null",
}


def prepare(folder):
    """Writes what the commands read."""
    for name, text in (("load.cc", CXX), ("load.py", PYTHON), ("load.sql", SQL)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    with open(os.path.join(folder, "text"), "wb") as file:
        subprocess.run(["sh", "-c", "find /usr/include -name '*.h*' -type f | sort | xargs cat 2>/dev/null | head -c 12000000"],
                       stdout=file, check=True)


def work(folder, seconds, seed, among=None):
    """Runs commands, in an order that the seed determines, a thread for each CPU, until the time is
    over. Returns how many ended."""
    ended, end = [], time.monotonic() + seconds

    def worker(number):
        choose = random.Random(seed * 1000 + number)
        names = sorted(among or WORK)
        while time.monotonic() < end:
            subprocess.run(["sh", "-c", WORK[choose.choice(names)]], cwd=folder, check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ended.append(number)

    threads = [threading.Thread(target=worker, args=(number,))
               for number in range(len(os.sched_getaffinity(0)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(ended)


if __name__ == "__main__":
    if not os.path.exists(os.path.join(sys.argv[1], "text")):
        prepare(sys.argv[1])
    work(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
