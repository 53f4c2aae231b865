# SPDX-License-Identifier: MIT
"""A ClickHouse server for tests, with its own configuration and data below the build folder, and what
stands between it and stackctl: a relay that loses connections."""

import contextlib
import http.server
import json
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from common import BUILD, PATIENCE, Skip, check, run

CONFIG = """<yandex>
  <logger><level>warning</level><log>%(data)s/log</log><errorlog>%(data)s/errors</errorlog></logger>
  <http_port>%(port)d</http_port> <tcp_port>%(tcp)d</tcp_port> <listen_host>%(host)s</listen_host>
  <path>%(tables)s/</path> <tmp_path>%(tables)s/tmp/</tmp_path>
  <user_files_path>%(tables)s/files/</user_files_path>
  <users_config>users.xml</users_config> <default_profile>default</default_profile>
  <remote_servers>%(clusters)s</remote_servers>
  <default_database>default</default_database> <mark_cache_size>67108864</mark_cache_size>
</yandex>"""

SHARD = "<shard><replica><host>%s</host><port>%d</port></replica></shard>"


def cluster_of(name, shards):
    return "<%s>%s</%s>" % (name, "".join(SHARD % shard for shard in shards), name) if shards else ""


USER = """<%(name)s><password>%(password)s</password><networks><ip>127.0.0.0/8</ip></networks>
  <profile>%(profile)s</profile><quota>default</quota></%(name)s>"""

# By default, a server gives another one of its cluster 50 ms to take a connection.
USERS = """<yandex><profiles><default>%(patience)s</default><reading>%(patience)s<readonly>1</readonly></reading></profiles>
<quotas><default></default></quotas><users>%(users)s</users></yandex>""" % {
    "patience": "<connect_timeout_with_failover_ms>%d</connect_timeout_with_failover_ms>" % (PATIENCE * 1000),
    "users": "".join(USER % {"name": name, "password": password, "profile": profile}
                     for name, password, profile in (("default", "", "default"), ("pusher", "secret", "default"),
                                                     ("reader", "", "reading")))}


KEPT = []  # sockets that keep ports for servers of these tests


def free_port():
    """A port that nobody listens at, and that the kernel gives to nobody else: only who says, as servers do, that
    an address may be used again can bind to it."""
    probe = socket.socket()
    KEPT.append(probe)
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind(("", 0))
    return probe.getsockname()[1]


MEMORY, ROOM = "/dev/shm", 1 << 30


def memory_folder():
    """A folder for tables, in memory if there is room: each insertion makes a file a column, for which ext4, where many
    files were deleted of late, takes most of a server's time."""
    with contextlib.suppress(OSError):
        room = os.statvfs(MEMORY)
        if room.f_bavail * room.f_frsize >= ROOM:
            return tempfile.mkdtemp(prefix="stackd-clickhouse-", dir=MEMORY)
    return None


class Server:
    """One that runs until stop(); `url` names a database of it for stackctl. Its configuration has the clusters
    "alone", of itself, and "fleet", of the (host, tcp) that are given. `data` has its configuration and what it says,
    and its tables if they are to be `on_disk`."""

    def __init__(self, data=None, host="127.0.0.1", port=None, tcp=None, fleet=(), on_disk=False):
        if not shutil.which("clickhouse-server"):
            raise Skip("clickhouse-server is not installed (deps.sh exports)")
        self.data = data or os.path.abspath(os.path.join(BUILD, "clickhouse"))
        if not data:
            shutil.rmtree(self.data, ignore_errors=True)
        os.makedirs(self.data, exist_ok=True)
        self.memory = None if on_disk else memory_folder()
        self.host, self.port, self.tcp = host, port or free_port(), tcp or free_port()
        config = CONFIG % {"data": self.data, "tables": self.memory or self.data, "host": host, "port": self.port, "tcp": self.tcp,
                           "clusters": cluster_of("alone", [(host, self.tcp)]) + cluster_of("fleet", fleet)}
        for name, text in (("config.xml", config), ("users.xml", USERS)):
            with open(os.path.join(self.data, name), "w", encoding="ascii") as file:
                file.write(text)
        self.process = None
        self.start()

    def start(self):
        with open(os.path.join(self.data, "output"), "ab") as output:
            self.process = subprocess.Popen(
                ["clickhouse-server", "--config-file=" + os.path.join(self.data, "config.xml")],
                cwd=self.data, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if self.ask("SELECT 1", database="default") == [["1"]]:
                    return
            except urllib.error.URLError:
                check(self.process.poll() is None, "clickhouse-server ended: see its output below build/")
                check(time.monotonic() < end, "clickhouse-server does not answer")
                time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None
        self.remove_tables()

    def remove_tables(self):
        if self.memory:
            shutil.rmtree(self.memory, ignore_errors=True)

    def url(self, database, port=None, user=""):
        return "clickhouse://%s%s:%d/%s" % (user, self.host, port or self.port, database)

    def ask(self, query, database):
        """Rows of text."""
        url = "http://%s:%d/?database=%s" % (self.host, self.port, database)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(url, query.encode(), timeout=PATIENCE) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(query + ": " + error.read().decode()) from error
        if not query.endswith("JSONCompact"):
            return [line.split("\t") for line in text.splitlines()]
        return [tuple(None if value is None else str(value) for value in row)
                for row in json.loads(text)["data"]]

    def make(self, database):
        self.ask("DROP DATABASE IF EXISTS " + database, "default")
        self.ask("CREATE DATABASE " + database, "default")
        return self.url(database)


class Cluster:
    """Two servers, on two addresses with one port for HTTP: the two shards of the cluster "fleet"."""

    def __init__(self):
        port, shards = free_port(), [("127.0.0.1", free_port()), ("127.0.0.2", free_port())]
        self.servers = []
        for number, (host, tcp) in enumerate(shards, 1):
            data = os.path.abspath(os.path.join(BUILD, "clickhouse-shard-%d" % number))
            shutil.rmtree(data, ignore_errors=True)
            self.servers.append(Server(data, host, port, tcp, shards))

    def stop(self):
        for server in filter(lambda server: server.process, self.servers):
            server.kill()  # at a signal it would wait 10 s for the other's connections
        for server in self.servers:
            server.remove_tables()

    def ask(self, query, database):
        return self.servers[0].ask(query, database)

    def url(self, database, number=0, **options):
        return self.servers[number].url(database, **options)

    def make(self, database):
        for server in self.servers:
            server.make(database)
        return self.url(database) + "?cluster=fleet"


class Relay(socketserver.ThreadingTCPServer):
    """Between stackctl and a server, `port` of `host`, at the same host and another port. `lose` says which request's connection it drops, counted from 0,
    and when: "before" a byte of it has reached the server, in the "middle" of its body, or "after" the
    server has answered, which stackctl never learns. With "silence" the server has answered, too, and the
    connection stays, but nothing comes. `meet`, if there is one, is called with each request's first line, before the server
    gets it; `change` with each request, and what it returns is sent to the server instead. `log` has the first line of each
    request, its bytes, and those of the answer."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port, host="127.0.0.1", at=0):
        super().__init__((host, at), RelayHandler)
        self.host, self.server_port, self.port = host, port, self.server_address[1]
        self.lose, self.when, self.requests, self.meet, self.change = None, None, 0, None, None
        self.log = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def next_request(self):
        with self.lock:
            self.requests += 1
            return self.requests - 1

    def note(self, request, answer):
        with self.lock:
            self.log.append((request.split(b"\r\n", 1)[0].decode(), len(request), len(answer)))

    def reset(self, lose, when):
        self.lose, self.when, self.requests = lose, when, 0


class TlsRelay(Relay):
    """One that speaks TLS to stackctl, and says that it is 127.0.0.1, as signed by itself. It lets only those in who show
    the certificate `of_clients`, if there is one."""

    def __init__(self, port, folder, of_clients=None):
        self.certificate = os.path.join(folder, "certificate.pem")
        self.key = key = os.path.join(folder, "key.pem")
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=fleet",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.certificate)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        if of_clients:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(of_clients)
        super().__init__(port)

    def get_request(self):
        connection, address = super().get_request()
        return self.context.wrap_socket(connection, server_side=True), address

    def handle_error(self, *_):
        pass  # a client that does not trust it says so itself


class RelayHandler(socketserver.BaseRequestHandler):
    def handle(self):
        relay = self.server
        when = relay.when if relay.next_request() == relay.lose else None
        request = self.whole_message(self.request)
        if when == "before":
            return
        if when == "middle":
            request = request[:request.index(b"\r\n\r\n") + 4 + self.length_of(request) // 2]
        if relay.meet:
            relay.meet(request.split(b"\r\n", 1)[0].decode())
        if relay.change:
            request = relay.change(request)
        with socket.create_connection((relay.host, relay.server_port)) as server:
            server.sendall(request)
            if when == "middle":
                return
            answer = b""
            while True:
                some = server.recv(65536)
                if not some:
                    break
                answer += some
                if self.is_whole_answer(answer):
                    break
        relay.note(request, answer)
        if when is None:
            self.request.sendall(answer)
        if when == "silence":
            self.request.recv(1)  # until stackctl goes

    @staticmethod
    def length_of(message):
        for line in message.split(b"\r\n\r\n")[0].split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                return int(value)
        return 0

    def is_whole_answer(self, message):
        head, end, body = message.partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" in head.lower():
            return body == b"0\r\n\r\n" or body.endswith(b"\r\n0\r\n\r\n")
        return bool(end) and len(body) >= self.length_of(message)

    def whole_message(self, connection):
        message = b""
        while b"\r\n\r\n" not in message or \
                len(message) < message.index(b"\r\n\r\n") + 4 + self.length_of(message):
            some = connection.recv(65536)
            if not some:
                break
            message += some
        return message


class Page(http.server.BaseHTTPRequestHandler):
    """Answers everything with the same."""

    status, body = 200, b"<html>hello</html>\n"

    def do_POST(self):  # noqa: N802 (its name)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


def page(status, body):
    """The port of a server that answers so."""
    handler = type("Handler", (Page,), {"status": status, "body": body})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]
