// SPDX-License-Identifier: MIT
/*
 * The callers and callees of a function, from a tree: for pages that are no longer connected to a server. Of
 * a path that goes through the function several times, callees are those of the outermost call, and
 * callers those of the innermost one, so that each amount counts once.
 */

/** @typedef {import("./tree.js").Nodes} Nodes */

class Builder {
	constructor() {
		/** @type {Required<Pick<Nodes, "parent" | "frame" | "self" | "total" | "inferred">>} */
		this.nodes = { parent: [], frame: [], self: [], total: [], inferred: [] };
		/** @type {Map<string, number>} */
		this.known = new Map();
	}

	/** @param {number} parent @param {number} frame */
	child(parent, frame) {
		const key = parent + " " + frame;
		let i = this.known.get(key);
		if (i === undefined) {
			i = this.nodes.parent.length;
			this.known.set(key, i);
			this.nodes.parent.push(parent);
			this.nodes.frame.push(frame);
			for (const list of [this.nodes.self, this.nodes.total, this.nodes.inferred])
				list.push(0);
		}
		return i;
	}

	/** The nodes in depth-first order. @returns {Nodes} */
	sorted() {
		const { nodes } = this, children = nodes.parent.map(() => /** @type {number[]} */ ([])), order = /** @type {number[]} */ ([]);
		nodes.parent.forEach((parent, i) => parent >= 0 && children[parent].push(i));
		const open = nodes.parent.length ? [0] : [];
		while (open.length) {
			const i = /** @type {number} */ (open.pop());
			order.push(i);
			open.push(...children[i].reverse());
		}
		const at = new Map(order.map((i, k) => [i, k])), pick = (/** @type {number[]} */ list) => order.map(i => list[i]);
		return { parent: order.map(i => at.get(nodes.parent[i]) ?? -1), frame: pick(nodes.frame), self: pick(nodes.self),
			total: pick(nodes.total), inferred: pick(nodes.inferred) };
	}
}

/**
 * @param {import("./tree.js").Tree} tree
 * @param {string} name
 * @param {string} object "": of any object
 * @param {number} side
 */
export function aroundOf(tree, name, object, side = tree.total.length - 1) {
	const { nodes } = tree.data, callers = new Builder(), callees = new Builder();
	const is = (/** @type {number} */ i) => tree.name(i) === name && (!object || tree.object(i) === object);
	let self = 0, all = 0, inferred = 0, root = -1, kind = "", where = "";
	/* The nodes of the outermost call on the present path, by depth: their number among the callees. */
	let outer = -1, at = new Map();
	for (let i = 1; i < tree.size; i++) {
		if (outer >= 0 && !tree.isAbove(outer, i))
			outer = -1;
		if (outer < 0 && !is(i))
			continue;
		const own = tree.self[side][i];
		if (outer < 0) {
			outer = i;
			root = nodes.frame[i];
			kind = tree.kind(i);
			where = tree.object(i);
			at = new Map([[i, callees.child(-1, root)]]);
			all += tree.total[side][i];
			inferred += tree.inferred(i);
		} else {
			at.set(i, callees.child(/** @type {number} */ (at.get(tree.parent[i])), nodes.frame[i]));
		}
		const node = /** @type {number} */ (at.get(i));
		callees.nodes.self[node] += own;
		callees.nodes.total[node] += tree.total[side][i];
		callees.nodes.inferred[node] += tree.inferred(i);
		if (is(i)) {
			self += own;
			climb(tree, i, side, is, callers);
		}
	}
	return root < 0 ? null : { function: { name, object: where, kind }, self, function_total: all, inferred,
		callers: callers.sorted(), callees: callees.sorted() };
}

/**
 * Adds the callers of a node: what is below it, and not below another call of the function there.
 * @param {import("./tree.js").Tree} tree
 * @param {number} i
 * @param {number} side
 * @param {(i: number) => boolean} is
 * @param {Builder} callers
 */
function climb(tree, i, side, is, callers) {
	let amount = tree.total[side][i];
	for (let k = i + 1; k < tree.end[i];) {
		if (is(k)) {
			amount -= tree.total[side][k];
			k = tree.end[k];
		} else {
			k++;
		}
	}
	if (amount <= 0)
		return;
	let node = -1;
	for (let k = i; k > 0; k = tree.parent[k]) {
		node = callers.child(node, tree.data.nodes.frame[k]);
		callers.nodes.total[node] += amount;
	}
	callers.nodes.self[node] += amount;
}

/**
 * The children of the top of a tree, largest first.
 * @param {{ strings: string[], kinds: string[], frames: import("./tree.js").Frames }} lists
 * @param {Nodes} nodes
 */
export function nearest(lists, nodes) {
	const found = [];
	for (let i = 1; i < nodes.parent.length; i++)
		if (nodes.parent[i] === 0) {
			const f = nodes.frame[i];
			found.push({ name: lists.strings[lists.frames.name[f]], object: lists.strings[lists.frames.object[f]] ?? "",
				kind: lists.kinds[lists.frames.kind[f]] ?? "", total: nodes.total[i] });
		}
	return found.sort((a, b) => b.total - a.total);
}
