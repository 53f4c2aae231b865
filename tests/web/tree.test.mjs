// SPDX-License-Identifier: MIT
// Trees: layout, selection, sums, differences, callers and callees.
import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundOf, nearest } from "../../web/around_data.js";
import { AFTER, BEFORE, BOTH, Tree, hashText, isNoise, matcherOf } from "../../web/tree.js";

const KINDS = ["all", "native", "other"];

/** A tree of [parent, name, self, total]; total is summed up if it is not given. */
function tree(rows, more = {}) {
	const strings = [""], nameOf = text => strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1;
	const frames = { name: [], object: [], kind: [] }, nodes = { parent: [], frame: [], self: [], total: [] };
	for (const [parent, name, self] of rows) {
		const at = nameOf(name);
		let frame = frames.name.indexOf(at);
		if (frame < 0) {
			frame = frames.name.push(at) - 1;
			frames.object.push(0);
			frames.kind.push(parent < 0 ? 0 : name === "other" ? 2 : 1);
		}
		nodes.parent.push(parent);
		nodes.frame.push(frame);
		nodes.self.push(self);
		nodes.total.push(self);
	}
	for (let i = rows.length - 1; i > 0; i--)
		nodes.total[rows[i][0]] += nodes.total[i];
	return new Tree({ strings, kinds: KINDS, frames, nodes: { ...nodes, ...more } });
}

//            0 all        1 main         2 f            3 g             4 f (recursive)  5 h
const ROWS = [[-1, "all", 0], [0, "main", 10], [1, "f", 20], [2, "g", 30], [3, "f", 5], [1, "h", 35]];

test("places of nodes", () => {
	const t = tree(ROWS);
	assert.deepEqual([...t.depth], [0, 1, 2, 3, 4, 2]);
	assert.deepEqual([...t.end], [6, 6, 5, 5, 5, 6]);
	assert.deepEqual([...t.left[0]], [0, 0, 0, 0, 0, 55]);
	assert.deepEqual([...t.children(1)], [2, 5]);
	assert.deepEqual(t.line(4), [0, 1, 2, 3, 4]);
	assert.ok(t.isAbove(2, 4) && !t.isAbove(2, 5) && t.isAbove(0, 5));
});

test("children never leave their parent, and never overlap", () => {
	const rows = [[-1, "all", 0]];
	for (let i = 1, seed = 3; i < 3000; i++) {
		seed = seed * 1103515245 + 12345 & 0x7fffffff;
		let parent = i - 1;
		for (let up = seed % 5; up > 0 && parent > 0; up--)
			parent = rows[parent][0];
		rows.push([parent, "f" + seed % 50, seed % 7]);
	}
	const t = tree(rows), [total] = t.total, [left] = t.left;
	for (let i = 0; i < t.size; i++) {
		let x = left[i];
		for (const c of t.children(i)) {
			assert.equal(left[c], x);
			x += total[c];
		}
		assert.equal(x + t.self[0][i], left[i] + total[i]);
	}
	const functions = t.functions(0);
	assert.equal(functions.reduce((sum, f) => sum + f.self, 0), total[0]);
	assert.ok(functions.every(f => f.self <= f.total && f.total <= total[0]));
});

test("what is too narrow is not visited, and no child of it", () => {
	const seen = [], t = tree(ROWS);
	t.visible(0, 0, 100, 30, i => seen.push(i));
	assert.deepEqual(seen, [0, 1, 2, 3, 5]);
	seen.length = 0;
	t.visible(2, 0, 100, 0.5, i => seen.push(i));
	assert.deepEqual(seen, [0, 1, 2, 3, 4]);
});

test("a path's hash finds it in another tree", () => {
	const t = tree(ROWS), hash = t.hash(3);
	const other = tree([[-1, "all", 0], [0, "a", 1], [0, "main", 1], [2, "f", 1], [3, "g", 9]]);
	assert.equal(other.find(hash), 4);
	assert.equal(t.find(hash), 3);
	assert.equal(t.find(""), 0);
	assert.equal(t.find("no"), 0);
	assert.equal(t.hash(0), "");
	assert.notEqual(hashText("ab"), hashText("ba"));
});

test("a search counts each path once", () => {
	const t = tree(ROWS), matches = t.matcher("F");
	assert.deepEqual(t.matching(matches, 0, 0), { nodes: [2, 4], amount: 55 });
	assert.deepEqual(t.matching(t.matcher("/^(g|h)$/"), 0, 0).nodes, [3, 5]);
	assert.equal(t.matcher(""), null);
	assert.equal(t.matcher("/(/"), null);
	assert.equal(matcherOf("ALL")("small"), true);
	assert.deepEqual(t.matching(t.matcher("all"), 0, 0).nodes, []);
});

test("functions: a recursive one counts once", () => {
	const f = tree(ROWS).functions(0).find(row => row.name === "f");
	assert.deepEqual([f.self, f.total], [25, 55]);
});

test("a difference's widths are of both", () => {
	// before: main 10 + only_before 40; after: main 10 + only_after 60
	const t = tree([[-1, "all", 0], [0, "main", 10], [1, "b", 0], [1, "a", 60]],
		{ before_self: [0, 10, 40, 0], before: [50, 50, 40, 0], noise: [3, 3, null, 1] });
	assert.deepEqual(t.total[BOTH], [110, 110, 40, 60]);
	assert.deepEqual([t.total[BEFORE][0], t.total[AFTER][0]], [50, 70]);
	assert.deepEqual(t.change(0), { before: 50, after: 70, by: 20, noise: 3, isNoise: false });
	assert.equal(t.change(2).isNoise, false);
	assert.ok(isNoise(2, 1) && !isNoise(3, 1) && isNoise(0, null) && !isNoise(1, null));
});

test("callers and callees from a tree", () => {
	const around = aroundOf(tree(ROWS), "f", ""), t = tree(ROWS);
	assert.equal(around.self, 25);
	assert.equal(around.function_total, 55);
	assert.deepEqual(around.callees.total, [55, 35, 5]);
	assert.equal(around.callers.total[0], 55);
	assert.equal(around.callers.total.filter((_, i) => around.callers.parent[i] === 0).reduce((a, b) => a + b, 0), 55);
	assert.deepEqual(nearest(t.data, around.callers).map(row => [row.name, row.total]), [["main", 50], ["g", 5]]);
	assert.equal(aroundOf(tree(ROWS), "none", ""), null);
});
