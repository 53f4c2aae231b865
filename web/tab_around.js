// SPDX-License-Identifier: MIT
/*
 * One function between its callers, above, and its callees, below, each as a flame graph.
 */
import { Refusal, selectionOf } from "./api.js";
import { aroundOf } from "./around_data.js";
import { el, emptyState, fill } from "./dom.js";
import { Flame } from "./flame.js";
import { percent, withError } from "./format.js";
import { visible } from "./names.js";
import { describeNode, isFunction, nameText, treeQuestion } from "./tab_flame.js";
import { Tree } from "./tree.js";

/**
 * Asks about a function; in a saved file, what its tree says.
 * @param {import("./app.js").App} app
 * @param {import("./state.js").State} state
 */
export async function askAround(app, state) {
	const { api } = app;
	try {
		return await api.ask("around", { ...selectionOf(state), function: state.focus, object: state.object });
	} catch (error) {
		if (!(error instanceof Refusal) || error.status !== 404 || !api.embedded)
			throw error;
		const data = await api.ask("tree", treeQuestion({ ...state, direction: "down" })), found = aroundOf(new Tree(data), state.focus, state.object);
		if (!found)
			throw error;
		return { ...data, ...found };
	}
}

export class AroundTab {
	/** @param {import("./app.js").App} app */
	constructor(app) {
		this.app = app;
		this.unit = "samples";
		this.callers = this.graph();
		this.callees = this.graph();
		this.callers.isFlame = true;
		this.callers.element.id = "callers";
		this.callees.element.id = "callees";
		this.callers.element.setAttribute("aria-label", "Callers, as a flame graph. Arrow keys move; Enter shows a caller in the middle");
		this.callees.element.setAttribute("aria-label", "Callees, as a flame graph. Arrow keys move; Enter shows a callee in the middle");
		this.middle = el("h3", { class: "around-name" });
		this.facts = el("span", { class: "dim" });
		this.content = el("div", { class: "content around" });
		this.element = el("div", { class: "view" }, this.content);
	}

	graph() {
		const flame = new Flame(this.app.colors, {
			select: (i, isOpening) => {
				const tree = /** @type {Tree} */ (flame.tree);
				this.app.speak(describeNode(tree, i, 0, this.unit).join(". "));
				if (isOpening && isFunction(tree, i))
					this.app.store.set({ focus: tree.name(i), object: tree.object(i) });
			},
			hover: (i, x, y) => this.app.tip(i >= 0 && flame.tree ? describeNode(flame.tree, i, 0, this.unit) : [], x, y),
		});
		return flame;
	}

	/** @param {import("./state.js").State} state */
	async load(state) {
		if (!state.focus) {
			fill(this.content, emptyState("No function is chosen.", "Choose one in Flame or Functions to see who calls it, and what it calls."));
			return;
		}
		const answer = await askAround(this.app, state);
		if (!this.app.isShown(state))
			return;
		this.unit = answer.unit;
		const callers = new Tree({ ...answer, nodes: answer.callers }), callees = new Tree({ ...answer, nodes: answer.callees });
		const name = nameText(answer.function.name, answer.function.kind);
		fill(this.middle, name);
		this.middle.title = visible(answer.function.name);
		this.facts.textContent = `${withError(answer.function_total, answer.function_error, this.unit)} in paths through it (${percent(answer.function_total / (answer.total || 1))}), ` +
			`${withError(answer.self, answer.self_error, this.unit)} in it itself`;
		if (!callers.size || !answer.function_total) {
			fill(this.content, emptyState(`${name} is not in the selection.`, "Choose a wider range of time, all threads, or another function."));
			return;
		}
		if (!this.callers.element.isConnected)
			fill(this.content, el("h2", { class: "small" }, "Callers"), this.callers.element, el("div", { class: "around-middle" }, this.middle, this.facts),
				el("h2", { class: "small" }, "Callees"), this.callees.element);
		this.app.colors.by = state.colors;
		for (const [flame, tree] of /** @type {[Flame, Tree][]} */ ([[this.callers, callers], [this.callees, callees]])) {
			flame.matches = tree.matcher(state.search);
			flame.show(tree, { zoom: 0, at: 0 });
		}
	}

	restyle() {
		this.callers.layout();
		this.callees.layout();
	}
}

