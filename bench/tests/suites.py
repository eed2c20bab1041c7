"""The test suites of real libraries, as their authors publish them: `test-sources` jars of Maven Central, compiled here and
run by JUnit's console launcher. (Gson and jsoup publish none.)"""
import os, re, shutil, subprocess, zipfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.realpath(os.path.join(here, "..", ".."))
work = os.path.join(root, "target", "bench", "tests")
os.makedirs(work, exist_ok=True)


def jar(group, artifact, version, classifier=""):
    """The path of a library that comes by name, with Maven."""
    name = "-".join(filter(None, [artifact, version, classifier])) + ".jar"
    path = os.path.join(work, name)
    if not os.path.exists(path):
        coordinates = ":".join([group, artifact, version] + (["jar", classifier] if classifier else []))
        subprocess.run(["mvn", "-q", "-B", "dependency:copy", "-Dmdep.useBaseVersion=true", f"-Dartifact={coordinates}",
                        f"-DoutputDirectory={work}"], check=True, stdout=subprocess.DEVNULL, cwd=work)
    return path


CONSOLE = ("org.junit.platform", "junit-platform-console-standalone", "1.13.4")
LANG = ("org.apache.commons", "commons-lang3", "3.14.0")
IO = ("commons-io", "commons-io", "2.15.1")
HAMCREST = ("org.hamcrest", "hamcrest", "2.2")
MOCKITO = [("org.mockito", "mockito-core", "4.11.0"), ("net.bytebuddy", "byte-buddy", "1.15.11"),
           ("net.bytebuddy", "byte-buddy-agent", "1.15.11"), ("org.objenesis", "objenesis", "3.4")]
RNG = [("org.apache.commons", "commons-rng-" + part, "1.5") for part in ("simple", "client-api", "core")]

# Why tests are left out. That they take long is no reason, but for one.
TIMES = "measures time"
FULL = "wants a heap that is full, or an array as long as there can be: what happens depends on the machine's memory"
GIGABYTE = "encodes a gigabyte, which is half the time of the whole suite"
NO_FILE = "reads a file that is not in the jar of sources: fails without Quipu, too"
NETWORK = "asks the network"
NO_SCRIPTS = "wants JavaScript, which JDKs from 15 on do not have: fails without Quipu, too"
FAILS = "fails without Quipu, too"
# The library, what its tests need, files that are not compiled, and tests that are left out.
LIBRARIES = {
    "codec": (("commons-codec", "commons-codec", "1.16.0"), [LANG], r"$^", {
        r".*\.bm\..*": TIMES,
        r".*#testCodec265$": GIGABYTE,
        r".*#testIncrementalHashWithUnprocessedBytesAndHugeLengthArray$": FULL,
        r".*#testEnsureBufferSizeExpandsTo.*": FULL}),
    "csv": (("org.apache.commons", "commons-csv", "1.10.0"), [IO, LANG, HAMCREST, ("com.h2database", "h2", "2.2.224")] + MOCKITO,
            r"/CSVBenchmark|/PerformanceTest|issues/JiraCsv196", {
        r".*JiraCsv(248|167)Test#.*": NO_FILE,
        r".*CSVParserTest#(testParse$|testBOMInputStream_.*)": NO_FILE,
        r".*CSVFileParserTest#testCSVUrl.*": NO_FILE}),
    "text": (("org.apache.commons", "commons-text", "1.11.0"),
             [LANG, IO, HAMCREST, ("org.assertj", "assertj-core", "3.24.2")] + MOCKITO + RNG, r"/jmh/", {
        r".*TextStringBuilderTest#testOutOfMemory.*": FULL,
        r".*EntityArraysTest#testForDuplicatedDeclaredMapKeys$": NO_FILE,
        r".*ScriptStringLookupTest#.*": NO_SCRIPTS,
        r".*InterpolatorStringLookupTest#testJavaScript.*": NO_SCRIPTS,
        r".*InterpolatorStringLookupTest#testDns.*": NETWORK,
        r".*\.UrlStringLookupTest#.*": NETWORK,
        r".*(ResourceBundle|UrlDecoder|UrlEncoder)StringLookupTest#testExceptionGettingString$": FAILS}),
}


class Suite:
    """A library's tests, compiled for a JDK."""

    def __init__(self, name, home):
        self.name, self.home = name, home
        self.library, needed, self.not_compiled, self.left_out = LIBRARIES[name]
        self.jars = [jar(*library) for library in [self.library] + needed]
        self.console = jar(*CONSOLE)
        release = re.search(r'JAVA_VERSION="([^"]*)"', open(os.path.join(home, "release")).read()).group(1)
        self.feature = release.split(".")[0]
        self.folder = os.path.join(work, f"{name}-{self.feature}")
        self.classes = os.path.join(self.folder, "classes")

    def build(self):
        """Compiles the tests, unless that was done."""
        if os.path.isdir(self.classes):
            return
        sources = os.path.join(self.folder, "src", "test", "java")
        resources = os.path.join(self.folder, "src", "test", "resources")
        shutil.rmtree(self.folder, ignore_errors=True)
        with zipfile.ZipFile(jar(*self.library, "test-sources")) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            java = [name for name in names if name.endswith(".java") and not re.search(self.not_compiled, "/" + name)]
            archive.extractall(sources, java)
            archive.extractall(resources, [name for name in names if not name.endswith(".java")])
        made = self.classes + ".new"
        subprocess.run([os.path.join(self.home, "bin", "javac"), "-g", "-nowarn", "-proc:none", "-encoding", "UTF-8", "-parameters",
                        "-cp", ":".join(self.jars + [self.console]), "-d", made]
                       + [os.path.join(sources, name) for name in java], check=True, stderr=subprocess.DEVNULL)
        shutil.copytree(resources, made, dirs_exist_ok=True)
        os.rename(made, self.classes)

    def command(self, library=None):
        """What runs the tests; with another build of the library, if one is given."""
        jars = [library or self.jars[0]] + self.jars[1:]
        left_out = [option for test in self.left_out for option in ("--exclude-methodname", test)]
        return [os.path.join(self.home, "bin", "java"), "-Duser.language=en", "-Duser.country=US", "-jar", self.console, "execute",
                "--scan-class-path", self.classes, "-cp", ":".join([self.classes] + jars), "--details=none",
                "--disable-banner"] + left_out
