// SPDX-License-Identifier: MIT
/*
 * Questions to the server, or to the data in a saved file (docs/WEB.md). A question that the selection has
 * made useless is dropped here, and stopped in the server by its generation.
 */

/** Parameters that say how much of an answer is shown, and not what it is about. */
const HOW_MUCH = ["width", "limit", "minimum", "sort", "unfold"];

/** A question that was not answered: what is wrong, and what to do about it. */
export class Refusal extends Error {
	/**
	 * @param {number} status 0: the server does not answer
	 * @param {string} message
	 * @param {string} [remedy]
	 */
	constructor(status, message, remedy = "") {
		super(message);
		this.status = status;
		this.remedy = remedy;
	}
}

/** @typedef {Record<string, string | number | string[] | null | undefined>} Parameters */
/** @typedef {{ version: number, state: string, answers: Record<string, unknown> }} Embedded */

/**
 * The question's text: its parameters sorted by name, then value. Null, undefined and "" are left out.
 * @param {string} name
 * @param {Parameters} parameters
 */
export function questionOf(name, parameters) {
	/** @type {[string, string][]} */
	const list = [];
	for (const [key, value] of Object.entries(parameters))
		for (const one of Array.isArray(value) ? value : [value])
			if (one !== null && one !== undefined && one !== "")
				list.push([key, String(one)]);
	list.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0);
	return name + (list.length ? "?" : "") + list.map(([key, value]) => key + "=" + encodeURIComponent(value)).join("&");
}

/**
 * The answer in a saved file: of the very question, or of one that asks for the same and differs in how much is
 * shown; else undefined. A question that names no recording is about that of the file.
 * @param {Record<string, unknown>} answers
 * @param {string} question
 */
export function embeddedAnswer(answers, question) {
	if (Object.hasOwn(answers, question))
		return answers[question];
	const isOfFile = !/[?&]recording=/.test(question);
	const subject = (/** @type {string} */ text) => text.split(/[?&]/).filter(part => {
		const [key] = part.split("=");
		return !(HOW_MUCH.includes(key) || isOfFile && key === "recording");
	}).join("&");
	const wanted = subject(question), found = Object.keys(answers).find(key => subject(key) === wanted);
	return found === undefined ? undefined : answers[found];
}

export class Api {
	/**
	 * @param {Embedded | null} embedded
	 * @param {typeof fetch} fetcher
	 */
	constructor(embedded, fetcher) {
		this.embedded = embedded;
		this.fetcher = fetcher;
		this.viewer = Array.from(crypto.getRandomValues(new Uint8Array(12)), n => n.toString(16).padStart(2, "0")).join("");
		this.generation = 0;
		this.aborter = new AbortController();
		/** Called with each answer. @type {(answer: any) => void} */
		this.heard = () => {};
		/** @type {Map<string, Promise<unknown>>} */
		this.known = new Map();
	}

	/** The selection has changed: what was asked before is not wanted any more. */
	supersede() {
		this.generation++;
		this.aborter.abort();
		this.aborter = new AbortController();
		this.known.clear();
	}

	/**
	 * Asks, or takes the answer that the same question had since the last change. Rejects with a Refusal, or with an
	 * AbortError after supersede().
	 * @param {string} name
	 * @param {Parameters} [parameters]
	 * @returns {Promise<any>}
	 */
	ask(name, parameters = {}) {
		const question = questionOf(name, parameters);
		let answer = this.known.get(question);
		if (!answer) {
			answer = this.embedded ? this.look(question) : this.fetch(question);
			this.known.set(question, answer);
			answer.then(this.heard, () => this.known.delete(question));
		}
		return answer;
	}

	/** @param {string} question */
	async look(question) {
		const answer = embeddedAnswer(/** @type {Embedded} */ (this.embedded).answers, question);
		if (answer === undefined)
			throw new Refusal(404, "This is not in this file.", "Open the recording with 'stackctl web' to see it.");
		return answer;
	}

	/** @param {string} question */
	async fetch(question) {
		const { signal } = this.aborter;
		let response;
		try {
			response = await this.fetcher("api/" + question, { signal, cache: "no-store",
				headers: { "Stackd-Viewer": this.viewer, "Stackd-Generation": String(this.generation) } });
		} catch (error) {
			if (signal.aborted)
				throw error;
			throw new Refusal(0, "'stackctl web' does not answer.", "Start it again, and open the link that it prints.");
		}
		if (response.ok)
			return response.json();
		if (response.status === 403)
			throw new Refusal(403, "'stackctl web' does not accept this page's link.", "Open the link that it prints.");
		const said = await response.json().catch(() => ({}));
		throw new Refusal(response.status, String(said.error ?? "The question failed."), String(said.remedy ?? ""));
	}
}

/** Whether an error only says that the answer is not wanted any more. @param {unknown} error */
export const isSuperseded = error => error instanceof Refusal ? error.status === 409 :
	error instanceof DOMException && error.name === "AbortError";

/**
 * The parameters of the selection.
 * @param {import("./state.js").State} state
 * @returns {Parameters}
 */
export const selectionOf = state => ({
	recording: state.recording, metric: state.metric, from: state.from, to: state.to, threads: state.threads,
});
