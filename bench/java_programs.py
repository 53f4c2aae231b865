#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how many paths of real Java programs have a gap: bench/java_programs.py [--java HOME] [--seconds S] [PROGRAM...]

Records each program with --judge, at 499 Hz, and prints a row of the table in docs/JAVA.md: samples with Java, the share of them
without a gap, the share whose leaf has no name, and how many of all walks are wrong by the judge. Then the commonest gaps.
`javac` compiles the module java.xml of the kit's src.zip; `h2` and `hsqldb` are Debian's libh2-java and libhsqldb-java. A program whose files
are not there is left out. `--` and options for java may follow."""

import argparse
import os
import zipfile

from java_gaps import Gaps, paths_of

from harness import check, record, run, scratch

# Runs transactions, joins, sorts and aggregates for the seconds that its argument gives.
SQL = """
import java.sql.*;
public class java_sql {
    public static void main(String[] given) throws Exception {
        long end = System.nanoTime() + Long.parseLong(given[1]) * 1000000000L, sum = 0;
        try (Connection c = DriverManager.getConnection(given[0], "sa", "")) {
            Statement s = c.createStatement();
            s.execute("create table a (id int primary key, k int, name varchar(40))");
            s.execute("create table b (id int primary key, a int, amount double)");
            s.execute("create index by_k on a (k)");
            PreparedStatement one = c.prepareStatement("insert into a values (?, ?, ?)");
            PreparedStatement two = c.prepareStatement("insert into b values (?, ?, ?)");
            for (int i = 0; System.nanoTime() < end; i++) {
                one.setInt(1, i); one.setInt(2, i * 7 % 101); one.setString(3, "name" + i * 31 % 1009); one.execute();
                two.setInt(1, i); two.setInt(2, i * 3 % (i + 1)); two.setDouble(3, i / 3.0); two.execute();
                if (i % 50 == 0) {
                    ResultSet r = s.executeQuery("select a.k, count(*), sum(b.amount) from a join b on b.a = a.id where a.k < "
                                                 + i % 20 + " group by a.k order by 3 desc");
                    while (r.next()) sum += r.getInt(2);
                }
            }
        }
        System.out.println(sum);
    }
}
"""
JARS = {"h2": ("/usr/share/java/h2.jar", "jdbc:h2:mem:bench"), "hsqldb": ("/usr/share/java/hsqldb.jar", "jdbc:hsqldb:mem:bench")}


def javac(kit, folder, seconds, options):
    source = os.path.join(kit, "lib", "src.zip")
    if not os.path.exists(source):
        return None
    with zipfile.ZipFile(source) as archive:
        archive.extractall(folder, [n for n in archive.namelist() if n.startswith(("java.base/", "java.xml/"))])
    return ["timeout", str(seconds), os.path.join(kit, "bin", "javac"), *("-J" + o for o in options), "-nowarn", "-d",
            os.path.join(folder, "out"), "--module-source-path", folder, "-m", "java.xml"]


def sql(name):
    def command(kit, folder, seconds, options):
        jar, url = JARS[name]
        if not os.path.exists(jar):
            return None
        with open(os.path.join(folder, "java_sql.java"), "w", encoding="utf-8") as file:
            file.write(SQL)
        result = run(os.path.join(kit, "bin", "javac"), "-d", folder, os.path.join(folder, "java_sql.java"))
        check(result.status == 0, "javac", result.err)
        return [os.path.join(kit, "bin", "java"), *options, "-cp", folder + ":" + jar, "java_sql", url, str(seconds)]
    return command


PROGRAMS = {"javac": javac, "h2": sql("h2"), "hsqldb": sql("hsqldb")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--java", default="/usr/lib/jvm/java-17-openjdk-amd64")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--gaps", type=int, default=6)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--option", action="append", default=[])
    given = parser.parse_args()
    for name in given.programs or PROGRAMS:
        with scratch() as folder:
            command = PROGRAMS[name](given.java, folder, given.seconds, given.option)
            if not command:
                print("%s: its files are not there" % name)
                continue
            store = os.path.join(folder, "store.db")
            recording, _ = record(store, "-F", 499, "--managed", "--judge", "--", *command)
            gaps = Gaps()
            for path, count in paths_of(store):
                gaps.add(path, count)
            wrong = recording.stats()["counters"]["judged_wrong"]
        print("| %s%s | %d | %.2f | %.2f | %d |" % (name, "".join(" " + o for o in given.option), gaps.java, gaps.without(),
                                               100 * gaps.unnamed / max(1, gaps.java), wrong))
        gaps.show(given.gaps)


main()
