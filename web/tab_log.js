// SPDX-License-Identifier: MIT
/*
 * What the recording is worth: what was lost, refused or lowered, and when.
 */
import { el, emptyState, fill } from "./dom.js";
import { amount, count, moment } from "./format.js";
import { visible } from "./names.js";
import { Table } from "./table.js";

/** @typedef {{ name: string, value: number, text: string, group: string }} Counter */

export class LogTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		/** @type {Table<Counter>} */
		this.table = new Table({ label: "Counters", sort: "", columns: [
			{ key: "value", title: "Value", width: "7rem", text: row => count(row.value), value: row => row.value },
			{ key: "name", title: "Counter", width: "minmax(8rem, 1fr)", isText: true, text: row => row.name, value: row => row.name, mark: () => "code" },
			{ key: "group", title: "What it says", width: "minmax(8rem, 2fr)", isText: true, text: row => row.text || row.group, hint: row => row.text, value: row => row.group, mark: () => "dim" },
		] });
		this.all = el("input", { type: "checkbox", id: "all-counters", onchange: () => this.draw() });
		this.facts = el("div", { class: "facts" });
		this.none = emptyState("All counters that should be 0 are 0.");
		this.events = el("ol", { class: "events" });
		this.content = el("div", { class: "content" }, this.facts, this.events, el("div", { class: "tools" }, el("label", {}, this.all, " All counters")), this.table.element, this.none);
		this.element = el("div", { class: "view" }, this.content);
		/** @type {Counter[]} */
		this.counters = [];
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		const answer = await this.app.api.ask("log", { recording: state.recording }), { recording } = this.app;
		this.counters = answer.counters.map((/** @type {Counter} */ c) => ({ ...c, name: visible(c.name), text: visible(c.text ?? "") }));
		fill(this.facts, ...(recording?.header ?? []).map((/** @type {string} */ line) => el("div", {}, visible(line))), answer.note && !recording?.header?.includes(answer.note) ? el("div", { class: "warning" }, visible(answer.note)) : null,
			el("div", {}, answer.lost ? el("b", { class: "warning" }, `${amount(answer.lost, "samples")} lost.`) : "No sample was lost."));
		fill(this.events, ...answer.events.map((/** @type {any} */ event) => el("li", {}, event.ns === null || event.ns === undefined ? "" : el("b", {}, moment(event.ns) + " "), visible(event.text))));
		if (!answer.events.length)
			fill(this.events, el("li", { class: "dim" }, "Nothing was lowered: no probe was taken off, and the rate stayed."));
		this.draw();
	}

	draw() {
		const shown = this.all.checked ? this.counters : this.counters.filter(c => c.value && (c.text || c.group === "loss"));
		this.table.show(shown);
		this.table.element.hidden = !shown.length;
		this.none.hidden = shown.length > 0;
	}

	restyle() {}
}
