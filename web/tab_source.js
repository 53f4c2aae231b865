// SPDX-License-Identifier: MIT
/*
 * A function's source lines and instructions, with the share of each. Choosing a line shows its
 * instructions, and the other way round.
 */
import { selectionOf } from "./api.js";
import { el, emptyState, fill } from "./dom.js";
import { amount, count, percent, plain } from "./format.js";
import { shortPath, visible } from "./names.js";
import { nameText } from "./tab_flame.js";
import { ROW_PX, Table } from "./table.js";

/** @typedef {{ file: string, line: number, text: string, self: number, total: number }} SourceLine */
/** @typedef {{ address: string, text: string, file: string, line: number, inlined: string, hit: number }} Instruction */

/** What stands for instructions that are left out. @param {number} n @returns {Instruction} */
const skippedRow = n => ({ address: "⋮", text: `${count(n)} more without samples`, file: "", line: 0, inlined: "", hit: 0 });

/** What to do about debug information that is missing: a package, or a file. @param {string} missing */
const howToGet = missing => missing.endsWith(".debug") ? `Its debug information (${missing}) is missing: install the package's -dbgsym or -dbg, or set DEBUGINFOD_URLS while recording.` : `Install ${missing}.`;

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
		const share = (/** @type {number} */ part) => part ? percent(part / this.total) : "", some = (/** @type {number} */ n) => n ? plain(n, this.unit) : "";
		/** @type {Table<SourceLine>} */
		this.lines = new Table({ label: "Source lines", sort: "", columns: [
			{ key: "self", isWide: true, title: "Self", width: "4.2rem", text: row => some(row.self), mark: () => "dim", hint: () => "in the function itself" },
			{ key: "total", title: "Total", width: "4.6rem", text: row => some(row.total), share: row => row.total / this.total, hint: () => "with what the line calls, and what is inlined there" },
			{ key: "share", isWide: true, title: "%", width: "4.4rem", text: row => share(row.total), mark: () => "dim" },
			{ key: "line", title: "Line", width: "4rem", text: row => String(row.line || "?"), mark: () => "dim", hint: row => `${visible(row.file)}:${row.line}` },
			{ key: "text", title: "Source", width: "minmax(10rem, 1fr)", isText: true, text: row => visible(row.text) || " ", mark: () => "code", hint: row => visible(row.text) },
		], select: row => this.showCode(code => code.file === row.file && code.line === row.line) });
		/** @type {Table<Instruction>} */
		this.code = new Table({ label: "Instructions", sort: "", columns: [
			{ key: "hit", title: "Hit", width: "4.4rem", text: row => some(row.hit), share: row => row.hit / this.total, hint: () => "samples at this instruction" },
			{ key: "share", isWide: true, title: "%", width: "4.4rem", text: row => share(row.hit), mark: () => "dim" },
			{ key: "address", isWide: true, title: "Address", width: "5.2rem", text: row => row.address, mark: () => "dim code" },
			{ key: "text", title: "Instruction", width: "minmax(10rem, 1fr)", isText: true, text: row => visible(row.text), mark: () => "code", hint: row => visible(row.text) },
			{ key: "inlined", title: "From", width: "minmax(4.5rem, .5fr)", isText: true, text: row => (row.line ? ":" + row.line : "") + (row.inlined ? " › " + nameText(row.inlined) : ""), mark: () => "dim",
				hint: row => `${visible(row.file)}:${row.line}` + (row.inlined ? "\ninlined: " + visible(row.inlined) : "") },
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
		this.total = answer.function_total || 1;
		fill(this.title, el("b", { title: visible(answer.function.name) }, nameText(answer.function.name, answer.function.kind)),
			` ${amount(answer.function_total, this.unit)} with what it calls, ${plain(answer.self, this.unit)} in itself · % of ${plain(answer.function_total, this.unit)}`);
		const lines = !l.line.some((/** @type {number} */ line) => line > 0) ? [] : l.line.map((/** @type {number} */ line, /** @type {number} */ i) => ({ line, file: at(l.file[i]), text: at(l.text[i]), self: l.self[i], total: l.total[i] }));
		const isUnread = l.text.every((/** @type {number} */ text) => !at(text)) && l.line.some((/** @type {number} */ line) => line > 0);
		this.note.textContent = [answer.problem, isUnread && "the source file cannot be read here (it is not there, or the server's user may not read it)", lines.length && answer.missing && howToGet(answer.missing), answer.left_out && `${count(answer.left_out)} more instructions are not shown`].filter(Boolean).join("; ");
		const code = c.address.flatMap((/** @type {string} */ address, /** @type {number} */ i) => [...c.skipped[i] ? [skippedRow(c.skipped[i])] : [], { address, text: at(c.text[i]), file: at(c.file[i]), line: c.line[i], inlined: at(c.inlined[i]), hit: c.hit[i] }]);
		const files = [...new Set(lines.map((/** @type {SourceLine} */ line) => line.file))];
		const hasCode = code.length > 0 || Boolean(answer.problem) || !lines.length; // an interpreter's functions have none
		this.content.classList.toggle("two", hasCode);
		fill(this.content, el("section", {}, el("h2", { class: "small" }, "Source ", el("span", { class: "dim" }, files.map(file => shortPath(/** @type {string} */ (file), 50)).join(", "))),
			lines.length ? this.lines.element : emptyState("The source lines are not known.", answer.missing ? howToGet(answer.missing) : "Build the program with debug information (-g).")),
		hasCode ? el("section", {}, el("h2", { class: "small" }, "Instructions"), code.length ? this.code.element : emptyState("There are no instructions to show.", answer.problem)) : null);
		this.lines.show(lines);
		this.code.show(code);
		this.hottest(this.lines, row => row.total);
		this.hottest(this.code, row => row.hit);
	}

	/**
	 * Scrolls to the row with the largest amount.
	 * @template R
	 * @param {Table<R>} table
	 * @param {(row: R) => number} of
	 */
	hottest(table, of) {
		this.show(table, table.rows.reduce((best, row, i, all) => best < 0 || of(row) > of(all[best]) ? i : best, -1));
	}

	/** Chooses a row, and brings it to the middle. @template R @param {Table<R>} table @param {number} at */
	show(table, at) {
		table.at = at;
		table.scroll.scrollTop = Math.max(0, at * ROW_PX - table.scroll.clientHeight / 2);
		table.draw();
	}

	/** @param {(code: Instruction) => boolean} test */
	showCode(test) {
		const at = this.code.rows.findIndex(test);
		if (at >= 0)
			this.show(this.code, at);
	}

	/** @param {Instruction} code */
	showLine(code) {
		const at = this.lines.rows.findIndex(row => row.file === code.file && row.line === code.line);
		if (at >= 0)
			this.show(this.lines, at);
	}

	restyle() {}
}
