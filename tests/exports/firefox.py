# SPDX-License-Identifier: MIT
"""A headless Firefox, driven through its own interface (Marionette: JSON over a socket), which needs no geckodriver and
takes the same commands as browser.Browser.

    with firefox.Firefox() as f:
        f.open("file:///...")
        f.run("return document.title")"""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

from browser import PATIENCE, TIMEOUTS, Driver

PREFERENCES = {"marionette.port": 0, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
               "toolkit.telemetry.reportingpolicy.firstRun": False, "app.update.enabled": False, "browser.startup.page": 0,
               "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
               "extensions.systemAddon.update.enabled": False, "devtools.console.stdout.content": True, "services.settings.server": "data:,#remote-settings-dummy/v1"}

COMMANDS = {"/url": "Navigate", "/execute/sync": "ExecuteScript", "/element": "FindElement", "/actions": "PerformActions",
            "/screenshot": "TakeScreenshot"}

# What the browser's own console has of pages of the test: uncaught errors, and what the page's policy forbids. (What pages
# write to the console goes to standard output.)
COMPLAINTS = """
const found = [], isOurs = address => /^(http:\\/\\/127\\.0\\.0\\.1|file:|blob:)/.test(address);
for (const message of Services.console.getMessageArray())
	if (message instanceof Ci.nsIScriptError && !(message.flags & (Ci.nsIScriptError.warningFlag | Ci.nsIScriptError.infoFlag)) && isOurs(message.sourceName))
		found.push(message.sourceName + ":" + message.lineNumber + " " + message.errorMessage);
Services.console.reset();
return found;
"""


# What a page writes as an error. Modules of the browser have their name first, and no quotes.
WRITTEN = re.compile(r"console\.(error|assert|exception): (?![A-Z]\w+: )")


def why_not():
    """The component that is missing, or an empty string."""
    return "" if shutil.which("firefox-esr") or shutil.which("firefox") else "firefox-esr is not installed"


class Firefox(Driver):
    def __init__(self, width=1280, height=800):
        self.size = width, height
        self.profile = self.process = self.socket = None
        self.number = 0
        self.rest = b""
        self.said, self.heard = None, 0  # the file with standard output, and how far it was read

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="stackd-firefox-")
        with open(os.path.join(self.profile, "user.js"), "w", encoding="ascii") as file:
            file.writelines("user_pref(%s, %s);\n" % (json.dumps(name), json.dumps(value)) for name, value in PREFERENCES.items())
        command = [shutil.which("firefox-esr") or "firefox", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote",
                   "--profile", self.profile, "--width", str(self.size[0]), "--height", str(self.size[1])]
        self.said = os.path.join(self.profile, "said")
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(command, env=dict(os.environ, HOME=self.profile, MOZ_CRASHREPORTER_DISABLE="1"),
                                            stdout=said, stderr=subprocess.DEVNULL)
        try:
            self.socket = socket.create_connection(("127.0.0.1", self.find_port()), timeout=PATIENCE)
            self.read()  # what it greets with
            self.call_named("WebDriver:NewSession", {"capabilities": {"timeouts": TIMEOUTS}})
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

    def call(self, method, path, body=None):
        """WebDriver's commands have names here."""
        if path.endswith("/value"):
            return self.call_named("WebDriver:ElementSendKeys", dict(body, id=path.split("/")[2]))
        if path == "/screenshot":
            body = {"full": False}
        return self.call_named("WebDriver:" + COMMANDS[path], body or {})

    def of_browser(self, script, *arguments):
        """The value of a script that the browser itself runs, with all its rights."""
        self.call_named("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.call_named("WebDriver:ExecuteScript", {"script": script, "args": list(arguments)})
        finally:
            self.call_named("Marionette:SetContext", {"value": "content"})

    def prefer(self, **preferences):
        """Sets preferences; a dot of a name is written as __, and None is the default."""
        for name, value in preferences.items():
            kind = "Bool" if isinstance(value, bool) else "Int" if isinstance(value, int) else "String"
            call = "Services.prefs.clearUserPref(arguments[0])" if value is None else "Services.prefs.set%sPref(arguments[0], arguments[1])" % kind
            self.of_browser(call, name.replace("__", "."), value)

    def download_to(self, folder):
        self.prefer(browser__download__dir=folder, browser__download__folderList=2, browser__download__always_ask_before_handling_new_types=False)

    def look_as(self, width=None, theme=None):
        """The width of the page in pixels, and "light" or "dark"; None: as at first."""
        self.prefer(ui__systemUsesDarkTheme={"light": 0, "dark": 1, None: None}[theme])
        self.of_browser("const browser = gBrowser.selectedBrowser; browser.style.maxWidth = arguments[0] ? arguments[0] + 'px' : ''", width)
        self.until("return !arguments[0] || innerWidth === arguments[0]", width)

    def complaints(self):
        """The errors on the console since the last call."""
        with open(self.said, encoding="utf-8", errors="replace") as said:
            said.seek(self.heard)
            lines = said.read().splitlines()
            self.heard = said.tell()
        return self.of_browser(COMPLAINTS) + [line for line in lines if WRITTEN.match(line)]

    def requests(self):
        """The addresses that the page asked for."""
        return self.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
