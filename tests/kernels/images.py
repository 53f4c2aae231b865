# SPDX-License-Identifier: MIT
"""Kernels to boot, taken out of Debian's packages; nothing is installed.

Packages of this machine's own release come by its own lists. Sid's come by lists of their own below
build/kernels, so that the machine's sources stay what they are and nothing of sid is ever offered
to it. Where a package has its kernel differs: /boot/vmlinuz-* up to Debian 13, and in sid
/usr/lib/modules/*/vmlinuz of another package, on which the one of the old name depends."""

import os
import re
import shutil
import subprocess
import tarfile
import time

import harness
from harness import Skip

KERNELS = {  # version: the package that depends on the newest image, and the release if not this one
    "6.1": ("linux-image-cloud-amd64", None),
    "6.12": ("linux-image-6.12-cloud-amd64", None),
    "sid": ("linux-image-cloud-amd64", "sid"),
}
CACHE = os.path.join(harness.BUILD, "kernels")
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
AGE_SECONDS = 24 * 3600  # of lists that are asked without fetching them again


class Lists:
    """The packages of a release."""

    def __init__(self, release):
        self.options = ["-o", "APT::Sandbox::User=root"]
        self.stamp = None
        if release:
            self.separate(release)

    def separate(self, release):
        """Makes them lists of their own."""
        folder = os.path.join(CACHE, "apt-" + release)
        for name in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        source = os.path.join(folder, "sources.list")
        with open(source, "w", encoding="ascii") as file:
            file.write("deb [signed-by=%s] %s %s main\n" % (KEYRING, MIRROR, release))
        for option in ("Dir::State=" + folder, "Dir::State::lists=%s/lists" % folder,
                       "Dir::State::status=/dev/null", "Dir::Cache=" + folder,
                       "Dir::Cache::archives=%s/archives" % folder,
                       "Dir::Etc::sourcelist=" + source, "Dir::Etc::sourceparts=-",
                       "Dir::Etc::preferences=-", "Dir::Etc::preferencesparts=-",
                       "APT::Architecture=amd64", "Acquire::Languages=none"):
            self.options += ["-o", option]
        self.stamp = os.path.join(folder, "updated")

    def run(self, tool, *arguments, cwd=None):
        return harness.run(tool, *self.options, *arguments, timeout=300, env={"LC_ALL": "C"},
                           cwd=cwd)

    def is_old(self):
        return bool(self.stamp) and not (
            os.path.exists(self.stamp)
            and os.stat(self.stamp).st_mtime > time.time() - AGE_SECONDS)

    def update(self):
        result = self.run("apt-get", "-qq", "update")
        if self.stamp and result.status == 0:
            with open(self.stamp, "w", encoding="ascii"):
                pass

    def dependency(self, package, prefix):
        """The first package of such a name that it depends on, or None."""
        found = re.search(r"Depends: (%s\S+)" % prefix,
                          self.run("apt-cache", "depends", package).out)
        return found[1] if found else None

    def download(self, package):
        """The path of a package's file, from CACHE if it is there; or None."""
        policy = self.run("apt-cache", "policy", package).out
        version = re.search(r"Candidate: (\d\S*)", policy)
        if not version:
            return None
        path = os.path.join(CACHE, "%s_%s_amd64.deb" % (package, version[1].replace(":", "%3a")))
        if not os.path.exists(path):
            self.run("apt-get", "-qq", "download", package, cwd=CACHE)
        return path if os.path.exists(path) else None

    def image_file(self, meta):
        """The path of the package that has the newest image, or None."""
        image = self.dependency(meta, "linux-image-")
        if not image:
            return None
        return self.download(self.dependency(image, "linux-binary-") or image)


def take_image(package, path):
    """Writes the kernel in a package's file to `path`. False: it has none."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                          stdout=subprocess.PIPE) as unpacker:
        with tarfile.open(fileobj=unpacker.stdout, mode="r|") as tar:
            for member in tar:
                if member.isfile() and re.fullmatch(
                        r"\./(boot/vmlinuz-.*|usr/lib/modules/[^/]*/vmlinuz)", member.name):
                    with open(path, "wb") as out:
                        shutil.copyfileobj(tar.extractfile(member), out)
                    unpacker.kill()
                    return True
    return False


def kernel_image(version):
    """The path of the newest kernel of a version."""
    os.makedirs(CACHE, exist_ok=True)
    meta, release = KERNELS[version]
    lists = Lists(release)
    package = None if lists.is_old() else lists.image_file(meta)
    if not package:  # the lists are not there, or are old
        lists.update()
        package = lists.image_file(meta)
    if not package:
        raise Skip("the package of the kernel, %s%s, cannot be had here"
                   % (meta, " of " + release if release else ""))
    path = os.path.join(CACHE, "vmlinuz-" + version)
    if not take_image(package, path):
        raise harness.Failed("there is no kernel in " + package)
    return path
