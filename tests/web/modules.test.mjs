// SPDX-License-Identifier: MIT
// The rules that let the build join the page's modules to one script (docs/WEB.md).
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const FOLDER = new URL("../../web/", import.meta.url), FILES = readdirSync(FOLDER).filter(name => name.endsWith(".js"));
const text = Object.fromEntries(FILES.map(name => [name, readFileSync(new URL(name, FOLDER), "utf8")]));
const IMPORT = /^import \{ [\w, ]+ \} from "\.\/([\w.]+)";$/;

test("imports are by name, from files of the folder, and at the top", () => {
	for (const [name, source] of Object.entries(text)) {
		for (const line of source.split("\n").filter(line => line.startsWith("import"))) {
			assert.match(line, IMPORT, name);
			assert.ok(FILES.includes(IMPORT.exec(line)[1]), name + ": " + line);
		}
		assert.doesNotMatch(source, /^export (?!function |class |const |async function )/m, name);
		assert.doesNotMatch(source.replace(/import\("\.\/\w+\.js"\)\.\w/g, ""), /\bimport\(/, name);
		assert.ok(!source.includes("@" + "DATA@") && !source.includes("</" + "script"), name);
		assert.ok(source.startsWith("// SPDX-License-Identifier: MIT\n/*\n"), name + " opens with an essay");
	}
});

test("names at the top are unique", () => {
	const known = new Map();
	for (const [name, source] of Object.entries(text))
		for (const line of source.split("\n")) {
			const found = /^(?:export )?(?:async )?(?:function\*? |class |let |const )(.*)/.exec(line);
			for (const of of found ? /^(?:export )?(?:const|let) /.test(line) ? [...(" " + found[1]).matchAll(/(?:^ |, )(\w+) = /g)].map(m => m[1]) : [/^\w+/.exec(found[1])[0]] : []) {
				assert.ok(!known.has(of), `${of} is in ${name} and ${known.get(of)}`);
				known.set(of, name);
			}
		}
	assert.ok(known.size > 100);
});

test("no module imports itself by others", () => {
	const open = new Set(), done = new Set();
	const visit = name => {
		assert.ok(!open.has(name), "a cycle at " + name);
		if (done.has(name))
			return;
		open.add(name);
		for (const line of text[name].split("\n"))
			if (IMPORT.test(line))
				visit(IMPORT.exec(line)[1]);
		open.delete(name);
		done.add(name);
	};
	visit("app.js");
	assert.deepEqual([...done].sort(), FILES.slice().sort(), "each module is used");
});

test("the page's head asks for all modules", () => {
	const page = readFileSync(new URL("index.html", FOLDER), "utf8");
	for (const name of FILES.filter(name => name !== "app.js"))
		assert.ok(page.includes(`<link rel="modulepreload" href="${name}">`), name);
	assert.equal(page.split("@" + "DATA@").length, 2);
	assert.ok(!/ style=|<style| on\w+=/.test(page), "no inline style or script");
});
