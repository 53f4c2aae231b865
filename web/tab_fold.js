// SPDX-License-Identifier: MIT
/*
 * A folded region: what happens within one pass, from the samples of many. All panels share one axis, the
 * time within a pass; `view` is the part of it that is shown.
 */
import { selectionOf } from "./api.js";
import { el, emptyState, fill, svg } from "./dom.js";
import { amount, percent, prefixed, ticks, time } from "./format.js";
import { shortPath, visible } from "./names.js";
import { nameText } from "./tab_flame.js";

const PANEL = 92, GAP = 20, STACK_PX = 150, TOP_PX = 34, LINE_PX = 13, LANE_PX = 22, RIGHT = 52, CLOSEST = 1e-3;

export class FoldTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		this.view = { from: 0, to: 1 };
		this.cursor = -1;
		this.phase = -1;
		/** @type {[number, number] | null} */
		this.drag = null;
		this.width = 800;
		this.left = 190;
		this.region = el("select", { "aria-label": "Region", hidden: true, onchange: () => app.store.set({ region: this.region.value }) });
		this.facts = el("span", { class: "dim", id: "facts" });
		this.panels = el("div", { id: "panels", tabindex: "0", role: "application", "aria-describedby": "spoken",
			"aria-label": "Counters and routines over the time of a pass. Arrow keys move the cursor, + and - zoom, n and p go to the next and previous phase, 0 shows all" });
		this.readout = el("div", { id: "readout", class: "facts" });
		this.warning = el("div", { class: "facts warning", id: "warning" });
		this.rest = el("div", { class: "facts dim" });
		this.table = el("div", {});
		this.content = el("div", { class: "content folded" });
		this.element = el("div", { class: "view" }, el("div", { class: "tools" }, this.region, this.facts), this.content);
		this.listen();
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		const { metric: _, ...selection } = selectionOf(state), { api } = this.app;
		const list = await api.ask("fold", selection).catch(error => {
			if (!api.embedded || !(state.region || this.app.lacks("region")))
				throw error;
			return null;
		});
		if (!this.app.isShown(state))
			return;
		const regions = /** @type {string[]} */ (list?.regions ?? []), chosen = state.region || regions[0] || "";
		fill(this.region, ...[...new Set([...regions, chosen])].filter(Boolean).map(name => el("option", { value: name, selected: name === chosen }, nameText(name))));
		this.region.hidden = !chosen;
		if (!chosen) {
			this.data = null;
			fill(this.facts);
			fill(this.content, this.app.lacks("region") ? emptyState("No regions: this recording has none that could be folded.", "Record with: sudo stackd --region FUNCTION …, or --mpi=probes") :
				emptyState("No region was passed through in the selection.", "Choose a wider range of time, or all threads."));
			return;
		}
		if (!state.region)
			this.app.store.set({ region: chosen }, false);
		const answer = await api.ask("fold", { ...selection, region: chosen });
		if (!this.app.isShown({ ...state, region: chosen }))
			return;
		const data = this.data = folding(answer);
		this.facts.textContent = `${data.passes.toLocaleString("en")} ${data.passes_are} of ${time(data.mean_ns)} of ${data.axis === "cpu" ? "CPU" : "wall"} time` +
			(data.axis === "cpu" ? ` (${time(data.mean_wall_ns)} of wall time)` : "") + `, ${amount(data.samples, "samples")}` +
			(data.without_place ? `, and ${data.without_place.toLocaleString("en")} whose place is not known` : "");
		this.warning.textContent = data.is_locked ? "The samples' period is locked to the region's: parts of the pass are never hit. Record with another frequency (stackd -F)." : "";
		this.rest.textContent = (data.lines_left ? `Samples in other lines (${data.lines_left.toLocaleString("en")}): ${data.in_lines_left.toLocaleString("en")}. ` : "") +
			(data.without_line ? `Samples without a line: ${data.without_line.toLocaleString("en")}.` : "");
		fill(this.content, this.warning, this.panels, this.rest, this.readout, this.table);
		this.drawTable();
		this.draw();
	}

	/* --- drawing ---------------------------------------------------------------------------------- */

	/** @param {number} x */
	px(x) {
		return this.left + (x - this.view.from) / (this.view.to - this.view.from) * (this.width - this.left - RIGHT);
	}

	/** @param {number} pixel */
	at(pixel) {
		return Math.min(1, Math.max(0, this.view.from + (pixel - this.left) / (this.width - this.left - RIGHT) * (this.view.to - this.view.from)));
	}

	draw() {
		const { data } = this;
		if (!data || !this.panels.isConnected)
			return;
		this.width = this.panels.clientWidth || 800;
		this.left = this.width < 620 ? 96 : 190;
		const lines = data.lines ?? [], phases = data.phases ?? [], lane = phases.length ? LANE_PX : 0;
		const stack = Math.max(STACK_PX, 14 * data.routines.length), counters = TOP_PX + lane;
		const routines = counters + (PANEL + GAP) * data.counters.length + GAP, below = routines + stack + 2 * GAP, height = below + LINE_PX * lines.length + 6;
		const picture = svg("svg", { width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, role: "img", "aria-label": "The folded region" });
		this.drawAxis(picture, height);
		if (lane)
			this.drawPhases(picture, TOP_PX, phases);
		data.counters.forEach((/** @type {any} */ counter, /** @type {number} */ i) => this.drawCounter(picture, counter, counters + i * (PANEL + GAP), i ? [] : phases));
		this.drawRoutines(picture, routines, stack);
		this.drawLines(picture, below, lines);
		if (this.drag)
			picture.append(svg("rect", { class: "chosen", y: TOP_PX, height, x: this.px(Math.min(...this.drag)), width: Math.abs(this.px(this.drag[1]) - this.px(this.drag[0])) }));
		if (this.cursor >= this.view.from && this.cursor <= this.view.to)
			picture.append(svg("line", { class: "cursor", x1: this.px(this.cursor), x2: this.px(this.cursor), y1: TOP_PX - 4, y2: height }));
		fill(this.panels, picture);
		this.say();
	}

	/** @param {SVGElement} picture @param {number} bottom */
	drawAxis(picture, bottom) {
		const n = this.width < 620 ? 4 : 10;
		for (let i = 0; i <= n; i++) {
			const x = this.view.from + (this.view.to - this.view.from) * i / n, anchor = i === n ? "end" : i ? "middle" : "start";
			picture.append(svg("line", { class: "grid", x1: this.px(x), x2: this.px(x), y1: TOP_PX - 4, y2: bottom }),
				svg("text", { x: this.px(x), y: 12, "text-anchor": anchor }, time(x * this.data.mean_ns)),
				svg("text", { class: "scale", x: this.px(x), y: 25, "text-anchor": anchor }, percent(x)));
		}
	}

	/** @param {{ from: number, to: number }} phase */
	pixelsOf(phase) {
		const from = Math.max(phase.from, this.view.from), to = Math.min(phase.to, this.view.to);
		return from < to ? [this.px(from), this.px(to)] : null;
	}

	/** @param {SVGElement} picture @param {number} top @param {any[]} phases */
	drawPhases(picture, top, phases) {
		picture.append(svg("text", { class: "name", x: 0, y: top + 14 }, "Phases"));
		phases.forEach((phase, index) => {
			const at = this.pixelsOf(phase), words = visible(phase.path) || "no sample";
			if (!at)
				return;
			const room = Math.floor((at[1] - at[0] - 6) / 6.2);
			picture.append(svg("rect", { class: "phase", x: at[0], y: top, width: at[1] - at[0], height: LANE_PX - 4, fill: this.app.colors.named(routineOf(phase)), ondblclick: () => this.showPhase(index) },
				svg("title", {}, `${words}, ${percent(phase.from)} to ${percent(phase.to)}`)));
			if (room > 2)
				picture.append(svg("text", { class: "on-fill", x: at[0] + 3, y: top + 13 }, words.length > room ? "…" + words.slice(1 - room) : words));
		});
	}

	/** @param {SVGElement} picture @param {any} counter @param {number} top @param {any[]} phases */
	drawCounter(picture, counter, top, phases) {
		const bottom = top + PANEL, n = counter.rate?.length ?? 0, { from, to } = this.view;
		picture.append(svg("text", { class: "name", x: 0, y: top + 14 }, visible(counter.name, 26), svg("title", {}, visible(counter.name))));
		if (!n) {
			picture.append(svg("text", { x: 0, y: top + 30 }, visible(counter.problem ?? "not known")));
			return;
		}
		const first = Math.max(0, Math.floor(from * n)), last = Math.min(n, Math.ceil(to * n)), high = counter.high ?? counter.rate;
		const most = Math.max(1e-12, ...high.slice(first, last)), y = (/** @type {number} */ value) => bottom - PANEL * value / most;
		picture.append(svg("text", { x: 0, y: top + 30 }, prefixed(counter.mean) + " a pass"), svg("text", { x: 0, y: top + 46 }, "per second; share reached"));
		for (const phase of phases) {
			const at = this.pixelsOf(phase);
			if (at)
				picture.append(svg("rect", { class: "shade", x: at[0], y: top, width: at[1] - at[0], height: PANEL, fill: this.app.colors.named(routineOf(phase)), "fill-opacity": 0.22 }));
		}
		const steps = (/** @type {number[]} */ values) => values.slice(first, last).flatMap((value, i) =>
			[[Math.max(from, (first + i) / n), y(value)], [Math.min(to, (first + i + 1) / n), y(value)]]);
		picture.append(svg("polygon", { class: "rate", points: this.points([[from, bottom], ...steps(counter.rate), [to, bottom]]) }));
		if (counter.low)
			picture.append(svg("polygon", { class: "band", points: this.points([...steps(counter.low), ...steps(counter.high).reverse()]) }));
		picture.append(svg("polyline", { class: "sum", points: this.points(reached(counter).map((share, i) => [i / n, bottom - PANEL * share]).filter(p => p[0] >= from && p[0] <= to)) }));
		for (const value of ticks(0, most * (counter.per_second ?? 1), 4).values)
			picture.append(svg("text", { class: "scale", x: this.left - 4, y: bottom - PANEL * value / (most * (counter.per_second ?? 1)) + 4, "text-anchor": "end" }, prefixed(value)));
		for (const share of [0, 0.5, 1])
			picture.append(svg("text", { class: "scale", x: this.width - RIGHT + 4, y: bottom - PANEL * share + 4 }, 100 * share + " %"));
	}

	/** @param {number[][]} list */
	points(list) {
		return list.map(([x, y]) => this.px(x).toFixed(1) + "," + y.toFixed(1)).join(" ");
	}

	/** @param {SVGElement} picture @param {number} top @param {number} tall */
	drawRoutines(picture, top, tall) {
		const { routines } = this.data, n = routines[0]?.columns.length ?? 0, { from, to } = this.view, below = new Array(n).fill(0);
		const all = Array.from({ length: n }, (_, i) => routines.reduce((/** @type {number} */ sum, /** @type {any} */ r) => sum + r.columns[i], 0));
		const first = Math.max(0, Math.floor(from * n)), last = Math.min(n, Math.ceil(to * n)), colors = this.app.colors;
		picture.append(svg("text", { class: "name", x: 0, y: top - 6 }, "Routines"));
		routines.forEach((/** @type {any} */ routine, /** @type {number} */ index) => {
			const low = [], high = [], name = routine.name ? nameText(routine.name) : "(others)";
			for (let i = first; i < last; i++) {
				const a = Math.max(from, i / n), b = Math.min(to, (i + 1) / n), y = top + tall - tall * below[i];
				below[i] += all[i] ? routine.columns[i] / all[i] : 0;
				low.push([a, y], [b, y]);
				high.push([a, top + tall - tall * below[i]], [b, top + tall - tall * below[i]]);
			}
			picture.append(svg("polygon", { class: "routine", fill: colors.named(routine.name), points: this.points([...low, ...high.reverse()]) },
				svg("title", {}, `${visible(routine.name) || "(others)"}, ${percent(routine.samples / this.data.samples)}`)),
			svg("rect", { x: 0, y: top + 14 * index, width: 9, height: 9, fill: colors.named(routine.name) }),
			svg("text", { x: 14, y: top + 14 * index + 9 }, cut(name, this.left < 150 ? 12 : 26)));
		});
	}

	/** A point for each column in which a line has samples. @param {SVGElement} picture @param {number} top @param {any[]} lines */
	drawLines(picture, top, lines) {
		if (lines.length)
			picture.append(svg("text", { class: "name", x: 0, y: top - 6 }, "Lines"));
		lines.forEach((line, row) => {
			const y = top + LINE_PX * row + LINE_PX / 2, most = Math.max(1, ...line.columns), n = line.columns.length, name = shortPath(line.file, this.left < 150 ? 12 : 26) + ":" + line.line;
			const group = svg("g", { class: "line", fill: this.app.colors.named(line.function) }, svg("title", {}, `${visible(line.function)}, ${visible(line.file)}:${line.line}, ${percent(line.samples / this.data.samples)}`));
			picture.append(svg("line", { class: "grid", x1: this.left, x2: this.width - RIGHT, y1: y, y2: y }), svg("text", { class: "scale", x: this.left - 4, y: y + 4, "text-anchor": "end" }, name), group);
			line.columns.forEach((/** @type {number} */ samples, /** @type {number} */ i) => {
				const x = (i + 0.5) / n;
				if (samples && x >= this.view.from && x <= this.view.to)
					group.append(svg("circle", { class: "dot", cx: this.px(x).toFixed(1), cy: y, r: (1.2 + 1.8 * Math.sqrt(samples / most)).toFixed(1) }));
			});
		});
	}

	/** Says what there is at the cursor. */
	say() {
		const { data, cursor: x } = this;
		if (x < 0) {
			fill(this.readout);
			return;
		}
		const said = [`at ${time(x * data.mean_ns)}, ${percent(x)}`];
		for (const counter of data.counters) {
			const n = counter.rate?.length ?? 0, i = Math.min(n - 1, Math.floor(x * n));
			if (n)
				said.push(`${visible(counter.name, 40)} ${percent(reachedAt(counter, x))} reached, ${prefixed(counter.rate[i] * (counter.per_second ?? 1))}/s` +
					(counter.low ? ` (${prefixed(counter.low[i] * counter.per_second)} to ${prefixed(counter.high[i] * counter.per_second)})` : ""));
		}
		const n = data.routines[0]?.columns.length ?? 0, column = Math.min(n - 1, Math.floor(x * n));
		const all = data.routines.reduce((/** @type {number} */ sum, /** @type {any} */ r) => sum + r.columns[column], 0);
		for (const r of data.routines.slice().sort((/** @type {any} */ a, /** @type {any} */ b) => b.columns[column] - a.columns[column]).slice(0, 3))
			if (r.columns[column])
				said.push(`${r.name ? nameText(r.name) : "(others)"} ${percent(r.columns[column] / all)}`);
		fill(this.readout, ...said.map((text, i) => el(i ? "span" : "b", {}, text)));
	}

	drawTable() {
		const { data } = this, phases = data.phases ?? [], counter = data.counters[0];
		if (!phases.length) {
			fill(this.table);
			return;
		}
		fill(this.table, el("table", { class: "small-table" }, el("thead", {}, el("tr", {}, ...["From", "To", "Takes", (counter?.name ?? "rate") + "/s", "95 %", "Path"].map(title => el("th", { scope: "col" }, title)))),
			el("tbody", {}, ...phases.map((/** @type {any} */ phase, /** @type {number} */ i) => el("tr", { onclick: () => this.showPhase(i) }, el("td", {}, percent(phase.from)), el("td", {}, percent(phase.to) + offBy(phase)),
				el("td", {}, time((phase.to - phase.from) * data.mean_ns)), el("td", {}, prefixed(phase.rate * (counter?.per_second ?? 1))),
				el("td", {}, phase.low === null || phase.low === undefined ? "" : `${prefixed(phase.low * counter.per_second)} to ${prefixed(phase.high * counter.per_second)}`),
				el("td", { class: "text" }, (visible(phase.path) || "no sample") + (phase.line ? ` [${shortPath(phase.file, 40)}:${phase.line}]` : "")))))));
	}

	/* --- what is shown ------------------------------------------------------------------------------ */

	/** @param {number} from @param {number} to */
	look(from, to) {
		if (to - from < CLOSEST)
			[from, to] = [(from + to - CLOSEST) / 2, (from + to + CLOSEST) / 2];
		this.view = { from: Math.max(0, Math.min(1 - CLOSEST, from)), to: Math.min(1, Math.max(CLOSEST, to)) };
		this.draw();
	}

	/** @param {number} at @param {number} factor */
	zoom(at, factor) {
		this.look(at - (at - this.view.from) * factor, at + (this.view.to - at) * factor);
	}

	/** @param {number} index */
	showPhase(index) {
		const phase = this.data?.phases?.[index];
		if (!phase)
			return;
		this.phase = index;
		this.cursor = (phase.from + phase.to) / 2;
		const room = (phase.to - phase.from) * 0.1;
		this.look(phase.from - room, phase.to + room);
		this.app.speak(`Phase ${index + 1}: ${visible(phase.path)}`);
	}

	listen() {
		const { panels } = this, pixel = (/** @type {PointerEvent | WheelEvent} */ event) => event.clientX - panels.getBoundingClientRect().left;
		panels.addEventListener("pointerdown", event => {
			if (pixel(event) >= this.left && !event.button)
				this.drag = [this.at(pixel(event)), this.at(pixel(event))];
		});
		panels.addEventListener("pointermove", event => {
			this.cursor = pixel(event) < this.left ? -1 : this.at(pixel(event));
			if (this.drag)
				this.drag[1] = this.at(pixel(event));
			this.draw();
		});
		window.addEventListener("pointerup", () => {
			const { drag } = this;
			this.drag = null;
			if (drag && Math.abs(this.px(drag[1]) - this.px(drag[0])) > 4)
				this.look(Math.min(...drag), Math.max(...drag));
			else if (drag)
				this.draw();
		});
		panels.addEventListener("wheel", event => {
			event.preventDefault();
			this.zoom(this.at(pixel(event)), event.deltaY < 0 ? 0.8 : 1.25);
		}, { passive: false });
		panels.addEventListener("keydown", event => this.key(event));
		new ResizeObserver(() => { if (panels.clientWidth !== this.width) this.draw(); }).observe(panels);
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const { view } = this, middle = this.cursor >= view.from && this.cursor <= view.to ? this.cursor : (view.from + view.to) / 2, step = (view.to - view.from) / 100;
		if (!this.data || event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key === "ArrowLeft" || event.key === "ArrowRight")
			this.cursor = Math.max(0, Math.min(1, middle + (event.key === "ArrowLeft" ? -step : step)));
		else if (event.key === "+" || event.key === "=" || event.key === "-")
			this.zoom(middle, event.key === "-" ? 2 : 0.5);
		else if (event.key === "n" || event.key === "p")
			this.showPhase(Math.max(0, Math.min((this.data.phases?.length ?? 1) - 1, this.phase + (event.key === "n" ? 1 : -1))));
		else if (event.key === "0" || event.key === "Escape")
			this.look(0, 1);
		else
			return;
		this.draw();
		event.preventDefault();
		event.stopPropagation();
	}

	restyle() {
		this.draw();
	}
}

/**
 * The answer with paths of phases that do not have the line in them, which stands beside, and the samples
 * that are in passes.
 * @param {any} answer
 */
function folding(answer) {
	return { ...answer, samples: answer.in_passes ?? answer.samples,
		phases: (answer.phases ?? []).map((/** @type {any} */ phase) => ({ ...phase, path: phase.path.replace(/ \[[^\]]*\]$/, "") })) };
}

/** How far a phase's end may be off, with 95 % confidence. @param {any} phase */
function offBy(phase) {
	const off = Math.max(phase.to_high - phase.to, phase.to - phase.to_low);
	return phase.to < 1 && off > 0 ? ` ± ${percent(off)}` : "";
}

/** The routine that a phase is coloured by: the last of its path. @param {{ path: string }} phase */
const routineOf = phase => phase.path.split(" > ").pop() ?? "";

/** @param {string} text @param {number} longest */
const cut = (text, longest) => text.length > longest ? text.slice(0, longest - 1) + "…" : text;

/** The share that is reached at a moment. @param {{ rate: number[] }} counter @param {number} x */
function reachedAt(counter, x) {
	const shares = reached(counter), at = x * (shares.length - 1), i = Math.min(shares.length - 2, Math.floor(at));
	return shares[i] + (at - i) * (shares[i + 1] - shares[i]);
}

/** The share of a pass's total that is reached at the begin of each column, and at the end. @param {{ rate: number[] }} counter */
export function reached({ rate }) {
	const sum = rate.reduce((a, b) => a + b, 0) || 1, out = [0];
	let at = 0;
	for (const value of rate)
		out.push((at += value) / sum);
	return out;
}
