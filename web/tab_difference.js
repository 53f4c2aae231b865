// SPDX-License-Identifier: MIT
/*
 * What changed from a base to the selection: a flame graph whose widths show both, and a table of functions.
 * Orange grew, blue shrank, grey is within the sampling's error.
 */
import { selectionOf } from "./api.js";
import { el, emptyState, fill } from "./dom.js";
import { Flame } from "./flame.js";
import { moment, plain, signed } from "./format.js";
import { shortPath, visible } from "./names.js";
import { describeNode, isFunction, nameText, swatch } from "./tab_flame.js";
import { Table } from "./table.js";
import { AFTER, BEFORE, BOTH, Tree, matcherOf } from "./tree.js";

/** @typedef {{ name: string, object: string, kind: string, before: number, after: number, change: number, noise: number | null, significant: boolean }} ChangeRow */

/** How two sides are compared, as questions say it. */
export const PER = ["amount", "second", "share"];

/** Whether there is something to compare with. @param {import("./state.js").State} state */
export const hasBase = state => Boolean(state.before) || state.beforeFrom !== null;

/** Whether the base is another recording. @param {import("./state.js").State} state */
const isOfOther = state => Boolean(state.before) && state.before !== state.recording;

/** Whether threads are selected that the base cannot have, since they are of another recording. @param {import("./state.js").State} state */
export const isOfOtherThreads = state => isOfOther(state) && state.threads.length > 0;

/**
 * The question for a difference. Without a time of its own, the base is its whole recording. The server takes that
 * for another recording; within the same one it would take the selection's time.
 * @param {import("./state.js").State} state
 * @param {number} [end] the selected recording's length
 */
export function differenceQuestion(state, end) {
	const isGiven = state.beforeFrom !== null && state.beforeTo !== null, isWhole = !isGiven && !isOfOther(state) && state.from !== null && Boolean(end);
	return { ...selectionOf(state), base_recording: state.before || state.recording, base_from: isGiven ? state.beforeFrom : isWhole ? 0 : null,
		base_to: isGiven ? state.beforeTo : isWhole ? end : null, per: state.per, minimum: 0.0005 };
}

const UNEQUAL = 1.2; // lengths with this ratio make amounts differ by more than people look for

/** Whether amounts differ because one side is longer. @param {{ from: number, to: number }} a @param {{ from: number, to: number }} b */
const isUnequal = (a, b) => Math.max(a.to - a.from, b.to - b.from) > UNEQUAL * Math.min(a.to - a.from, b.to - b.from);

export class DifferenceTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		this.unit = "samples";
		this.zoom = "";
		this.base = el("select", { "aria-label": "Compare with", onchange: () => app.store.set({ before: this.base.value, beforeFrom: null, beforeTo: null }) });
		this.per = el("select", { "aria-label": "Compare", onchange: () => app.store.set({ per: this.per.value }) },
			el("option", { value: "amount" }, "Amounts"), el("option", { value: "second" }, "Per second"), el("option", { value: "share" }, "Shares"));
		this.widths = el("select", { "aria-label": "Widths", onchange: () => this.drawGraph() },
			el("option", { value: String(BOTH) }, "Widths: both"), el("option", { value: String(BEFORE) }, "Widths: before"), el("option", { value: String(AFTER) }, "Widths: after"));
		this.facts = el("span", { class: "dim" });
		this.legend = el("span", { class: "legend" });
		this.flame = new Flame(app.colors, {
			select: (i, isZoom) => this.select(i, isZoom),
			turn: () => app.store.set({ bottom: !app.store.state.bottom }, false),
			hover: (i, x, y) => app.tip(i >= 0 && this.flame.tree ? describeNode(this.flame.tree, i, this.flame.side, this.unit) : [], x, y),
		});
		this.flame.element.id = "difference";
		/** @type {Table<ChangeRow>} */
		this.table = new Table({ label: "Functions that changed", sort: "change", columns: [
			{ key: "change", title: "Change", width: "6.4rem", text: row => signed(row.change, this.unit), value: row => Math.abs(row.change), mark: row => row.significant ? row.change > 0 ? "grew" : "shrank" : "dim" },
			{ key: "noise", isWide: true, title: "Error", width: "5.4rem", text: row => row.noise === null ? "exact" : "± " + plain(+row.noise.toPrecision(2), this.unit), value: row => row.noise ?? 0, mark: () => "dim" },
			{ key: "before", isWide: true, title: "Before", width: "6rem", text: row => plain(row.before, this.unit), value: row => row.before },
			{ key: "after", isWide: true, title: "After", width: "6rem", text: row => plain(row.after, this.unit), value: row => row.after },
			{ key: "significant", isWide: true, title: "Noise?", width: "6.4rem", isText: true, text: row => row.significant ? "" : "may be", mark: () => "dim" },
			{ key: "name", title: "Function", width: "minmax(9rem, 3fr)", isText: true, text: row => nameText(row.name, row.kind), value: row => row.name, hint: row => visible(row.name) },
			{ key: "object", isWide: true, title: "Object", width: "minmax(5rem, 1fr)", isText: true, text: row => shortPath(row.object, 40), value: row => row.object, mark: () => "dim", hint: row => visible(row.object) },
		], select: row => app.store.set({ focus: row.name, object: row.object }, false),
		open: row => app.store.set({ focus: row.name, object: row.object, tab: "around" }) });
		this.keep = el("button", { title: "Then select what to compare it with", onclick: () => this.keepAsBase() }, "Use this selection as the base");
		this.tools = el("div", { class: "tools" }, el("label", {}, "From ", this.base), this.keep, this.per, this.widths, this.facts, this.legend);
		this.content = el("div", { class: "content" });
		this.element = el("div", { class: "view" }, this.tools, this.content);
	}

	keepAsBase() {
		const { state } = this.app.store, { from, to } = state;
		this.app.store.set({ before: state.recording || String(this.app.recording?.id ?? ""), beforeFrom: from, beforeTo: to });
		this.app.speak("Kept as the base. Now select another range or recording.");
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		this.drawTools(state);
		if (!hasBase(state) || isOfOtherThreads(state)) {
			fill(this.content, hasBase(state) ? emptyState("The selected threads are not in the other recording.", "Choose all threads, or compare with another time of the same recording.") :
				emptyState("Nothing to compare with is chosen.", "Choose a recording above, or select a range of time and use it as the base."));
			fill(this.facts);
			fill(this.legend);
			return;
		}
		const answer = await this.app.api.ask("difference", differenceQuestion(state, this.app.recording?.end_ns)), { functions: f, strings, kinds } = answer;
		if (!this.app.isShown(state))
			return;
		this.unit = answer.per === "share" ? "" : answer.unit + (answer.per === "second" ? " a second" : "");
		const share = answer.per === "share" ? 100 : 1, tree = new Tree(answer);
		this.rows = f.name.map((/** @type {number} */ name, /** @type {number} */ i) => ({ name: strings[name], object: strings[f.object[i]] ?? "", kind: kinds[f.kind[i]] ?? "", before: share * f.before[i], after: share * f.after[i],
			change: share * f.change[i], noise: f.noise[i] === null ? null : share * f.noise[i], significant: Boolean(f.significant[i]) }));
		if (answer.per === "share")
			this.unit = "%";
		this.tree = tree;
		const { base } = answer, range = (/** @type {any} */ side) => `recording ${side.recording}, ${moment(side.from)} to ${moment(side.to)}`;
		this.facts.textContent = `from ${range(base)} (${base.samples.toLocaleString("en")} records) to ${range(answer)} (${answer.samples.toLocaleString("en")})` +
			(answer.per === "amount" && isUnequal(base, answer) ? " · of unequal lengths: compare per second, or shares" : "");
		if (!tree.total[0][0] && !tree.total[1][0]) {
			fill(this.content, emptyState(...this.app.nothing(state)));
			return;
		}
		if (!this.flame.element.isConnected)
			fill(this.content, this.flame.element, this.table.element);
		this.drawGraph();
		const test = matcherOf(state.search);
		this.table.show(test ? this.rows.filter((/** @type {ChangeRow} */ row) => test(row.name)) : this.rows, row => row.name === state.focus);
	}

	drawGraph() {
		if (!this.tree)
			return;
		const { colors } = this.app, most = Math.max(this.tree.total[0][0], this.tree.total[1][0]);
		this.flame.matches = this.tree.matcher(this.app.store.state.search);
		this.flame.show(this.tree, { zoom: this.tree.find(this.zoom), at: this.tree.find(this.zoom), side: Number(this.widths.value), isFlame: this.app.store.state.bottom });
		fill(this.legend, swatch(colors.change({ by: most, isNoise: false }, most), "grew"), swatch(colors.change({ by: -most, isNoise: false }, most), "shrank"),
			swatch(colors.change({ by: 0, isNoise: true }, most), "within the sampling's error"));
	}

	/** @param {import("./state.js").State} state */
	drawTools(state) {
		fill(this.base, el("option", { value: "" }, "choose a base"), ...this.app.recordings.map(recording =>
			el("option", { value: String(recording.id), selected: String(recording.id) === state.before }, this.app.recordingText(recording))),
		this.app.base ? el("option", { value: "base", selected: state.before === "base" }, visible(this.app.base, 60)) : null);
		this.keep.hidden = this.base.disabled = Boolean(this.app.base);
		this.per.value = state.per;
		if (state.beforeFrom !== null && state.beforeTo !== null)
			this.base.selectedOptions[0]?.append(`, ${moment(state.beforeFrom)} to ${moment(state.beforeTo)}`);
	}

	/** @param {number} i @param {boolean} isZoom */
	select(i, isZoom) {
		const { tree } = this.flame;
		if (!tree)
			return;
		this.app.speak(describeNode(tree, i, this.flame.side, this.unit).join(". "));
		if (isFunction(tree, i))
			this.app.store.set({ focus: tree.name(i), object: tree.object(i) }, false);
		if (isZoom) {
			this.zoom = tree.hash(i);
			this.flame.show(tree, { zoom: i, at: i, side: Number(this.widths.value) });
		}
	}

	restyle() {
		this.drawGraph();
	}
}

