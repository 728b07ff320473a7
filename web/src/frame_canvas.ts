// SPDX-License-Identifier: Apache-2.0
/*
 * What pictures of frames have in common, whatever a row's order is: rows that grow from an edge, a pointer over them, a walk by keys,
 * an outline, labels that fit. An item is what stands in a row: a node of a tree, or a box of one core's time.
 */
import { Layers, type Theme, type Tip } from "./dom";
import { FONT, LABEL_LEAST, Labels, ROW } from "./frames";
import { KIND, type Match, type Tree } from "./tree";

export const SIDE = 12;
const OWN_FONT = "600 " + FONT, INLINED_FONT = "italic " + FONT;

export interface FrameHost {
	theme(): Theme;
	icicle(): boolean;
	walked(words: string): void;
}

export type Way = "up" | "down" | "left" | "right"; /* up: towards the leaves */

/* Where the pointer is, in the picture and on the page. */
export type Spot = Pick<PointerEvent, "offsetX" | "offsetY" | "clientX" | "clientY">;

/* How one frame is drawn. */
export interface Look {
	fill: string;
	faded: boolean;
	quiet: boolean; /* its ground is the page's, not a colour: a label in the page's ink */
	words: string;
}

export abstract class FrameCanvas {
	readonly layers: Layers;
	protected hovered = -1;
	protected walkedTo = -1;
	protected scroll = 0;
	protected scrolls = "scroll"; /* what one does to see more rows */
	protected deepest = 0; /* row that the last picture has something in, in sight or not */
	protected match: Match | null = null;
	private labels = new Labels();
	private font = ""; /* the canvas's now */

	/* head, foot: px that are kept free before the first row of an icicle, and of a flame graph. */
	constructor(id: string, label: string, private own: FrameHost, protected tip: Tip, private head: number, private foot: number) {
		this.layers = new Layers(id, label, () => this.draw());
		const r = this.layers.root;
		r.addEventListener("pointermove", (e) => this.hover(e));
		r.addEventListener("pointerleave", () => {
			this.hovered = -1;
			this.pointer = null;
			this.tip.hide();
			this.drawOver();
		});
		r.addEventListener("click", (e) => {
			const item = this.at(e.offsetX, e.offsetY);
			if (item >= 0)
				this.enter(item);
		});
		r.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
		r.addEventListener("keydown", (e) => this.key(e));
	}

	abstract draw(): void;
	/* The item under a point; -1: none. */
	protected abstract at(x: number, y: number): number;
	/* A click, or Enter. */
	protected abstract enter(item: number): void;
	/* Its left edge, width (px) and row; null: there is nothing to outline. */
	protected abstract placeOf(item: number): { x: number; w: number; row: number } | null;
	/* In a walk by keys; -1: nowhere, the key is someone else's. */
	protected abstract next(item: number, way: Way): number;
	protected abstract title(item: number): string;
	protected abstract describe(item: number): string[];
	/* What stands beside the pointer; null: nothing. */
	protected abstract tell(item: number, x: number): (Node | string)[] | null;
	protected abstract wheel(e: WheelEvent): void;
	protected abstract rows(): number;
	protected drawMore(_g: CanvasRenderingContext2D, _th: Theme): void {}
	protected otherKey(_key: string): boolean {
		return false;
	}

	showMatch(match: Match | null): void {
		if (match === this.match)
			return;
		this.match = match;
		this.layers.redraw();
	}

	protected plotWidth(): number {
		return Math.max(1, this.layers.width - 2 * SIDE);
	}

	/* The top edge of a row. Flames grow up, an icicle hangs from the top. */
	protected y(row: number): number {
		return this.own.icicle() ? this.head + row * ROW - this.scroll : this.layers.height - this.foot - (row + 1) * ROW + this.scroll;
	}

	/* The row under a point. */
	protected rowAt(y: number): number {
		return Math.floor((this.own.icicle() ? y - this.head + this.scroll : this.layers.height - this.foot - y + this.scroll) / ROW);
	}

	/* px that so many rows take. */
	protected heightFor(rows: number): number {
		return rows * ROW + this.head + this.foot + 2 + this.room();
	}

	/* By so many px towards the leaves; false: all of it is in sight. */
	protected scrollBy(by: number): boolean {
		const most = Math.max(0, this.heightFor(this.rows()) - this.layers.height);
		const to = Math.max(0, Math.min(most, this.scroll + (this.own.icicle() ? by : -by)));
		if (to !== this.scroll) {
			this.scroll = to;
			this.layers.redraw();
		}
		return most > 0;
	}

	/* What is walked to is in sight, and the row behind it. */
	private reveal(item: number): void {
		const place = this.placeOf(item), icicle = this.own.icicle(), y = place ? this.y(place.row) : 0;
		const top = (icicle ? this.head : this.room()) + (icicle ? 0 : ROW), bottom = this.layers.height - (icicle ? this.room() + ROW : this.foot);
		if (place && (y < top || y + ROW > bottom))
			this.scrollBy(y < top ? y - top : y + ROW - bottom);
	}

	/* px at the edge that the leaves are at which frames leave free. */
	protected room(): number {
		return 0;
	}

	protected beginFrames(g: CanvasRenderingContext2D): void {
		g.font = this.font = FONT;
		g.textBaseline = "middle";
		g.textAlign = "left";
	}

	protected drawFrame(g: CanvasRenderingContext2D, t: Tree, node: number, x: number, y: number, w: number, look: Look): void {
		const th = this.own.theme(), frame = t.frame[node], kind = t.kind[frame];
		const inset = kind === KIND.inlined && w > 6 ? 1.5 : 0, own = kind === KIND.root || kind === KIND.process;
		g.globalAlpha = look.faded || (this.match && !this.match.frames[frame] && kind !== KIND.root) ? 0.4 : 1;
		g.fillStyle = this.match?.frames[frame] ? th.color("find") : look.fill;
		g.fillRect(x + inset, y, Math.max(0.5, w - (w > 2 ? 1 : 0) - inset * 2), ROW - 1);
		if (w < LABEL_LEAST)
			return;
		g.fillStyle = th.color((own || look.quiet) && !this.match?.frames[frame] ? "tx" : "ink");
		const font = own ? OWN_FONT : kind === KIND.inlined ? INLINED_FONT : FONT;
		if (font !== this.font)
			g.font = this.font = font;
		const label = this.labels.fit(g, font, look.words, w - 8);
		if (label)
			g.fillText(label, x + 4 + inset, y + ROW / 2);
	}

	protected drawOver(): void {
		const { over: g } = this.layers, th = this.own.theme();
		this.layers.clearOver();
		this.drawHidden(g, th);
		this.drawMore(g, th);
		const mark = this.hovered >= 0 ? this.hovered : document.activeElement === this.layers.root ? this.walkedTo : -1;
		const place = mark >= 0 ? this.placeOf(mark) : null;
		if (!place)
			return;
		g.strokeStyle = th.color("tx");
		g.lineWidth = 1.5;
		g.strokeRect(place.x, this.y(place.row) - 0.5, Math.max(1, place.w - 1), ROW);
	}

	/* Rows beyond the edge that the leaves are at: how many, so that a cut tower is not taken for a whole one. */
	private drawHidden(g: CanvasRenderingContext2D, th: Theme): void {
		const icicle = this.own.icicle(), top = this.y(this.deepest);
		const n = Math.ceil((icicle ? top + ROW - this.layers.height + this.room() : this.room() - top) / ROW - 0.5);
		this.toldUntil = SIDE;
		if (n <= 0 || !this.rows())
			return;
		const words = `${icicle ? "▼" : "▲"} ${n} more ${n === 1 ? "row" : "rows"}: ${this.scrolls}`;
		g.font = "10px system-ui, sans-serif";
		g.textAlign = "left";
		g.textBaseline = "middle";
		const middle = Math.max(20, this.room()) / 2, y = icicle ? this.layers.height - middle : middle;
		g.fillStyle = th.color("bg1");
		g.fillRect(SIDE, y - 9, g.measureText(words).width + 12, 18);
		g.fillStyle = th.color("tx2");
		g.fillText(words, SIDE + 6, y);
		this.toldUntil = SIDE + g.measureText(words).width + 16;
	}
	protected toldUntil = SIDE; /* where those words end */

	/* Another picture is under the pointer: what is said beside it is said of that. */
	protected pointAgain(): void {
		if (this.pointer && this.tip.shown)
			this.hover(this.pointer);
	}
	private pointer: Spot | null = null;

	private hover({ offsetX, offsetY, clientX, clientY }: Spot): void {
		const e = this.pointer = { offsetX, offsetY, clientX, clientY };
		const item = this.at(e.offsetX, e.offsetY);
		if (item !== this.hovered) {
			this.hovered = item;
			this.drawOver();
		}
		this.layers.root.style.cursor = item >= 0 ? "pointer" : "default";
		const words = this.tell(item, e.offsetX);
		if (words)
			this.tip.show(e.clientX, e.clientY, ...words);
		else
			this.tip.hide();
	}

	private key(e: KeyboardEvent): void {
		if (!this.rows() || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const ways: Record<string, Way> = { ArrowLeft: "left", ArrowRight: "right",
			[this.own.icicle() ? "ArrowDown" : "ArrowUp"]: "up", [this.own.icicle() ? "ArrowUp" : "ArrowDown"]: "down" };
		const way = ways[e.key];
		if (!way && e.key !== "Enter" && !this.otherKey(e.key))
			return;
		e.preventDefault();
		e.stopPropagation();
		if (e.key === "Enter" && this.walkedTo >= 0)
			this.enter(this.walkedTo);
		const to = way ? this.next(this.walkedTo, way) : e.key === "Enter" ? this.walkedTo : -1;
		if (to < 0)
			return;
		this.walkedTo = to;
		this.hovered = -1;
		this.reveal(to);
		this.drawOver();
		this.own.walked([this.title(to), ...this.describe(to)].join(", "));
	}
}
