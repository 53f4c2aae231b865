// SPDX-License-Identifier: MIT
/*
 * Waits: what threads waited for, the longest single waits, and who ended them: chains from a wait to the
 * thread that ended it, to what that one had waited for.
 */
import { selectionOf } from "./api.js";
import { el, emptyState, fill } from "./dom.js";
import { Flame } from "./flame.js";
import { amount, count, moment, percent, time } from "./format.js";
import { reasonText } from "./lanes.js";
import { shortWaker, visible } from "./names.js";
import { Table } from "./table.js";
import { Tree } from "./tree.js";

const FRAME_KINDS = /** @type {Record<string, string>} */ ({ all: "all", reason: "blocked", wait: "blocked", thread: "awaited", interrupt: "kernel", unknown: "mark" });

/** Chains as a tree that the flame graph draws. @param {any} answer @returns {import("./tree.js").TreeAnswer} */
export function chainsTree({ chains, strings }) {
	const kinds = [...new Set(Object.values(FRAME_KINDS))], n = chains.parent.length, self = chains.ns.slice();
	for (let i = 1; i < n; i++)
		self[chains.parent[i]] -= chains.ns[i];
	/* Those without a name have their kind's. */
	const more = ["", "all waits", "an interrupt", "not known"], unnamed = { all: 1, interrupt: 2 };
	const name = chains.name.map((/** @type {number} */ at, /** @type {number} */ i) => strings[at] ? at : strings.length + (unnamed[/** @type {"all"} */ (chains.kind[i])] ?? 3));
	return { strings: [...strings.map((/** @type {string} */ text) => text.replace(/^\[(.*)\]$/, "$1")), ...more], kinds, frames: { name, object: name.map(() => strings.length),
		kind: chains.kind.map((/** @type {string} */ kind) => kinds.indexOf(FRAME_KINDS[kind] ?? "mark")) },
	nodes: { parent: chains.parent, frame: chains.name.map((/** @type {number} */ _, /** @type {number} */ i) => i), total: chains.ns, self: self.map((/** @type {number} */ x) => Math.max(0, x)) } };
}

/** @typedef {{ name: string, kind: string, ns: number, waits: number }} Reason */
/** @typedef {{ thread: string, name: string, begin: number, end: number, stands: number, kind: string, reason: string, waker: string }} Wait */

export class WaitsTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		this.total = 1;
		/** @type {Table<Reason>} */
		this.reasons = new Table({ label: "Reasons", sort: "ns", columns: [
			{ key: "ns", title: "Time", width: "6rem", text: row => time(row.ns), value: row => row.ns, share: row => row.ns / this.total },
			{ key: "waits", title: "Waits", width: "5rem", text: row => count(row.waits), value: row => row.waits },
			{ key: "name", title: "Waited for", width: "minmax(8rem, 1fr)", isText: true, text: row => row.kind === "runnable" ? row.name + " (a CPU)" : row.name, value: row => row.name, hint: row => row.name },
		] });
		/** @type {Table<Wait>} */
		this.longest = new Table({ label: "Longest waits", sort: "ns", columns: [
			{ key: "ns", title: "Took", width: "5.5rem", text: row => time(row.end - row.begin), value: row => row.end - row.begin },
			{ key: "begin", isWide: true, title: "From", width: "6rem", text: row => moment(row.begin, 1e5), value: row => -row.begin },
			{ key: "name", title: "Thread", width: "minmax(6rem, 1fr)", isText: true, text: row => row.name, value: row => row.name, hint: row => row.name },
			{ key: "reason", isWide: true, title: "Waited for", width: "minmax(6rem, 1.4fr)", isText: true, text: row => row.reason, value: row => row.reason, hint: row => row.reason },
			{ key: "waker", title: "Ended by", width: "minmax(6rem, 1.4fr)", isText: true, text: row => shortWaker(row.waker), value: row => row.waker, hint: row => row.waker },
		], open: row => app.store.set({ from: row.begin, to: Math.max(row.end, row.begin + 1), threads: row.thread ? [row.thread] : [] }) });
		this.flame = new Flame(app.colors, {
			select: (i, isZoom) => {
				app.speak(this.describe(i).join(". "));
				if (isZoom && this.flame.tree)
					this.flame.show(this.flame.tree, { zoom: i, at: i });
			},
			hover: (i, x, y) => app.tip(i >= 0 ? this.describe(i) : [], x, y),
		});
		this.flame.nameOf = i => this.flame.tree ? shortWaker(this.flame.tree.name(i)) : "";
		this.flame.element.id = "chains";
		this.flame.element.setAttribute("aria-label", "Who ended the waits, as a flame graph");
		this.content = el("div", { class: "content split" });
		this.element = el("div", { class: "view" }, this.content);
	}

	/** @param {number} i */
	describe(i) {
		const { tree } = this.flame, chains = this.data.chains;
		if (!tree)
			return [];
		const kind = chains.kind[i], what = kind === "thread" ? "ended by this thread" : kind === "interrupt" ? "ended by an interrupt" : kind === "reason" || kind === "wait" ? "waited for this" : "";
		return [visible(tree.name(i)) || "all waits", what, `${time(chains.ns[i])}, ${percent(chains.ns[i] / (chains.ns[0] || 1))} of all, in ${amount(chains.waits[i], "waits")}`].filter(Boolean);
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		const { metric: _, ...selection } = selectionOf(state), answer = await this.app.api.ask("wakers", selection), { strings, reasons, longest } = answer;
		this.data = answer;
		const rows = reasons.name.map((/** @type {number} */ name, /** @type {number} */ i) => ({ name: reasonText(strings[name]), kind: reasons.kind[i], ns: reasons.ns[i], waits: reasons.waits[i] }));
		if (!rows.length && !longest.begin.length) {
			fill(this.content, this.app.lacks("wait") ? emptyState("No waits: this recording has none.", "Record with: sudo stackd --wakers …") :
				emptyState("No waits in the selection.", "Choose a wider range of time, or all threads."));
			return;
		}
		this.total = rows.reduce((/** @type {number} */ sum, /** @type {Reason} */ row) => sum + row.ns, 0) || 1;
		const nameOf = (/** @type {number | string} */ x) => visible(typeof x === "number" ? strings[x] ?? "" : x);
		const waits = longest.begin.map((/** @type {number} */ begin, /** @type {number} */ i) => ({ thread: longest.thread[i], name: nameOf(longest.name[i]), begin, end: longest.end[i],
			stands: longest.stands_for_ns?.[i], kind: longest.kind[i], reason: reasonText(nameOf(longest.reason[i])), waker: nameOf(longest.waker[i] ?? "") }));
		const tree = new Tree(chainsTree(answer)), hasChains = answer.chains.kind.some((/** @type {string} */ kind) => kind === "thread" || kind === "interrupt");
		fill(this.content, el("section", {}, el("h2", { class: "small" }, "What threads waited for"), this.reasons.element),
			el("section", { class: "wide" }, el("h2", { class: "small" }, "The longest waits (Enter or double click selects one)"), this.longest.element),
			el("section", { class: "wide" }, el("h2", { class: "small" }, "Who ended them"), hasChains ? this.flame.element :
				emptyState("It is not known who ended these waits.", "Record with: sudo stackd --wakers …")));
		this.reasons.show(rows);
		this.longest.show(waits);
		if (hasChains)
			this.flame.show(tree, { zoom: 0, at: 0 });
	}

	restyle() {
		this.flame.layout();
	}
}
