// SPDX-License-Identifier: MIT
/*
 * The lanes: what the machine did, and below it each process and thread, over time. Dragging selects a
 * range, the wheel zooms, a click on a name selects its threads. The names are buttons; the lanes
 * themselves are one canvas, which stays in place while the names' column is scrolled.
 */
import { el, fill, sizeCanvas, atNextFrame } from "./dom.js";
import { Axis, decodeRuns, decodeShares, toggled, within, zoomed } from "./lane_data.js";
import { amount, bytes, moment, percent, prefixed, ticks, time } from "./format.js";
import { shortName, visible } from "./names.js";

const LANE = 24, LINE = 40, AXIS = 24, COLUMN_PX = 2, LEGEND_MOST = 6;

/**
 * @typedef {object} LaneAnswer
 * @property {string} id
 * @property {"process" | "thread" | "pool"} kind
 * @property {string} name
 * @property {number} pid
 * @property {number} [tid]
 * @property {string | null} parent
 * @property {number} [threads]
 * @property {boolean} [folded]
 * @property {number} cpu_ns
 * @property {number} off_ns
 * @property {number} samples
 * @property {number | null} [cpus]  null: its samples are of no clock, and shares are of the column with the most
 * @property {string} cpu
 * @property {string} state
 * @property {string} region
 * @property {string} [gc]
 * @property {string} [marks]
 *
 * @typedef {object} LineAnswer
 * @property {string} name
 * @property {string} unit
 * @property {number} max
 * @property {number[]} values
 *
 * @typedef {{ answer: LaneAnswer, shares: Float32Array, states: [number, number, number][],
 *             regions: [number, number, number][], collecting: Float32Array, marks: [number, number][], indent: number }} Lane
 */

export class Lanes {
	/**
	 * @param {import("./state.js").Store} store
	 * @param {import("./colors.js").Colors} colors
	 * @param {(text: string[], x: number, y: number) => void} tip
	 */
	constructor(store, colors, tip) {
		this.store = store;
		this.colors = colors;
		this.tip = tip;
		this.names = el("div", { class: "lane-names" });
		this.canvas = el("canvas", { id: "lanes-canvas", tabindex: "0", role: "application", "aria-describedby": "spoken",
			"aria-label": "Time. Arrow keys move the cursor, with Shift they select; + and - zoom; Escape selects all time" });
		this.element = el("div", { id: "lanes" }, this.names, el("div", { class: "lane-picture" }, this.canvas));
		/** @type {any} */
		this.data = null;
		/** Why there are no lanes. */
		this.missing = "";
		/** @type {Lane[]} */
		this.lanes = [];
		/** @type {LineAnswer[]} */
		this.lines = [];
		/** @type {[number, number] | null} */
		this.drag = null;
		this.cursor = -1;
		this.grip = 0;
		/** @type {any} */
		this.ink = {};
		this.redraw = atNextFrame(() => this.draw());
		this.listen();
	}

	listen() {
		const { canvas, element } = this;
		element.addEventListener("scroll", () => this.redraw());
		canvas.addEventListener("pointerdown", event => this.press(event));
		canvas.addEventListener("pointermove", event => this.move(event));
		canvas.addEventListener("pointerup", event => this.release(event));
		canvas.addEventListener("pointercancel", () => { this.drag = null; this.redraw(); });
		canvas.addEventListener("pointerleave", () => { this.tip([], 0, 0); });
		canvas.addEventListener("dblclick", () => this.store.set({ from: null, to: null }));
		canvas.addEventListener("wheel", event => this.wheel(event), { passive: false });
		canvas.addEventListener("keydown", event => this.key(event));
		new ResizeObserver(() => this.redraw()).observe(element);
	}

	/** The columns to ask for. */
	get columns() {
		return Math.max(64, Math.min(1600, Math.round((this.canvas.clientWidth || 800) / COLUMN_PX)));
	}

	/** @param {any} data an answer of /lanes */
	show(data) {
		this.data = data;
		this.missing = "";
		this.lines = data.lines ?? [];
		const depths = new Map();
		this.lanes = data.lanes.map((/** @type {LaneAnswer} */ answer) => {
			const indent = answer.parent ? (depths.get(answer.parent) ?? 0) + 1 : 0;
			depths.set(answer.id, indent);
			return { answer, shares: decodeShares(answer.cpu), states: decodeRuns(answer.state),
				regions: decodeRuns(answer.region), collecting: decodeShares(answer.gc ?? ""), marks: decodeRuns(answer.marks ?? "").flatMap(([mark, begin, end]) =>
					Array.from({ length: mark ? end - begin : 0 }, (_, i) => /** @type {[number, number]} */ ([begin + i, mark]))), indent };
		});
		this.drawNames();
		this.draw();
	}

	/** The pixels that all lanes take. */
	get height() {
		return AXIS + LINE * this.lines.length + LANE * (this.lanes.length + (this.data?.left_out?.lanes ? 1 : 0)) + 1;
	}

	/** Shows no lanes: those of what is selected are not there. @param {string} why */
	clear(why) {
		this.missing = why;
		this.data = null;
		this.drag = null;
		this.lanes = [];
		this.lines = [];
		fill(this.names);
		sizeCanvas(this.canvas, this.canvas.clientWidth, this.canvas.clientHeight);
	}

	/** What the colours of lanes mean, of those that there are: [colour, text]. @returns {[string, string][]} */
	legend() {
		const present = new Set(this.lanes.flatMap(lane => lane.states.map(run => run[0])));
		const isOn = this.lanes.some(lane => lane.shares.some(share => share > 0));
		/** @type {[string, string][]} */
		const list = isOn ? [[this.colors.state("cpu"), this.isTimed ? "on the CPU" : "samples"]] : [];
		if (this.lanes.some(lane => lane.collecting.length))
			list.push([this.colors.state("gc"), "collecting garbage"]);
		for (const state of present) {
			const name = this.data.states[state];
			if (name === "runnable")
				list.push([this.colors.state("runnable"), "waiting for a CPU"]);
			else if (name !== "on the CPU")
				list.push([this.colors.reason(reasonText(name)), "blocked: " + reasonText(name)]);
		}
		return list.slice(0, LEGEND_MOST);
	}

	/** Whether the samples are of a clock, so that they are times. */
	get isTimed() {
		return !this.lanes.some(lane => lane.answer.cpus === null);
	}

	/** What is shown of the time. */
	get view() {
		const { viewFrom, viewTo } = this.store.state, data = this.data;
		return { from: viewFrom ?? data?.begin_ns ?? 0, to: viewTo ?? data?.end_ns ?? 1 };
	}

	get axis() {
		const { from, to } = this.view;
		return new Axis(from, to, this.canvas.clientWidth || 1);
	}

	drawNames() {
		const { state } = this.store, rows = [el("div", { class: "lane-axis" }, el("button", { class: "plain", title: "Order of the lanes",
			onclick: () => this.store.set({ lanes: state.lanes === "name" ? "time" : "name" }) }, state.lanes === "name" ? "By name ▾" : this.isTimed ? "By CPU time ▾" : "By samples ▾"))];
		for (const line of this.lines)
			rows.push(el("div", { class: "line-name", title: line.name }, el("b", {}, lineTitle(line.name)),
				el("span", { class: "dim" }, "up to " + lineValue(line.max, line.unit))));
		for (const lane of this.lanes)
			rows.push(this.drawName(lane, state));
		if (this.data.left_out?.lanes)
			rows.push(el("div", { class: "lane-name dim" }, `${this.data.left_out.lanes} more` + (this.isTimed && this.data.left_out.cpu_ns ? ` with ${time(this.data.left_out.cpu_ns)} of CPU time in processes that are not shown` : "")));
		fill(this.names, ...rows);
	}

	/** @param {Lane} lane @param {import("./state.js").State} state */
	drawName({ answer, indent }, state) {
		const { id, kind, name } = answer, isSelected = state.threads.includes(id), isUnfolded = state.unfold.includes(id);
		const what = kind === "thread" ? "thread " + answer.tid : kind === "pool" ? amount(answer.threads ?? 0, "threads") : "process " + answer.pid;
		const row = el("div", { class: "lane-name" }), ran = answer.cpus === null ? amount(answer.samples, "samples") : time(answer.cpu_ns) + " on the CPU";
		if (answer.folded || isUnfolded)
			row.append(el("button", { class: "plain fold", "aria-expanded": String(isUnfolded), "aria-label": `Threads of ${visible(name)}`,
				onclick: () => this.store.set({ unfold: toggled(state.unfold, id, true) }) }, isUnfolded ? "▾" : "▸"));
		else if (kind !== "process")
			row.append(el("span", { class: "fold" }));
		row.append(el("button", { class: "plain lane-button", "aria-pressed": String(isSelected), "data-lane": id,
			title: `${visible(name)}\n${what}, ${ran}` + (answer.off_ns ? `, ${time(answer.off_ns)} off it` : ""),
			onclick: (/** @type {MouseEvent} */ event) => this.store.set({ threads: toggled(this.store.state.threads, id, event.ctrlKey || event.metaKey || event.shiftKey) }) },
		el("span", { class: "lane-title" }, visible(name, 80) || "(no name)"), el("span", { class: "dim" }, kind === "pool" ? "×" + answer.threads : answer.cpus === null ? amount(answer.samples, "samples") : time(answer.cpu_ns))));
		row.style.paddingInlineStart = 2 + 8 * Math.max(0, Math.min(indent, 4) - 1) + "px";
		return row;
	}

	draw() {
		const { element, canvas, data } = this, width = canvas.parentElement?.clientWidth ?? 0, height = element.clientHeight;
		if (!data || !width)
			return;
		const c = sizeCanvas(canvas, width, height), style = getComputedStyle(element), axis = new Axis(this.view.from, this.view.to, width);
		this.ink = { text: style.getPropertyValue("--text").trim(), dim: style.getPropertyValue("--dim").trim(), line: style.getPropertyValue("--line").trim(),
			focus: style.getPropertyValue("--focus").trim(), back: style.getPropertyValue("--back").trim(), bar: style.getPropertyValue("--bar").trim(), shade: style.getPropertyValue("--shade").trim() };
		c.font = "11px system-ui, sans-serif";
		c.clearRect(0, 0, width, height);
		let y = AXIS - element.scrollTop;
		for (const line of this.lines) {
			this.drawLine(c, line, y, axis);
			y += LINE;
		}
		for (const lane of this.lanes) {
			if (y > -LANE && y < height)
				this.drawLane(c, lane, y, axis);
			y += LANE;
		}
		this.drawSelection(c, axis, height);
		this.drawAxis(c, axis, height);
	}

	/** @param {CanvasRenderingContext2D} c @param {Axis} axis @param {number} height */
	drawAxis(c, axis, height) {
		const { step, values } = ticks(axis.from / 1e9, axis.to / 1e9, axis.width / 110);
		c.fillStyle = this.ink.bar;
		c.fillRect(0, 0, axis.width, AXIS - 1);
		c.textAlign = "left";
		for (const value of values) {
			const x = axis.pixel(value * 1e9), text = moment(value * 1e9, step * 1e9);
			c.fillStyle = this.ink.line;
			c.fillRect(Math.round(x), 0, 1, x >= 0 ? height : 0);
			c.fillStyle = this.ink.dim;
			c.fillText(text, Math.min(x + 4, axis.width - c.measureText(text).width - 2), 15);
		}
	}

	/** Where columns of the data begin and end, in pixels. @param {Axis} axis */
	scale(axis) {
		const { from, to, columns } = this.data, step = (to - from) / columns;
		return { x: (/** @type {number} */ column) => axis.pixel(from + column * step), columns };
	}

	/** @param {CanvasRenderingContext2D} c @param {LineAnswer} line @param {number} y @param {Axis} axis */
	drawLine(c, line, y, axis) {
		const { x } = this.scale(axis), bottom = y + LINE - 3, tall = LINE - 8, most = line.max || 1;
		c.fillStyle = this.ink.line;
		c.fillRect(0, y + LINE - 2, axis.width, 1);
		c.fillStyle = line.unit === "cpus" ? this.colors.state("cpu") : line.unit === "bytes" ? this.colors.hsl(164, 60, 40, 45) : this.colors.hsl(28, 75, 50, 52);
		c.globalAlpha = 0.8;
		c.beginPath();
		c.moveTo(x(0), bottom);
		line.values.forEach((value, i) => {
			const top = bottom - tall * Math.min(1, (value ?? 0) / most);
			c.lineTo(x(i), top);
			c.lineTo(x(i + 1), top);
		});
		c.lineTo(x(line.values.length), bottom);
		c.fill();
		c.globalAlpha = 1;
	}

	/** @param {CanvasRenderingContext2D} c @param {Lane} lane @param {number} y @param {Axis} axis */
	drawLane(c, lane, y, axis) {
		const { x } = this.scale(axis), { states, regions = [] } = this.data, tall = LANE - 5, { colors } = this;
		const isDim = this.store.state.threads.length && !this.isSelected(lane.answer);
		c.globalAlpha = isDim ? 0.35 : 1;
		for (const [state, begin, end] of lane.states) {
			const name = states[state];
			if (name === "on the CPU")
				continue;
			c.fillStyle = name === "runnable" ? colors.state("runnable") : colors.reason(reasonText(name));
			c.fillRect(x(begin), y + 2, Math.max(x(end) - x(begin), 0.5), tall);
		}
		c.fillStyle = colors.state("cpu");
		c.beginPath();
		lane.shares.forEach((share, i) => {
			if (share > 0)
				c.rect(x(i), y + 2 + tall * (1 - share), Math.max(x(i + 1) - x(i), 0.7), tall * share);
		});
		c.fill();
		c.fillStyle = colors.state("gc");
		lane.collecting.forEach((share, i) => {
			if (share > 0)
				c.fillRect(x(i), y + 2 + tall * (1 - share), Math.max(x(i + 1) - x(i), 0.7), tall * share);
		});
		for (const [region, begin, end] of lane.regions) {
			c.fillStyle = colors.named(regions[region]);
			c.fillRect(x(begin), y + LANE - 4, Math.max(x(end) - x(begin), 1), 3);
		}
		c.fillStyle = this.ink.text;
		for (const [column] of lane.marks) {
			const at = x(column + 0.5);
			c.beginPath();
			c.moveTo(at, y + 9);
			c.lineTo(at - 3.5, y + 2);
			c.lineTo(at + 3.5, y + 2);
			c.fill();
		}
		c.globalAlpha = 1;
		c.fillStyle = this.ink.line;
		c.fillRect(0, y + LANE - 1, axis.width, 0.5);
	}

	/** Whether a lane, or what it is in, is selected. @param {LaneAnswer} answer */
	isSelected(answer) {
		const { threads } = this.store.state;
		for (let at = /** @type {LaneAnswer | undefined} */ (answer); at; at = this.lanes.find(l => l.answer.id === at?.parent)?.answer)
			if (threads.includes(at.id))
				return true;
		return false;
	}

	/** @param {CanvasRenderingContext2D} c @param {Axis} axis @param {number} height */
	drawSelection(c, axis, height) {
		const { state } = this.store, range = this.drag ? [Math.min(...this.drag), Math.max(...this.drag)] :
			state.from !== null && state.to !== null ? [state.from, state.to] : null;
		if (range) {
			const a = axis.pixel(range[0]), b = axis.pixel(range[1]);
			c.fillStyle = this.ink.shade;
			c.fillRect(0, 0, a, height);
			c.fillRect(b, 0, axis.width - b, height);
			c.fillStyle = this.ink.focus;
			c.fillRect(a - 1, 0, 1.5, height);
			c.fillRect(b, 0, 1.5, height);
		}
		if (this.cursor >= axis.from && this.cursor <= axis.to && document.activeElement === this.canvas) {
			c.fillStyle = this.ink.text;
			c.fillRect(axis.pixel(this.cursor), 0, 1, height);
		}
	}

	/** @param {PointerEvent} event */
	press(event) {
		if (event.button || !this.data)
			return;
		this.canvas.setPointerCapture(event.pointerId);
		const at = this.axis.time(event.offsetX);
		this.grip = event.offsetX;
		this.cursor = at;
		const { from, to } = this.store.state;
		this.drag = event.shiftKey && from !== null && to !== null ? [Math.abs(at - from) < Math.abs(at - to) ? to : from, at] : [at, at];
		this.redraw();
	}

	/** @param {PointerEvent} event */
	move(event) {
		if (!this.data)
			return;
		const at = this.axis.time(Math.max(0, Math.min(this.canvas.clientWidth, event.offsetX)));
		if (this.drag) {
			this.drag[1] = at;
			this.tip([time(Math.abs(this.drag[1] - this.drag[0]))], event.clientX, event.clientY);
			this.redraw();
			return;
		}
		this.tip(this.describe(event.offsetY, at), event.clientX, event.clientY);
	}

	/** @param {PointerEvent} event */
	release(event) {
		const { drag } = this;
		this.drag = null;
		if (!drag)
			return;
		this.tip([], 0, 0);
		if (Math.abs(event.offsetX - this.grip) > 3)
			this.select(drag[0], drag[1]);
		else
			this.clickLane(event);
		this.redraw();
	}

	/** A click without dragging selects the lane. @param {PointerEvent} event */
	clickLane(event) {
		const lane = this.laneAt(event.offsetY);
		if (lane)
			this.store.set({ threads: toggled(this.store.state.threads, lane.answer.id, event.ctrlKey || event.metaKey) });
	}

	/** @param {number} a @param {number} b */
	select(a, b) {
		const { begin_ns: begin, end_ns: end } = this.data;
		const from = Math.max(begin, Math.round(Math.min(a, b))), to = Math.min(end, Math.round(Math.max(a, b)));
		if (to > from)
			this.store.set({ from, to, live: false });
	}

	/** @param {WheelEvent} event */
	wheel(event) {
		if (!this.data || (!event.ctrlKey && this.element.scrollHeight > this.element.clientHeight + 4 && event.shiftKey))
			return;
		event.preventDefault();
		const { begin_ns: begin, end_ns: end } = this.data, view = this.view;
		if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
			const by = event.deltaX / this.axis.width * (view.to - view.from);
			this.look(...within(view.from + by, view.to - view.from, begin, end));
		} else {
			this.look(...zoomed(view, this.axis.time(event.offsetX), event.deltaY < 0 ? 0.8 : 1.25, begin, end));
		}
	}

	/** Shows a part of the time. @param {number} from @param {number} to */
	look(from, to) {
		const isAll = from <= this.data.begin_ns && to >= this.data.end_ns;
		this.store.set({ viewFrom: isAll ? null : from, viewTo: isAll ? null : to }, false);
		this.redraw();
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (!this.data || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const { begin_ns: begin, end_ns: end } = this.data, view = this.view, step = (view.to - view.from) / 50, { state } = this.store;
		const at = this.cursor >= view.from && this.cursor <= view.to ? this.cursor : (view.from + view.to) / 2;
		if (event.key === "ArrowLeft" || event.key === "ArrowRight")
			this.moveCursor(at, event.key === "ArrowLeft" ? -step : step, event.shiftKey);
		else if (event.key === "ArrowUp" || event.key === "ArrowDown")
			this.element.scrollTop += event.key === "ArrowUp" ? -LANE : LANE;
		else if (event.key === "+" || event.key === "=" || event.key === "-")
			this.look(...zoomed(view, at, event.key === "-" ? 2 : 0.5, begin, end));
		else if (event.key === "Enter" && state.from !== null && state.to !== null)
			this.look(state.from, state.to);
		else if (event.key === "Escape" && (state.from !== null || state.threads.length))
			this.store.set(state.from !== null ? { from: null, to: null } : { threads: [] });
		else if (event.key === "Escape" || event.key === "0")
			this.look(begin, end);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	/** @param {number} at @param {number} by @param {boolean} isSelecting */
	moveCursor(at, by, isSelecting) {
		const { begin_ns: begin, end_ns: end } = this.data, to = Math.max(begin, Math.min(end, at + by)), { state } = this.store, view = this.view;
		if (isSelecting) {
			const anchor = state.from !== null && state.to !== null ? (Math.abs(at - state.from) < Math.abs(at - state.to) ? state.to : state.from) : at;
			this.select(anchor, to);
		}
		this.cursor = to;
		if (to < view.from || to > view.to)
			this.look(...within(to - (view.to - view.from) / 2, view.to - view.from, begin, end));
		this.tip(["", ...this.describe(-1, to)], -1, -1);
		this.redraw();
	}

	/** @param {number} y in the canvas */
	laneAt(y) {
		const at = y + this.element.scrollTop - AXIS - LINE * this.lines.length;
		return at >= 0 && y >= AXIS ? this.lanes[Math.floor(at / LANE)] : undefined;
	}

	/**
	 * What there is at a place: lines of text.
	 * @param {number} y -1: what the whole machine does
	 * @param {number} at
	 */
	describe(y, at) {
		const { from, to, columns, states, regions = [] } = this.data, column = Math.floor((at - from) / (to - from) * columns);
		const lane = y >= 0 ? this.laneAt(y) : undefined, text = [moment(at, (to - from) / columns)];
		const line = y < 0 ? this.lines[0] : this.lines[Math.floor((y + this.element.scrollTop - AXIS) / LINE)];
		const runOf = (/** @type {[number, number, number][]} */ runs) => runs.find(run => column >= run[1] && column < run[2])?.[0] ?? 0;
		if (lane) {
			const share = lane.shares[column] ?? 0, cpus = lane.answer.cpus ?? 1;
			text.unshift(visible(lane.answer.name, 80) + (lane.answer.tid ? " " + lane.answer.tid : ""));
			text.push(lane.answer.cpus === null ? `${percent(share)} of the most samples in a column` : cpus > 1 ? `${(share * cpus).toFixed(2)} CPUs` : `${percent(share)} on the CPU`);
			const state = states[runOf(lane.states)], region = regions[runOf(lane.regions)];
			if (state && state !== "on the CPU")
				text.push("mostly " + (state === "runnable" ? "waiting for a CPU" : "blocked: " + reasonText(state)));
			if (region)
				text.push("in " + shortName(region));
			if (lane.collecting[column] > 0)
				text.push(`${percent(lane.collecting[column])} collecting garbage`);
			for (const [markColumn, mark] of lane.marks)
				if (Math.abs(markColumn - column) <= 2)
					text.push("mark: " + shortName(regions[mark] ?? ""));
		} else if (line) {
			text.unshift(lineTitle(line.name));
			text.push(lineValue(line.values[Math.min(column, line.values.length - 1)] ?? 0, line.unit));
		}
		return text;
	}

	/** The lanes that are selected, for the command line. */
	selected() {
		const { threads } = this.store.state;
		return this.lanes.map(lane => lane.answer).filter(answer => threads.includes(answer.id));
	}
}

/** A reason as it is recorded, `[futex]`, without its brackets. @param {string} reason */
export const reasonText = reason => visible(reason.replace(/^\[(.*)\]$/, "$1"), 60);

/** @param {string} name */
const lineTitle = name => ({ cpu: "CPU", "heap.live": "Heap" })[name] ?? visible(name);

/** @param {number} value @param {string} unit */
const lineValue = (value, unit) => unit === "cpus" ? value.toFixed(2) + " CPUs" : unit === "bytes" ? bytes(value) : prefixed(value) + (unit === "per second" || unit === "1/s" ? "/s" : unit === "count" ? "" : " " + unit);
