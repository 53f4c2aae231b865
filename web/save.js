// SPDX-License-Identifier: MIT
/*
 * "Save as one file": the page itself with the answers for the present selection in it. Such a file is opened
 * without a server, and asks for nothing.
 */
import { questionOf, Refusal, isSuperseded, selectionOf } from "./api.js";
import { formatState } from "./state.js";
import { PER, differenceQuestion, hasBase, isOfOtherThreads } from "./tab_difference.js";
import { treeQuestion } from "./tab_flame.js";

export const MOST_BYTES = 1000000;

/** The share of the smallest frames of what is not shown first. */
const COARSE = 0.002;

/* Written so that this file does not contain the mark: the page has it once. */
const MARK_OF_DATA = ["@", "DATA", "@"].join("");

/**
 * The questions whose answers are saved, the most important first.
 * @param {import("./state.js").State} state
 * @param {number} columns of the lanes
 * @param {number} [end] the recording's length
 * @returns {[string, import("./api.js").Parameters][]}
 */
export function questionsOf(state, columns, end) {
	const selection = selectionOf(state), { metric: _, ...times } = selection;
	/** @type {[string, import("./api.js").Parameters][]} */
	const list = [["recordings", { recording: state.recording }], ["tree", treeQuestion(state)],
		["lanes", { recording: state.recording, from: state.viewFrom, to: state.viewTo, width: columns, unfold: state.unfold, sort: state.lanes }],
		["functions", { ...selection, limit: 2000 }], ["log", { recording: state.recording }]];
	if (state.direction === "callers")
		list.push(["tree", treeQuestion({ ...state, direction: "down" })]);
	if (state.focus)
		list.push(["around", { ...selection, function: state.focus, object: state.object }], ["annotate", { ...selection, function: state.focus, object: state.object }]);
	list.push(["wakers", times], ["heap", times], ["regions", times]);
	if (hasBase(state) && !isOfOtherThreads(state))
		for (const per of [state.per, ...PER.filter(other => other !== state.per)])
			list.push(["difference", { ...differenceQuestion({ ...state, per }, end), ...per === state.per ? {} : { minimum: COARSE } }]);
	if (state.region)
		list.push(["fold", { ...times, region: state.region }]);
	return list;
}

/** Data that can stand in a script element. @param {unknown} data */
export const scriptText = data => JSON.stringify(data).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");

/**
 * Returns the file's text: the page with as many answers as fit.
 * @param {string} page with the mark where its data goes, once
 * @param {import("./state.js").State} state
 * @param {[string, unknown][]} answers
 * @param {number} [most]
 */
export function assemble(page, state, answers, most = MOST_BYTES) {
	/** @type {Record<string, unknown>} */
	const kept = {};
	let room = most - new TextEncoder().encode(page).length - 1000;
	for (const [question, answer] of answers) {
		const size = new TextEncoder().encode(scriptText(answer)).length + question.length + 8;
		if (size > room && Object.keys(kept).length > 1)
			continue;
		room -= size;
		kept[question] = answer;
	}
	const data = scriptText({ version: 1, state: "#" + formatState({ ...state, live: false }), answers: kept });
	return page.split(MARK_OF_DATA).join(data);
}

/**
 * Asks for what is to be saved; what is refused (a recording without waits) is not in the file. The file is about the
 * recording that is shown, also if that was the latest.
 * @param {import("./app.js").App} app
 */
export async function savePage(app) {
	const { recording } = app, state = { ...app.store.state, recording: app.store.state.recording || app.store.latest };
	const response = await fetch("one-file.html", { cache: "no-store" });
	if (!response.ok)
		throw new Refusal(response.status, "The page cannot be read.");
	/** @type {[string, unknown][]} */
	const answers = [];
	for (const [name, parameters] of questionsOf(state, app.lanes.columns, recording?.end_ns)) {
		try {
			answers.push([questionOf(name, parameters), await app.api.ask(name, parameters)]);
		} catch (error) {
			if (isSuperseded(error) || !(error instanceof Refusal) || error.status === 0)
				throw error;
		}
	}
	const blob = new Blob([assemble(await response.text(), state, answers)], { type: "text/html" }), url = URL.createObjectURL(blob);
	const link = document.createElement("a");
	link.href = url;
	link.download = `stackd-recording-${recording?.id ?? ""}-${state.metric}.html`;
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
	return blob.size;
}
