// SPDX-License-Identifier: MIT
/*
 * Names of functions as the page shows them.
 *
 * A demangled name says more than fits into a frame: return type, template arguments, parameters.
 * shortName() leaves these out, so that `std::enable_if<true, int>::type ns::f<int>(int) const` is
 * `ns::f‹…›`; the full name is shown on hover and in the details. What it cannot read (a bracket that
 * is never closed, names of other languages) it leaves as it is: a name is never made up.
 *
 * Names come from the programs that were recorded, so they can be hostile. visible() makes characters
 * that change the direction of text, or that nobody can see, readable, and bounds the length.
 */

const CLOSING = { "<": ">", "(": ")", "[": "]", "{": "}" };
const OPERATOR = /^operator(?: ?(?:\(\)|\[\]|<=>|<<=|>>=|->\*|->|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%^&|]=|[-+*/%^&|~!=<>,])| (?:new|delete)(?:\[\])?|"" ?\w+| [^(<]+)/;
const SUFFIX = /(?: \([^()]*\.\w+\)| \[[^\]]*\])+$/;
const QUALIFIER = /^ (?:const|volatile|noexcept)\b|^ &&?/;
const RUST_HASH = /::h[0-9a-f]{16}$/;
const CLONE = / \[clone \.(?:isra|constprop|part|lto_priv)\.\d+\]|\.(?:isra|constprop|part|lto_priv|llvm)\.\d+/g;
const LONGEST = 4096;

/* Kinds of functions whose names come from no demangler: what is in brackets is a part of the name. */
const MANAGED = ["python", "ruby", "php", "perl", "erlang", "java", "javascript", "managed"];

/**
 * Returns the index of the next bracket from `at` on that is no part of an operator's name, or -1.
 * @param {string} text
 * @param {number} at
 */
function nextBracket(text, at) {
	for (let i = at; i < text.length; i++) {
		const c = text[i];
		if (c === "o" && !/\w/.test(text[i - 1] ?? " ")) {
			const found = OPERATOR.exec(text.slice(i, i + 40));
			if (found && !found[0].startsWith("operator "))
				i += found[0].length - 1;
		} else if (c === "-" && text[i + 1] === ">") {
			i++;
		} else if (c in CLOSING || c === ">" || c === ")" || c === "]" || c === "}") {
			return i;
		}
	}
	return -1;
}

/**
 * Returns the index of the bracket that closes the one at `at`, or -1.
 * @param {string} text
 * @param {number} at
 */
function closingOf(text, at) {
	/** @type {string[]} */
	const open = [];
	for (let i = nextBracket(text, at); i >= 0; i = nextBracket(text, i + 1)) {
		const closing = CLOSING[/** @type {"<"} */ (text[i])];
		if (closing)
			open.push(closing);
		else if (open.pop() !== text[i])
			return -1;
		else if (!open.length)
			return i;
	}
	return -1;
}

/**
 * Mends a name that the server has cut in its middle, where a bracket was open: `f<a, b … c>(int)` becomes `f<…>(int)`,
 * so that the rest of it can be read.
 * @param {string} text
 */
function mended(text) {
	const cut = text.indexOf("…"), head = text.slice(0, cut), tail = text.slice(cut + 1);
	if (cut < 0)
		return text;
	/** @type {number[]} */
	const open = [];
	for (let i = nextBracket(head, 0); i >= 0; i = nextBracket(head, i + 1))
		if (head[i] in CLOSING)
			open.push(i);
		else
			open.pop();
	let depth = 0, last = -1; // the bracket that closes the outermost one that is open at the cut
	for (let i = nextBracket(tail, 0); i >= 0; i = nextBracket(tail, i + 1)) {
		depth += tail[i] in CLOSING ? 1 : -1;
		if (depth < 0) {
			depth = 0;
			last = i;
		}
	}
	return open.length && last >= 0 && tail[last] === CLOSING[/** @type {"<"} */ (head[open[0]])] ? head.slice(0, open[0] + 1) + "…" + tail.slice(last) : text;
}

/**
 * Shortens what stands before "::" in Rust's `<Type as Trait>::method` and `<impl Trait for Type>::method`.
 * @param {string} inside
 */
function rustType(inside) {
	const impl = /^impl .* for (.*)$/.exec(inside);
	if (impl)
		return shorten(impl[1]) ?? impl[1];
	for (let i = 0; i < inside.length; i++) {
		if (inside.startsWith(" as ", i))
			return shorten(inside.slice(0, i)) ?? inside.slice(0, i);
		if (inside[i] === "<" || inside[i] === "(" || inside[i] === "[") {
			i = closingOf(inside, i);
			if (i < 0)
				return inside;
		}
	}
	return shorten(inside) ?? inside;
}

/**
 * Returns the text without the bracketed part that begins at `at`, what stands in its place, and where
 * to go on; null if a bracket is not closed.
 * @param {string} text
 * @param {number} at
 * @returns {{ put: string, next: number, isArguments: boolean } | null}
 */
function bracket(text, at) {
	const end = closingOf(text, at), before = text[at - 1] ?? "";
	if (end < 0)
		return null;
	const inside = text.slice(at + 1, end), next = end + 1;
	if (text[at] === "<") {
		if (/[\w:]/.test(before) || /operator[^\w\s]+$/.test(text.slice(Math.max(0, at - 12), at)))
			return { put: "‹…›", next, isArguments: false };
		if (text.startsWith("::", next) && at === 0)
			return { put: rustType(inside), next, isArguments: false };
		return { put: text.slice(at, next), next, isArguments: false };
	}
	if (text[at] === "{")
		return { put: inside.startsWith("lambda") ? "{lambda" + (/#\d+$/.exec(inside)?.[0] ?? "") + "}" :
			text.slice(at, next), next, isArguments: false };
	if (text[at] === "[")
		return { put: inside.includes("go.shape") || inside === "..." ? "‹…›" : text.slice(at, next), next,
			isArguments: false };
	if (inside === "anonymous namespace")
		return { put: "(anonymous)", next, isArguments: false };
	if (before === "." || before === "") // Go's pkg.(*Type).Method
		return { put: text.slice(at, next), next, isArguments: false };
	return { put: "", next, isArguments: true };
}

/**
 * Returns the short form of a name without suffix, or null if it cannot be read.
 * @param {string} text
 * @returns {string | null}
 */
function shorten(text) {
	let out = "", isFunction = false, hasSpaces = false, at = 0;
	while (at < text.length) {
		const rest = text[at] === "o" && !/\w/.test(text[at - 1] ?? " ") ? OPERATOR.exec(text.slice(at, at + 400)) : null;
		if (rest) {
			out += rest[0];
			at += rest[0].length;
			const end = text.startsWith(" <", at) ? closingOf(text, at + 1) : -1;
			if (end >= 0) { // the arguments of a template, behind an operator's own "<"
				out += " ‹…›";
				at = end + 1;
			}
			continue;
		}
		if (text[at] in CLOSING) {
			const found = bracket(text, at);
			if (!found)
				return null;
			isFunction ||= found.isArguments;
			out += found.put;
			at = found.next;
			for (let m = found.isArguments && QUALIFIER.exec(text.slice(at)); m; m = QUALIFIER.exec(text.slice(at)))
				at += m[0].length;
			continue;
		}
		if (text[at] === " " && !isFunction) {
			hasSpaces = true;
			out += "\u0000"; // a type ends here, if it turns out to be a function with parameters
		} else {
			out += text[at];
		}
		at++;
	}
	if (!hasSpaces)
		return out;
	return isFunction ? out.slice(out.lastIndexOf("\u0000") + 1).replace(/^[*&]+/, "") : out.replaceAll("\u0000", " ");
}

/** @type {Map<string, string>} */
const known = new Map();

/**
 * Returns a name as a frame or a table shows it: no return type, no parameters, template arguments
 * folded to ‹…›. Names of functions that a runtime executes are shown whole: Ruby's `block in <main>`
 * has no template arguments.
 * @param {string} full
 * @param {string} [kind] of its frame, where it is known
 */
export function shortName(full, kind = "") {
	if (MANAGED.includes(kind))
		return visible(full, 512);
	const before = known.get(full);
	if (before !== undefined)
		return before;
	let short = full;
	if (full.length <= LONGEST && !full.includes("\u0000")) {
		const whole = mended(full).replace(CLONE, ""), suffix = SUFFIX.exec(whole)?.[0] ?? "";
		const text = whole.slice(0, whole.length - suffix.length).replace(RUST_HASH, "");
		short = (shorten(text) || text) + suffix;
	}
	short = visible(short, 512);
	known.set(full, short);
	return short;
}

/* Characters that reorder text, are invisible, or break lines: C0, C1, bidi controls, zero width, tags. */
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/**
 * Returns a text whose hidden and direction-changing characters are written as ⟨U+202E⟩, of at most
 * `longest` characters.
 * @param {string} text
 * @param {number} [longest]
 */
export function visible(text, longest = 8192) {
	const cut = text.length > longest ? text.slice(0, longest) : text;
	const shown = cut.replace(HIDDEN, c => "⟨U+" + (c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0") + "⟩");
	return cut === text ? shown : shown + "… (" + text.length.toLocaleString("en") + " characters)";
}

/**
 * The thread that ended a wait, `thread: main > work > unlock`, with its last function alone that is not the
 * library's.
 * @param {string} waker
 */
export function shortWaker(waker) {
	const colon = waker.indexOf(": ");
	if (colon < 0)
		return shortName(waker);
	const path = waker.slice(colon + 2).split(/(?<!>) > |(?<=> >) > /);
	const own = path.findLast(name => !/^(?:_|pthread_|futex|std::|\.\.\.)/.test(name)) ?? path[path.length - 1];
	return visible(waker.slice(0, colon), 64) + ": " + shortName(own);
}

/**
 * Returns a file's path as far as it fits: its end, which says most.
 * @param {string} path
 * @param {number} longest
 */
export function shortPath(path, longest) {
	if (path.length <= longest)
		return visible(path);
	const cut = path.slice(path.length - longest + 1), slash = cut.indexOf("/");
	return "…" + visible(slash >= 0 && slash < cut.length - 12 ? cut.slice(slash) : cut);
}
