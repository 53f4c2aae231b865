// SPDX-License-Identifier: MIT
/*
 * Elements of the page. Text is only ever set as text, so that no name of a program that was recorded
 * can become markup; styles are set by classes and properties, as the page's policy requires.
 */

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Makes an element. Of `attributes`, those named on… are listeners, `text` is its text, and the values
 * true and false set and leave out an attribute without value.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(name, attributes = {}, ...children) {
	const node = document.createElement(name);
	setAttributes(node, attributes);
	add(node, ...children);
	return node;
}

/**
 * The same for SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(name, attributes = {}, ...children) {
	const node = document.createElementNS("http://www.w3.org/2000/svg", name);
	setAttributes(node, attributes);
	add(node, ...children);
	return node;
}

/**
 * @param {Element} node
 * @param {Record<string, unknown>} attributes
 */
function setAttributes(node, attributes) {
	for (const [key, value] of Object.entries(attributes)) {
		if (value === undefined || value === null || value === false)
			continue;
		if (key.startsWith("on") && typeof value === "function")
			node.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
		else if (key === "text")
			node.textContent = String(value);
		else
			node.setAttribute(key, value === true ? "" : String(value));
	}
}

/**
 * @param {Node} node
 * @param {...Child} children
 */
export function add(node, ...children) {
	for (const child of children) {
		if (child !== null && child !== undefined && child !== false)
			node.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
	}
}

/**
 * Replaces what is in an element.
 * @param {Element} node
 * @param {...Child} children
 */
export function fill(node, ...children) {
	node.replaceChildren();
	add(node, ...children);
}

/**
 * The element with an id, which must be there.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
	const node = document.getElementById(id);
	if (!node)
		throw new Error("no element " + id);
	return node;
}

/**
 * A canvas's context, with its size set to that of its box in the screen's pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function sizeCanvas(canvas, width, height) {
	const ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
	if (!context)
		throw new Error("no canvas");
	const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
	}
	canvas.style.height = height + "px";
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}

/**
 * A function that calls `draw` at the next frame, once, however often it is called before.
 * @param {() => void} draw
 */
export function atNextFrame(draw) {
	let isWaiting = false;
	return () => {
		if (isWaiting)
			return;
		isWaiting = true;
		requestAnimationFrame(() => {
			isWaiting = false;
			draw();
		});
	};
}

/** A message of the server as a sentence. @param {string} text */
export const sentence = text => text && text[0].toUpperCase() + text.slice(1) + (/[.?!…]$/.test(text) ? "" : ".");

/**
 * What a view shows that has nothing to show: why, and what to do about it.
 * @param {string} what
 * @param {string} [hint] how to record it
 */
export function emptyState(what, hint) {
	return el("div", { class: "empty" }, el("p", {}, sentence(what)), hint ? el("p", { class: "dim" }, sentence(hint)) : null);
}
