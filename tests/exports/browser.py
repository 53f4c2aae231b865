# SPDX-License-Identifier: MIT
"""A headless Chromium, driven through chromedriver's HTTP interface (W3C WebDriver).

    with browser.Browser() as b:
        b.open("file:///...")
        b.run("return document.title")

Every command waits until the browser has done it; what a page does later is waited for with
until()."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

PATIENCE = 600  # seconds, as in tests/live/harness.py
TIMEOUTS = {"script": PATIENCE * 1000, "pageLoad": PATIENCE * 1000}  # a browser's own is 30 s, which a busy machine can take
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013",
        "Right": "\ue014", "Down": "\ue015", "Home": "\ue011"}


def why_not():
    """The component that a browser lacks, or an empty string."""
    for command in ("chromium", "chromedriver"):
        if not shutil.which(command):
            return command + " is not installed"
    return ""


class Driver:
    """What every browser does, by WebDriver's commands: call(method, path, body) sends one and returns its value."""

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script, *arguments, seconds=PATIENCE):
        """Waits until the script's value is true, and returns it."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise RuntimeError("never came true: " + script)
            time.sleep(0.02)

    def find(self, css):
        return self.call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def type(self, css, text):
        self.call("POST", "/element/%s/value" % self.find(css), {"text": text})

    def press(self, *keys):
        """Keys by name, or characters, into what has the focus."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "k",
                                                    "actions": actions}]})

    def point(self, x, y, click=False):
        """Moves the mouse to a position in the page, and clicks on request."""
        actions = [{"type": "pointerMove", "x": round(x), "y": round(y), "origin": "viewport"}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "m",
                                                    "actions": actions}]})

    def wheel(self, x, y, by):
        """Turns the wheel over a position: up, if `by` is below 0."""
        self.call("POST", "/actions", {"actions": [{"type": "wheel", "id": "w", "actions": [
            {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": by, "origin": "viewport"}]}]})

    def screenshot(self):
        """A PNG of the page."""
        return base64.b64decode(self.call("GET", "/screenshot"))


class Browser(Driver):
    def __init__(self, width=1280, height=800):
        self.size = width, height
        self.profile = self.driver = self.session = None

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="stackd-chromium-")
        environment = dict(os.environ, HOME=self.profile)
        try:
            self.port = None
            for _ in range(20):  # ports
                self.driver = subprocess.Popen(["chromedriver", "--port=0"], env=environment,
                                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.port = self.find_port()
                if self.port:
                    break
            else:
                raise RuntimeError("chromedriver finds no free port")
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.session:
            try:
                self.call("DELETE", "")
            except OSError:
                pass
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def find_port(self):
        """None: it has chosen a port that another program has, and ended. It takes a free one of IPv4 and then
        wants that of IPv6, too."""
        lines = []
        for line in self.driver.stdout:
            lines.append(line)
            if "successfully on port" in line and line.rstrip(" .\n").split()[-1].isdigit():
                return int(line.rstrip(" .\n").split()[-1])
        if not any("port not available" in line for line in lines):
            raise RuntimeError("chromedriver ended before it listened: " + "".join(lines)[-500:])
        self.driver.wait()
        self.driver.stdout.close()
        return None

    def start(self):
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                     "--enable-unsafe-swiftshader", "--no-first-run",
                     "--window-size=%d,%d" % self.size, "--user-data-dir=" + self.profile + "/data"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "timeouts": TIMEOUTS,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        answer = self.call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self.session = answer["sessionId"]

    def call(self, method, path, body=None):
        url = "http://127.0.0.1:%d/session" % self.port
        url += ("/" + self.session if self.session else "") + path
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            text = error.read().decode("utf-8", "replace")
            raise RuntimeError("%s %s: %s" % (method, path, text[:500])) from None

    def command(self, cmd, **params):
        """One of Chromium's own commands (DevTools)."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": cmd, "params": params})

    def download_to(self, folder):
        self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)

    def look_as(self, width=None, theme=None):
        """The width of the page in pixels, and "light" or "dark"; None: as at first."""
        if width:
            self.command("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        else:
            self.command("Emulation.clearDeviceMetricsOverride")
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}] if theme else [])

    def log(self, kind):
        return self.call("POST", "/se/log", {"type": kind})

    def complaints(self):
        """The errors on the console."""
        return [entry["message"] for entry in self.log("browser") if entry["level"] == "SEVERE"]

    def requests(self):
        """The addresses that pages asked for."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [m["params"]["request"]["url"] for m in messages
                if m["method"] == "Network.requestWillBeSent"]
