// SPDX-License-Identifier: MIT
/*
 * All functions of the selection: their own amount, and with what they call. A server sorts and filters
 * where there are more than fit into an answer; here the rows at hand are.
 */
import { selectionOf, Refusal } from "./api.js";
import { el, emptyState, fill } from "./dom.js";
import { amount, percent, plain, plural } from "./format.js";
import { shortPath, visible } from "./names.js";
import { nameText, treeQuestion } from "./tab_flame.js";
import { Table } from "./table.js";
import { Tree, matcherOf } from "./tree.js";

const LIMIT = 2000;

/** @typedef {{ name: string, object: string, kind: string, self: number, self_error: number | null, total: number, inferred: number }} FunctionRow */

export class FunctionsTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		this.unit = "samples";
		this.total = 1;
		/** @type {FunctionRow[]} */
		this.rows = [];
		this.filter = el("input", { type: "search", "aria-label": "Filter functions", placeholder: "Filter: name, object or /pattern/",
			oninput: () => app.store.set({ filter: this.filter.value }, false) });
		this.note = el("span", { class: "dim", role: "status" });
		this.content = el("div", { class: "content" });
		this.table = new Table({ label: "Functions", sort: "self", columns: this.columns(),
			sorted: sort => app.store.set({ sort }, false),
			select: row => app.store.set({ focus: row.name, object: row.object }, false),
			open: row => app.store.set({ focus: row.name, object: row.object, tab: "around" }) });
		this.element = el("div", { class: "view" }, el("div", { class: "tools" }, this.filter, this.note), this.content);
	}

	/** @returns {import("./table.js").Column<FunctionRow>[]} */
	columns() {
		return [
			{ key: "self", title: "Self", width: "6.5rem", text: row => plain(row.self, this.unit), value: row => row.self, share: row => row.self / this.total,
				hint: row => amount(row.self, this.unit) + (row.self_error ? ` ± ${plain(+row.self_error.toPrecision(2), this.unit)}` : "") },
			{ key: "share", isWide: true, title: "%", width: "4.6rem", text: row => percent(row.self / this.total), mark: () => "dim" },
			{ key: "total", title: "Total", width: "6.5rem", text: row => plain(row.total, this.unit), value: row => row.total, share: row => row.total / this.total,
				hint: row => amount(row.total, this.unit) + (row.inferred ? `, ${plain(row.inferred, this.unit)} reconstructed` : "") },
			{ key: "total_share", isWide: true, title: "%", width: "4.6rem", text: row => percent(row.total / this.total), mark: () => "dim" },
			{ key: "name", title: "Function", width: "minmax(9rem, 3fr)", isText: true, text: row => nameText(row.name, row.kind), value: row => row.name, hint: row => visible(row.name) },
			{ key: "object", isWide: true, title: "Object", width: "minmax(5rem, 1.2fr)", isText: true, text: row => shortPath(row.object, 40), value: row => row.object,
				hint: row => visible(row.object), mark: () => "dim" },
		];
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		const sort = state.sort.replace(/^-/, ""), answer = await this.ask(state, ["self", "total", "name"].includes(sort) ? sort : "self");
		if (!this.app.isShown(state))
			return;
		this.unit = answer.unit;
		this.total = answer.total || 1;
		this.count = answer.count;
		this.rows = answer.rows;
		if (state.sort && this.table.sort !== state.sort) {
			this.table.sort = state.sort;
			this.table.drawHead();
		}
		this.draw(state);
	}

	/** @param {import("./state.js").State} state @param {string} sort */
	async ask(state, sort) {
		const { api } = this.app, isPattern = state.filter.startsWith("/");
		try {
			let answer = await api.ask("functions", { ...selectionOf(state), limit: LIMIT });
			if (answer.count > LIMIT && !api.embedded)
				answer = await api.ask("functions", { ...selectionOf(state), limit: LIMIT, sort, filter: isPattern ? null : state.filter });
			return { unit: answer.unit, total: answer.total, count: answer.count, rows: rowsOf(answer) };
		} catch (error) {
			if (!api.embedded || !(error instanceof Refusal))
				throw error;
			const tree = await api.ask("tree", treeQuestion({ ...state, direction: "down" })), rows = new Tree(tree).functions(0).map(row => ({ ...row, self_error: null }));
			return { unit: tree.unit, total: tree.total, count: rows.length, rows };
		}
	}

	/** @param {import("./state.js").State} state */
	draw(state) {
		if (document.activeElement !== this.filter)
			this.filter.value = state.filter;
		if (!this.rows.length && !state.filter) {
			fill(this.content, emptyState(...this.app.nothing(state)));
			return;
		}
		const test = matcherOf(state.filter), shown = test ? this.rows.filter(row => test(row.name) || test(row.object)) : this.rows;
		this.note.textContent = (this.count ?? 0) > this.rows.length ? `${this.rows.length.toLocaleString("en")} of ${this.count?.toLocaleString("en")} functions; filter to see others` :
			`${shown.length.toLocaleString("en")} ${plural(shown.length, "functions")}` + (state.filter && !test ? "; not a pattern" : "");
		if (!this.table.element.isConnected)
			fill(this.content, this.table.element);
		this.table.show(shown, row => row.name === state.focus && (!state.object || row.object === state.object));
	}

	restyle() {}
}

/** @param {any} answer @returns {FunctionRow[]} */
export function rowsOf({ functions: f, strings, kinds }) {
	return f.name.map((/** @type {number} */ name, /** @type {number} */ i) => ({ name: strings[name], object: strings[f.object[i]] ?? "",
		kind: kinds[f.kind[i]] ?? "", self: f.self[i], self_error: f.self_error?.[i] ?? null, total: f.total[i], inferred: f.inferred?.[i] ?? 0 }));
}

