// SPDX-License-Identifier: MIT
/*
 * The lanes' answer, decoded, and the arithmetic between time and pixels. Shares of a column are digits to
 * base 64, states are runs (docs/WEB.md).
 */

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
const VALUE = new Int8Array(128).fill(-1);
for (let i = 0; i < DIGITS.length; i++)
	VALUE[DIGITS.charCodeAt(i)] = i;

/**
 * Returns the shares, from 0 to 1, of a text of digits; what is none of the digits counts as 0.
 * @param {string} text
 */
export function decodeShares(text) {
	const out = new Float32Array(text.length);
	for (let i = 0; i < text.length; i++)
		out[i] = Math.max(0, VALUE[text.charCodeAt(i)] ?? 0) / 63;
	return out;
}

/**
 * Returns the runs of `STATE*COLUMNS STATE*COLUMNS ...` as [state, first column, end column]; those of state
 * 0 (nothing is known) are left out.
 * @param {string} text
 * @returns {[number, number, number][]}
 */
export function decodeRuns(text) {
	/** @type {[number, number, number][]} */
	const runs = [];
	let at = 0;
	for (const part of (text || "").split(" ")) {
		const [state, columns = "1"] = part.split("*"), n = Number(columns);
		if (!part || !(n > 0))
			continue;
		if (Number(state))
			runs.push([Number(state), at, at + n]);
		at += n;
	}
	return runs;
}

/** Time on the x axis. */
export class Axis {
	/**
	 * @param {number} from
	 * @param {number} to
	 * @param {number} width pixels
	 */
	constructor(from, to, width) {
		this.from = from;
		this.to = Math.max(to, from + 1);
		this.width = Math.max(width, 1);
	}

	/** @param {number} ns */
	pixel(ns) {
		return (ns - this.from) / (this.to - this.from) * this.width;
	}

	/** @param {number} pixel */
	time(pixel) {
		return this.from + pixel / this.width * (this.to - this.from);
	}
}

/**
 * Returns [from, to] of a view that is zoomed by `factor` around `at`, within [begin, end] and of at least
 * `least` nanoseconds.
 * @param {{ from: number, to: number }} view
 * @param {number} at
 * @param {number} factor below 1: closer
 * @param {number} begin
 * @param {number} end
 * @returns {[number, number]}
 */
export function zoomed(view, at, factor, begin, end, least = 10000) {
	const length = Math.min(end - begin, Math.max(least, (view.to - view.from) * factor));
	const share = (at - view.from) / (view.to - view.from);
	return within(at - share * length, length, begin, end);
}

/**
 * Returns [from, to] of a view of some length that begins at `from`, moved into [begin, end].
 * @param {number} from
 * @param {number} length
 * @param {number} begin
 * @param {number} end
 * @returns {[number, number]}
 */
export function within(from, length, begin, end) {
	const at = Math.max(begin, Math.min(from, end - length));
	return [Math.round(at), Math.round(Math.min(end, at + length))];
}

/**
 * Says how the selected lanes change when one is clicked: alone, or (`isMore`) in addition or no more.
 * @param {string[]} selected
 * @param {string} id
 * @param {boolean} isMore
 */
export function toggled(selected, id, isMore) {
	const is = selected.includes(id);
	if (isMore)
		return is ? selected.filter(other => other !== id) : [...selected, id];
	return is && selected.length === 1 ? [] : [id];
}
