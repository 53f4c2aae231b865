// SPDX-License-Identifier: MIT
/*
 * The panel on the right: the selected function's amounts with errors, lines, file, provenance, callers and
 * callees, why paths through it are incomplete, and the command line that shows the same in a terminal.
 */
import { Refusal, isSuperseded } from "./api.js";
import { nearest } from "./around_data.js";
import { commandOf } from "./command.js";
import { el, fill, sentence } from "./dom.js";
import { percent, plain, withError } from "./format.js";
import { shortPath, visible } from "./names.js";
import { askAround } from "./tab_around.js";
import { nameText } from "./tab_flame.js";

const WAIT_MS = 120, SHOWN = 6;

/** How the callers of code are found, by the names that recordings have for it. @type {Record<string, string>} */
const RULES = { none: "not known", cfi: "unwind information", runtime_table: "the runtime's own tables", analysed: "analysed instructions", frame_pointer: "frame pointers" };

/** What a newcomer can do, while nothing is chosen. */
const HINTS = [["Drag over the lanes", "to select a time; all tabs follow"], ["Turn the wheel", "there to zoom in time"], ["Click on a lane", "to see its threads only"],
	["Click on a frame", "to zoom to it, and to see it here"], ["Press ?", "for all keys"]];

export class Detail {
	/** @param {import("./app.js").App} app @param {HTMLElement} element */
	constructor(app, element) {
		this.app = app;
		this.body = el("div", {});
		this.command = el("code", { tabindex: "0", class: "command" });
		this.copied = el("span", { role: "status", class: "dim" });
		this.timer = 0;
		fill(element, el("h2", {}, "Selected"), this.body, el("h3", {}, "In the terminal"), this.command,
			el("div", {}, el("button", { onclick: () => this.copy() }, "Copy"), " ", this.copied));
	}

	async copy() {
		try {
			await navigator.clipboard.writeText(this.command.textContent ?? "");
			this.copied.textContent = "copied";
		} catch {
			getSelection()?.selectAllChildren(this.command); // the browser forbids it: then Ctrl+C copies it
			this.copied.textContent = "selected: copy it with Ctrl+C";
		}
	}

	/** @param {import("./state.js").State} state */
	load(state) {
		/* Each word by itself, so that a line never breaks within an option. */
		fill(this.command, ...commandOf(state, this.app.storePath, this.app.lanes.selected(), this.app.recording?.chosen).split(" ").flatMap((word, i) => [i ? " " : null, el("span", {}, word)]));
		this.copied.textContent = "";
		clearTimeout(this.timer);
		this.timer = window.setTimeout(() => this.ask(state), WAIT_MS);
	}

	/** @param {import("./state.js").State} state */
	async ask(state) {
		if (!state.focus) {
			this.drawAll();
			return;
		}
		try {
			const answer = await askAround(this.app, state);
			if (this.app.isShown(state))
				this.draw(answer, state);
		} catch (error) {
			if (!isSuperseded(error) && this.app.isShown(state))
				fill(this.body, el("p", { class: "name", title: visible(state.focus) }, nameText(state.focus)), el("p", { class: "dim" }, sentence(error instanceof Refusal ? error.message : String(error))));
		}
	}

	/** What is shown while no function is chosen: the selection itself. */
	drawAll() {
		const { lanes } = this.app, chosen = lanes.selected();
		fill(this.body, el("p", { class: "dim" }, chosen.length ? chosen.map(lane => `${visible(lane.name, 60)} ${lane.tid ?? lane.pid}`).join(", ") : "No function yet."),
			el("ul", { class: "hints" }, ...HINTS.filter(([how]) => lanes.data || !/lane|wheel/.test(how)).map(([how, what]) => el("li", {}, el("b", {}, how), " " + what))));
	}

	/** @param {any} answer @param {import("./state.js").State} state */
	draw(answer, state) {
		const { unit } = answer, of = answer.total || 1, { name, object, kind } = answer.function;
		const fact = (/** @type {string} */ title, /** @type {import("./dom.js").Child} */ text) => [el("dt", {}, title), el("dd", {}, text)];
		const lines = answer.lines, hot = lines ? largest(lines) : [];
		fill(this.body,
			el("p", { class: "name", title: visible(name) }, nameText(name, kind)),
			nameText(name, kind) !== visible(name) ? el("details", {}, el("summary", {}, "Full name"), el("p", { class: "full" }, visible(name, 4000))) : null,
			el("dl", {},
				...fact("Self", el("span", {}, withError(answer.self, answer.self_error, unit) + ", ", el("span", { class: "nowrap" }, percent(answer.self / of)))),
				...fact("Total", el("span", {}, withError(answer.function_total, answer.function_error, unit) + ", ", el("span", { class: "nowrap" }, percent(answer.function_total / of)))),
				...answer.inferred ? fact("Reconstructed", `${plain(answer.inferred, unit)}, not observed`) : [],
				...object ? fact("Object", el("span", { title: visible(object) }, shortPath(object, 60))) : [],
				...kind ? fact("Kind", this.app.colors.kindText(kind)) : []),
			el("div", { class: "tools" }, el("button", { onclick: () => this.app.store.set({ tab: "around" }) }, "Callers & callees"),
				el("button", { onclick: () => this.app.store.set({ tab: "source" }) }, "Source"),
				el("button", { onclick: () => this.app.store.set({ search: name, tab: state.tab === "flame" ? "flame" : state.tab }) }, "Find")),
			...this.list("Called by", nearest(answer, answer.callers), answer.function_total, unit),
			...this.list("Calls", nearest(answer, answer.callees), answer.function_total, unit),
			...hot.length ? [el("h3", {}, "Lines"), el("ul", { class: "short" }, ...hot.map(i => el("li", {},
				el("span", { class: "amount" }, percent(lines.total[i] / (answer.function_total || 1))), el("span", { title: visible(answer.strings[lines.file[i]]) + ":" + lines.line[i] }, shortPath(answer.strings[lines.file[i]], 28) + ":" + lines.line[i]))))] : [],
			...answer.provenance?.length ? [el("h3", { title: "By which rule its caller was found" }, "Found by"), el("ul", { class: "short" }, ...answer.provenance.map((/** @type {any} */ p) =>
				el("li", {}, el("span", { class: "amount" }, plain(p.samples, "")), visible(RULES[p.name] ?? p.name))))] : [],
			...answer.incomplete?.length ? [el("h3", {}, "Incomplete paths"), el("ul", { class: "short" }, ...answer.incomplete.map((/** @type {any} */ p) =>
				el("li", {}, el("span", { class: "amount" }, plain(p.samples, "")), visible(p.text || p.reason.replaceAll("_", " ")))))] : []);
	}

	/** @param {string} title @param {ReturnType<typeof nearest>} rows @param {number} of @param {string} unit */
	list(title, rows, of, unit) {
		if (!rows.length)
			return [];
		return [el("h3", {}, title), el("ul", { class: "short" }, ...rows.slice(0, SHOWN).map(row => el("li", {}, el("span", { class: "amount", title: plain(row.total, unit) }, percent(row.total / (of || 1))),
			["part", "mark", "other", "blocked", "runnable", "awaited", "all"].includes(row.kind) ? el("span", { class: "dim" }, row.kind === "other" ? "others" : nameText(row.name, row.kind)) :
				el("button", { class: "plain link", title: visible(row.name), onclick: () => this.app.store.set({ focus: row.name, object: row.object }) }, nameText(row.name, row.kind)))),
		rows.length > SHOWN ? el("li", { class: "dim" }, `and ${rows.length - SHOWN} more`) : null)];
	}
}

/** The lines with the largest amounts, with what they call. @param {{ total: number[], line: number[] }} lines */
function largest(lines) {
	return lines.total.map((_, i) => i).filter(i => lines.total[i] > 0 && lines.line[i] > 0).sort((a, b) => lines.total[b] - lines.total[a]).slice(0, SHOWN);
}
