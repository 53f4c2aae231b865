// SPDX-License-Identifier: MIT
/*
 * A tree drawn as a flame graph. Rows are drawn as far as the window shows them, for ten thousand calls
 * deep is more than a canvas can be high. Frames that are drawn are kept by row, sorted, so the frame under
 * the pointer is found by bisection; what is pointed at is drawn on a canvas of its own, above, so hovering
 * costs the same however large the tree is.
 */
import { el, sizeCanvas, atNextFrame } from "./dom.js";
import { shortName } from "./names.js";
import { BOTH } from "./tree.js";

const ROW = 19, LEAST_PX = 0.4, BIG = 10;

/**
 * @typedef {object} FlameEvents
 * @property {(node: number, isZoom: boolean) => void} select   a frame was chosen, by click or key
 * @property {(node: number, x: number, y: number) => void} hover  -1: none
 * @property {() => void} [turn]  the graph is to be turned over; it turns itself if nobody listens
 */

export class Flame {
	/**
	 * @param {import("./colors.js").Colors} colors
	 * @param {FlameEvents} events
	 */
	constructor(colors, events) {
		this.colors = colors;
		this.events = events;
		this.canvas = el("canvas", { id: "canvas" });
		this.overlay = el("canvas", { class: "overlay" });
		this.room = el("div");
		this.stack = el("div", { class: "stack" }, this.canvas, this.overlay);
		this.element = el("div", { id: "scroll", class: "flame", tabindex: "0", role: "application",
			"aria-label": "Flame graph. Arrow keys move between callers, callees and neighbours; Enter zooms; Escape zooms out",
			"aria-describedby": "spoken" }, this.stack, this.room);
		/** @type {import("./tree.js").Tree | null} */
		this.tree = null;
		this.zoom = 0;
		this.at = 0;
		this.hover = -1;
		this.side = 0;
		this.isFlame = false;
		/** @type {Uint8Array | null} */
		this.matches = null;
		/** @type {{ x: number[], w: number[], node: number[] }[]} */
		this.rows = [];
		this.n_rows = 1;
		this.width = 1;
		/** @type {any} */
		this.ink = null;
		this.redraw = atNextFrame(() => this.draw());
		this.remark = atNextFrame(() => this.mark());
		this.element.addEventListener("scroll", () => this.redraw());
		this.overlay.addEventListener("click", event => this.click(event));
		this.overlay.addEventListener("pointermove", event => this.point(event));
		this.overlay.addEventListener("pointerleave", () => this.setHover(-1, 0, 0));
		this.element.addEventListener("keydown", event => this.key(event));
		new ResizeObserver(() => this.layout()).observe(this.element);
	}

	/**
	 * Shows a tree. The frame that is zoomed to and the one that is selected are given as nodes of it.
	 * @param {import("./tree.js").Tree} tree
	 * @param {{ zoom: number, at: number, side?: number, isFlame?: boolean }} options
	 */
	show(tree, { zoom, at, side = tree.isDiff ? BOTH : 0, isFlame = this.isFlame }) {
		const isTurned = this.isFlame !== isFlame, isNew = this.tree !== tree || this.zoom !== zoom || isTurned;
		this.isFlame = isFlame;
		this.tree = tree;
		this.side = side;
		this.zoom = tree.total[side][zoom] ? zoom : 0;
		this.at = at;
		this.hover = -1;
		this.layout();
		if (isNew && (this.isFlame || isTurned)) {
			this.element.scrollTop = this.isFlame ? this.n_rows * ROW : 0;
			this.draw();
		}
	}

	/** @param {Uint8Array | null} matches by frame */
	search(matches) {
		this.matches = matches;
		this.redraw();
	}

	turn() {
		if (this.events.turn) {
			this.events.turn();
			return;
		}
		this.isFlame = !this.isFlame;
		this.layout();
		this.element.scrollTop = this.isFlame ? this.n_rows * ROW : 0;
		this.layout();
	}

	layout() {
		const { tree, element } = this;
		if (!tree || !element.clientWidth)
			return;
		this.width = element.clientWidth;
		/** @type {Flame["rows"]} */
		const rows = this.rows = [];
		const total = tree.total[this.side], left = tree.left[this.side], scale = this.width / (total[this.zoom] || 1);
		tree.visible(this.zoom, this.side, this.width, LEAST_PX, i => {
			const row = rows[tree.depth[i]] ??= { x: [], w: [], node: [] };
			const isCaller = tree.isAbove(i, this.zoom);
			row.x.push(isCaller ? 0 : (left[i] - left[this.zoom]) * scale);
			row.w.push(isCaller ? this.width : total[i] * scale);
			row.node.push(i);
		});
		const height = element.clientHeight;
		this.n_rows = Math.max(rows.length, Math.floor(height / ROW));
		this.stack.style.height = height + "px";
		this.room.style.height = Math.max(0, this.n_rows * ROW - height) + "px";
		this.draw();
	}

	/** The top edge of a row in the window. @param {number} depth */
	top(depth) {
		return (this.isFlame ? this.n_rows - 1 - depth : depth) * ROW - this.element.scrollTop;
	}

	draw() {
		const { tree, element } = this;
		if (!tree || !this.width)
			return;
		const height = element.clientHeight, c = sizeCanvas(this.canvas, this.width, height);
		const style = getComputedStyle(element);
		c.font = "12px system-ui, sans-serif";
		c.clearRect(0, 0, this.width, height);
		this.ink = { text: style.getPropertyValue("--ink").trim(), mark: style.getPropertyValue("--match").trim(),
			onMark: style.getPropertyValue("--on-match").trim(), focus: style.getPropertyValue("--focus").trim(),
			back: style.getPropertyValue("--back").trim(), hatch: this.colors.hatching(c), letter: c.measureText("etaoinshrdlu").width / 12 };
		this.rows.forEach((row, depth) => {
			const y = this.top(depth);
			if (y > -ROW && y < height)
				row.node.forEach((node, k) => this.drawFrame(c, node, row.x[k], y, row.w[k]));
		});
		this.mark();
	}

	/** @param {number} i */
	color(i) {
		const tree = /** @type {import("./tree.js").Tree} */ (this.tree), kind = tree.kind(i);
		if (tree.isDiff)
			return this.colors.change(tree.change(i), Math.max(tree.total[0][0], tree.total[1][0]));
		return this.colors.frame(kind, tree.name(i), tree.object(i));
	}

	/**
	 * @param {CanvasRenderingContext2D} c
	 * @param {number} i
	 * @param {number} x
	 * @param {number} y
	 * @param {number} w
	 */
	drawFrame(c, i, x, y, w) {
		const tree = /** @type {import("./tree.js").Tree} */ (this.tree), ink = this.ink;
		const isMatch = this.matches && i && this.matches[tree.data.nodes.frame[i]];
		c.globalAlpha = i !== this.zoom && tree.isAbove(i, this.zoom) ? 0.6 : this.matches && !isMatch ? 0.4 : 1;
		c.fillStyle = isMatch ? ink.mark : this.color(i);
		c.fillRect(x, y, Math.max(w - (w > 3 ? 0.8 : 0), LEAST_PX), ROW - 1);
		const inferred = tree.inferred(i);
		if (inferred && ink.hatch) {
			const part = Math.min(w, w * inferred / tree.total[this.side][i]);
			c.fillStyle = ink.hatch;
			c.fillRect(x + w - part, y, Math.max(part - 0.8, 0), ROW - 1);
		}
		if (w > 22) {
			const fits = Math.floor((w - 7) / ink.letter);
			const text = (tree.kind(i) === "inlined" ? "› " : "") + this.nameOf(i);
			c.globalAlpha = this.matches && !isMatch ? 0.75 : 1;
			c.fillStyle = isMatch ? ink.onMark : ink.text;
			c.fillText(text.length <= fits ? text : text.slice(0, Math.max(fits - 1, 1)) + "…", x + 4, y + ROW - 5.5, w - 6);
		}
		c.globalAlpha = 1;
	}

	/** @param {number} i */
	nameOf(i) {
		const tree = /** @type {import("./tree.js").Tree} */ (this.tree);
		return i || tree.name(0) ? shortName(tree.name(i), tree.kind(i)) : "all";
	}

	/** Draws the outlines of what is selected and pointed at. */
	mark() {
		const { tree, element } = this;
		if (!tree || !this.ink)
			return;
		const c = sizeCanvas(this.overlay, this.width, element.clientHeight);
		c.clearRect(0, 0, this.width, element.clientHeight);
		for (const [i, color, line] of /** @type {[number, string, number][]} */ ([[this.hover, this.ink.text, 1.2], [this.at, this.ink.focus, 2.4]])) {
			const found = i >= 0 ? this.find(i) : null;
			if (!found)
				continue;
			c.strokeStyle = color;
			c.lineWidth = line;
			c.strokeRect(found.x + line / 2, found.y + line / 2, Math.max(found.w - 0.8 - line, 1), ROW - 1 - line);
		}
	}

	/** Where a node is drawn, or null. @param {number} i */
	find(i) {
		const tree = /** @type {import("./tree.js").Tree} */ (this.tree), depth = tree.depth[i], row = this.rows[depth];
		const at = row ? bisect(row.node, i) : -1;
		return at >= 0 && row.node[at] === i ? { x: row.x[at], y: this.top(depth), w: row.w[at] } : null;
	}

	/** The node at a place, or -1. @param {number} x @param {number} y */
	hit(x, y) {
		const at = Math.floor((y + this.element.scrollTop) / ROW);
		const row = this.rows[this.isFlame ? this.n_rows - 1 - at : at], k = row ? bisect(row.x, x) : -1;
		return k >= 0 && x < row.x[k] + Math.max(row.w[k], 1) ? row.node[k] : -1;
	}

	/** @param {MouseEvent} event */
	click(event) {
		const i = this.hit(event.offsetX, event.offsetY);
		if (i >= 0)
			this.go(i);
	}

	/** Selects a frame and zooms to it. @param {number} i */
	go(i) {
		this.at = i;
		this.events.select(i, true);
		this.remark();
	}

	/** @param {PointerEvent} event */
	point(event) {
		const i = this.hit(event.offsetX, event.offsetY);
		this.overlay.style.cursor = i >= 0 ? "pointer" : "default";
		this.setHover(i, event.clientX, event.clientY);
	}

	/** @param {number} i @param {number} x @param {number} y */
	setHover(i, x, y) {
		this.events.hover(i, x, y);
		if (i === this.hover)
			return;
		this.hover = i;
		this.remark();
	}

	/** Selects a frame, and scrolls its row into sight. @param {number} i */
	select(i) {
		this.at = i;
		const y = this.top(/** @type {import("./tree.js").Tree} */ (this.tree).depth[i]), height = this.element.clientHeight;
		if (y < 0)
			this.element.scrollTop += y;
		else if (y + ROW > height)
			this.element.scrollTop += y + ROW - height;
		this.remark();
		this.events.select(i, false);
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const { tree } = this;
		if (!tree || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const to = this.neighbour(event.key);
		if (to >= 0)
			this.select(to);
		else if (event.key === "Enter")
			this.go(this.at);
		else if ((event.key === "Escape" || event.key === "Backspace") && this.zoom)
			this.go(tree.parent[this.zoom]);
		else if (event.key === "0")
			this.go(0);
		else if (event.key === "n" || event.key === "N")
			this.next(event.key === "n" ? 1 : -1);
		else if (event.key === "i")
			this.turn();
		else if (!event.key.startsWith("Arrow"))
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	/** The frame that an arrow key leads to, or -1. @param {string} key */
	neighbour(key) {
		const tree = /** @type {import("./tree.js").Tree} */ (this.tree), i = this.at, row = this.rows[tree.depth[i]];
		const up = this.isFlame ? "ArrowDown" : "ArrowUp";
		if (key === "Home")
			return this.zoom;
		if (key === up)
			return tree.parent[i];
		if (key === "ArrowUp" || key === "ArrowDown") {
			let best = -1;
			for (const c of tree.children(i))
				if (this.find(c) && (best < 0 || tree.total[this.side][c] > tree.total[this.side][best]))
					best = c;
			return best;
		}
		const at = row ? bisect(row.node, i) : -1;
		if (key === "ArrowLeft" && at > 0)
			return row.node[at - 1];
		if (key === "ArrowRight" && at >= 0 && at + 1 < row.node.length)
			return row.node[at + 1];
		return -1;
	}

	/** Goes to the next frame that matches the search. @param {number} by 1 or -1 */
	next(by) {
		const { tree, matches } = this;
		if (!tree || !matches)
			return;
		const { nodes } = tree.matching(matches, this.zoom, this.side);
		if (!nodes.length)
			return;
		let at = by > 0 ? nodes.findIndex(i => i > this.at) : nodes.findLastIndex(i => i < this.at);
		if (at < 0)
			at = by > 0 ? 0 : nodes.length - 1;
		this.select(nodes[at]);
	}

	/** The middle of a frame, in the window's pixels; for programs that look at the page. @param {number} i */
	middle(i) {
		const found = this.find(i), box = this.canvas.getBoundingClientRect();
		return found ? [box.left + found.x + Math.min(found.w / 2, this.width - BIG), box.top + found.y + ROW / 2] : null;
	}
}

/**
 * The index of the last element that is at most `x`, or -1.
 * @param {ArrayLike<number>} sorted
 * @param {number} x
 */
export function bisect(sorted, x) {
	let low = 0, high = sorted.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (sorted[middle] <= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}
