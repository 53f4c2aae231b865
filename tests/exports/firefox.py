# SPDX-License-Identifier: MIT
"""A headless Firefox, driven through its own interface (Marionette: JSON over a socket), which needs no geckodriver. It
does for tests what browser.Browser does.

    with firefox.Firefox() as f:
        f.open("file:///...")
        f.run("return document.title")"""

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from browser import ELEMENT, KEYS, PATIENCE

PREFERENCES = {"marionette.port": 0, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
               "toolkit.telemetry.reportingpolicy.firstRun": False, "app.update.enabled": False, "browser.startup.page": 0,
               "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
               "extensions.systemAddon.update.enabled": False, "services.settings.server": "data:,#remote-settings-dummy/v1"}


def why_not():
    """The component that is missing, or an empty string."""
    return "" if shutil.which("firefox-esr") or shutil.which("firefox") else "firefox-esr is not installed"


class Firefox:
    def __init__(self, width=1280, height=800):
        self.size = width, height
        self.profile = self.process = self.socket = None
        self.number = 0
        self.rest = b""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="stackd-firefox-")
        with open(os.path.join(self.profile, "user.js"), "w", encoding="ascii") as file:
            file.writelines("user_pref(%s, %s);\n" % (json.dumps(name), json.dumps(value)) for name, value in PREFERENCES.items())
        command = [shutil.which("firefox-esr") or "firefox", "--headless", "--marionette", "--no-remote", "--profile", self.profile,
                   "--width", str(self.size[0]), "--height", str(self.size[1])]
        self.process = subprocess.Popen(command, env=dict(os.environ, HOME=self.profile, MOZ_CRASHREPORTER_DISABLE="1"),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.socket = socket.create_connection(("127.0.0.1", self.find_port()), timeout=PATIENCE)
            self.read()  # what it greets with
            self.call_named("WebDriver:NewSession", {"capabilities": {}})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.socket:
            self.socket.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def find_port(self):
        path, end = os.path.join(self.profile, "MarionetteActivePort"), time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with open(path, encoding="ascii") as file:
                    text = file.read().strip()
                if text.isdigit():
                    return int(text)
            except FileNotFoundError:
                pass
            time.sleep(0.05)
        raise RuntimeError("Firefox ended before it listened" if self.process.poll() is not None else "Firefox does not listen")

    def read(self):
        """The next message: its length, a colon, JSON."""
        while b":" not in self.rest or len(self.rest) < sum(self.part()):
            more = self.socket.recv(1 << 16)
            if not more:
                raise RuntimeError("Firefox has closed the connection")
            self.rest += more
        head, size = self.part()
        message, self.rest = self.rest[head:head + size], self.rest[head + size:]
        return json.loads(message)

    def part(self):
        digits = self.rest.split(b":", 1)[0]
        return len(digits) + 1, int(digits)

    def call_named(self, name, parameters):
        self.number += 1
        text = json.dumps([0, self.number, name, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, result = self.read()
        if number != self.number or error:
            raise RuntimeError("%s: %s" % (name, str(error)[:500]))
        return result["value"] if isinstance(result, dict) and set(result) == {"value"} else result

    def call(self, _method, path, body):
        """What browser.Browser.call() does, for the paths that both have."""
        return self.call_named({"/actions": "WebDriver:PerformActions"}[path], body)

    def open(self, url):
        self.call_named("WebDriver:Navigate", {"url": url})

    def run(self, script, *arguments):
        return self.call_named("WebDriver:ExecuteScript", {"script": script, "args": list(arguments)})

    def until(self, script, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while True:
            value = self.run(script)
            if value:
                return value
            if time.monotonic() > end:
                raise RuntimeError("never came true: " + script)
            time.sleep(0.02)

    def type(self, css, text):
        element = self.call_named("WebDriver:FindElement", {"using": "css selector", "value": css})[ELEMENT]
        self.call_named("WebDriver:ElementSendKeys", {"id": element, "text": text})

    def press(self, *keys):
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.call_named("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def point(self, x, y, click=False):
        actions = [{"type": "pointerMove", "x": round(x), "y": round(y), "origin": "viewport"}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call_named("WebDriver:PerformActions", {"actions": [{"type": "pointer", "id": "m", "actions": actions}]})

    def screenshot(self):
        return base64.b64decode(self.call_named("WebDriver:TakeScreenshot", {"full": False}))

    def complaints(self):
        """Errors on the console are not told by this interface."""
        return []

    def requests(self):
        """The addresses that the page asked for."""
        return self.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
