# SPDX-License-Identifier: MIT
"""Programs built from Debian's source packages. Sources come through apt, with a list of sources
made from those that the machine has packages from."""

import collections
import glob
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

# files: patterns below folder, each compiled alone; prepare(work) writes the run's input.
Source = collections.namedtuple("Source", "name package folder files flags libraries prepare arguments")


def fetch(work, sources):
    """Unpacks all below `work`: {name: folder}. OSError if they cannot be had."""
    targets = subprocess.run(["apt-get", "indextargets", "--format",
                              "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)",
                              "Created-By: Packages"], capture_output=True, text=True, check=True)
    lines = {"deb-src " + line.split(" ", 1)[1] for line in targets.stdout.splitlines()
             if line.startswith("Debian ")}
    os.makedirs(work + "/lists/partial", exist_ok=True)
    with open(work + "/sources.list", "w", encoding="ascii") as file:
        file.write("\n".join(sorted(lines)) + "\n")
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::SourceList=" + work + "/sources.list",
           "-o", "Dir::Etc::SourceParts=/dev/null", "-o", "Dir::State::Lists=" + work + "/lists",
           "-o", "APT::Sandbox::User=root"]
    # The release itself, where an archive of updates does not have what it lists.
    release = min((line.split()[2] for line in lines), key=len, default="")
    packages = [source.package for source in sources]
    for command in (["update"], ["source", "--download-only"] + packages,
                    ["source", "--download-only", "-t", release] + packages):
        done = subprocess.run(apt + command, cwd=work, capture_output=True, text=True, check=False)
        if command[0] == "source" and not done.returncode:
            break
    if done.returncode:
        raise OSError((done.stderr.strip() or "apt-get failed").split("\n")[0])
    return {source.name: unpack(source, work) for source in sources}


def unpack(source, work):
    archive = glob.glob("%s/%s_*.orig.tar.*" % (work, source.package))[0]
    folder = "%s/%s.source" % (work, source.name)
    os.makedirs(folder)
    subprocess.run(["tar", "xf", archive, "-C", folder], check=True)
    inside = os.listdir(folder)
    if len(inside) == 1:
        folder += "/" + inside[0]
    return folder + "/" + source.folder


def build(source, folder, output, flags, libraries):
    """Compiles a program to `output`, on all processors."""
    objects = output + ".objects"
    os.makedirs(objects, exist_ok=True)
    files = [name for pattern in source.files for name in sorted(glob.glob(pattern,
                                                                           root_dir=folder))]

    def compile_one(name):
        path = objects + "/" + name.replace("/", "_") + ".o"
        compiler = "gcc" if name.endswith(".c") else "g++"
        subprocess.run([compiler, "-O2", "-w", "-I.", *source.flags, *flags, "-c", name, "-o", path],
                       cwd=folder, check=True)
        return path
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = list(pool.map(compile_one, files))
    subprocess.run(["g++", "-o", output, *paths, *source.libraries, *libraries], check=True,
                   stderr=subprocess.DEVNULL)
