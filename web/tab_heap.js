// SPDX-License-Identifier: MIT
/*
 * The heap: how large it was over time, and which call paths hold it. A path whose memory was allocated at
 * all times alike, and is still there, is what a leak looks like; one whose memory is all new is a buffer.
 */
import { selectionOf } from "./api.js";
import { el, emptyState, fill, svg } from "./dom.js";
import { bytes, count, moment, plain, signed, time, withError } from "./format.js";
import { visible } from "./names.js";
import { nameText } from "./tab_flame.js";
import { Table } from "./table.js";

/** @typedef {{ path: string[], kinds: string[], live: number, live_error: number | null, objects: number, old: number, peak: number, change: number, change_error: number | null, allocated: number, age: number | null, since: number[] }} HeapPath */

/**
 * The function of a path that allocated: the first from the leaf that is not the allocator itself.
 * @param {string[]} path leaf first
 */
export function allocatorOf(path) {
	const isAllocator = /^(?:_*(?:libc_)?(?:malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign|reallocarray|valloc|pvalloc|strn?dup|v?asprintf)|operator new(?:\[\])?.*|g_(?:malloc|realloc|slice_alloc)\w*|xmalloc|xrealloc|std::.*allocat.*|__gnu_cxx::.*)(?:@.*|\(.*)?$/;
	return path.find(name => !isAllocator.test(name)) ?? path[0] ?? "";
}

/** The short name of what allocated. @param {HeapPath} row */
function allocatorText(row) {
	const name = allocatorOf(row.path);
	return nameText(name, row.kinds[row.path.indexOf(name)]);
}

export class HeapTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		this.most = 1;
		/** @type {HTMLElement} */
		this.path = el("div", { class: "path", role: "status" });
		/** @type {Table<HeapPath>} */
		this.table = new Table({ label: "Call paths that hold memory", sort: "live", columns: [
			{ key: "live", title: "Live", width: "6rem", text: row => bytes(row.live), value: row => row.live, share: row => row.live / this.most,
				hint: row => row.live_error ? "± " + bytes(row.live_error) : "exact" },
			{ key: "change", title: "Change", width: "6.4rem", text: row => signed(row.change, "bytes"), value: row => row.change,
				hint: row => "between the beginning and the end of the selection" + (row.change_error ? ", ± " + bytes(row.change_error) : "") },
			{ key: "since", isWide: true, title: "Allocated when", width: "9rem", isText: true, text: row => sparkline(row.since), mark: () => "spark", hint: () => "of what is live: when it was allocated, from the beginning to the end; steady growth looks like a leak" },
			{ key: "peak", isWide: true, title: "At peak", width: "6rem", text: row => bytes(row.peak), value: row => row.peak },
			{ key: "objects", isWide: true, title: "Blocks", width: "5rem", text: row => count(row.objects), value: row => row.objects },
			{ key: "allocated", isWide: true, title: "Allocated", width: "6rem", text: row => bytes(row.allocated), value: row => row.allocated },
			{ key: "age", isWide: true, title: "Lifetime", width: "5rem", text: row => row.age === null ? "–" : time(row.age), value: row => row.age ?? -1, hint: () => "of blocks that were freed, on average" },
			{ key: "name", title: "Allocated by", width: "minmax(9rem, 1fr)", isText: true, text: row => allocatorText(row), value: row => allocatorOf(row.path), hint: row => visible(allocatorOf(row.path)) },
		], select: row => this.showPath(row) });
		this.chart = el("div", { class: "charts" });
		this.content = el("div", { class: "content" });
		this.element = el("div", { class: "view" }, el("div", { class: "tools" },
			el("button", { onclick: () => app.store.set({ metric: "heap.live", tab: "flame", zoom: "" }) }, "Live heap as a flame graph"),
			el("button", { onclick: () => app.store.set({ metric: "alloc.bytes", tab: "flame", zoom: "" }) }, "All allocations as a flame graph")), this.content);
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		const { metric: _, ...selection } = selectionOf(state);
		if (this.app.lacks("alloc") && !this.app.api.embedded) {
			fill(this.content, emptyState("No allocations: this recording has none.", "Record with: sudo stackd --alloc …"));
			return;
		}
		const answer = await this.app.api.ask("heap", selection), { processes, paths: p, strings, kinds, frames } = answer;
		if (!processes.length) {
			fill(this.content, emptyState("No allocations in the selection.", "Choose a wider range of time, or all threads."));
			return;
		}
		const nameOf = (/** @type {number} */ f) => frames ? strings[frames.name[f]] : strings[f];
		const kindOf = (/** @type {number} */ f) => frames ? kinds[frames.kind[f]] : "";
		const rows = p.frames.map((/** @type {number[]} */ path, /** @type {number} */ i) => ({ path: path.map(nameOf), kinds: path.map(kindOf), live: p.live[i], live_error: p.live_error?.[i] ?? null, objects: p.objects[i],
			old: p.old?.[i] ?? 0, peak: p.peak[i], change: p.change[i], change_error: p.change_error?.[i] ?? null, allocated: p.allocated[i], age: p.age_ns?.[i] ?? null, since: p.since?.[i] ?? [] }));
		this.most = rows.reduce((/** @type {number} */ most, /** @type {HeapPath} */ row) => Math.max(most, row.live), 1);
		fill(this.chart, ...processes.slice(0, 6).map((/** @type {any} */ process) => chartOf(process, answer.to)));
		if (!this.table.element.isConnected)
			fill(this.content, this.chart, this.table.element, this.path);
		this.table.show(rows);
		if (rows.length)
			this.showPath(this.table.rows[Math.max(0, this.table.at)]);
	}

	/** @param {HeapPath} row */
	showPath(row) {
		const list = row.path.map((name, i) => el("li", { title: visible(name) }, nameText(name, row.kinds[i]))).reverse();
		fill(this.path, el("h2", { class: "small" }, "Its call path, from the thread's entry"), el("ol", { class: "steps" }, ...list));
	}

	restyle() {}
}

const BLOCKS = "▁▂▃▄▅▆▇█";
/** @param {number[]} values */
export function sparkline(values) {
	const most = Math.max(0, ...values);
	return values.map(x => !most || x <= 0 ? " " : BLOCKS[Math.min(7, Math.floor(x / most * 7.999))]).join("");
}

/** A process's heap from the recording's start to the selection's end. @param {any} process @param {number} end */
function chartOf(process, end) {
	const values = /** @type {number[]} */ (process.values), most = Math.max(1, process.peak, ...values), n = values.length;
	const points = values.map((value, i) => `L${i} ${(100 - 100 * value / most).toFixed(2)}L${i + 1} ${(100 - 100 * value / most).toFixed(2)}`).join("");
	const name = `${visible(process.name, 60)} ${process.pid}`;
	return el("figure", {}, el("figcaption", {}, el("b", {}, name),
		`: ${withError(process.live, process.live_error, "bytes")} live at the end, peak ${withError(process.peak, process.peak_error, "bytes")} at ${moment(process.peak_ns)}, ${plain(process.allocated, "bytes")} allocated`),
	svg("svg", { viewBox: `0 0 ${n} 100`, preserveAspectRatio: "none", class: "area", role: "img",
		"aria-label": `Heap of ${name} from ${moment(0)} to ${moment(end)}` }, svg("path", { d: `M0 100${points}L${n} 100Z` })));
}
