// SPDX-License-Identifier: MIT
/*
 * The command line that shows in a terminal what the page shows. Options select the threads that all of them
 * match, so not every choice of lanes can be said: then a comment says so.
 */
import { DEFAULTS } from "./state.js";

/** Quotes a word for a shell, where that is needed. @param {string} word */
export const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";

/** Seconds, as --from and --to take them. @param {number} ns */
const seconds = ns => String(+(ns / 1e9).toFixed(9));

/** The filters' options for the selection. @param {import("./state.js").State} state @param {Lane[]} lanes */
function filters(state, lanes) {
	const words = [];
	if (state.metric !== DEFAULTS.metric && !["heap", "regions", "waits", "fold"].includes(state.tab))
		words.push("--metric", state.metric);
	if (state.from !== null && state.to !== null)
		words.push("--from", seconds(state.from), "--to", seconds(state.to));
	return [...words, ...laneFilters(lanes) ?? []];
}

/**
 * The options for the selected lanes; null: there are none that select just these. A pool's name is the pattern of its
 * threads' names.
 * @param {Lane[]} lanes
 * @returns {string[] | null}
 */
function laneFilters(lanes) {
	const whole = lanes.filter(lane => lane.id[0] === "p").map(lane => lane.pid), rest = lanes.filter(lane => !whole.includes(lane.pid));
	const tids = rest.filter(lane => lane.tid !== undefined).map(lane => lane.tid), pools = rest.filter(lane => lane.tid === undefined);
	if (Number(whole.length > 0) + Number(tids.length > 0) + Number(pools.length > 0) > 1 || new Set(pools.map(lane => lane.pid)).size > 1)
		return null;
	if (pools.length)
		return ["--pid", String(pools[0].pid), ...pools.flatMap(lane => ["--comm", lane.id.slice(lane.id.indexOf(":") + 1)])];
	return tids.length ? ["--tid", tids.join(",")] : whole.length ? ["--pid", [...new Set(whole)].join(",")] : [];
}

/**
 * A comment for what the options of lanes cannot say. Where a pool's name has a star, it has digits; to the option,
 * the star is any letters.
 * @param {Lane[]} lanes
 */
function note(lanes) {
	const words = laneFilters(lanes);
	if (!words)
		return " # of all threads: no options select just these lanes";
	return words.includes("--comm") ? " # and all threads of the process whose names match" : "";
}

/**
 * @typedef {{ id: string, pid: number, tid?: number }} Lane
 * @param {import("./state.js").State} state
 * @param {string} store the store's path
 * @param {Lane[]} lanes those that are selected
 * @param {string} [made] the command that has chosen what the file is about; "": nothing is chosen
 */
export function commandOf(state, store, lanes, made = "") {
	if (made)
		return made;
	const words = ["stackctl", ...verbOf(state)], recording = state.recording ? "@" + state.recording : "";
	if (state.tab === "difference")
		words.push(store + (state.before ? "@" + state.before : ""), store + recording);
	else
		words.push("-i", store, ...state.recording ? ["--recording", state.recording] : []);
	if (state.tab !== "log")
		words.push(...filters(state, lanes));
	return words.map(quoted).join(" ") + (state.tab === "log" ? "" : note(lanes));
}

/** @param {import("./state.js").State} state */
function verbOf(state) {
	switch (state.tab) {
	case "functions": return ["report", "--view", "flat", "--by", "all"];
	case "around": return ["report", "--around", state.focus || "FUNCTION"];
	case "waits": return ["report", "--view", "wakers"];
	case "heap": return ["heap"];
	case "regions": return ["report", "--view", "regions"];
	case "source": return ["annotate", state.focus || "FUNCTION"];
	case "difference": return ["diff"];
	case "fold": return ["fold", "--region", state.region || "FUNCTION"];
	case "log": return ["stats"];
	default: return state.direction === "callers" ? ["report", "--view", "callers"] : ["report"];
	}
}
