// SPDX-License-Identifier: MIT
/*
 * The state of the page: what is selected and shown. It is in the address's fragment, so a link shows
 * what its sender saw, and Back goes back. parseState() and formatState() are each other's inverse;
 * what is at its default is not written.
 */

/**
 * @typedef {object} State
 * @property {string} recording     its number; "": the latest
 * @property {string} metric
 * @property {string} tab
 * @property {number | null} from   nanoseconds since the recording's start; null: the whole
 * @property {number | null} to
 * @property {number | null} viewFrom  the time that the lanes show; null: the whole
 * @property {number | null} viewTo
 * @property {string[]} threads     the lanes that are selected, by their ids; none: all
 * @property {string[]} unfold      pools and processes whose threads have lanes of their own
 * @property {string} by            the frames next to the top: process, thread, command ...; "": none
 * @property {string} focus         a function, for callers & callees and source
 * @property {string} object        the object of that function
 * @property {string} zoom          the hash of the path of the frame that the flame graph is zoomed to
 * @property {"down" | "callers"} direction
 * @property {string} search
 * @property {string} filter        of the table of functions
 * @property {string} sort          the column that tables are sorted by
 * @property {string} before        the recording to compare with; "": none
 * @property {number | null} beforeFrom
 * @property {number | null} beforeTo
 * @property {string} per           how differences are compared: amount, second or share
 * @property {string} lanes         the order of lanes: time or name
 * @property {string} region        the region that is folded
 * @property {string} colors        by kind or by object
 * @property {boolean} bottom       the root of flame graphs is at the bottom
 * @property {boolean} live         the last seconds are selected, and move on
 */

/** @type {State} */
export const DEFAULTS = Object.freeze({
	recording: "", metric: "cpu", tab: "flame", from: null, to: null, viewFrom: null, viewTo: null, threads: [],
	unfold: [], by: "", focus: "", object: "", zoom: "", direction: "down", search: "", filter: "", sort: "",
	before: "", beforeFrom: null, beforeTo: null, per: "amount", lanes: "time", region: "", colors: "kind", bottom: false, live: false,
});

export const TABS = ["flame", "functions", "around", "waits", "heap", "regions", "source", "difference", "fold", "log"];

const LANE_ID = /^(?:[tp]\d+|g\d+:.{1,256})$/;

/**
 * @param {string} text
 * @returns {number | null}
 */
function nanoseconds(text) {
	const n = Math.round(Number(text));
	return text !== "" && Number.isFinite(n) && n >= 0 ? n : null;
}

/**
 * Reads a fragment. What is malformed or unknown is left at its default.
 * @param {string} fragment with or without "#"
 * @returns {State}
 */
export function parseState(fragment) {
	const given = new URLSearchParams(fragment.replace(/^#/, ""));
	/** @type {Record<string, unknown>} */
	const state = { ...DEFAULTS };
	for (const [key, value] of given) {
		if (!Object.hasOwn(DEFAULTS, key))
			continue;
		const like = DEFAULTS[/** @type {keyof State} */ (key)];
		if (Array.isArray(like))
			state[key] = given.getAll(key).filter(id => LANE_ID.test(id));
		else if (like === null)
			state[key] = nanoseconds(value);
		else if (typeof like === "boolean")
			state[key] = value === "1";
		else
			state[key] = value;
	}
	const s = /** @type {State} */ (/** @type {unknown} */ (state));
	if (!TABS.includes(s.tab))
		s.tab = DEFAULTS.tab;
	if (s.direction !== "callers")
		s.direction = "down";
	if (s.from === null || s.to === null || s.to <= s.from)
		s.from = s.to = null;
	if (s.viewFrom === null || s.viewTo === null || s.viewTo <= s.viewFrom)
		s.viewFrom = s.viewTo = null;
	if (s.beforeFrom === null || s.beforeTo === null || s.beforeTo <= s.beforeFrom)
		s.beforeFrom = s.beforeTo = null;
	return s;
}

/**
 * @param {State} state
 * @returns {string} without "#"; "" if all is at its default
 */
export function formatState(state) {
	const out = new URLSearchParams();
	for (const key of /** @type {(keyof State)[]} */ (Object.keys(DEFAULTS))) {
		const value = state[key];
		if (Array.isArray(value))
			value.forEach(id => out.append(key, id));
		else if (value !== DEFAULTS[key] && value !== null)
			out.set(key, value === true ? "1" : String(value));
	}
	return out.toString();
}

/**
 * Whether a state is about one recording: numbers of threads, times and a base mean nothing in another. Live times
 * are chosen anew when a new recording begins.
 * @param {State} state
 */
const isOfOneRecording = state => state.threads.length > 0 || state.from !== null && !state.live || state.before !== "" || state.beforeFrom !== null;

/**
 * The names of the members that differ.
 * @param {State} a
 * @param {State} b
 */
export function changed(a, b) {
	return new Set(/** @type {(keyof State)[]} */ (Object.keys(DEFAULTS)).filter(key =>
		String(a[key]) !== String(b[key])));
}

/** Keeps the state, and calls those who listen when it changes. */
export class Store {
	/** @param {Window & typeof globalThis} window */
	constructor(window) {
		this.window = window;
		this.state = parseState(window.location.hash);
		/** The recording that is shown as the latest; "": not known yet. */
		this.latest = "";
		/** @type {((state: State, what: Set<keyof State>) => void)[]} */
		this.listeners = [];
		window.addEventListener("popstate", () => this.take(parseState(window.location.hash)));
		window.addEventListener("hashchange", () => this.take(parseState(window.location.hash)));
	}

	/**
	 * Says which recording is shown. If the state is about one, that is now this one, and not the latest any more.
	 * @param {string} recording
	 */
	show(recording) {
		this.latest = recording;
		this.set({}, false);
	}

	/** @param {(state: State, what: Set<keyof State>) => void} listener */
	listen(listener) {
		this.listeners.push(listener);
	}

	/** @param {State} next */
	take(next) {
		const what = changed(this.state, next);
		if (!what.size)
			return;
		this.state = next;
		for (const listener of this.listeners)
			listener(next, what);
	}

	/**
	 * Changes some members. `isStep`: Back leads to the state before; without, the entry in the history is
	 * replaced (typing, live ranges).
	 * @param {Partial<State>} some
	 * @param {boolean} [isStep]
	 */
	set(some, isStep = true) {
		const next = parseState(formatState({ ...this.state, ...some }));
		if (!next.recording && isOfOneRecording(next))
			next.recording = this.latest;
		if (!changed(this.state, next).size)
			return;
		const { location, history } = this.window, hash = formatState(next);
		const url = location.pathname + location.search + (hash ? "#" + hash : "");
		if (isStep)
			history.pushState(null, "", url);
		else
			history.replaceState(null, "", url);
		this.take(next);
	}
}
