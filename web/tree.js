// SPDX-License-Identifier: MIT
/*
 * A call tree as columns by node, in depth-first order, as the server sends it (docs/WEB.md). So the nodes
 * below node i are i + 1 .. end[i] - 1, and what is too narrow to be seen is skipped with all that is
 * below it: a tree is drawn in the time that its visible part takes.
 *
 * The amounts of a tree have sides. One recording has one. Of two there are BEFORE and AFTER, and a third
 * one is added here, BOTH, whose widths show what is in only one of them: for the frame itself and each
 * of its callees the larger of the two amounts counts, and the frame's width is the sum of these.
 */

export const BEFORE = 0, AFTER = 1, BOTH = 2;

/**
 * @typedef {object} Frames   functions, each once
 * @property {number[]} name    index into strings
 * @property {number[]} object  the same
 * @property {number[]} kind    index into kinds
 *
 * @typedef {object} Nodes
 * @property {number[]} parent
 * @property {number[]} frame
 * @property {number[]} self
 * @property {number[]} total
 * @property {number[]} [inferred]
 * @property {number[]} [before_self]
 * @property {number[]} [before]
 * @property {(number | null)[]} [noise]
 *
 * @typedef {object} TreeAnswer
 * @property {string[]} strings
 * @property {string[]} kinds
 * @property {Frames} frames
 * @property {Nodes} nodes
 */

/**
 * What a change is worth: it is noise if it is within 2.58 standard errors (1 in 100 by chance).
 * @param {number} by
 * @param {number | null | undefined} noise the standard error; null: the amounts are exact
 */
export const isNoise = (by, noise) => Math.abs(by) <= 2.58 * (noise ?? 0);

export class Tree {
	/** @param {TreeAnswer} data */
	constructor(data) {
		const { nodes } = data, n = nodes.parent.length;
		this.data = data;
		this.size = n;
		this.isDiff = Boolean(nodes.before);
		this.total = nodes.before ? [nodes.before, nodes.total] : [nodes.total];
		this.self = nodes.before_self ? [nodes.before_self, nodes.self] : [nodes.self];
		this.parent = nodes.parent;
		this.depth = new Uint32Array(n);
		this.end = new Uint32Array(n);
		for (let i = 1; i < n; i++)
			this.depth[i] = this.depth[this.parent[i]] + 1;
		for (let i = n - 1; i >= 0; i--) {
			this.end[i] = Math.max(this.end[i], i + 1);
			if (i)
				this.end[this.parent[i]] = Math.max(this.end[this.parent[i]], this.end[i]);
		}
		if (this.isDiff)
			this.unite();
		this.left = this.total.map(total => this.edges(total));
	}

	unite() {
		const [before, after] = this.total;
		const self = after.map((_, i) => Math.max(this.self[0][i], this.self[1][i])), total = self.slice();
		const rest = this.total.map((list, side) => list.map((of, i) => of - this.self[side][i]));
		for (let i = this.size - 1; i > 0; i--) {
			rest[0][this.parent[i]] -= before[i];
			rest[1][this.parent[i]] -= after[i];
		}
		for (let i = this.size - 1; i >= 0; i--) {
			total[i] += Math.max(0, rest[0][i], rest[1][i]);
			if (i)
				total[this.parent[i]] += total[i];
		}
		this.self.push(self);
		this.total.push(total);
	}

	/** The left edges of nodes, in amounts. @param {number[]} total */
	edges(total) {
		const left = new Float64Array(this.size), next = new Float64Array(this.size);
		for (let i = 1; i < this.size; i++) {
			const p = this.parent[i];
			left[i] = next[i] = next[p];
			next[p] += total[i];
		}
		return left;
	}

	/** @param {number} i */
	name(i) {
		return this.data.strings[this.data.frames.name[this.data.nodes.frame[i]]] ?? "";
	}

	/** @param {number} i */
	object(i) {
		return this.data.strings[this.data.frames.object[this.data.nodes.frame[i]]] ?? "";
	}

	/** @param {number} i */
	kind(i) {
		return this.data.kinds[this.data.frames.kind[this.data.nodes.frame[i]]] ?? "";
	}

	/** @param {number} i */
	inferred(i) {
		return this.data.nodes.inferred?.[i] ?? 0;
	}

	/** @param {number} i */
	*children(i) {
		for (let c = i + 1; c < this.end[i]; c = this.end[c])
			yield c;
	}

	/** Whether node i is j or one of its callers. @param {number} i @param {number} j */
	isAbove(i, j) {
		return i <= j && j < this.end[i];
	}

	/** The nodes from the top to this one. @param {number} i */
	line(i) {
		const line = [];
		for (; i >= 0; i = this.parent[i])
			line.push(i);
		return line.reverse();
	}

	/** A text for a node's path that is the same whatever else is in the tree. @param {number} i */
	hash(i) {
		let h = 0;
		for (const node of this.line(i).slice(1))
			h = mix(h, hashText(this.name(node)));
		return i ? h.toString(36) : "";
	}

	/** The node with this hash, or 0. @param {string} hash */
	find(hash) {
		if (!hash)
			return 0;
		const of = new Uint32Array(this.size), { frames, nodes, strings } = this.data;
		const names = frames.name.map(name => hashText(strings[name]));
		for (let i = 1; i < this.size; i++) {
			of[i] = mix(of[this.parent[i]], names[nodes.frame[i]]);
			if (of[i].toString(36) === hash)
				return i;
		}
		return 0;
	}

	/**
	 * Calls `each` for every node that is at least `least` pixels wide where node `zoom` is `width` pixels
	 * wide, callers first.
	 * @param {number} zoom
	 * @param {number} side
	 * @param {number} width
	 * @param {number} least
	 * @param {(i: number) => void} each
	 */
	visible(zoom, side, width, least, each) {
		const total = this.total[side], smallest = least * total[zoom] / width;
		this.line(zoom).forEach(each);
		for (let i = zoom + 1; i < this.end[zoom];) {
			if (total[i] < smallest || !total[i]) {
				i = this.end[i];
				continue;
			}
			each(i++);
		}
	}

	/** Amounts of a node before and after, the change, and whether it is noise. @param {number} i */
	change(i) {
		const before = this.total[BEFORE][i], after = this.total[AFTER][i], noise = this.data.nodes.noise?.[i] ?? null;
		return { before, after, by: after - before, noise, isNoise: isNoise(after - before, noise) };
	}

	/**
	 * Which frames' names or objects contain a text, or match a /pattern/. Null: nothing is searched, or the
	 * pattern is none.
	 * @param {string} text
	 */
	matcher(text) {
		const test = matcherOf(text), { frames, strings, kinds } = this.data;
		return test && Uint8Array.from(frames.name, (name, i) => {
			const kind = kinds[frames.kind[i]];
			return kind !== "all" && kind !== "other" && test(strings[name]) ? 1 : 0;
		});
	}

	/**
	 * The nodes below `zoom` whose frames match, and the amount with a match in its path, each once.
	 * @param {Uint8Array} matches
	 * @param {number} zoom
	 * @param {number} side
	 */
	matching(matches, zoom, side) {
		const nodes = [];
		let amount = 0;
		for (let i = zoom, upto = 0; i < this.end[zoom]; i++) {
			if (!matches[this.data.nodes.frame[i]])
				continue;
			nodes.push(i);
			if (i < upto)
				continue;
			amount += this.total[side][i];
			upto = this.end[i];
		}
		return { nodes, amount };
	}

	/**
	 * Sums the tree up by function: self, and total with each path counted once, however often the function
	 * is in it.
	 * @param {number} side
	 */
	functions(side) {
		const { frames, nodes, strings, kinds } = this.data, n = frames.name.length;
		const self = new Float64Array(n), total = new Float64Array(n), inferred = new Float64Array(n);
		const until = new Uint32Array(n);
		for (let i = 1; i < this.size; i++) {
			const f = nodes.frame[i];
			self[f] += this.self[side][i];
			if (i < until[f])
				continue;
			total[f] += this.total[side][i];
			inferred[f] += this.inferred(i);
			until[f] = this.end[i];
		}
		return frames.name.map((name, f) => ({ name: strings[name], object: strings[frames.object[f]] ?? "",
			kind: kinds[frames.kind[f]] ?? "", self: self[f], total: total[f], inferred: inferred[f] }))
			.filter(f => !["all", "part", "other"].includes(f.kind) && (f.total || f.self));
	}
}

/**
 * Returns a test for names: a part of the name without regard to case, or /a pattern/; null for "" and
 * for what is no pattern.
 * @param {string} text
 * @returns {((name: string) => boolean) | null}
 */
export function matcherOf(text) {
	if (text.length > 2 && text.startsWith("/") && text.endsWith("/")) {
		try {
			const pattern = new RegExp(text.slice(1, -1));
			return name => pattern.test(name);
		} catch {
			return null;
		}
	}
	const wanted = text.toLowerCase();
	return wanted ? name => name.toLowerCase().includes(wanted) : null;
}

/** FNV-1a. @param {string} text */
export function hashText(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return h >>> 0;
}

/** @param {number} above @param {number} own */
function mix(above, own) {
	const h = Math.imul(above ^ own, 0x9e3779b1);
	return (h ^ h >>> 15) >>> 0;
}
