"""Regressions of one percent, planted at random places of Commons Codec."""
import collections, json, os, random, shutil, subprocess, sys, zipfile

from suites import Suite, jar, work

PLANTED = """package org.apache.commons.codec;

/** Work that nobody needs. */
public final class Planted {
    public static long sink;
}
"""
# getstatic, lconst_1, ladd, putstatic.
EACH = 4


def baseline(path):
    """Bytecodes of the tests of a baseline, of those that ran once and do the same each time."""
    tests = {}
    for line in open(path, encoding="utf-8"):
        name, found, facts = line.rstrip().partition(" bytecodes=")
        if found and not name.endswith("]") and " runs=" not in name:
            tests[name] = int(facts.split()[0])
    return tests


def places(quipu, profile, tests):
    """Methods of the library with the tests that call them: (class, method, descriptor, test, calls, bytecodes of the test)."""
    rows = json.loads(subprocess.run([quipu, "report", profile, "--by", "tree", "--json"], check=True, capture_output=True).stdout)["rows"]
    calls = collections.Counter()
    for row in rows:
        # Of a method that ran several times, with other parameters or in several classes, a tree has all runs together.
        if row["parent"] is not None and row["thread"] in tests and row["class"].startswith("org.apache.commons.codec.") \
                and not row["class"].split("$")[0].endswith("Test"):
            calls[row["thread"], row["class"], row["method"], row["descriptor"]] += row["calls"]
    for (test, owner, method, descriptor), count in sorted(calls.items()):
        total = tests[test]
        usual = method.isidentifier() and not method.startswith("lambda$") and "$" not in owner
        # Large enough that a percent is beyond the floor, and called seldom enough that one statement is not more.
        if usual and count and total >= 20_000 and count * EACH <= total // 100:
            yield owner, method, descriptor, test, count, total


class Sources:
    """The library's own sources, compiled with one change at a time."""

    def __init__(self, suite):
        self.suite = suite
        self.folder = os.path.join(work, "codec-sources")
        if not os.path.isdir(self.folder):
            with zipfile.ZipFile(jar(*suite.library, "sources")) as archive:
                archive.extractall(self.folder)
        self.lines = {}

    def first_line(self, owner, method, descriptor):
        """Where the method's code begins, from the class file that was published."""
        out = subprocess.run(["javap", "-l", "-s", "-p", "-cp", self.suite.jars[0], owner], capture_output=True, text=True).stdout
        name = inside = None
        for line in (line.strip() for line in out.splitlines()):
            if line.endswith(";") and "(" in line:
                name, inside = line.split("(")[0].split()[-1], False
            elif line.startswith("descriptor: "):
                inside = name == method and line.split()[1] == descriptor
            elif inside and line.startswith("line "):
                return int(line.split()[1].rstrip(":"))
        return None

    def plant(self, owner, line, statements):
        """A jar directory with the library changed, or none if that does not compile."""
        path = os.path.join(self.folder, owner.replace(".", "/") + ".java")
        into = os.path.join(work, "codec-planted")
        shutil.rmtree(into, ignore_errors=True)
        changed = os.path.join(work, "codec-changed", os.path.basename(path))
        planted = os.path.join(work, "codec-changed", "Planted.java")
        os.makedirs(os.path.dirname(changed), exist_ok=True)
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        lines[line - 1] = "org.apache.commons.codec.Planted.sink++; " * statements + lines[line - 1]
        for name, text in ((changed, "\n".join(lines)), (planted, PLANTED)):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([os.path.join(self.suite.home, "bin", "javac"), "-g", "-nowarn", "-proc:none", "-encoding", "UTF-8",
                               "-cp", self.suite.jars[0], "-d", into, changed, planted], capture_output=True)
        return into if done.returncode == 0 else None


def regressions(quipu, home, wanted, run, stop):
    """Plants so many, and tells how many are found."""
    suite = Suite("codec", home)
    suite.build()
    profile = os.path.join(suite.folder, "quipu-tests.quipu")
    chance = random.Random(20)
    candidates = list(places(quipu, profile, baseline(os.path.join(suite.folder, "quipu-tests.txt"))))
    chance.shuffle(candidates)
    sources, tried, found, named = Sources(suite), 0, 0, 0
    used, skipped = set(), 0
    for owner, method, descriptor, test, count, total in candidates:
        if tried == wanted or stop():
            break
        if (owner, method, descriptor) in used:
            continue
        used.add((owner, method, descriptor))
        line = sources.first_line(owner, method, descriptor)
        statements = -(-total * 105 // (100 * 100 * EACH * count))
        changed = line and sources.plant(owner, line, statements)
        if not changed:
            # Where a statement cannot stand before the first line of the method.
            skipped += 1
            continue
        test_class = test.split("(")[0].rsplit(".", 1)[0]
        planted = os.path.join(suite.folder, "planted.txt")
        command = suite.command()
        at = command.index("--scan-class-path")
        command[at:at + 2] = ["-c", test_class]
        before = run([quipu, "test", "--update", "--once", "--baseline", planted, "--"] + command, suite.folder)
        after = list(command)
        at = after.index("-cp") + 1
        after[at] = changed + ":" + after[at]
        _, status, out, said = run([quipu, "test", "--baseline", planted, "--"] + after, suite.folder)
        if before[1] != 0 or "FAILED" not in out and "PASSED" not in out:
            sys.exit(f"{owner}.{method}: {test_class} cannot be run alone\n{before[3][-1500:]}\n{said[-1500:]}")
        tried += 1
        found += status == 1
        named += f"{owner}.{method}" in out
        growth = 100 * statements * EACH * count / total
        print(f"{tried}. {owner}.{method}, {statements} statements more in each of {count} calls, {growth:.2f} % of {test}: "
              f"{'found' if status == 1 else 'NOT FOUND'}{', named' if owner + '.' + method in out else ''}", flush=True)
    print(f"JDK {suite.feature}: {found} of {tried} found, {named} named by their method; {skipped} other places cannot be compiled", flush=True)
