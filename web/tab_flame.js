// SPDX-License-Identifier: MIT
/*
 * The flame graph of the selection: from the root down, or from what was hit to its callers.
 */
import { selectionOf } from "./api.js";
import { el, emptyState, fill } from "./dom.js";
import { Flame } from "./flame.js";
import { amount, percent, plain, plural, signed } from "./format.js";
import { shortName, visible } from "./names.js";
import { Tree } from "./tree.js";

/** Kinds that are no functions: nothing is known about them but their amount. */
const NO_FUNCTION = ["all", "part", "other", "mark", "blocked", "runnable", "awaited"];

/** @param {import("./tree.js").Tree} tree @param {number} i */
export const isFunction = (tree, i) => i > 0 && !NO_FUNCTION.includes(tree.kind(i));

/** The question for a tree. @param {import("./state.js").State} state */
export const treeQuestion = state => ({ ...selectionOf(state), direction: state.direction === "callers" ? "callers" : null,
	by: state.direction === "callers" ? null : state.by, minimum: 0.0005 });

/**
 * What a tooltip says about a node.
 * @param {Tree} tree
 * @param {number} i
 * @param {number} side
 * @param {string} unit
 */
export function describeNode(tree, i, side, unit) {
	const total = tree.total[side][i], own = tree.self[side][i], parent = tree.parent[i];
	const text = [i || tree.name(0) ? visible(tree.name(i), 600) || "all" : "all"];
	if (tree.object(i))
		text.push(visible(tree.object(i), 300));
	if (tree.isDiff) {
		const c = tree.change(i);
		text.push(`before ${amount(c.before, unit)}, after ${amount(c.after, unit)}`);
		text.push(`${signed(c.by, unit)}${c.noise ? " ± " + plain(+c.noise.toPrecision(2), unit) : ""}${!c.isNoise ? "" : c.noise ? ": within the sampling's error" : ": no change"}`);
	} else {
		text.push(`${amount(total, unit)}, ${percent(total / tree.total[side][0])} of all` +
			(parent > 0 ? `, ${percent(total / tree.total[side][parent])} of its caller's` : ""));
		text.push(`${plain(own, unit)} in it itself`);
	}
	if (tree.inferred(i))
		text.push(`${amount(tree.inferred(i), unit)} with this frame reconstructed, not observed`);
	if (tree.kind(i) === "mark")
		text.push("these paths end before their thread's entry");
	if (tree.kind(i) === "inlined")
		text.push("inlined into its caller");
	return text;
}

export class FlameTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		/** @type {Tree | null} */
		this.tree = null;
		this.unit = "samples";
		this.atHash = "";
		this.flame = new Flame(app.colors, {
			select: (i, isZoom) => this.select(i, isZoom),
			turn: () => app.store.set({ bottom: !app.store.state.bottom }, false),
			hover: (i, x, y) => app.tip(i >= 0 && this.tree ? describeNode(this.tree, i, this.flame.side, this.unit) : [], x, y),
		});
		this.found = el("span", { id: "found", role: "status" });
		this.legend = el("span", { class: "legend" });
		this.note = el("span", { class: "dim" });
		this.down = el("button", { onclick: () => app.store.set({ direction: "down", zoom: "" }) }, "From the root");
		this.callers = el("button", { onclick: () => app.store.set({ direction: "callers", zoom: "" }) }, "Callers");
		this.by = el("select", { "aria-label": "Group by", onchange: () => app.store.set({ by: this.by.value, zoom: "" }) });
		this.by_colors = el("select", { "aria-label": "Colours", onchange: () => app.store.set({ colors: this.by_colors.value }) },
			el("option", { value: "kind" }, "Colours by kind"), el("option", { value: "object" }, "Colours by object"));
		this.out = el("button", { onclick: () => app.store.set({ zoom: "" }) }, "Whole graph");
		this.tools = el("div", { class: "tools" }, el("span", { class: "group", role: "group", "aria-label": "Direction" }, this.down, this.callers),
			this.by, this.by_colors, el("button", { title: "Key: i", onclick: () => this.flame.turn() }, "Turn over"), this.out, this.found, this.note, this.legend);
		this.content = el("div", { class: "content" });
		this.element = el("div", { class: "view" }, this.tools, this.content);
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		const { app } = this, answer = await app.api.ask("tree", treeQuestion(state));
		if (!app.isShown(state))
			return;
		if (this.data !== answer) {
			this.data = answer;
			this.tree = new Tree(answer);
			this.unit = answer.unit;
		}
		this.draw(state);
	}

	/** @param {import("./state.js").State} state */
	draw(state) {
		const { tree, app } = this;
		if (!tree)
			return;
		if (!tree.total[0][0]) {
			fill(this.content, emptyState(...app.nothing(state)));
			return;
		}
		app.colors.by = state.colors;
		this.drawTools(state, tree);
		if (!this.flame.element.isConnected)
			fill(this.content, this.flame.element);
		this.flame.matches = tree.matcher(state.search);
		const zoom = tree.find(state.zoom);
		this.flame.show(tree, { zoom, at: tree.find(this.atHash) || zoom, isFlame: state.bottom });
		this.tell(tree);
	}

	/** @param {import("./state.js").State} state @param {Tree} tree */
	drawTools(state, tree) {
		this.down.setAttribute("aria-pressed", String(state.direction === "down"));
		this.callers.setAttribute("aria-pressed", String(state.direction === "callers"));
		this.by.disabled = state.direction === "callers";
		const labels = (this.data.labels ?? []).map((/** @type {string} */ label) => "label:" + label);
		const parts = this.app.parts.filter(part => part !== "all").concat(labels);
		fill(this.by, el("option", { value: "" }, "All together"),
			...parts.map(part => el("option", { value: part, selected: part === state.by }, "By " + part)));
		this.by_colors.value = state.colors;
		this.out.hidden = !state.zoom;
		const { frames, kinds } = tree.data, present = [...new Set(frames.kind)].map(k => kinds[k]).filter(kind => kind !== "all");
		const isInferred = tree.data.nodes.inferred?.some(Boolean);
		fill(this.legend, ...state.colors === "object" ? [] : present.map(kind => swatch(this.app.colors.kind(kind), this.app.colors.kindText(kind))),
			isInferred ? swatch(this.app.colors.kind("native"), "reconstructed", "hatched") : null);
		const left = this.data.left_out;
		this.note.textContent = left ? `${left.toLocaleString("en")} small frames are summed up` : "";
	}

	/** Says how much of what is shown the search has found. @param {Tree} tree */
	tell(tree) {
		const { matches, zoom, side } = this.flame, text = this.app.store.state.search;
		if (!text) {
			this.found.textContent = "";
			return;
		}
		const { nodes, amount: found } = matches ? tree.matching(matches, zoom, side) : { nodes: [], amount: 0 };
		this.found.textContent = !matches ? "not a pattern" : nodes.length ? `${percent(found / tree.total[side][zoom])} in ${nodes.length.toLocaleString("en")} ${plural(nodes.length, "frames")} found` : "nothing found";
	}

	/** @param {number} i @param {boolean} isZoom */
	select(i, isZoom) {
		const { tree, app } = this;
		if (!tree)
			return;
		this.atHash = tree.hash(i);
		app.speak(describeNode(tree, i, this.flame.side, this.unit).join(". "));
		const chosen = isFunction(tree, i) ? { focus: tree.name(i), object: tree.object(i) } : {};
		app.store.set(isZoom ? { ...chosen, zoom: this.atHash } : chosen, isZoom);
	}

	/** Redraws in another theme. */
	restyle() {
		if (this.flame.element.isConnected)
			this.draw(this.app.store.state);
	}
}

/** @param {string} color @param {string} text @param {string} [pattern] */
export function swatch(color, text, pattern = "") {
	const box = el("span", { class: "swatch " + pattern, "aria-hidden": "true" });
	box.style.backgroundColor = color;
	return el("span", { class: "legend-item" }, box, text);
}

/** The short name with what stands for a name that is empty. @param {string} name @param {string} [kind] of its frame */
export const nameText = (name, kind) => shortName(name, kind) || "(no name)";
