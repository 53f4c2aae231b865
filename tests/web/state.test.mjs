// SPDX-License-Identifier: MIT
// The page's state, its questions, saved files, command lines, lanes and tables.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Api, embeddedAnswer, questionOf, selectionOf } from "../../web/api.js";
import { commandOf } from "../../web/command.js";
import { amount, moment, percent, plain, prefixed, signed, ticks, time, withError } from "../../web/format.js";
import { Axis, decodeRuns, decodeShares, toggled, within, zoomed } from "../../web/lane_data.js";
import { assemble, questionsOf, scriptText } from "../../web/save.js";
import { DEFAULTS, Store, changed, formatState, parseState } from "../../web/state.js";
import { differenceQuestion } from "../../web/tab_difference.js";
import { allocatorOf, sparkline } from "../../web/tab_heap.js";
import { fittingColumns, sortRows } from "../../web/table.js";
import { bisect } from "../../web/flame.js";

test("the fragment says the whole state", () => {
	const state = { ...DEFAULTS, recording: "3", metric: "wait.blocked", tab: "around", from: 1500000000, to: 2e9, threads: ["t12", "g3:worker-*"],
		focus: "a&b=c#<d> é", zoom: "1x2y", direction: "callers", search: "/x|y/", live: true };
	assert.deepEqual(parseState("#" + formatState(state)), state);
	assert.equal(formatState(DEFAULTS), "");
	assert.deepEqual(parseState(""), { ...DEFAULTS });
});

test("a malformed fragment is the default", () => {
	for (const text of ["#from=5&to=3", "#from=x&to=9", "#from=1", "#tab=none", "#direction=up", "#threads=<script>", "#__proto__=1", "#constructor=2&unknown=3", "#%"])
		assert.deepEqual(parseState(text), { ...DEFAULTS }, text);
	assert.deepEqual([...changed(DEFAULTS, { ...DEFAULTS, from: 1, to: 2 })], ["from", "to"]);
});

test("Back leads to the state before; typing does not", () => {
	const entries = [""], listeners = {};
	let at = 0;
	const location = { pathname: "/t/", search: "", get hash() { return entries[at]; } };
	const hashOf = url => url.includes("#") ? "#" + url.split("#")[1] : "";
	const window = { location, addEventListener: (name, f) => { listeners[name] = f; },
		history: { pushState: (_a, _b, url) => { entries.length = ++at; entries.push(hashOf(url)); }, replaceState: (_a, _b, url) => { entries[at] = hashOf(url); } } };
	const store = new Store(window), seen = [];
	store.listen((state, what) => seen.push([state.tab, [...what].join()]));
	store.set({ tab: "functions" });
	store.set({ filter: "a" }, false);
	store.set({ filter: "ab" }, false);
	store.set({ tab: "functions" });
	assert.equal(entries.length, 2);
	at--;
	listeners.popstate();
	assert.equal(store.state.tab, "flame");
	assert.deepEqual(seen, [["functions", "tab"], ["functions", "filter"], ["functions", "filter"], ["flame", "tab,filter"]]);
});

test("questions have their parameters in order", () => {
	assert.equal(questionOf("tree", { threads: ["t2", "t1"], metric: "cpu", from: null, recording: "", focus: "a b&c" }), "tree?focus=a%20b%26c&metric=cpu&threads=t1&threads=t2");
	assert.equal(questionOf("recordings", {}), "recordings");
	const answers = { "tree?metric=cpu": 1, "functions?a=1": 2, "functions?a=2": 3 };
	assert.equal(embeddedAnswer(answers, "tree?metric=cpu"), 1);
	assert.equal(embeddedAnswer(answers, "tree?metric=wait"), undefined);
	assert.equal(embeddedAnswer(answers, "functions?a=2"), 3);
	assert.equal(embeddedAnswer(answers, "functions?a=9"), undefined);
	assert.equal(embeddedAnswer(answers, "toString"), undefined);
});

test("a saved file answers only for what it has", () => {
	const state = { ...DEFAULTS, recording: "2", from: 1e9, to: 2e9, threads: ["t1"], focus: "f", object: "/bin/p", region: "r", before: "2", beforeFrom: 3e9, beforeTo: 4e9 };
	const saved = (/** @type {any} */ some, columns = 800) => questionsOf({ ...state, ...some }, columns, 9e9).map(([name, parameters]) => questionOf(name, parameters));
	const answers = Object.fromEntries(saved({}).map(question => [question, question]));
	for (const question of saved({ unfold: ["p1"], lanes: "name" }, 300))
		assert.equal(embeddedAnswer(answers, question)?.split("?")[0], question.split("?")[0], "other widths and orders are the same: " + question);
	/* What each of these changes is asked about something else. The latest recording is the file's. */
	const others = { recording: "3", metric: "wait", from: 5e8, to: 3e9, threads: ["t2"], focus: "g", object: "/bin/q", region: "s", beforeFrom: 1, direction: "callers", by: "command" };
	for (const [key, value] of Object.entries(others)) {
		const missing = saved({ [key]: value }).filter(question => embeddedAnswer(answers, question) === undefined), before = saved({});
		assert.deepEqual(missing, saved({ [key]: value }).filter(question => !before.includes(question)), key);
		assert.ok(missing.length, key);
	}
	for (const per of ["amount", "second", "share"])
		assert.ok(saved({ per }).every(question => embeddedAnswer(answers, question) !== undefined), "differences of all kinds: " + per);
	const latest = Object.entries(selectionOf({ ...state, recording: "" }));
	assert.equal(embeddedAnswer(answers, questionOf("functions", { ...Object.fromEntries(latest), limit: 2000 }))?.split("?")[0], "functions");
	assert.equal(embeddedAnswer({ functions: 1 }, "functions?recording=2"), undefined);
});

test("a state about one recording names it", () => {
	const location = { pathname: "/", search: "", hash: "" }, window = { location, addEventListener: () => {},
		history: { pushState: (_a, _b, url) => { location.hash = url.slice(1); }, replaceState: (_a, _b, url) => { location.hash = url.slice(1); } } };
	const after = (fragment, some) => {
		location.hash = fragment;
		const store = new Store(window);
		store.show("7");
		store.set(some);
		return store.state.recording;
	};
	for (const some of [{ threads: ["t1"] }, { from: 1, to: 2 }, { before: "3" }, { beforeFrom: 1, beforeTo: 2 }, { from: 1, to: 2, live: true, threads: ["p1"] }])
		assert.equal(after("", some), "7", JSON.stringify(some));
	for (const some of [{}, { tab: "log" }, { focus: "f" }, { viewFrom: 1, viewTo: 2 }, { from: 1, to: 2, live: true }])
		assert.equal(after("", some), "", JSON.stringify(some));
	assert.equal(after("#threads=t1", {}), "7", "a link without the recording");
	assert.equal(after("#recording=5", { threads: ["t1"] }), "5");
});

test("a difference has the base that was chosen", () => {
	const base = (/** @type {any} */ some) => {
		const { base_recording: recording, base_from: from, base_to: to } = differenceQuestion({ ...DEFAULTS, recording: "2", ...some }, 9e9);
		return [recording, from, to];
	};
	const range = { from: 1e9, to: 2e9 };
	assert.deepEqual(base({ before: "4", ...range }), ["4", null, null], "another recording, all of it");
	assert.deepEqual(base({ before: "4", ...range, beforeFrom: 3e9, beforeTo: 4e9 }), ["4", 3e9, 4e9]);
	assert.deepEqual(base({ before: "2", ...range }), ["2", 0, 9e9], "the same recording, all of it");
	assert.deepEqual(base({ beforeFrom: 0, beforeTo: 1e9, ...range }), ["2", 0, 1e9]);
	assert.deepEqual(base({ before: "2" }), ["2", null, null]);
	const names = (/** @type {any} */ some) => questionsOf({ ...DEFAULTS, recording: "2", threads: ["t1"], ...some }, 800).map(([name]) => name);
	assert.ok(names({ before: "2" }).includes("difference"));
	assert.ok(!names({ before: "4" }).includes("difference"), "threads are of one recording");
});

test("an answer is asked for once, and refusals say what to do", async () => {
	let asked = 0;
	const api = new Api(null, async url => {
		asked++;
		assert.ok(url.startsWith("api/"));
		return url.includes("bad") ? { ok: false, status: 404, json: async () => ({ error: "no such metric", remedy: "choose cpu" }) } : { ok: true, status: 200, json: async () => asked };
	});
	const [a, b] = await Promise.all([api.ask("tree"), api.ask("tree")]);
	assert.equal(a, b);
	assert.equal(asked, 1);
	api.supersede();
	await api.ask("tree");
	assert.equal(asked, 2);
	await assert.rejects(api.ask("bad"), { message: "no such metric", remedy: "choose cpu", status: 404 });
	await assert.rejects(new Api({ version: 1, state: "", answers: {} }, fetch).ask("tree"), { status: 404 });
	await assert.rejects(new Api(null, async () => { throw new TypeError("refused"); }).ask("tree"), { status: 0 });
});

test("a saved file has what fits, and no name ends its script", () => {
	const hostile = { name: "</script><script>alert(1)</script><!--\u2028" }, page = "<script>@" + "DATA@</script>";
	const file = assemble(page, { ...DEFAULTS, tab: "waits" }, [["recordings", hostile], ["tree?metric=cpu", { x: "a$&b" }], ["functions", { x: "y".repeat(5000) }], ["log", {}]], 3000);
	const inside = file.slice("<script>".length, -"</script>".length), data = JSON.parse(inside);
	assert.ok(!inside.includes("<") && !inside.includes("\u2028"));
	assert.deepEqual(data.answers.recordings, hostile);
	assert.deepEqual(Object.keys(data.answers), ["recordings", "tree?metric=cpu", "log"]);
	assert.equal(data.answers["tree?metric=cpu"].x, "a$&b");
	assert.equal(parseState(data.state).tab, "waits");
	assert.equal(scriptText("<"), '"\\u003c"');
	const asked = questionsOf({ ...DEFAULTS, focus: "f", before: "1", region: "r", direction: "callers" }, 800).map(([name]) => name);
	for (const name of ["recordings", "tree", "lanes", "functions", "around", "annotate", "difference", "fold", "log", "heap", "wakers", "regions"])
		assert.ok(asked.includes(name), name);
});

test("the command line shows the same", () => {
	const lanes = [{ id: "t1", pid: 5, tid: 7 }, { id: "p2", pid: 9 }];
	assert.equal(commandOf(DEFAULTS, "/a b/s.db", []), "stackctl report -i '/a b/s.db'");
	assert.equal(commandOf({ ...DEFAULTS, tab: "around", focus: "f'<x>(int)", recording: "2", metric: "alloc.bytes", from: 1500000000, to: 2000000001 }, "s.db", lanes),
		"stackctl report --around 'f'\\''<x>(int)' -i s.db --recording 2 --metric alloc.bytes --from 1.5 --to 2.000000001 # of all threads: no options select just these lanes");
	const filters = (...ids) => commandOf(DEFAULTS, "s.db", ids.map(id => lanes.find(lane => lane.id === id))).slice("stackctl report -i s.db".length);
	lanes.push({ id: "t3", pid: 9, tid: 10 }, { id: "g2:worker-*", pid: 9 }, { id: "g2:io *", pid: 9 }, { id: "g1:worker-*", pid: 5 }, { id: "p4", pid: 11 });
	assert.equal(filters("t1", "t3"), " --tid 7,10");
	assert.equal(filters("p2", "p4"), " --pid 9,11");
	assert.equal(filters("p2", "t3", "g2:worker-*"), " --pid 9", "a process has its threads and pools");
	assert.equal(filters("g2:worker-*"), " --pid 9 --comm 'worker-*' # and all threads of the process whose names match");
	assert.equal(filters("g2:worker-*", "g2:io *"), " --pid 9 --comm 'worker-*' --comm 'io *' # and all threads of the process whose names match");
	for (const ids of [["t1", "p2"], ["t3", "g2:worker-*"], ["g1:worker-*", "p2"], ["g1:worker-*", "g2:worker-*"]])
		assert.equal(filters(...ids), " # of all threads: no options select just these lanes", ids.join());
	assert.equal(commandOf({ ...DEFAULTS, tab: "difference", before: "1", recording: "2" }, "s.db", []), "stackctl diff s.db@1 s.db@2");
});

test("lanes: shares, runs, time and pixels", () => {
	assert.deepEqual([...decodeShares("0_")], [0, 1]);
	assert.equal(Math.round(decodeShares("V")[0] * 63), 31);
	assert.deepEqual([...decodeShares("é ")], [0, 0]);
	assert.deepEqual(decodeRuns("0*2 1*4 3*2"), [[1, 2, 6], [3, 6, 8]]);
	assert.deepEqual(decodeRuns(""), []);
	const axis = new Axis(100, 300, 50);
	assert.equal(axis.pixel(200), 25);
	assert.equal(axis.time(25), 200);
	assert.deepEqual(zoomed({ from: 0, to: 100e6 }, 50e6, 0.5, 0, 100e6), [25e6, 75e6]);
	assert.deepEqual(zoomed({ from: 0, to: 50e6 }, 0, 4, 0, 100e6), [0, 100e6]);
	assert.deepEqual(within(-5, 10, 0, 100), [0, 10]);
	assert.deepEqual(within(95, 10, 0, 100), [90, 100]);
	assert.deepEqual(toggled(["a"], "b", false), ["b"]);
	assert.deepEqual(toggled(["a"], "b", true), ["a", "b"]);
	assert.deepEqual(toggled(["a"], "a", false), []);
	assert.equal(bisect([0, 5, 9], 6), 1);
	assert.equal(bisect([1], 0), -1);
});

test("numbers", () => {
	assert.equal(time(999), "999 ns");
	assert.equal(time(1500), "1.50 µs");
	assert.equal(time(12.34e9), "12.3 s");
	assert.equal(amount(1, "samples"), "1 sample");
	assert.equal(amount(1234, "samples"), "1,234 samples");
	assert.equal(amount(2048, "bytes"), "2.00 KiB");
	assert.equal(withError(980, 31.3, "samples"), "980 ± 31 samples");
	assert.equal(withError(980, null, "samples"), "980 samples");
	assert.equal(percent(0.00001), "<0.01 %");
	assert.equal(percent(0.1234), "12.3 %");
	assert.equal(percent(NaN), "–");
	assert.equal(signed(-5, "samples"), "−5");
	assert.equal(plain(5e8, "ns a second"), "500 ms/s");
	assert.equal(signed(-2048, "bytes a second"), "−2.00 KiB/s");
	assert.equal(amount(5e8, "ns a second"), "500 ms/s");
	assert.equal(amount(2.5, "samples a second"), "2.5 samples a second");
	assert.equal(prefixed(2.5e9), "2.5 G");
	assert.equal(moment(1234567890, 1e6), "1.235 s");
	assert.deepEqual(ticks(0, 10, 5), { step: 2, values: [0, 2, 4, 6, 8, 10] });
	assert.ok(!Object.is(ticks(-1, 1, 2).values[1], -0));
});

test("tables sort by number and by text", () => {
	const columns = [{ key: "n", value: row => row.n }, { key: "t", value: row => row.t }, { key: "none" }], rows = [{ n: 2, t: "b" }, { n: 10, t: "a" }, { n: 3, t: "c" }];
	assert.deepEqual(sortRows(rows, columns, "n").map(r => r.n), [10, 3, 2]);
	assert.deepEqual(sortRows(rows, columns, "-n").map(r => r.n), [2, 3, 10]);
	assert.deepEqual(sortRows(rows, columns, "t").map(r => r.t), ["a", "b", "c"]);
	assert.deepEqual(sortRows(rows, columns, "none"), rows);
});

test("the heap's paths", () => {
	assert.equal(allocatorOf(["malloc", "operator new(unsigned long)", "leak()", "main"]), "leak()");
	assert.equal(allocatorOf(["malloc"]), "malloc");
	assert.equal(allocatorOf([]), "");
	assert.equal(sparkline([0, 4, 8]), " ▄█");
});

test("columns are left out from the last on until the others fit", () => {
	const columns = [{ key: "a", width: "5rem" }, { key: "b", width: "5rem", isWide: true }, { key: "c", width: "minmax(10rem, 1fr)" }, { key: "d", width: "5rem", isWide: true }];
	const keys = (/** @type {number} */ width) => fittingColumns(columns, width).map(column => column.key).join("");
	assert.equal(keys(0), "abcd");
	assert.equal(keys(25 * 16 + 18), "abcd");
	assert.equal(keys(25 * 16 + 17), "abc");
	assert.equal(keys(20 * 16 + 17), "ac");
	assert.equal(keys(10), "ac");
});
