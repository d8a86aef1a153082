"""Where JMeter and k6 come from, and where this repository and its build are."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
WORK = TARGET / "interop"
JMETER, K6 = "5.6.3", "v1.8.1"
# For fetching and building, which take minutes the first time.
FETCH_S_MAX = 1800


class Lacking(Exception):
    """A tool cannot be had here, and why."""


def say(words):
    print(f"interop: {words}", file=sys.stderr, flush=True)


def fetch(what, words, **more):
    """Runs a command that fetches a tool."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=FETCH_S_MAX, **more)
    except subprocess.TimeoutExpired:
        raise Lacking(f"{what}: not done in {FETCH_S_MAX} s") from None
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        first = [line for line in said if "ERROR" in line or "error" in line] or said[-1:] or ["no reason given"]
        raise Lacking(f"{what}: {first[0].strip()}")


def need(**programs):
    """Whether the programs are there, after an attempt to install their Debian packages."""
    if all(map(shutil.which, programs)):
        return
    words = [f"{program}={package}" for program, package in programs.items()]
    subprocess.run([ROOT / "scripts" / "setup", *words], stdout=sys.stderr, check=False)
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise Lacking(f"no {' and no '.join(missing)}")


def jmeter():
    """The command that runs JMeter, laid out as its distribution is."""
    home = pathlib.Path(os.environ.get("JMETER_HOME", WORK / f"jmeter-{JMETER}"))
    need(java="default-jre-headless")
    if not (home / "bin" / "ApacheJMeter.jar").exists():
        need(mvn="maven")
        say(f"fetching JMeter {JMETER} from Maven Central")
        jars = WORK / "jars"
        shutil.rmtree(jars, ignore_errors=True)
        words = ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", ROOT / "interop" / "jmeter" / "pom.xml", f"-Djmeter.version={JMETER}"]
        fetch("mvn", [*words, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"])
        shutil.rmtree(home, ignore_errors=True)
        (home / "lib" / "ext").mkdir(parents=True)
        with zipfile.ZipFile(jars / f"ApacheJMeter_config-{JMETER}.jar") as config:
            config.extractall(home, [name for name in config.namelist() if name.startswith("bin/")])
        for jar in jars.iterdir():
            ours = jar.name.startswith("ApacheJMeter_")
            if not jar.name.startswith("ApacheJMeter-"):
                jar.rename(home / "lib" / ("ext" if ours else "") / jar.name)
        # Last: where this is, all is.
        (jars / f"ApacheJMeter-{JMETER}.jar").rename(home / "bin" / "ApacheJMeter.jar")
    return ["java", "-Xmx512m", "-Djava.awt.headless=true", "-jar", home / "bin" / "ApacheJMeter.jar"]


def k6():
    """The command that runs k6, built from the Go module proxy."""
    program = pathlib.Path(os.environ.get("K6", WORK / f"k6-{K6}" / "k6"))
    if not program.exists():
        # Debian's Go is older than k6 requires, so it is not installed from there.
        if not shutil.which("go"):
            raise Lacking("no go: 1.25 or newer is needed")
        say(f"building k6 {K6} from the Go module proxy, which takes minutes")
        more = {"GOBIN": str(program.parent), "GOTOOLCHAIN": "local"}
        fetch("go", ["go", "install", "-trimpath", f"go.k6.io/k6@{K6}"], env={**os.environ, **more}, cwd=WORK)
    return [program]
