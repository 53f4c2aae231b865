// SPDX-License-Identifier: MIT
/*
 * Colours of frames and lanes. Hues are those of Okabe and Ito's palette, which people with any kind of
 * colour blindness can tell apart; lightness leaves a contrast of at least 4.5 to the text on a frame, in
 * the light and the dark theme. Kinds that matter most also differ in pattern (reconstructed: hatched).
 */
import { hashText } from "./tree.js";

/** Hue, saturation, lightness in the light theme, lightness in the dark one, and the legend's text. */
const KINDS = /** @type {Record<string, [number, number, number, number, string]>} */ ({
	all: [220, 8, 84, 30, "all"],
	part: [220, 10, 80, 34, "group"],
	native: [35, 88, 72, 28, "native"],
	inlined: [44, 88, 83, 22, "inlined"],
	kernel: [203, 66, 76, 30, "kernel"],
	unnamed: [30, 22, 76, 30, "without a name"],
	mark: [220, 6, 74, 38, "path incomplete"],
	python: [164, 46, 68, 25, "Python"],
	ruby: [352, 62, 80, 32, "Ruby"],
	php: [240, 52, 84, 38, "PHP"],
	perl: [196, 48, 74, 30, "Perl"],
	managed: [18, 78, 76, 34, "managed"],
	java: [18, 78, 76, 34, "Java"],
	javascript: [18, 78, 76, 34, "JavaScript"],
	go: [186, 52, 72, 26, "Go"],
	erlang: [340, 56, 82, 34, "Erlang"],
	jit: [56, 74, 68, 26, "compiled at run time"],
	blocked: [312, 44, 82, 34, "blocked"],
	runnable: [90, 46, 72, 26, "waiting for a CPU"],
	awaited: [280, 46, 85, 30, "waited for"],
	other: [220, 6, 90, 24, "small frames together"],
});

/** Colours of what a thread does, in the lanes. */
const STATES = /** @type {Record<string, [number, number, number, number]>} */ ({
	cpu: [203, 72, 47, 58],
	gc: [0, 75, 45, 68],
	runnable: [78, 46, 70, 40],
	blocked: [312, 40, 80, 30],
	unknown: [220, 8, 95, 16],
});

/**
 * Colours of the reasons that most threads are blocked by, by how they begin: locks are strong, what is idle is nearly grey.
 * Hue, saturation, lightness in the light theme, lightness in the dark one.
 * @type {[string, number, number, number, number][]}
 */
const REASONS = [["futex", 312, 48, 76, 38], ["GIL", 18, 62, 76, 40], ["idle", 220, 12, 88, 24], ["sleep", 256, 36, 86, 30], ["child", 56, 46, 80, 30],
	["pipe", 164, 38, 78, 30], ["socket", 340, 44, 84, 32], ["file", 36, 56, 72, 36], ["block", 36, 66, 66, 42]];

export class Colors {
	/** @param {boolean} isDark */
	constructor(isDark) {
		this.isDark = isDark;
		this.by = "kind";
	}

	/** @param {number} h @param {number} s @param {number} l @param {number} dark */
	hsl(h, s, l, dark) {
		return `hsl(${h.toFixed(0)} ${s.toFixed(0)}% ${(this.isDark ? dark : l).toFixed(0)}%)`;
	}

	/**
	 * The colour of a function. A hue has a few shades by name, so that neighbours are told apart.
	 * @param {string} kind
	 * @param {string} name
	 * @param {string} object
	 */
	frame(kind, name, object) {
		const [h, s, l, dark] = KINDS[kind] ?? KINDS.native, shade = (hashText(name) % 7 - 3) * 0.9;
		if (this.by === "object" && object)
			return this.hsl(hashText(object) % 24 * 15, 58, 76 + shade, 29 + shade);
		if (kind === "all" || kind === "other" || kind === "mark")
			return this.hsl(h, s, l, dark);
		return this.hsl(h + shade * 2, s, l + shade, dark + shade);
	}

	/** @param {string} kind */
	kind(kind) {
		const [h, s, l, dark] = KINDS[kind] ?? KINDS.native;
		return this.hsl(h, s, l, dark);
	}

	/** @param {string} kind */
	kindText(kind) {
		return (KINDS[kind] ?? ["", "", "", "", kind])[4];
	}

	/**
	 * The colour of a change: orange grew, blue shrank, grey is noise.
	 * @param {{ by: number, isNoise: boolean }} change
	 * @param {number} most the total of the larger side
	 */
	change({ by, isNoise }, most) {
		if (isNoise || !by)
			return this.hsl(220, 5, 84, 30);
		const strength = Math.min(1, Math.sqrt(Math.abs(by) / Math.max(most, 1e-9) / 0.1));
		return by > 0 ? this.hsl(28, 55 + 40 * strength, 84 - 20 * strength, 24 + 14 * strength) :
			this.hsl(208, 45 + 45 * strength, 86 - 20 * strength, 24 + 16 * strength);
	}

	/** @param {string} state */
	state(state) {
		const [h, s, l, dark] = STATES[state] ?? STATES.blocked;
		return this.hsl(h, s, l, dark);
	}

	/**
	 * The colour of a reason why threads are blocked: always the same of the same reason, whatever else is in sight.
	 * @param {string} reason
	 */
	reason(reason) {
		const known = REASONS.find(([name]) => reason.startsWith(name));
		if (known)
			return this.hsl(known[1], known[2], known[3], known[4]);
		const hues = [56, 164, 340, 280], hash = hashText(reason);
		return this.hsl(hues[hash % hues.length], 40, 82 - 7 * ((hash >>> 3) % 3), 30 + 5 * ((hash >>> 3) % 3));
	}

	/** A colour for a name among others, as of regions and routines. @param {string} name */
	named(name) {
		return name ? this.hsl(hashText(name) * 0.61803 % 1 * 360, 50, 64, 46) : this.hsl(220, 4, 66, 44);
	}

	/** A pattern of lines, for what was not observed. @param {CanvasRenderingContext2D} context */
	hatching(context) {
		const tile = document.createElement("canvas"), c = tile.getContext("2d");
		tile.width = tile.height = 8;
		if (!c)
			return null;
		c.strokeStyle = this.isDark ? "#ffffff66" : "#0000005c";
		c.lineWidth = 1.6;
		for (const x of [-8, 0, 8]) {
			c.moveTo(x, 8);
			c.lineTo(x + 8, 0);
		}
		c.stroke();
		return context.createPattern(tile, "repeat");
	}
}

/**
 * The theme: what the system prefers, or what the user has chosen before.
 * @param {Window & typeof globalThis} window
 * @param {() => void} changed
 */
export function watchTheme(window, changed) {
	const system = window.matchMedia("(prefers-color-scheme: dark)"), root = window.document.documentElement;
	const read = () => {
		try {
			return window.localStorage.getItem("stackd-theme") ?? "";
		} catch {
			return ""; // storage may be forbidden: then the choice is not kept
		}
	};
	let chosen = read();
	const isDark = () => chosen ? chosen === "dark" : system.matches;
	const apply = () => {
		root.dataset.theme = isDark() ? "dark" : "light";
		changed();
	};
	system.addEventListener("change", apply);
	root.dataset.theme = isDark() ? "dark" : "light";
	return {
		isDark,
		turn() {
			chosen = isDark() ? "light" : "dark";
			try {
				window.localStorage.setItem("stackd-theme", chosen);
			} catch {
				/* not kept */
			}
			apply();
		},
	};
}
