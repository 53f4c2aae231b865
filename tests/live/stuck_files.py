# SPDX-License-Identifier: MIT
"""A file system of one file, of a program that stops answering: python3 stuck_files.py FOLDER FILE OPERATION.

Mounts itself on FOLDER, where "program" is a copy of FILE, and says READY. After a line on standard input it says
STOPPED, and never again answers a request of the OPERATION (open, read, getattr, statfs, lookup, or all); for each it
says "OPERATION of TID NAME, of PID PID ...", with the asking thread's name, its process and that one's ancestors. It ends with its standard input, or after MOST_S; what waits for it fails then. It
speaks the kernel's protocol (linux/fuse.h) itself."""

import ctypes
import errno
import os
import select
import signal
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 28, 29)
ACCESS, INTERRUPT, DESTROY, BATCH_FORGET = 34, 36, 38, 42
NAMES = {LOOKUP: "lookup", GETATTR: "getattr", OPEN: "open", READ: "read", STATFS: "statfs"}
NO_ANSWER = {FORGET, BATCH_FORGET, INTERRUPT}
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
ROOT, PROGRAM = 1, 2
MOST_S = 1800
REQUEST = struct.Struct("=IIQQIIIHH")  # len, opcode, unique, node, uid, gid, pid, length of extensions, padding


def attributes(node, size):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
    return struct.pack("=QQQQQQIIIIIIIIII", node, 0 if node == ROOT else size, (size + 511) // 512, 1, 1, 1, 0, 0, 0,
                       mode, 1, 0, 0, 0, 4096, 0)


def asking(tid):
    """What is said of a thread that waits for an answer, and so is there, unless it has just been killed."""
    try:
        with open("/proc/%d/comm" % tid, encoding="utf-8", errors="replace") as file:
            name, pids = file.read().strip(), []
        while tid:
            with open("/proc/%d/status" % tid, encoding="utf-8", errors="replace") as file:
                status = dict(line.split(":", 1) for line in file)
            pids.append(int(status["Tgid"]))
            tid = int(status["PPid"])
    except OSError:
        return "?, of"
    return "%s, of %s" % (name, " ".join(map(str, pids)))


class Files:
    def __init__(self, folder, file, operation):
        with open(file, "rb") as source:
            self.bytes = source.read()
        self.operation, self.is_stopped, self.folder = operation, False, folder
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.fd
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"stuck", folder.encode(), b"fuse", MS_NOSUID | MS_NODEV, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")

    def answer(self, opcode, node, body):
        """Bytes of the answer, or a negative errno."""
        # attributes are valid for no time, so each look asks for them
        if opcode == INIT:
            return struct.pack("=IIIIHHIIHHIIIIIII", 7, 31, 65536, 0, 12, 10, 4096, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != b"program":
                return -errno.ENOENT
            return struct.pack("=QQQQII", PROGRAM, 0, 0, 0, 0, 0) + attributes(PROGRAM, len(self.bytes))
        if opcode == GETATTR:
            return struct.pack("=QII", 0, 0, 0) + attributes(node, len(self.bytes))
        if opcode in (OPEN, OPENDIR):
            return struct.pack("=QII", 0, 2 if opcode == OPEN else 0, 0)  # keep the page cache
        if opcode == READ:
            offset, size = struct.unpack_from("=QI", body, 8)
            return self.bytes[offset:offset + size]
        if opcode == STATFS:
            return struct.pack("=QQQQQIIII6I", 1000, 0, 0, 1, 0, 4096, 255, 4096, 0, *[0] * 6)
        if opcode in (FLUSH, RELEASE, RELEASEDIR, READDIR, DESTROY):
            return b""
        return -errno.ENOSYS

    def serve(self):
        request = os.read(self.fd, 1 << 18)
        _, opcode, unique, node, _, _, pid, _, _ = REQUEST.unpack_from(request)
        if opcode in NO_ANSWER:
            return
        if self.is_stopped and (NAMES.get(opcode) == self.operation or self.operation == "all"):
            print("%s of %d %s" % (NAMES.get(opcode, opcode), pid, asking(pid)), flush=True)
            return
        answer = self.answer(opcode, node, request[REQUEST.size:])
        status, answer = (answer, b"") if isinstance(answer, int) else (0, answer)
        try:
            os.write(self.fd, struct.pack("=IiQ", 16 + len(answer), status, unique) + answer)
        except OSError as error:  # the process that asked was ended
            if error.errno != errno.ENOENT:
                raise

    def run(self):
        ready = select.poll()
        ready.register(self.fd, select.POLLIN)
        ready.register(0, select.POLLIN)
        print("READY", flush=True)
        while True:
            for fd, _ in ready.poll():
                if fd == self.fd:
                    self.serve()
                    continue
                line = sys.stdin.readline()
                if not line:
                    return
                self.is_stopped = True
                print("STOPPED", flush=True)


if __name__ == "__main__":
    signal.alarm(MOST_S)
    Files(*sys.argv[1:4]).run()
