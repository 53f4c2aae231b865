// SPDX-License-Identifier: MIT
/*
 * The page: the top bar, the lanes, the tabs below, the panel on the right. The state (state.js) says what
 * is selected and shown; when it changes, what depends on it is asked for and drawn anew. There is one
 * selection, and every tab shows it.
 */
import { Api, Refusal, isSuperseded } from "./api.js";
import { Colors, watchTheme } from "./colors.js";
import { Detail } from "./detail.js";
import { add, byId, el, emptyState, fill, sentence } from "./dom.js";
import { amount, count, date, moment, percent, time, withError } from "./format.js";
import { Lanes } from "./lanes.js";
import { visible } from "./names.js";
import { savePage } from "./save.js";
import { Store, changed, parseState } from "./state.js";
import { AroundTab } from "./tab_around.js";
import { DifferenceTab } from "./tab_difference.js";
import { FlameTab, swatch } from "./tab_flame.js";
import { FoldTab } from "./tab_fold.js";
import { FunctionsTab } from "./tab_functions.js";
import { HeapTab } from "./tab_heap.js";
import { LogTab } from "./tab_log.js";
import { RegionsTab } from "./tab_regions.js";
import { SourceTab } from "./tab_source.js";
import { WaitsTab } from "./tab_waits.js";

const LIVE_MS = 1000, LIVE_NS = 10e9, LANES_MS = 80;

/** Members of the state that the selection is made of, that the lanes show, and that change no tab. */
const SELECTION = ["recording", "metric", "from", "to", "threads"], LANES_SHOW = ["recording", "viewFrom", "viewTo", "unfold", "lanes"];
const NO_TAB = ["viewFrom", "viewTo", "unfold", "lanes", "live"];

/**
 * @typedef {object} Recording
 * @property {number} id
 * @property {number} run
 * @property {number} begin_unix_ns
 * @property {number} duration_ns
 * @property {string} target
 * @property {string} command
 * @property {number} samples
 * @property {number} lost
 * @property {boolean} live
 * @property {boolean} finished
 */

/** @typedef {{ element: HTMLElement, load: (state: import("./state.js").State) => Promise<void>, restyle: () => void }} Tab */

export class App {
	/** @param {import("./api.js").Embedded | null} embedded */
	constructor(embedded) {
		if (embedded && !location.hash && embedded.state)
			history.replaceState(null, "", embedded.state);
		this.embedded = embedded;
		this.store = new Store(window);
		/* The selection's questions are superseded by the next selection; those of the lanes are not. */
		this.api = new Api(embedded, (url, options) => fetch(url, options));
		this.steady = new Api(embedded, (url, options) => fetch(url, options));
		this.theme = watchTheme(window, () => this.restyle());
		this.colors = new Colors(this.theme.isDark());
		this.lanes = new Lanes(this.store, this.colors, (text, x, y) => this.tip(text, x, y));
		/** @type {Recording[]} */
		this.recordings = [];
		/** @type {any} */
		this.recording = null;
		this.storePath = "STORE";
		/** What a file compares with, if that is no recording of the same store. */
		this.base = "";
		/** @type {string[]} */
		this.parts = ["process", "thread", "command"];
		/** @type {Record<string, { title: string, make: () => Tab, tab?: Tab }>} */
		this.tabs = {
			flame: { title: "Flame", make: () => new FlameTab(this) }, functions: { title: "Functions", make: () => new FunctionsTab(this) },
			around: { title: "Callers & callees", make: () => new AroundTab(this) }, waits: { title: "Waits & wakers", make: () => new WaitsTab(this) },
			heap: { title: "Heap", make: () => new HeapTab(this) }, regions: { title: "Regions", make: () => new RegionsTab(this) },
			source: { title: "Source", make: () => new SourceTab(this) }, difference: { title: "Difference", make: () => new DifferenceTab(this) },
			fold: { title: "Fold", make: () => new FoldTab(this) }, log: { title: "Log", make: () => new LogTab(this) },
		};
		this.change = "";
		this.isBusy = false;
		this.loading = 0;
		this.lanesTimer = 0;
		/** Whether the user has chosen the height of the lanes. */
		this.isSplit = false;
		/** The recording that the lanes were asked for. */
		this.lanesOf = "";
		/** The last answer about the selection. @type {any} */
		this.answer = null;
		this.api.heard = answer => this.drawTotal(answer);
	}

	start() {
		fill(byId("lanes-room"), this.lanes.element);
		this.detail = new Detail(this, byId("detail"));
		this.drawTabs();
		this.listen();
		this.store.listen((state, what) => this.changed(state, what));
		this.drawState();
		/* The tab is asked for first: what the lanes ask for depends on their width, and so on a layout of the page. */
		void this.loadTab().then(() => { document.documentElement.dataset.ready = performance.now().toFixed(0); });
		void this.loadRecordings();
		void this.loadLanes();
		this.detail.load(this.store.state);
		if (!this.embedded)
			setInterval(() => void this.beat(), LIVE_MS);
	}

	/* --- what changes -------------------------------------------------------------------------- */

	/** @param {import("./state.js").State} state @param {Set<string>} what */
	changed(state, what) {
		const isSelection = SELECTION.some(key => what.has(key));
		if (isSelection)
			this.api.supersede();
		if (isSelection && this.embedded) { // the file may not have an answer about it
			this.answer = null;
			byId("total").textContent = "";
			this.drawQuality();
		}
		if (what.has("recording"))
			this.steady.supersede();
		if (what.has("recording") || what.has("metric"))
			void this.loadRecordings();
		if (LANES_SHOW.some(key => what.has(key))) {
			clearTimeout(this.lanesTimer);
			this.lanesTimer = window.setTimeout(() => void this.loadLanes(), LANES_MS);
		}
		if (this.lanes.data && (what.has("threads") || what.has("unfold")))
			this.lanes.drawNames();
		this.lanes.redraw();
		this.drawState();
		if (what.has("tab"))
			this.drawTabs();
		if ([...what].some(key => !NO_TAB.includes(key)))
			void this.loadTab();
		this.detail?.load(state);
	}

	async loadRecordings() {
		await this.guard(byId("quality"), async () => {
			const answer = await this.steady.ask("recordings", { recording: this.store.state.recording });
			this.recordings = answer.recordings;
			this.recording = answer.selected;
			this.storePath = answer.store;
			this.base = answer.base ?? "";
			this.store.show(String(answer.selected?.id || "")); // 0: there is one recording, which has no number
			this.parts = answer.selected?.parts ?? this.parts;
			this.drawTop();
			this.detail?.load(this.store.state);
			await this.loadTab(); // it may show what is known of the recording; answers are not asked for again
		});
	}

	async loadLanes() {
		const { state } = this.store;
		await this.guard(null, async () => {
			const question = { recording: state.recording, from: state.viewFrom, to: state.viewTo, width: this.lanes.columns, unfold: state.unfold, sort: state.lanes };
			const answer = await this.steady.ask("lanes", question).catch(error => {
				if (error instanceof Refusal && (this.lanesOf !== state.recording || !this.lanes.data)) {
					this.lanes.clear(error.message); // they are of another recording
					this.fitLanes();
					this.drawState();
				}
				throw error;
			});
			if (LANES_SHOW.some(key => changed(state, this.store.state).has(/** @type {any} */ (key))))
				return;
			this.lanesOf = state.recording;
			this.lanes.show(answer);
			this.fitLanes();
			this.detail?.load(this.store.state);
			this.drawState();
		});
	}

	/**
	 * Whether tabs show this state. What was asked for another one is not drawn, since what it asks for may be drawn already.
	 * @param {import("./state.js").State} state
	 */
	isShown(state) {
		return [...changed(state, this.store.state)].every(key => NO_TAB.includes(key));
	}

	async loadTab() {
		const { state } = this.store, entry = this.tabs[state.tab], panel = byId("panel");
		const tab = entry.tab ??= entry.make();
		if (panel.firstElementChild !== tab.element)
			fill(panel, tab.element);
		panel.setAttribute("aria-busy", "true");
		this.loading++;
		try {
			await this.guard(tab.element.querySelector(".content"), () => tab.load(state), () => this.isShown(state));
		} finally {
			if (!--this.loading)
				panel.removeAttribute("aria-busy");
		}
	}

	/**
	 * Runs what asks, and shows where it was to be drawn if the answer is a refusal.
	 * @param {Element | null} where
	 * @param {() => Promise<void>} ask
	 * @param {() => boolean} [isWanted] whether the answer is still wanted
	 */
	async guard(where, ask, isWanted = () => true) {
		try {
			await ask();
		} catch (error) {
			if (isSuperseded(error) || error instanceof Refusal && !isWanted())
				return;
			if (!(error instanceof Refusal))
				throw error;
			if (where)
				fill(where, emptyState(visible(error.message), visible(error.remedy)));
			else
				this.speak(error.message);
		}
	}

	/** Looks how far a live recording has come. */
	async beat() {
		if (this.isBusy || document.hidden || (this.recording && !this.recording.live && !this.store.state.live && this.change !== ""))
			return;
		this.isBusy = true;
		try {
			this.steady.known.clear();
			const live = await this.steady.ask("live", { recording: this.store.state.recording });
			const isNew = this.change !== "" && live.change !== this.change;
			this.change = live.change;
			byId("live").hidden = !live.live;
			if (this.recording)
				this.recording.live = live.live;
			if (isNew)
				await this.advance(live);
		} catch (error) {
			if (error instanceof Refusal && error.status === 0)
				this.speak(error.message);
		}
		this.isBusy = false;
	}

	/** Shows what was added. @param {{ end_ns: number }} live */
	async advance(live) {
		const { state } = this.store;
		await this.loadRecordings();
		if (state.live)
			this.store.set({ from: Math.max(0, live.end_ns - LIVE_NS), to: live.end_ns }, false);
		await this.loadLanes();
		if (!state.live && state.from === null) {
			this.api.supersede();
			await this.loadTab();
		}
	}

	/* --- what is drawn -------------------------------------------------------------------------- */

	/** @param {Recording} recording */
	recordingText(recording) {
		return `${recording.id}: ${visible(recording.target || recording.command, 60)}, ${date(recording.begin_unix_ns)}, ${time(recording.duration_ns)}`;
	}

	drawTop() {
		const { state } = this.store, shown = /** @type {HTMLSelectElement} */ (byId("recording")), metric = /** @type {HTMLSelectElement} */ (byId("metric"));
		const before = /** @type {HTMLSelectElement} */ (byId("before")), id = this.recording?.id;
		fill(shown, ...options(this.recordings, recording => this.recordingText(recording), String(id)));
		fill(before, el("option", { value: "" }, "nothing"), ...options(this.recordings, recording => this.recordingText(recording), state.before),
			this.base ? el("option", { value: "base", selected: state.before === "base" }, visible(this.base, 60)) : null);
		/** @type {{ name: string, text: string }[]} */
		const metrics = this.recording?.metrics ?? [];
		fill(metric, ...metrics.map(m => el("option", { value: m.name, title: m.text, selected: m.name === state.metric }, m.name)),
			metrics.some(m => m.name === state.metric) ? null : el("option", { value: state.metric, selected: true }, state.metric));
		const recording = this.recordings.find(r => r.id === id);
		this.drawQuality();
		document.title = (recording ? visible(recording.target || recording.command, 60) + " – " : "") + "stackd";
	}

	drawQuality() {
		const recording = this.recordings.find(r => r.id === this.recording?.id), { quality, samples } = this.answer ?? {};
		if (recording && quality) {
			const n = quality.complete + quality.reconstructed + quality.partial || 1, lost = quality.lost ?? recording.lost;
			fill(byId("quality"), el("b", {}, amount(samples, this.store.state.metric === "cpu" ? "samples" : "records")), ` · ${percent(quality.complete / n)} complete` +
				(quality.reconstructed ? `, ${percent(quality.reconstructed / n)} reconstructed` : "") + (quality.partial ? `, ${percent(quality.partial / n)} partial` : "") + " · ",
			el("span", { class: lost ? "warning" : "" }, lost ? `${count(lost)} lost` : "none lost"));
			const [host, , ...notes] = this.recording.header ?? [];
			add(byId("quality"), ...[this.answer.note, ...notes, host].filter(Boolean).map(text => " · " + visible(text, 400)));
		} else if (recording) {
			byId("quality").textContent = (this.recording.header ?? []).map((/** @type {string} */ line) => visible(line)).join(" · ");
		}
		if (recording && this.recording.chosen)
			add(byId("quality"), " · ", el("b", { id: "chosen" }, "a part: " + visible(this.recording.chosen, 200)));
		byId("quality").title = (this.recording?.header ?? []).map((/** @type {string} */ line) => visible(line)).join("\n");
	}

	/** The line that says what is selected. */
	drawState() {
		const { state } = this.store, { from, to, threads } = state, search = /** @type {HTMLInputElement} */ (byId("search"));
		if (document.activeElement !== search)
			search.value = state.search;
		const names = this.lanes.selected().map(lane => `${visible(lane.name, 40)} ${lane.tid ?? lane.pid}`);
		const all = from === null || to === null, where = names.length ? names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "") :
			threads.length ? threads.join(", ") : "all threads";
		fill(byId("selection"), el("span", {}, el("b", {}, all || from === null || to === null ? "All time" : `${moment(from, (to - from) / 100)} to ${moment(to, (to - from) / 100)} (${time(to - from)})`), ", ", where),
			all ? null : el("button", { class: "plain link", onclick: () => this.store.set({ from: null, to: null, live: false }) }, "All time"),
			all ? null : el("button", { class: "plain link", onclick: () => this.store.set({ viewFrom: from, viewTo: to }) }, "Zoom to it"),
			state.viewFrom === null ? null : el("button", { class: "plain link", onclick: () => this.store.set({ viewFrom: null, viewTo: null }) }, "Zoom out"),
			threads.length ? el("button", { class: "plain link", onclick: () => this.store.set({ threads: [] }) }, "All threads") : null);
		if (this.lanes.missing)
			fill(byId("selection"), el("span", { class: "dim" }, sentence(visible(this.lanes.missing, 200))));
		byId("live").setAttribute("aria-pressed", String(state.live));
		if (this.lanes.data)
			fill(byId("lane-legend"), ...this.lanes.legend().map(([color, text]) => swatch(color, text)));
	}

	/** @param {any} answer */
	drawTotal(answer) {
		if (!answer || typeof answer.total !== "number" || answer.metric === undefined)
			return;
		const { total, total_error: error, unit, period_ns: period, metric } = answer;
		if (answer.quality && metric === this.store.state.metric) {
			this.answer = answer;
			this.drawQuality();
		}
		byId("total").textContent = `${visible(metric)}: ${withError(total, error, unit)}` + (unit === "samples" && period ? ` (${time(total * period)})` : "");
	}

	drawTabs() {
		const { state } = this.store, bar = byId("tabs");
		if (!bar.firstChild)
			add(bar, ...Object.entries(this.tabs).map(([id, { title }]) => el("button", { role: "tab", id: "tab-" + id, "aria-controls": "panel", onclick: () => this.store.set({ tab: id }) }, title)));
		for (const id of Object.keys(this.tabs)) {
			byId("tab-" + id).setAttribute("aria-selected", String(id === state.tab));
			byId("tab-" + id).tabIndex = id === state.tab ? 0 : -1;
		}
		byId("panel").setAttribute("aria-labelledby", "tab-" + state.tab);
		byId("tab-" + state.tab).scrollIntoView?.({ block: "nearest", inline: "nearest" });
	}

	restyle() {
		this.colors.isDark = this.theme.isDark();
		this.lanes.redraw();
		this.drawState();
		const { tab } = this.tabs[this.store.state.tab];
		tab?.restyle();
	}

	/**
	 * Shows lines of text at the pointer; none: hides them. With coordinates below 0 they are only spoken.
	 * @param {string[]} text
	 * @param {number} x
	 * @param {number} y
	 */
	tip(text, x, y) {
		const tip = byId("tip");
		if (text.length && x < 0) {
			this.speak(text.filter(Boolean).join(", "));
			return;
		}
		tip.hidden = !text.length;
		if (!text.length)
			return;
		fill(tip, ...text.map((line, i) => el(i ? "div" : "b", {}, line)));
		const { offsetWidth: w, offsetHeight: h } = tip;
		tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 6)) + "px";
		tip.style.top = (y + 18 + h < innerHeight ? y + 18 : Math.max(4, y - h - 10)) + "px";
	}

	/** Says something to those who hear the page. @param {string} text */
	speak(text) {
		byId("spoken").textContent = text;
	}

	/* --- what is known of the recording ----------------------------------------------------------- */

	/** Whether the recording has no metric whose name begins so. @param {string} prefix */
	lacks(prefix) {
		/** @type {{ name: string }[] | undefined} */
		const metrics = this.recording?.metrics;
		return Boolean(metrics && !metrics.some(m => m.name.startsWith(prefix) || prefix === "alloc" && m.name.startsWith("heap")));
	}

	/**
	 * What to say where the selection has nothing.
	 * @param {import("./state.js").State} state
	 * @returns {[string, string]}
	 */
	nothing(state) {
		const options = { wait: "--wait", alloc: "--alloc", heap: "--alloc", region: "--region FUNCTION", mpi: "--mpi" };
		const option = Object.entries(options).find(([prefix]) => state.metric.startsWith(prefix))?.[1];
		if (option && this.lacks(state.metric.split(".")[0]))
			return [`This recording has no ${state.metric}.`, `Record with: sudo stackd ${option} …`];
		return state.from !== null || state.threads.length ? ["Nothing in the selection.", "Choose a wider range of time, or all threads."] :
			["This recording has no samples" + (state.metric === "cpu" ? "." : ` of ${state.metric}.`), "A thread is sampled while it is on a CPU; record for longer, or with a higher frequency (-F)."];
	}

	/* --- the top bar, keys ---------------------------------------------------------------------- */

	listen() {
		const on = (/** @type {string} */ id, /** @type {string} */ event, /** @type {(value: string) => void} */ then) =>
			byId(id).addEventListener(event, e => then(/** @type {HTMLInputElement} */ (e.target).value));
		on("recording", "change", value => this.store.set({ recording: value, from: null, to: null, viewFrom: null, viewTo: null, threads: [], unfold: [], live: false }));
		on("metric", "change", value => this.store.set({ metric: value }));
		on("before", "change", value => this.store.set({ before: value, beforeFrom: null, beforeTo: null, ...value ? { tab: "difference" } : {} }));
		on("search", "input", value => this.store.set({ search: value }, false));
		on("theme", "click", () => this.theme.turn());
		on("save", "click", () => void this.save());
		on("help", "click", () => /** @type {HTMLDialogElement} */ (byId("keys")).showModal());
		on("live", "click", () => this.store.set({ live: !this.store.state.live, ...this.store.state.live ? { from: null, to: null } : {} }));
		on("hide-detail", "click", () => this.hideDetail());
		byId("save").hidden = Boolean(this.embedded);
		byId("tabs").addEventListener("keydown", event => this.tabKey(event));
		document.addEventListener("keydown", event => this.key(event));
		this.listenSplitter();
	}

	hideDetail() {
		const isHidden = document.body.classList.toggle("no-detail");
		byId("hide-detail").setAttribute("aria-expanded", String(!isHidden));
	}

	/** Gives the lanes no more height than they need, until the user has chosen one. */
	fitLanes() {
		const room = byId("lanes-room");
		document.body.classList.toggle("no-lanes", Boolean(this.lanes.missing));
		if (!this.isSplit)
			room.style.maxHeight = Math.max(60, this.lanes.height) + "px";
		byId("splitter").setAttribute("aria-valuenow", String(room.clientHeight));
	}

	listenSplitter() {
		const splitter = byId("splitter"), room = byId("lanes-room");
		const set = (/** @type {number} */ px) => {
			const height = Math.round(Math.max(60, Math.min(innerHeight * 0.7, px)));
			this.isSplit = true;
			room.style.maxHeight = "70vh";
			room.style.height = height + "px";
			splitter.setAttribute("aria-valuenow", String(height));
		};
		splitter.addEventListener("pointerdown", event => splitter.setPointerCapture(event.pointerId));
		splitter.addEventListener("pointermove", event => {
			if (splitter.hasPointerCapture(event.pointerId))
				set(event.clientY - room.getBoundingClientRect().top);
		});
		splitter.addEventListener("keydown", event => {
			if (event.key !== "ArrowUp" && event.key !== "ArrowDown")
				return;
			set(room.clientHeight + (event.key === "ArrowUp" ? -24 : 24));
			event.preventDefault();
			event.stopPropagation();
		});
	}

	async save() {
		this.speak("Saving");
		await this.guard(null, async () => {
			const size = await savePage(this);
			this.speak("Saved: " + amount(size, "bytes"));
		});
	}

	/** @param {KeyboardEvent} event */
	tabKey(event) {
		const ids = Object.keys(this.tabs), at = ids.indexOf(this.store.state.tab), last = ids.length - 1;
		/** @type {Record<string, number>} */
		const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at ? at - 1 : last, Home: 0, End: last };
		if (!Object.hasOwn(to, event.key))
			return;
		this.store.set({ tab: ids[to[event.key]] });
		byId("tab-" + this.store.state.tab).focus();
		event.preventDefault();
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const { target } = event, isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
		const search = /** @type {HTMLInputElement} */ (byId("search"));
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (target === search && (event.key === "Enter" || event.key === "Escape")) {
			if (event.key === "Escape")
				this.store.set({ search: "" }, false);
			search.value = this.store.state.search;
			/** @type {HTMLElement | null} */ (document.querySelector("#panel [tabindex='0']"))?.focus();
			return;
		}
		if (isTyping)
			return;
		if (event.key === "/")
			search.select();
		else if (event.key === "?")
			/** @type {HTMLDialogElement} */ (byId("keys")).showModal();
		else if (event.key === "l")
			this.lanes.canvas.focus();
		else if (/^[0-9]$/.test(event.key) && !(event.key === "0" && target instanceof HTMLElement && target.id === "scroll"))
			this.store.set({ tab: Object.keys(this.tabs)[(Number(event.key) + 9) % 10] });
		else
			return;
		event.preventDefault();
	}
}

/**
 * Recordings as options of a list: windows of one run are a group.
 * @param {Recording[]} recordings
 * @param {(recording: Recording) => string} text
 * @param {string} selected
 */
function options(recordings, text, selected) {
	/** @type {Map<number, Recording[]>} */
	const runs = new Map();
	for (const recording of recordings.slice().reverse())
		runs.set(recording.run || -recording.id, [...runs.get(recording.run || -recording.id) ?? [], recording]);
	const one = (/** @type {Recording} */ r) => el("option", { value: r.id, selected: String(r.id) === selected }, text(r));
	return [...runs.values()].map(run => run.length === 1 ? one(run[0]) :
		el("optgroup", { label: `A run from ${date(run[run.length - 1].begin_unix_ns)} on` }, ...run.map(one)));
}

/** Starts the page. */
function start() {
	const text = document.getElementById("data")?.textContent?.trim() ?? "null", embedded = text.startsWith("{") ? JSON.parse(text) : null;
	const app = new App(embedded);
	Object.assign(window, { stackd: { app, parseState } }); // for programs that look at the page
	app.start();
}

/* For modules' tests there is no page. */
if (typeof document !== "undefined")
	start();

