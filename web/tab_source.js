// SPDX-License-Identifier: MIT
/*
 * A function's source lines and instructions, with the share of each. Choosing a line shows its
 * instructions, and the other way round.
 */
import { selectionOf } from "./api.js";
import { el, emptyState, fill } from "./dom.js";
import { count, percent, plain } from "./format.js";
import { shortPath, visible } from "./names.js";
import { nameText } from "./tab_flame.js";
import { Table } from "./table.js";

/** @typedef {{ file: string, line: number, text: string, self: number, total: number }} SourceLine */
/** @typedef {{ address: string, text: string, file: string, line: number, inlined: string, self: number, total: number }} Instruction */

export class SourceTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		this.unit = "samples";
		this.total = 1;
		this.title = el("span", {});
		this.note = el("span", { class: "dim" });
		this.content = el("div", { class: "content two" });
		this.element = el("div", { class: "view" }, el("div", { class: "tools" }, this.title, this.note), this.content);
		const heat = { self: (/** @type {any} */ row) => row.self / this.total };
		/** @type {Table<SourceLine>} */
		this.lines = new Table({ label: "Source lines", sort: "", columns: [
			{ key: "self", title: "Self", width: "5rem", text: row => row.self ? plain(row.self, this.unit) : "", share: heat.self },
			{ key: "share", isWide: true, title: "%", width: "4.6rem", text: row => row.self ? percent(row.self / this.total) : "", mark: () => "dim" },
			{ key: "line", title: "Line", width: "3.6rem", text: row => String(row.line || "?"), mark: () => "dim", hint: row => `${visible(row.file)}:${row.line}` },
			{ key: "text", title: "Source", width: "minmax(12rem, 1fr)", isText: true, text: row => visible(row.text.replaceAll("\t", "    ")) || " ", mark: () => "code", hint: row => visible(row.text) },
		], select: row => this.showCode(code => code.file === row.file && code.line === row.line) });
		/** @type {Table<Instruction>} */
		this.code = new Table({ label: "Instructions", sort: "", columns: [
			{ key: "self", title: "Self", width: "5rem", text: row => row.self ? plain(row.self, this.unit) : "", share: heat.self },
			{ key: "share", isWide: true, title: "%", width: "4.6rem", text: row => row.self ? percent(row.self / this.total) : "", mark: () => "dim" },
			{ key: "address", title: "Address", width: "5.6rem", text: row => row.address, mark: () => "dim code" },
			{ key: "text", title: "Instruction", width: "minmax(10rem, 1fr)", isText: true, text: row => visible(row.text.replaceAll("\t", " ")), mark: () => "code", hint: row => visible(row.text) },
			{ key: "inlined", isWide: true, title: "From", width: "minmax(6rem, .6fr)", isText: true, text: row => (row.line ? shortPath(row.file.split("/").pop() ?? "", 24) + ":" + row.line : "") +
				(row.inlined ? " › " + nameText(row.inlined) : ""), mark: () => "dim", hint: row => `${visible(row.file)}:${row.line}` + (row.inlined ? "\ninlined: " + visible(row.inlined) : "") },
		], select: row => this.showLine(row) });
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		if (!state.focus) {
			fill(this.title);
			fill(this.note);
			fill(this.content, emptyState("No function is chosen.", "Choose one in Flame or Functions to see its source lines and instructions."));
			return;
		}
		const answer = await this.app.api.ask("annotate", { ...selectionOf(state), function: state.focus, object: state.object });
		if (!this.app.isShown(state))
			return;
		const { strings, lines: l, code: c } = answer, at = (/** @type {number} */ i) => strings[i] ?? "";
		this.unit = answer.unit;
		this.total = answer.self || answer.function_total || 1;
		fill(this.title, el("b", { title: visible(answer.function.name) }, nameText(answer.function.name)));
		this.note.textContent = [answer.problem, answer.missing && "missing: " + answer.missing, answer.left_out && `${count(answer.left_out)} more instructions are not shown`].filter(Boolean).join("; ");
		const lines = l.line.map((/** @type {number} */ line, /** @type {number} */ i) => ({ line, file: at(l.file[i]), text: at(l.text[i]), self: l.self[i], total: l.total[i] }));
		const code = c.address.map((/** @type {string} */ address, /** @type {number} */ i) => ({ address, text: at(c.text[i]), file: at(c.file[i]), line: c.line[i], inlined: at(c.inlined[i]), self: c.self[i], total: c.total[i] }));
		const files = [...new Set(lines.map((/** @type {SourceLine} */ line) => line.file))];
		fill(this.content, el("section", {}, el("h2", { class: "small" }, "Source ", el("span", { class: "dim" }, files.map(file => shortPath(/** @type {string} */ (file), 50)).join(", "))),
			lines.length ? this.lines.element : emptyState("The source lines are not known.", answer.missing ? "Install " + answer.missing + "." : "Build the program with debug information (-g).")),
		el("section", {}, el("h2", { class: "small" }, "Instructions"), code.length ? this.code.element : emptyState("There are no instructions to show.", answer.problem)));
		this.lines.show(lines);
		this.code.show(code);
		this.hottest(this.lines);
		this.hottest(this.code);
	}

	/** Scrolls to the row with the largest amount. @param {Table<any>} table */
	hottest(table) {
		let best = 0;
		table.rows.forEach((row, i) => { if (row.self > table.rows[best].self) best = i; });
		table.at = table.rows.length ? best : -1;
		table.scroll.scrollTop = Math.max(0, best * 24 - table.scroll.clientHeight / 2);
		table.draw();
	}

	/** @param {(code: Instruction) => boolean} test */
	showCode(test) {
		const at = this.code.rows.findIndex(test);
		if (at < 0)
			return;
		this.code.at = at;
		this.code.scroll.scrollTop = Math.max(0, at * 24 - this.code.scroll.clientHeight / 2);
		this.code.draw();
	}

	/** @param {Instruction} code */
	showLine(code) {
		const at = this.lines.rows.findIndex(row => row.file === code.file && row.line === code.line);
		if (at < 0)
			return;
		this.lines.at = at;
		this.lines.scroll.scrollTop = Math.max(0, at * 24 - this.lines.scroll.clientHeight / 2);
		this.lines.draw();
	}

	restyle() {}
}
