// SPDX-License-Identifier: Apache-2.0
/*
 * The heatmap of the span. Sub-second: a column is a second, a row an offset within it, 0 ms at the
 * bottom; a selection runs along time, up one column and on with the next. Cores: a column is a step
 * of time, a row a CPU; a selection is a rectangle.
 *
 * The cells are painted once into a small picture, one pixel a cell, and that is stretched; what
 * follows the pointer is drawn on the layer above.
 */
import { LEAST_SEEN, type Heat } from "./api";
import { HEAT_STEPS, heatScale, heatTable, type HeatScale } from "./colour";
import { el, hatch, Layers, type Theme, type Tip } from "./dom";
import { bySeverity, drawGlyph, nearest, rank, SEVERITY, shortText, type Happening } from "./happening";
import { clock, clocks, count, cpuName, cpuNames, duration, isCpu, percent, tickLabel, ticks, tickStep, zoneName, zoneShort, type Zone } from "./format";
import { known, moved, nodesOf, type Cell, type NodeRows } from "./heat_cells";
import { drawLegend } from "./heat_legend";
import { drawStrip, hasStrip, STRIP, stripWords } from "./heat_strip";
import type { Part } from "./state";
import type { Place } from "./why";
import { GUTTER } from "./timeline_view";

const LANE = 14, AXIS = 20, CLICK = 3;
const REST_MS = 120;
const LOOKED_UP = 4096;

export interface HeatHost {
	theme(): Theme;
	zone(): Zone;
	linear(): boolean;
	/* second: it is the baseline that is chosen. "degree": by a little, one of several times. */
	select(part: Part | null, final: boolean | "degree", second: boolean): void;
	/* A range begun is given up: what was selected before it is shown again. */
	unselect(): void;
	dragsBaseline(): boolean;
	zoomSpan(by: number, around: number): void;
	openEvent(e: Happening): void;
	walked(words: string): void;
	/* Who ran most in a part, in words; null: not known. */
	busiest(part: Part): Promise<string | null>;
}

type Spot = Pick<PointerEvent, "offsetX" | "offsetY" | "clientX" | "clientY" | "shiftKey">;

/* Of a selection: its letter hangs at x, y. */
interface Outline {
	shape: Path2D;
	x: number;
	y: number;
}

export class HeatView {
	readonly layers: Layers;
	readonly legend = el("canvas", { width: 240, height: 26, class: "wide", role: "img", "aria-label": "Colour scale" });
	private data: Heat | null = null;
	private scale: HeatScale | null = null;
	private picture = document.createElement("canvas");
	private image: ImageData | null = null; /* its pixels, kept for the next time */
	private sums = new Float64Array(0); /* of rows */
	private paintedOf: { data: Heat | null; theme: Theme | null; linear: boolean; utc: boolean } = { data: null, theme: null, linear: false, utc: false };
	private selected: Part | null = null;
	private baseline: Part | null = null;
	private second = false; /* the range begun is the baseline's */
	private start: Cell | null = null; /* of a drag, or of a first click */
	private pressed = false;
	private until = Infinity;
	private hovered: Cell | null = null;
	private shift = false;
	private events: Happening[] = [];
	private chosen = "";
	private asking = 0; /* a timer: the pointer rests */
	private pointer: Spot | null = null;

	constructor(private host: HeatHost, private tip: Tip) {
		this.layers = new Layers("heat", "Heatmap. Arrow keys walk the cells, Enter begins a selection and ends it; then they move it, and Escape clears it",
			() => this.draw());
		for (const c of [this.picture, this.legend])
			c.addEventListener("contextrestored", () => {
				this.scale = null; /* as if it had never been painted */
				this.paint();
			});
		const r = this.layers.root;
		r.addEventListener("pointerdown", (e) => this.down(e));
		r.addEventListener("pointermove", (e) => this.move(e));
		r.addEventListener("pointerup", (e) => this.up(e));
		r.addEventListener("pointercancel", () => this.cancel());
		r.addEventListener("pointerleave", () => {
			this.hovered = this.pointer = null;
			clearTimeout(this.asking);
			this.tip.hide();
			this.drawOver();
		});
		r.addEventListener("keydown", (e) => this.key(e));
		r.addEventListener("dblclick", () => this.host.select(null, true, false));
		r.addEventListener("wheel", (e) => {
			e.preventDefault();
			if (this.data)
				this.host.zoomSpan(Math.exp(Math.sign(e.deltaY) * 0.25), this.timeAtX(e.offsetX));
		}, { passive: false });
	}

	/* How many columns there is room for. */
	room(): number {
		return Math.max(50, Math.floor(this.layers.root.clientWidth - 2 * GUTTER));
	}

	/* until: what lies behind it has not been yet. */
	show(data: Heat | null, until: number): void {
		/* A live picture goes on under a range that was begun: so does its beginning. */
		this.start = this.start && this.data && data ? moved(this.start, this.data, data) : null;
		this.pressed &&= this.start !== null;
		this.data = data;
		this.until = until;
		this.paint();
		if (this.pointer && this.tip.shown)
			this.move(this.pointer); /* what goes on under it is another cell */
	}

	showSelection(part: Part | null, baseline: Part | null): void {
		this.selected = part;
		this.baseline = baseline;
		this.redrawOver();
	}

	/* The range that was begun is still the one to be seen. */
	resume(): void {
		if (this.start && this.data)
			this.host.select(this.between(this.start, this.hovered ?? this.start, this.shift), false, this.second);
	}

	/* Once, when all that is to change has been said: an outline over the cells takes milliseconds. */
	private redrawOver(): void {
		if (this.overDue)
			return;
		this.overDue = true;
		queueMicrotask(() => {
			this.overDue = false;
			this.drawOver();
		});
	}
	private overDue = false;

	showEvents(list: Happening[], chosen: string): void {
		if (list === this.events && chosen === this.chosen)
			return;
		this.events = list;
		this.chosen = chosen;
		this.layers.redraw();
	}

	/* Findings of perfcam's own, by number; pointed: the one that is looked at in the panel. */
	showPlaces(list: Place[], pointed: Place | null): void {
		if (list === this.places && pointed === this.pointed)
			return;
		this.places = list;
		this.pointed = pointed;
		this.redrawOver();
	}
	private places: Place[] = [];
	private pointed: Place | null = null;

	/* Of one core: its cells, outlined in violet; in the sub-second mode there are no cores. */
	private drawPlaces(g: CanvasRenderingContext2D, th: Theme, d: Heat): void {
		for (const p of this.places) {
			const row = p.cpu === null ? -1 : d.cpus.indexOf(p.cpu);
			if (d.mode !== "cores" || row < 0 || !isFinite(p.from) || p.to <= d.from || p.from >= d.from + d.columns * d.step)
				continue;
			const x0 = this.timeX(p.from) - 1, x1 = Math.max(x0 + 4, this.timeX(p.to) + 1), y = this.top() + row * this.cellHeight() - 1, h = this.cellHeight() + 2;
			for (const [width, color] of [[4, th.color("bg1")], [p === this.pointed ? 3 : 2, th.color("find")]] as const) {
				g.lineWidth = width;
				g.strokeStyle = color;
				g.strokeRect(x0, y, x1 - x0, h);
			}
			g.fillStyle = th.color("find");
			g.beginPath();
			g.arc(x1 + 11, y + h / 2, 7.5, 0, 7);
			g.fill();
			g.fillStyle = th.color("bg1");
			g.font = "700 10px system-ui, sans-serif";
			g.textAlign = "center";
			g.textBaseline = "middle";
			g.fillText(String(p.number), x1 + 11, y + h / 2 + 0.5);
		}
	}

	/* The time that is shown, edge to edge. */
	axis(): { from: number; to: number } | null {
		const d = this.data;
		return d && d.columns ? { from: d.from, to: d.from + d.columns * d.step } : null;
	}

	private timeX(t: number): number {
		return GUTTER + ((t - this.data!.from) / this.data!.step) * this.cellWidth();
	}

	/* Where an event lies in the picture: its x, and in the sub-second mode the middle of its cell. */
	private eventX(e: Happening): number {
		const d = this.data!;
		if (d.mode === "sub" && d.merged === 1)
			return GUTTER + (Math.floor((e.time - d.from) / d.step) + 0.5) * this.cellWidth();
		return this.timeX(e.time);
	}

	/* Paints the cells, unless the data, the theme, the scale and the time zone are those they were painted of. */
	paint(): void {
		const d = this.data, th = this.host.theme(), linear = this.host.linear(), utc = this.host.zone().utc;
		const was = this.paintedOf;
		if (this.scale && was.data === d && was.theme === th && was.linear === linear && was.utc === utc)
			return;
		this.layers.redraw();
		if (!d || !d.columns || !d.rows) {
			this.scale = null;
			this.legend.getContext("2d")!.clearRect(0, 0, this.legend.width, this.legend.height);
			return;
		}
		this.paintedOf = { data: d, theme: th, linear, utc };
		this.scale = heatScale(d.cells, d.mode === "cores" ? d.full : 0, linear, th.light, d.most);
		const table = heatTable(th.light);
		const g = this.picture.getContext("2d")!;
		if (this.image?.width !== d.columns || this.image.height !== d.rows) {
			this.picture.width = d.columns;
			this.picture.height = d.rows;
			this.image = g.createImageData(d.columns, d.rows);
		}
		const image = this.image;
		const empty = th.light ? [0xf7, 0xf8, 0xfa] : [0x0b, 0x0d, 0x11];
		const dim = th.light ? [0xe3, 0xe7, 0xed] : [0x1c, 0x21, 0x2a];
		this.sums = new Float64Array(d.rows);
		const pixels = new Uint32Array(image.data.buffer);
		const pixel = (r: number, g: number, b: number) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
		const nothing = pixel(empty[0], empty[1], empty[2]), faint = pixel(dim[0], dim[1], dim[2]);
		/* By value, or by share: the curve is looked up, as there may be millions of cells. */
		const cells = d.cells, values = d.painted ?? cells, most = d.painted ? 1 : this.scale.max, by = (LOOKED_UP - 1) / most;
		const known = new Uint32Array(LOOKED_UP);
		for (let i = 0; i < LOOKED_UP; i++) {
			const t = d.painted ? 0.25 + 0.75 * ((i + 0.5) / LOOKED_UP) : this.scale.at((i + 0.5) / by);
			const k = Math.max(0, Math.min(HEAT_STEPS - 1, Math.round(t * (HEAT_STEPS - 1)))) * 3;
			known[i] = pixel(table[k], table[k + 1], table[k + 2]);
		}
		for (let r = 0, i = 0; r < d.rows; r++) {
			let at = (d.mode === "cores" ? r : d.rows - 1 - r) * d.columns, sum = 0;
			for (let c = 0; c < d.columns; c++, i++) {
				const v = values[i];
				sum += cells[i];
				pixels[at++] = v > 0 ? known[v >= most ? LOOKED_UP - 1 : (v * by) | 0] : nothing;
			}
			/* Busy, but with nothing that was searched for, or not read yet: hardly there. */
			const busy = d.painted ? cells : null;
			if (busy || d.behind)
				for (let c = d.columns; c > 0; c--)
					if (!(values[i - c] > 0) && (d.unread?.[d.columns - c] ? d.behind! : busy ?? cells)[i - c] > 0)
						pixels[at - c] = faint;
			this.sums[r] = sum;
		}
		g.putImageData(image, 0, 0);
		drawLegend(this.legend, this.host.theme(), this.scale, d, table);
	}

	private plotWidth(): number {
		return Math.max(1, this.layers.width - 2 * GUTTER);
	}
	/* Where the cells begin: below the events, and the strip if there is one. */
	private top(): number {
		return LANE + (hasStrip(this.data) ? STRIP : 0);
	}
	private plotHeight(): number {
		return Math.max(1, this.layers.height - this.top() - AXIS);
	}
	private cellWidth(): number {
		return this.plotWidth() / (this.data?.columns || 1);
	}
	private cellHeight(): number {
		return this.plotHeight() / (this.data?.rows || 1);
	}

	draw(): void {
		const { base: g, width } = this.layers;
		const th = this.host.theme(), d = this.data;
		if (!width)
			return;
		this.layers.clear(th.color("bg1"));
		if (d && this.scale) {
			g.imageSmoothingEnabled = false;
			g.drawImage(this.picture, GUTTER, this.top(), this.plotWidth(), this.plotHeight());
			if (hasStrip(d))
				drawStrip(g, th, d, LANE, this.plotWidth());
			this.drawGaps(g, th, d);
			this.drawUnseen(g, th, d);
			this.drawUnread(g, th, d);
			this.drawRowLabels(g, th, d);
			this.drawRowMeans(g, th, d);
			this.drawAxis(g, th, d);
			this.drawEvents(g, th, d);
		}
		this.drawOver();
	}

	/* Lines in the colour of the ground between cells, where there is room for them. */
	private drawGaps(g: CanvasRenderingContext2D, th: Theme, d: Heat): void {
		g.fillStyle = th.color("bg1");
		const w = this.cellWidth(), h = this.cellHeight();
		if (w >= 4)
			for (let c = 1; c < d.columns; c++)
				g.fillRect(Math.round(GUTTER + c * w), this.top(), 1, this.plotHeight());
		if (h >= 4)
			for (let r = 1; r < d.rows; r++)
				g.fillRect(GUTTER, Math.round(this.top() + r * h), this.plotWidth(), 1);
		/* Between NUMA nodes there is one in any case. */
		for (const { row } of nodesOf(d).slice(1))
			g.fillRect(GUTTER, Math.round(this.top() + row * h) - 1, this.plotWidth(), 3);
	}

	private drawUnseen(g: CanvasRenderingContext2D, th: Theme, d: Heat): void {
		const w = this.cellWidth(), h = this.cellHeight(), color = th.color("warn");
		if (!d.anyUnseen)
			return;
		for (let r = 0; r < d.rows; r++) {
			const row = d.mode === "cores" ? r : d.rows - 1 - r;
			for (let c = 0; c < d.columns;) {
				let n = c;
				while (n < d.columns && d.unseen[r * d.columns + n] > 255 * (1 - (d.mode === "cores" && d.full ? LEAST_SEEN : 0.5)) && this.startOf(n, r) < this.until)
					n++;
				if (n > c)
					hatch(g, GUTTER + c * w, this.top() + row * h, (n - c) * w, h, color);
				c = n + 1;
			}
		}
		/* What was seen in part: a line under the cells. */
		for (let c = 0; c < d.columns; c++)
			for (let r = 0; r < d.rows; r++)
				if (d.unseen[r * d.columns + c] > 63 && this.startOf(c, r) < this.until) {
					hatch(g, GUTTER + c * w, this.top() + this.plotHeight() + 1, Math.max(1, w), 3, color);
					break;
				}
	}

	/* What has not been read yet: veiled, so that nobody takes it for nothing; and where reading has come to. */
	private drawUnread(g: CanvasRenderingContext2D, th: Theme, d: Heat): void {
		const n = d.unread?.lastIndexOf(1) ?? -1;
		if (n < 0)
			return;
		const x = GUTTER + (n + 1) * this.cellWidth(), wide = x - GUTTER, y = this.top() + this.plotHeight() / 2;
		g.globalAlpha = 0.55;
		g.fillStyle = th.color("bg1");
		g.fillRect(GUTTER, this.top(), wide, this.plotHeight());
		g.globalAlpha = 1;
		g.fillStyle = th.color("a");
		g.fillRect(x - 1, this.top(), 2, this.plotHeight());
		g.font = "11px system-ui, sans-serif";
		g.textAlign = "center";
		g.textBaseline = "middle";
		g.fillStyle = th.color("tx2");
		if (wide > 90)
			g.fillText("not read yet", GUTTER + wide / 2, y);
	}

	private startOf(c: number, r: number): number {
		const d = this.data!;
		return d.from + c * d.step + (d.mode === "sub" && d.merged === 1 ? (r * 1000) / d.rows : 0);
	}

	private drawRowLabels(g: CanvasRenderingContext2D, th: Theme, d: Heat): void {
		g.font = "10px system-ui, sans-serif";
		g.textAlign = "right";
		g.textBaseline = "middle";
		g.fillStyle = th.color("tx3");
		if (d.mode === "sub") {
			for (const ms of [0, 250, 500, 750])
				g.fillText(ms ? String(ms) : "0 ms", GUTTER - 8, this.top() + this.plotHeight() * (1 - ms / 1000) - (ms ? 0 : 4));
			return;
		}
		const nodes = nodesOf(d);
		if (nodes.length) {
			this.drawNodeLabels(g, th, d, nodes);
			return;
		}
		const every = Math.max(1, Math.ceil(14 / this.cellHeight() / (d.rows > 8 ? 4 : 1)) * (d.rows > 8 ? 4 : 1));
		for (let r = 0; r < d.rows; r += every)
			g.fillText(r && isCpu(d.cpus[r]) ? String(d.cpus[r]) : cpuName(d.cpus[r]), GUTTER - 8, this.top() + (r + 0.5) * this.cellHeight());
	}

	/* Each node by its name, and below it as many CPUs as there is room for. */
	private drawNodeLabels(g: CanvasRenderingContext2D, th: Theme, d: Heat, nodes: NodeRows[]): void {
		const h = this.cellHeight();
		for (const { node, row, rows } of nodes) {
			const top = this.top() + row * h;
			g.font = "600 10px system-ui, sans-serif";
			g.fillStyle = th.color("tx2");
			g.fillText(`node ${node}`, GUTTER - 8, top + Math.max(6, Math.min(h / 2, 8)));
			g.font = "10px system-ui, sans-serif";
			g.fillStyle = th.color("tx3");
			const every = Math.max(1, Math.ceil(14 / h));
			for (let r = every; r < rows; r += every)
				if ((r + 0.5) * h > 19 && (r + 0.5) * h < rows * h - 3)
					g.fillText(String(d.cpus[row + r]), GUTTER - 8, top + (r + 0.5) * h);
		}
	}

	private drawRowMeans(g: CanvasRenderingContext2D, th: Theme, d: Heat): void {
		const mean = this.sums;
		const top = d.mode === "cores" && d.full ? d.columns : Math.max(...mean) || 1;
		const x = GUTTER + this.plotWidth() + 6, h = this.cellHeight();
		g.fillStyle = th.color("area");
		for (let r = 0; r < d.rows; r++) {
			const y = this.top() + (d.mode === "cores" ? r : d.rows - 1 - r) * h;
			g.fillRect(x, y, Math.max(0, (GUTTER - 18) * Math.min(1, mean[r] / top)), Math.max(1, h - (h >= 4 ? 1 : 0)));
		}
		g.textAlign = "left";
		g.fillStyle = th.color("tx3");
		g.fillText(d.mode === "cores" ? "mean" : "by ms", x, LANE / 2);
	}

	private drawAxis(g: CanvasRenderingContext2D, th: Theme, d: Heat): void {
		const zone = this.host.zone(), to = d.from + d.columns * d.step;
		const step = tickStep(((to - d.from) / this.plotWidth()) * 90);
		const y = this.top() + this.plotHeight() + 7;
		g.textBaseline = "top";
		g.textAlign = "right";
		g.fillStyle = th.color("tx3");
		g.fillText(zoneShort(d.from, zone), GUTTER - 8, y);
		g.textAlign = "center";
		for (const t of ticks(d.from, to, step, zone)) {
			const x = GUTTER + ((t - d.from) / (to - d.from)) * this.plotWidth();
			if (x > GUTTER + 20 && x < GUTTER + this.plotWidth() - 10) {
				g.fillRect(x, y - 4, 1, 3);
				g.fillText(tickLabel(t, step, zone), x, y);
			}
		}
	}

	/* In the lane above the cells; errors and the chosen one run down, to their cell where one cell is meant. */
	private drawEvents(g: CanvasRenderingContext2D, th: Theme, d: Heat): void {
		const left = GUTTER, right = GUTTER + this.plotWidth(), exact = d.mode === "sub" && d.merged === 1;
		for (const e of bySeverity(this.events)) {
			const x = this.eventX(e), chosen = e.id === this.chosen;
			if (x < left || x > right)
				continue;
			if (rank(e) === "err" || chosen) {
				const y = exact ? this.top() + this.plotHeight() * (1 - ((e.time - d.from) % 1000) / 1000) : this.top() + this.plotHeight();
				g.fillStyle = g.strokeStyle = th.color(rank(e));
				g.globalAlpha = 0.85;
				g.fillRect(Math.round(x), LANE, 1, Math.max(0, y - LANE - (exact ? 5 : 0)));
				/* In the very cell: a ring, cased so that it shows on any heat. */
				for (const [width, color] of exact ? [[4, th.color("bg1")], [2, th.color(rank(e))]] as const : []) {
					g.lineWidth = width;
					g.strokeStyle = color;
					g.beginPath();
					g.arc(x + 0.5, y, 5, 0, 7);
					g.stroke();
				}
				g.globalAlpha = 1;
			}
			drawGlyph(g, e, x, 7, chosen ? 5.5 : rank(e) === "info" ? 3.5 : 4.5, th);
			if (chosen)
				this.drawEventName(g, th, e, x, right);
		}
	}

	private drawEventName(g: CanvasRenderingContext2D, th: Theme, e: Happening, x: number, right: number): void {
		const words = shortText(e);
		g.font = "600 10px system-ui, sans-serif";
		g.textBaseline = "middle";
		const w = g.measureText(words).width, before = x + 12 + w > right;
		g.textAlign = before ? "right" : "left";
		g.fillStyle = th.color("bg1");
		g.fillRect(before ? x - 14 - w : x + 9, 0, w + 6, LANE - 1);
		g.fillStyle = th.color(rank(e) === "info" ? "tx2" : rank(e));
		g.fillText(words, before ? x - 11 : x + 12, 7);
	}

	private eventAt(x: number, y: number): Happening | null {
		return y < LANE && this.data ? nearest(this.events, (t) => this.eventX({ time: t } as Happening), x, 7) : null;
	}

	private cellAt(x: number, y: number): Cell | null {
		const d = this.data;
		if (!d)
			return null;
		const c = Math.floor((x - GUTTER) / this.cellWidth());
		const fromTop = Math.floor((y - this.top()) / this.cellHeight());
		const r = d.mode === "cores" ? fromTop : d.rows - 1 - fromTop;
		return { c: Math.max(0, Math.min(d.columns - 1, c)), r: Math.max(0, Math.min(d.rows - 1, r)) };
	}

	private timeAtX(x: number): number {
		const d = this.data!;
		return d.from + ((x - GUTTER) / this.cellWidth()) * d.step;
	}

	/* What two cells span: along time, or the rectangle between them. */
	private between(p: Cell, q: Cell, allCpus: boolean): Part {
		const d = this.data!;
		if (d.mode === "cores") {
			const c0 = Math.min(p.c, q.c), c1 = Math.max(p.c, q.c), r0 = Math.min(p.r, q.r), r1 = Math.max(p.r, q.r);
			const all = allCpus || (r0 === 0 && r1 === d.rows - 1);
			return { from: d.from + c0 * d.step, to: d.from + (c1 + 1) * d.step, cpus: all ? null : known(d.cpus.slice(r0, r1 + 1)) };
		}
		/* A column of several seconds shows one of them: all of them are meant. */
		if (d.merged > 1)
			return { from: d.from + Math.min(p.c, q.c) * d.step, to: d.from + (Math.max(p.c, q.c) + 1) * d.step, cpus: null };
		const at = (k: Cell) => d.from + k.c * d.step + (k.r * 1000) / d.rows;
		return { from: Math.min(at(p), at(q)), to: Math.max(at(p), at(q)) + 1000 / d.rows, cpus: null };
	}

	private down(e: PointerEvent): void {
		const d = this.data;
		if (e.button || !d)
			return;
		if (this.beside(e))
			return;
		this.pressed = true;
		if (!this.start)
			this.second = e.ctrlKey || e.metaKey || this.host.dragsBaseline();
		this.shift = e.shiftKey;
		/* The second click of click-click ends the range. */
		if (!this.start)
			this.start = this.cellAt(e.offsetX, e.offsetY);
		else
			this.finish(this.cellAt(e.offsetX, e.offsetY)!);
		this.pressX = e.offsetX;
		this.pressY = e.offsetY;
		this.layers.root.setPointerCapture(e.pointerId);
	}
	private pressX = 0;
	private pressY = 0;

	/* A click on a CPU's label takes that core, one on the axis that second. */
	private beside(e: PointerEvent): boolean {
		const d = this.data!;
		const event = this.eventAt(e.offsetX, e.offsetY);
		if (event) {
			this.host.openEvent(event);
			return true;
		}
		const cell = this.cellAt(e.offsetX, e.offsetY)!;
		const whole = d.from + d.columns * d.step;
		if (e.offsetX < GUTTER) {
			if (d.mode === "cores" && e.offsetY >= this.top() && e.offsetY < this.top() + this.plotHeight())
				this.host.select({ from: d.from, to: whole, cpus: this.ofLabel(d, cell.r, e.offsetY, e.shiftKey) }, true, this.host.dragsBaseline());
			return true;
		}
		if (e.offsetX > GUTTER + this.plotWidth())
			return true;
		if (e.offsetY > this.top() + this.plotHeight() || (e.offsetY >= LANE && e.offsetY < this.top())) {
			const from = d.from + cell.c * d.step;
			this.host.select({ from, to: from + d.step, cpus: null }, true, this.host.dragsBaseline());
			return true;
		}
		return false;
	}

	/* The CPU whose label it is; with Shift, or on a node's name, all of its NUMA node. */
	private ofLabel(d: Heat, row: number, y: number, shift: boolean): number[] | null {
		const node = nodesOf(d).find((n) => row >= n.row && row < n.row + n.rows);
		const onName = node && y - this.top() - node.row * this.cellHeight() < 14;
		return node && (shift || onName) ? known(d.cpus.slice(node.row, node.row + node.rows)) : known([d.cpus[row]]);
	}

	private finish(end: Cell): void {
		const part = this.between(this.start!, end, this.shift);
		this.start = null;
		this.pressed = false;
		this.host.select(part, true, this.second);
	}

	private move({ offsetX, offsetY, clientX, clientY, shiftKey }: Spot): void {
		const e = this.pointer = { offsetX, offsetY, clientX, clientY, shiftKey };
		if (!this.data)
			return;
		this.shift = shiftKey;
		this.hovered = this.cellAt(e.offsetX, e.offsetY);
		if (this.start)
			this.host.select(this.between(this.start, this.hovered!, this.shift), false, this.second);
		else
			this.drawOver();
		this.hover(e);
	}

	private up(e: PointerEvent): void {
		const far = Math.hypot(e.offsetX - this.pressX, e.offsetY - this.pressY) >= CLICK;
		if (this.pressed && this.start && far)
			this.finish(this.cellAt(e.offsetX, e.offsetY)!);
		else if (this.pressed && this.start)
			this.host.select(this.between(this.start, this.start, false), false, this.second);
		this.pressed = false;
	}

	/* True: there was a range begun, and it is given up. */
	cancel(): boolean {
		const had = this.start !== null;
		this.start = null;
		this.pressed = false;
		if (had)
			this.host.unselect();
		return had;
	}

	/* Arrow keys: moves the selection by cells, or its end. */
	nudge(by: number, grow: boolean): void {
		const d = this.data, s = this.selected;
		if (!d || !s)
			return;
		const step = (d.mode === "cores" || d.merged > 1 ? d.step : 1000 / d.rows) * by;
		const to = s.to + step, from = grow ? s.from : s.from + step;
		if (to > from)
			this.host.select({ from, to, cpus: s.cpus }, "degree", false);
	}

	/* Without a pointer: arrow keys walk the cells, Enter begins a range and ends it. What is selected they move: see nudge. */
	private key(e: KeyboardEvent): void {
		const d = this.data, by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
		if (!d || e.ctrlKey || e.metaKey || e.altKey || (this.selected && !this.start && !this.host.dragsBaseline()) || (!by && e.key !== "Enter"))
			return;
		e.preventDefault();
		e.stopPropagation();
		const at = this.hovered ?? { c: d.columns >> 1, r: d.rows >> 1 };
		if (by) {
			const up = d.mode === "cores" ? -by[1] : by[1];
			this.hovered = { c: Math.max(0, Math.min(d.columns - 1, at.c + by[0])), r: Math.max(0, Math.min(d.rows - 1, at.r + up)) };
		} else if (this.start) {
			this.finish(at);
			return;
		} else {
			this.second = this.host.dragsBaseline();
			this.shift = e.shiftKey;
			this.start = this.hovered = at;
		}
		if (this.start)
			this.host.select(this.between(this.start, this.hovered!, this.shift), false, this.second);
		this.drawOver();
		this.host.walked(this.describe(this.hovered!).join(", "));
	}

	private hover(e: Spot): void {
		const d = this.data!, cell = this.hovered, event = this.start ? null : this.eventAt(e.offsetX, e.offsetY);
		clearTimeout(this.asking);
		this.layers.root.style.cursor = event ? "pointer" : "";
		if (event) {
			this.tip.show(e.clientX, e.clientY, `${clock(event.time, this.host.zone(), 3)} · ${event.source}, ${SEVERITY[event.severity] ?? ""}`, event.text);
			return;
		}
		const inside = e.offsetX >= GUTTER && e.offsetX <= GUTTER + this.plotWidth() && e.offsetY >= this.top() &&
			e.offsetY <= this.top() + this.plotHeight();
		if (cell && hasStrip(d) && !inside && e.offsetY >= LANE && e.offsetY < this.top() && e.offsetX >= GUTTER && e.offsetX <= GUTTER + this.plotWidth()) {
			this.tip.show(e.clientX, e.clientY, ...stripWords(d, cell.c, this.host.zone()));
			return;
		}
		if (!cell || !inside) {
			this.tip.hide();
			return;
		}
		const lines = this.describe(cell), part = this.between(cell, cell, false);
		this.tip.show(e.clientX, e.clientY, ...lines);
		if (!this.start && d.cells[cell.r * d.columns + cell.c] > 0)
			this.askWho(e.clientX, e.clientY, lines, d.mode === "cores" ? { ...part, cpus: known([d.cpus[cell.r]]) } : part);
	}

	/* A cell in words: when, which CPU, how busy, and what is being selected. */
	private describe(cell: Cell): string[] {
		const d = this.data!;
		const zone = this.host.zone();
		const v = d.cells[cell.r * d.columns + cell.c];
		const lost = d.unseen[cell.r * d.columns + cell.c], n = d.counts[cell.r * d.columns + cell.c];
		const samples = n === 1 ? "1 sample" : `${count(n)} samples`;
		const part = this.between(cell, cell, false);
		const lines: string[] = [`${clocks(part.from, part.to, zone, 3)} ${zoneName(part.from, zone)}`];
		if (d.unread?.[cell.c])
			lines.push("not read yet");
		else if (lost > 250)
			lines.push("not observed: this is not idle time");
		else if (d.mode === "cores")
			lines.push(`${cpuName(d.cpus[cell.r])}${d.nodes ? `, node ${d.nodes[cell.r]}` : ""}: ${d.full ? `${percent(v)} busy, ` : ""}${samples}` +
				(d.merged > 1 ? ` in the busiest ${duration(d.fine)} of it` : ""));
		else
			lines.push(`${samples}${d.merged > 1 ? " in the busiest of its seconds" : ` in ${duration(1000 / d.rows)}`}`);
		if (!d.unread?.[cell.c] && lost > 5 && lost <= 250)
			lines.push(`${percent(lost / 255)} of it was not observed`);
		if (d.painted && v > 0)
			lines.push(`${percent(d.painted[cell.r * d.columns + cell.c])} of it matches the search`);
		const begun = this.second ? this.baseline : this.selected;
		if (this.start && begun)
			lines.push(`selecting ${duration(begun.to - begun.from)}${begun.cpus ? `, ${cpuNames(begun.cpus)}` : ""}`);
		return lines;
	}

	/* The pointer rests on a cell: who ran there is worth a question. */
	private askWho(x: number, y: number, lines: string[], part: Part): void {
		const at = this.hovered;
		this.asking = window.setTimeout(() => void this.host.busiest(part).then((words) => {
			if (words && this.hovered === at)
				this.tip.show(x, y, ...lines, words);
		}), REST_MS);
	}

	/* Where a part begins and ends on the screen, for the funnel below. */
	edges(part: Part): [number, number] {
		const d = this.data;
		if (!d)
			return [GUTTER, GUTTER + this.plotWidth()];
		const x = (t: number) => GUTTER + Math.max(0, Math.min(1, (t - d.from) / (d.columns * d.step))) * this.plotWidth();
		if (d.mode === "sub" && d.merged === 1)
			return [x(Math.floor(part.from / 1000) * 1000), x(Math.ceil(part.to / 1000) * 1000)];
		return [x(part.from), x(part.to)];
	}

	private drawOver(): void {
		const { over: g } = this.layers;
		const th = this.host.theme(), d = this.data;
		this.layers.clearOver();
		if (!d)
			return;
		if (this.hovered && !this.start) {
			const w = this.cellWidth(), h = this.cellHeight();
			const row = d.mode === "cores" ? this.hovered.r : d.rows - 1 - this.hovered.r;
			g.strokeStyle = th.color("tx");
			g.lineWidth = 1;
			g.strokeRect(GUTTER + this.hovered.c * w - 0.5, this.top() + row * h - 0.5, Math.max(2, w), Math.max(2, h));
		}
		const a = this.selected && this.outline(d, this.selected), b = this.baseline && this.outline(d, this.baseline);
		if (b)
			this.drawSelection(g, th, b, "B", a);
		if (a)
			this.drawSelection(g, th, a, "A", null);
		this.drawPlaces(g, th, d);
	}

	/* beside: whose letter hangs in the same place, if any. */
	private drawSelection(g: CanvasRenderingContext2D, th: Theme, path: Outline, letter: "A" | "B", beside: Outline | null): void {
		g.save();
		g.beginPath();
		g.rect(GUTTER - 3, 0, this.plotWidth() + 6, this.top() + this.plotHeight() + 3);
		g.clip();
		g.lineJoin = "miter";
		/* B is told by its dashes and its letter, not by a hue: that is lost on the heat. */
		const second = letter === "B";
		for (const [width, color] of [[4, th.color("bg1")], [second ? 1.5 : 2, th.color(second ? "b" : "a")]] as const) {
			g.lineWidth = width;
			g.strokeStyle = color;
			g.setLineDash(second && width < 4 ? [5, 3] : []);
			g.stroke(path.shape);
		}
		g.setLineDash([]);
		g.fillStyle = th.color(second ? "b" : "a");
		g.globalAlpha = second ? 0.05 : 0.1;
		g.fill(path.shape);
		g.restore();
		const at = (p: Outline) => Math.max(GUTTER, p.x) - 17;
		const left = beside && Math.abs(at(beside) - at(path)) < 17 && Math.abs(beside.y - path.y) < 16 ? at(beside) - 17 : at(path);
		g.fillStyle = th.color(second ? "b" : "a");
		g.fillRect(left, path.y, 16, 16);
		g.fillStyle = th.color(second ? "bg1" : "a-ink");
		g.font = "700 11px system-ui, sans-serif";
		g.textAlign = "center";
		g.textBaseline = "middle";
		g.fillText(letter, left + 8, path.y + 8.5);
	}

	private outline(d: Heat, p: Part): Outline | null {
		const end = d.from + d.columns * d.step;
		if (p.to <= d.from || p.from >= end)
			return null;
		const shape = new Path2D();
		const w = this.cellWidth(), h = this.cellHeight(), top = this.top(), bottom = this.top() + this.plotHeight();
		if (d.mode === "cores" || d.merged > 1) {
			const x0 = GUTTER + ((p.from - d.from) / d.step) * w, x1 = GUTTER + ((p.to - d.from) / d.step) * w;
			const rows = p.cpus && d.mode === "cores" ? p.cpus.map((c) => d.cpus.indexOf(c)).filter((r) => r >= 0) : [];
			const y0 = rows.length ? top + Math.min(...rows) * h : top;
			const y1 = rows.length ? top + (Math.max(...rows) + 1) * h : bottom;
			shape.rect(x0, y0, Math.max(2, x1 - x0), y1 - y0);
			return { shape, x: x0, y: y0 };
		}
		/* Along time: a staircase of two steps. */
		const place = (t: number) => {
			const s = Math.min(d.columns, Math.max(0, (t - d.from) / d.step));
			const c = Math.min(Math.floor(s), d.columns - 1);
			return { x: GUTTER + c * w, y: bottom - (s - c) * this.plotHeight() };
		};
		const from = place(p.from), to = place(p.to);
		if (to.y === bottom && to.x > from.x) {
			/* Ends with a whole second. */
			to.x -= w;
			to.y = top;
		}
		if (from.x === to.x) {
			shape.rect(from.x, to.y, w, from.y - to.y);
			return { shape, x: from.x, y: to.y };
		}
		shape.moveTo(from.x, from.y);
		shape.lineTo(from.x, top);
		shape.lineTo(to.x, top);
		shape.lineTo(to.x, to.y);
		shape.lineTo(to.x + w, to.y);
		shape.lineTo(to.x + w, bottom);
		shape.lineTo(from.x + w, bottom);
		shape.lineTo(from.x + w, from.y);
		shape.closePath();
		return { shape, x: from.x, y: top };
	}
}
