// SPDX-License-Identifier: MIT
/*
 * Numbers, times and shares as text. An amount has the unit of its metric; of samples, the number of
 * samples. A value is rounded to what its error leaves meaningful, never to nothing.
 */

/** @param {number} x */
export const count = x => Math.round(x).toLocaleString("en");

const TIMES = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
const BYTES = [["B", 1], ["KiB", 1024], ["MiB", 1 << 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]];

/**
 * @param {number} x
 * @param {(string | number)[][]} scales
 */
function scaled(x, scales) {
	let i = 0;
	while (i < scales.length - 1 && Math.abs(x) >= Number(scales[i + 1][1]))
		i++;
	const value = x / Number(scales[i][1]);
	const digits = Math.abs(value) >= 100 || i === 0 && Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
	return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }) + " " + scales[i][0];
}

/** A duration. @param {number} ns */
export const time = ns => scaled(ns, TIMES);

/** A size. @param {number} n */
export const bytes = n => scaled(n, BYTES);

/**
 * A point in time, in seconds since the recording's start, as precise as `step` requires.
 * @param {number} ns
 * @param {number} [step] nanoseconds
 */
export function moment(ns, step = 1e6) {
	const digits = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(Math.max(step, 1)))));
	return (ns / 1e9).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }) + " s";
}

/**
 * A noun as it is behind a number: "sample" behind 1, else "samples".
 * @param {number} x
 * @param {string} noun in the plural
 */
export function plural(x, noun) {
	return x === 1 && noun.endsWith("s") ? noun.slice(0, -1) : noun;
}

/**
 * An amount in the unit of a metric.
 * @param {number} x
 * @param {string} unit "ns", "bytes", "samples", or the noun of what is counted; of a rate, with " a second" behind
 */
export function amount(x, unit) {
	if (/^(?:ns|bytes)(?: a second)?$/.test(unit))
		return plain(x, unit);
	const noun = unit || "samples";
	return plain(x, unit) + " " + plural(x, noun);
}

/**
 * The same without the noun, for columns and axes. Amounts by the second, or shares, are fractions.
 * @param {number} x
 * @param {string} unit
 * @returns {string}
 */
export function plain(x, unit) {
	if (unit === "ns")
		return time(x);
	if (unit === "bytes")
		return bytes(x);
	if (unit === "ns a second" || unit === "bytes a second")
		return plain(x, unit.split(" ")[0]) + "/s";
	return Number.isInteger(x) || Math.abs(x) >= 1000 ? count(x) : String(+x.toPrecision(3));
}

/**
 * An amount with its standard error, as text: `980 ± 31 samples`.
 * @param {number} x
 * @param {number | null | undefined} error
 * @param {string} unit
 */
export const withError = (x, error, unit) => error ? `${plain(x, unit)} ± ${amount(+error.toPrecision(2), unit)}` : amount(x, unit);

/** A share as percent. @param {number} x from 0 to 1 */
export function percent(x) {
	const p = 100 * x;
	if (!Number.isFinite(p))
		return "–";
	return p > 0 && p < 0.01 ? "<0.01 %" : p.toFixed(p < 10 ? 2 : 1) + " %";
}

/** With its sign. @param {number} x @param {string} unit */
export const signed = (x, unit) => (x < 0 ? "−" : x ? "+" : "") + plain(Math.abs(x), unit);

const PREFIXES = ["", "k", "M", "G", "T"];
/** A number with a prefix, for axes. @param {number} x */
export function prefixed(x) {
	let i = 0;
	while (Math.abs(x) >= 1000 && i < PREFIXES.length - 1) {
		x /= 1000;
		i++;
	}
	return +x.toPrecision(3) + (PREFIXES[i] && " " + PREFIXES[i]);
}

/**
 * Returns round values from `from` to `to`, about `wanted` of them.
 * @param {number} from
 * @param {number} to
 * @param {number} wanted
 */
export function ticks(from, to, wanted) {
	const rough = (to - from) / Math.max(wanted, 1);
	if (!(rough > 0))
		return { step: 1, values: [from] };
	const unit = 10 ** Math.floor(Math.log10(rough));
	const step = ([1, 2, 5, 10].find(n => n * unit >= rough) ?? 10) * unit, values = [];
	for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++)
		values.push(i * step + 0);
	return { step, values };
}

/**
 * The date and time of day.
 * @param {number} unixNs
 */
export function date(unixNs) {
	const d = new Date(unixNs / 1e6), two = (/** @type {number} */ n) => String(n).padStart(2, "0");
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}
