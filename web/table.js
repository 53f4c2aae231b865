// SPDX-License-Identifier: MIT
/*
 * A table of many rows: only those in sight are elements. A click on a column's head sorts by it; the arrow
 * keys move the selection, Enter opens it.
 */
import { el, fill, atNextFrame } from "./dom.js";

export const ROW_PX = 24;
const REM_PX = 16, SCROLLBAR_PX = 18;

/**
 * @template R
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {(row: R) => string} text
 * @property {(row: R) => number | string} [value]  what it is sorted by; without, it is not sorted
 * @property {(row: R) => number} [share]   0 to 1, drawn as a bar behind the text
 * @property {(row: R) => string} [hint]    shown on hover
 * @property {(row: R) => string} [mark]    a class of the cell
 * @property {boolean} [isText]             aligned left
 * @property {boolean} [isWide]             left out where there is too little room, the last one first
 * @property {string} width                 as in grid-template-columns
 */

/**
 * Sorts rows by a column: numbers largest first, texts by the alphabet; "-" before the column's name
 * reverses that.
 * @template R
 * @param {R[]} rows
 * @param {Column<R>[]} columns
 * @param {string} by
 */
export function sortRows(rows, columns, by) {
	const column = columns.find(c => c.key === by.replace(/^-/, "")), { value } = column ?? {};
	if (!value)
		return rows;
	const sign = by.startsWith("-") ? -1 : 1;
	return rows.slice().sort((a, b) => {
		const x = value(a), y = value(b);
		return sign * (typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : y - x);
	});
}

/**
 * The columns that there is room for: of those that may be left out, the last is left out first.
 * @template {{ width: string, isWide?: boolean }} C
 * @param {C[]} columns
 * @param {number} width pixels; 0: not known yet, so all
 */
export function fittingColumns(columns, width) {
	const least = (/** @type {C} */ column) => Number(/[\d.]+(?=rem)/.exec(column.width)?.[0] ?? 0) * REM_PX;
	const shown = columns.slice();
	let need = shown.reduce((sum, column) => sum + least(column), SCROLLBAR_PX);
	for (let i = shown.length - 1; width && i >= 0 && need > width; i--)
		if (shown[i].isWide)
			need -= least(shown.splice(i, 1)[0]);
	return shown;
}

/** @template R */
export class Table {
	/**
	 * @param {object} options
	 * @param {string} options.label
	 * @param {Column<R>[]} options.columns
	 * @param {string} options.sort
	 * @param {(sort: string) => void} [options.sorted]
	 * @param {(row: R) => void} [options.select]
	 * @param {(row: R) => void} [options.open]
	 */
	constructor(options) {
		this.options = options;
		this.sort = options.sort;
		/** @type {R[]} */
		this.rows = [];
		this.at = -1;
		this.body = el("div", { class: "rows", role: "none" });
		this.head = el("div", { class: "row head", role: "row" });
		this.scroll = el("div", { class: "table-scroll", tabindex: "0", role: "rowgroup", "aria-label": options.label + ", rows" }, this.body);
		this.element = el("div", { class: "table", role: "table", "aria-label": options.label },
			el("div", { class: "table-head", role: "rowgroup" }, this.head), this.scroll);
		this.redraw = atNextFrame(() => this.draw());
		this.scroll.addEventListener("scroll", () => this.redraw());
		this.scroll.addEventListener("keydown", event => this.key(event));
		this.body.addEventListener("click", event => this.click(event, false));
		this.body.addEventListener("dblclick", event => this.click(event, true));
		new ResizeObserver(() => this.fit()).observe(this.element);
		this.columns = options.columns;
		this.fit();
	}

	/** Chooses the columns that there is room for. */
	fit() {
		this.columns = fittingColumns(this.options.columns, this.element.clientWidth);
		this.element.style.setProperty("--columns", this.columns.map(c => c.width).join(" "));
		this.drawHead();
		this.redraw();
	}

	drawHead() {
		fill(this.head, ...this.columns.map(column => {
			const is = this.sort.replace(/^-/, "") === column.key, isUp = this.sort.startsWith("-");
			const direction = is ? isUp !== Boolean(column.isText) ? "ascending" : "descending" : undefined;
			return el("div", { role: "columnheader", class: column.isText ? "text" : "", "aria-sort": direction },
				column.value ? el("button", { class: "plain", onclick: () => this.sortBy(is && !isUp ? "-" + column.key : column.key) },
					column.title, el("span", { class: "arrow", "aria-hidden": "true" }, is ? isUp !== Boolean(column.isText) ? "▲" : "▼" : "")) : column.title);
		}));
	}

	/** @param {string} sort */
	sortBy(sort) {
		this.sort = sort;
		this.drawHead();
		this.show(this.rows);
		this.options.sorted?.(sort);
	}

	/**
	 * Shows rows, in the chosen order.
	 * @param {R[]} rows
	 * @param {(row: R) => boolean} [isSelected]
	 */
	show(rows, isSelected) {
		const selected = this.rows[this.at];
		this.rows = sortRows(rows, this.options.columns, this.sort);
		this.at = isSelected ? this.rows.findIndex(isSelected) : this.rows.indexOf(selected);
		this.element.setAttribute("aria-rowcount", String(this.rows.length + 1));
		this.body.style.height = this.rows.length * ROW_PX + "px";
		this.draw();
	}

	draw() {
		const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW_PX) - 4);
		const last = Math.min(this.rows.length, first + Math.ceil((this.scroll.clientHeight || 400) / ROW_PX) + 8);
		const shown = [];
		for (let i = first; i < last; i++)
			shown.push(this.drawRow(i));
		fill(this.body, ...shown);
	}

	/** @param {number} i */
	drawRow(i) {
		const row = this.rows[i];
		const node = el("div", { class: "row" + (i === this.at ? " at" : ""), role: "row", "aria-rowindex": i + 2, "data-row": i,
			"aria-current": i === this.at ? "true" : undefined },
		...this.columns.map(column => {
			const share = column.share?.(row), cell = el("div", { role: "cell", class: (column.isText ? "text " : "") + (column.mark?.(row) ?? ""),
				title: column.hint?.(row) }, column.text(row));
			if (share !== undefined && share > 0) {
				const bar = el("span", { class: "bar" });
				bar.style.width = Math.min(100, 100 * share).toFixed(2) + "%";
				cell.prepend(bar);
			}
			return cell;
		}));
		node.style.top = i * ROW_PX + "px";
		return node;
	}

	/** @param {MouseEvent} event @param {boolean} isOpening */
	click(event, isOpening) {
		const node = event.target instanceof Element ? event.target.closest("[data-row]") : null;
		if (!node)
			return;
		this.go(Number(node.getAttribute("data-row")));
		if (isOpening)
			this.options.open?.(this.rows[this.at]);
	}

	/** @param {number} i */
	go(i) {
		if (!this.rows.length)
			return;
		this.at = Math.max(0, Math.min(this.rows.length - 1, i));
		const y = this.at * ROW_PX, { scrollTop, clientHeight } = this.scroll;
		if (y < scrollTop)
			this.scroll.scrollTop = y;
		else if (y + ROW_PX > scrollTop + clientHeight)
			this.scroll.scrollTop = y + ROW_PX - clientHeight;
		this.draw();
		this.options.select?.(this.rows[this.at]);
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const page = Math.max(1, Math.floor(this.scroll.clientHeight / ROW_PX) - 1);
		/** @type {Record<string, number>} */
		const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0,
			End: this.rows.length - 1 };
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (Object.hasOwn(to, event.key))
			this.go(to[event.key]);
		else if (event.key === "Enter" && this.at >= 0)
			this.options.open?.(this.rows[this.at]);
		else
			return;
		event.preventDefault();
	}
}
