// SPDX-License-Identifier: MIT
/*
 * Regions: how often each was passed through, and how long that took.
 */
import { selectionOf } from "./api.js";
import { el, emptyState, fill } from "./dom.js";
import { bytes, count, moment, time } from "./format.js";
import { visible } from "./names.js";
import { nameText } from "./tab_flame.js";
import { Table } from "./table.js";

/** @typedef {Record<string, number> & { name: string, off: number | null }} RegionRow */

const COLUMNS = ["visits", "left", "total_ns", "own_ns", "cpu_ns", "least_ns", "most_ns", "mean_ns", "threads", "sent", "received", "read", "written", "estimated_ns"];

export class RegionsTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		this.most = 1;
		this.content = el("div", { class: "content" });
		this.element = el("div", { class: "view" }, el("div", { class: "tools dim" }, "Enter or a double click folds a region: what happens within one pass, from the samples of all."), this.content);
	}

	/** @param {boolean} hasBytes */
	makeTable(hasBytes) {
		const timeOf = (/** @type {string} */ key, /** @type {string} */ title, /** @type {string} */ hint = "") => ({ key, title, width: "5.6rem", isWide: key !== "total_ns" && key !== "mean_ns", text: (/** @type {any} */ row) => time(row[key]),
			value: (/** @type {any} */ row) => row[key], hint: () => hint });
		const bytesOf = (/** @type {string} */ key, /** @type {string} */ title) => ({ key, title, width: "5.4rem", isWide: true, text: (/** @type {any} */ row) => row[key] ? bytes(row[key]) : "", value: (/** @type {any} */ row) => row[key] });
		/** @type {Table<any>} */
		const table = new Table({ label: "Regions", sort: "total_ns", columns: [
			{ key: "visits", title: "Passes", width: "5.4rem", text: row => count(row.visits), value: row => row.visits },
			{ ...timeOf("total_ns", "Total", "wall time within, over all threads"), share: row => row.total_ns / this.most },
			timeOf("own_ns", "Own", "without regions within it"), timeOf("cpu_ns", "On CPU"), timeOf("mean_ns", "Mean"), timeOf("least_ns", "Shortest"), timeOf("most_ns", "Longest"),
			{ key: "threads", isWide: true, title: "Threads", width: "4.6rem", text: row => count(row.threads), value: row => row.threads },
			...hasBytes ? [bytesOf("sent", "Sent"), bytesOf("received", "Received"), bytesOf("read", "Read"), bytesOf("written", "Written")] : [],
			{ key: "name", title: "Region", width: "minmax(9rem, 2fr)", isText: true, text: row => nameText(row.name), value: row => row.name, hint: row => visible(row.name) },
			{ key: "note", isWide: true, title: "Note", width: "minmax(2rem, .8fr)", isText: true, text: row => row.off !== null ? `counted until ${moment(row.off)}, estimated since` : row.left ? `${count(row.left)} not left by return` : "", mark: () => "dim" },
		], open: row => this.app.store.set({ region: row.name, tab: "fold" }), select: row => this.app.store.set({ region: row.name }, false) });
		this.hasBytes = hasBytes;
		return table;
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		const { metric: _, ...selection } = selectionOf(state), answer = await this.app.api.ask("regions", selection), { regions: r, strings } = answer;
		if (!r.name.length) {
			fill(this.content, this.app.lacks("region") ? emptyState("No regions: this recording has none.", "Record with: sudo stackd --region FUNCTION …, or --mpi") :
				emptyState("No region was passed through in the selection.", "Choose a wider range of time, or all threads."));
			this.table = undefined;
			return;
		}
		const rows = r.name.map((/** @type {number} */ name, /** @type {number} */ i) => ({ name: strings[name], off: r.off_ns?.[i] ?? null,
			...Object.fromEntries(COLUMNS.map(key => [key, r[key]?.[i] ?? 0])) }));
		this.most = rows.reduce((/** @type {number} */ most, /** @type {any} */ row) => Math.max(most, row.total_ns), 1);
		const hasBytes = rows.some((/** @type {any} */ row) => row.sent || row.received || row.read || row.written);
		if (!this.table || this.hasBytes !== hasBytes) {
			this.table = this.makeTable(hasBytes);
			fill(this.content, this.table.element);
		}
		this.table.show(rows, row => row.name === state.region);
	}

	restyle() {}
}
