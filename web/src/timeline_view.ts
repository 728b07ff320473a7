// SPDX-License-Identifier: Apache-2.0
/*
 * Everything retained, one bin a pixel or so: the mean as an area over the lighter area of each bin's
 * busiest second, so that a spike of a second survives in twelve hours. Hatch: not observed. The brush
 * is the span shown below.
 */
import type { Timeline } from "./api";
import { bySeverity, drawGlyph, nearest, rank, SEVERITY, type Happening } from "./happening";
import { hatch, Layers, type Theme, type Tip } from "./dom";
import { clock, day, percent, tickLabel, ticks, tickStep, zoneName, zoneShort, type Zone } from "./format";

export const GUTTER = 56;
const TOP = 16, AXIS = 20;
const GLYPH = 5, NEAR = 7; /* px */
const EDGE = 5; /* px around the brush's edges that take hold of them */

export interface TimelineHost {
	theme(): Theme;
	zone(): Zone;
	/* "degree": by a little, one of several times. */
	setSpan(from: number, to: number, final: boolean | "degree"): void;
	openEvent(e: Happening): void;
}

export class TimelineView {
	readonly layers: Layers;
	private data: Timeline | null = null;
	private live = false;
	private from = 0;
	private to = 1;
	private span = { from: 0, to: 1 };
	private events: Happening[] = [];
	private chosen = "";
	private drag: { kind: "new" | "move" | "left" | "right"; at: number; from: number; to: number } | null = null;

	constructor(private host: TimelineHost, private tip: Tip) {
		this.layers = new Layers("timeline",
			"Timeline. Drag to choose a span, arrow keys move it, plus and minus zoom", () => this.draw());
		const r = this.layers.root;
		r.addEventListener("pointerdown", (e) => this.down(e));
		r.addEventListener("pointermove", (e) => this.move(e));
		r.addEventListener("pointerup", (e) => this.up(e));
		r.addEventListener("pointercancel", () => (this.drag = null));
		r.addEventListener("pointerleave", () => this.tip.hide());
		r.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
	}

	bins(): number {
		return Math.max(100, Math.min(2000, this.layers.root.clientWidth - 2 * GUTTER));
	}

	/* live: it ends now. */
	show(data: Timeline | null, from: number, to: number, live: boolean): void {
		this.data = data;
		this.live = live;
		this.from = from;
		this.to = to;
		this.layers.redraw();
	}

	showSpan(from: number, to: number): void {
		this.span = { from, to };
		this.layers.redraw();
	}

	/* chosen: the id of the one that is selected. */
	showEvents(list: Happening[], chosen: string): void {
		this.events = list;
		this.chosen = chosen;
		this.layers.redraw();
	}

	private plotWidth(): number {
		return Math.max(1, this.layers.width - 2 * GUTTER);
	}

	x(t: number): number {
		return GUTTER + ((t - this.from) / (this.to - this.from)) * this.plotWidth();
	}

	private time(x: number): number {
		return this.from + ((x - GUTTER) / this.plotWidth()) * (this.to - this.from);
	}

	private top(): number {
		let peak = 0;
		for (const v of this.data?.peak ?? [])
			peak = Math.max(peak, v);
		return [0.05, 0.1, 0.25, 0.5, 1].find((v) => v >= peak) ?? 1;
	}

	draw(): void {
		const { base: g, width, height } = this.layers;
		const th = this.host.theme();
		if (!width)
			return;
		this.layers.clear(th.color("bg1"));
		const bottom = height - AXIS, h = bottom - TOP, top = this.top();
		this.drawGrid(g, th, bottom, h, top);
		if (this.data) {
			this.area(g, this.data.peak, th.color("area2"), bottom, h / top);
			this.area(g, this.data.busy, th.color("area"), bottom, h / top);
			this.drawUnseen(g, this.data, th, bottom);
		}
		this.drawAxis(g, th, bottom);
		this.drawEvents(g, th, bottom);
		this.drawBrush();
	}

	/* Errors run down through the area; the chosen one says its time. */
	private drawEvents(g: CanvasRenderingContext2D, th: Theme, bottom: number): void {
		for (const e of bySeverity(this.events)) {
			const x = this.x(e.time);
			if (x < GUTTER - 1 || x > GUTTER + this.plotWidth() + 1)
				continue;
			if (rank(e) === "err" || e.id === this.chosen) {
				g.globalAlpha = 0.7;
				g.fillStyle = th.color(rank(e));
				g.fillRect(Math.round(x), TOP - 6, 1, bottom - TOP + 6);
				g.globalAlpha = 1;
			}
			drawGlyph(g, e, x, 7, e.id === this.chosen ? GLYPH + 1 : rank(e) === "info" ? GLYPH - 1.5 : GLYPH, th);
			if (e.id !== this.chosen)
				continue;
			const words = `${clock(e.time, this.host.zone())} ${zoneName(e.time, this.host.zone())}`, left = x > GUTTER + this.plotWidth() / 2;
			g.font = "600 10px system-ui, sans-serif";
			g.textAlign = left ? "right" : "left";
			g.textBaseline = "middle";
			const w = g.measureText(words).width + 4, at = x + (left ? -9 : 9);
			g.fillStyle = th.color("bg1");
			g.fillRect(left ? at - w : at, 0, w, 13);
			g.fillStyle = th.color(rank(e) === "info" ? "tx2" : rank(e));
			g.fillText(words, at, 7);
		}
	}

	private eventAt(e: PointerEvent): Happening | null {
		return e.offsetY < TOP - 1 ? nearest(this.events, (t) => this.x(t), e.offsetX, NEAR) : null;
	}

	private drawGrid(g: CanvasRenderingContext2D, th: Theme, bottom: number, h: number, top: number): void {
		g.font = "10px system-ui, sans-serif";
		g.textAlign = "right";
		g.textBaseline = "middle";
		for (const share of [0.5, 1]) {
			const y = Math.round(bottom - h * share) + 0.5;
			g.strokeStyle = th.color("line");
			g.beginPath();
			g.moveTo(GUTTER, y);
			g.lineTo(GUTTER + this.plotWidth(), y);
			g.stroke();
			g.fillStyle = th.color("tx3");
			if (this.data)
				g.fillText(percent(top * share).replace(".0", ""), GUTTER - 8, y);
		}
	}

	private area(g: CanvasRenderingContext2D, v: Float32Array, color: string, bottom: number, scale: number): void {
		const d = this.data!;
		g.fillStyle = color;
		g.beginPath();
		for (let i = 0; i < v.length; i++) {
			if (!(v[i] > 0))
				continue;
			const x0 = this.x(d.from + i * d.step), x1 = this.x(d.from + (i + 1) * d.step);
			g.rect(x0, bottom - Math.max(1, v[i] * scale), Math.max(1, x1 - x0), Math.max(1, v[i] * scale));
		}
		g.fill();
	}

	private drawUnseen(g: CanvasRenderingContext2D, d: Timeline, th: Theme, bottom: number): void {
		for (let i = 0; i < d.unseen.length;) {
			/* As high as its share: what was seen in part is still to be read below. */
			const part = Math.ceil(d.unseen[i] * 8 - 0.16);
			let n = i + 1;
			while (n < d.unseen.length && Math.ceil(d.unseen[n] * 8 - 0.16) === part)
				n++;
			if (part > 0) {
				const x0 = this.x(d.from + i * d.step);
				hatch(g, x0, TOP, Math.max(2, this.x(d.from + n * d.step) - x0), ((bottom - TOP) * part) / 8, th.color("warn"));
			}
			i = n;
		}
		g.fillStyle = th.color("ok");
		for (let i = 0; i < d.pinned.length; i++)
			if (d.pinned[i])
				g.fillRect(this.x(d.from + i * d.step), bottom, Math.max(1, this.plotWidth() / d.pinned.length), 2);
	}

	private drawAxis(g: CanvasRenderingContext2D, th: Theme, bottom: number): void {
		const zone = this.host.zone();
		const step = tickStep(((this.to - this.from) / this.plotWidth()) * 90);
		g.fillStyle = th.color("line2");
		g.fillRect(GUTTER, bottom, this.plotWidth(), 1);
		g.textBaseline = "top";
		g.fillStyle = th.color("tx3");
		g.textAlign = "right";
		g.fillText(zoneShort(this.from, zone), GUTTER - 8, bottom + 6);
		g.textAlign = "center";
		for (const t of ticks(this.from, this.to, step, zone)) {
			const x = this.x(t), label = tickLabel(t, step, zone);
			if (x < GUTTER + 18 || x > GUTTER + this.plotWidth() - (this.live ? 40 : 18))
				continue;
			g.fillStyle = th.color("line2");
			g.fillRect(x, bottom, 1, 4);
			g.fillStyle = th.color(label.includes(":") ? "tx3" : "tx2");
			g.fillText(label, x, bottom + 6);
		}
		if (this.live) {
			g.textAlign = "left";
			g.fillStyle = th.color("tx2");
			g.fillText("now", GUTTER + this.plotWidth() - 8, bottom + 6);
		}
	}

	private drawBrush(): void {
		const { over: g, height } = this.layers;
		const th = this.host.theme();
		this.layers.clearOver();
		if (!this.data)
			return;
		const [x0, x1] = this.brush();
		g.fillStyle = th.color("tx");
		g.globalAlpha = 0.08;
		g.fillRect(x0, TOP - 4, x1 - x0, height - AXIS - TOP + 4);
		g.globalAlpha = 1;
		g.strokeStyle = th.color("tx");
		g.lineWidth = 1.5;
		g.strokeRect(x0, TOP - 4, x1 - x0, height - AXIS - TOP + 4);
	}

	/* At least 5 px wide, so that two minutes of twelve hours can be seen. */
	brush(): [number, number] {
		if (!this.data)
			return [GUTTER, GUTTER + this.plotWidth()];
		let x0 = this.x(this.span.from), x1 = this.x(this.span.to);
		if (x1 - x0 < 5) {
			const middle = (x0 + x1) / 2;
			x0 = middle - 2.5;
			x1 = middle + 2.5;
		}
		const low = GUTTER, high = GUTTER + this.plotWidth();
		return [Math.max(low, Math.min(high - 5, x0)), Math.min(high, Math.max(low + 5, x1))];
	}

	private down(e: PointerEvent): void {
		if (e.button || !this.data)
			return;
		const [x0, x1] = this.brush();
		const x = e.offsetX, { from, to } = this.span;
		const wide = x1 - x0 > 3 * EDGE;
		const kind = wide && Math.abs(x - x0) < EDGE ? "left" : wide && Math.abs(x - x1) < EDGE ? "right"
			: x > x0 && x < x1 ? "move" : "new";
		this.pressed = this.eventAt(e);
		this.drag = { kind: this.pressed ? "move" : kind, at: x, from, to };
		this.layers.root.setPointerCapture(e.pointerId);
	}

	private pressed: Happening | null = null;

	private move(e: PointerEvent): void {
		const d = this.drag;
		if (!d) {
			this.hover(e);
			return;
		}
		const t = this.time(e.offsetX), by = t - this.time(d.at);
		if (Math.abs(e.offsetX - d.at) < 3 || this.pressed)
			return;
		/* An edge that is drawn past the end of what there is stops there: the other one stays where it is. */
		const within = (at: number) => Math.max(this.from, Math.min(this.to, at));
		if (d.kind === "new")
			this.apply(within(this.time(d.at)), within(t), false);
		else if (d.kind === "move")
			this.apply(d.from + by, d.to + by, false);
		else if (d.kind === "left")
			this.apply(within(d.from + by), d.to, false);
		else
			this.apply(d.from, within(d.to + by), false);
	}

	private up(e: PointerEvent): void {
		const d = this.drag;
		this.drag = null;
		if (!d)
			return;
		if (this.pressed) {
			if (Math.abs(e.offsetX - d.at) < 3)
				this.host.openEvent(this.pressed);
			this.pressed = null;
		} else if (Math.abs(e.offsetX - d.at) < 3) {
			const t = this.time(e.offsetX), half = (d.to - d.from) / 2;
			this.apply(t - half, t + half, true);
		} else {
			this.apply(this.span.from, this.span.to, true);
		}
	}

	private apply(a: number, b: number, final: boolean | "degree"): void {
		if (!this.data)
			return;
		let from = Math.min(a, b), to = Math.max(a, b);
		const length = Math.max(1000, Math.min(to - from, this.to - this.from));
		from = Math.max(this.from, Math.min(from, this.to - length));
		to = from + length;
		this.showSpan(from, to);
		this.host.setSpan(from, to, final);
	}

	private wheel(e: WheelEvent): void {
		e.preventDefault();
		this.zoom(Math.exp(Math.sign(e.deltaY) * 0.25), this.time(e.offsetX));
	}

	zoom(by: number, around = (this.span.from + this.span.to) / 2): void {
		const { from, to } = this.span;
		const at = around < from || around > to ? (from + to) / 2 : around;
		this.apply(at - (at - from) * by, at + (to - at) * by, "degree");
	}

	pan(by: number): void {
		const d = (this.span.to - this.span.from) * by;
		this.apply(this.span.from + d, this.span.to + d, "degree");
	}

	private hover(e: PointerEvent): void {
		const d = this.data;
		const t = this.time(e.offsetX);
		const i = d ? Math.floor((t - d.from) / d.step) : -1;
		const [x0, x1] = this.brush();
		const wide = x1 - x0 > 3 * EDGE;
		this.layers.root.style.cursor = wide && (Math.abs(e.offsetX - x0) < EDGE || Math.abs(e.offsetX - x1) < EDGE)
			? "ew-resize" : e.offsetX > x0 && e.offsetX < x1 ? "grab" : "default";
		const event = this.eventAt(e);
		if (event) {
			this.layers.root.style.cursor = "pointer";
			this.tip.show(e.clientX, e.clientY, `${day(event.time, this.host.zone())} ${clock(event.time, this.host.zone(), 3)} · ${event.source}, ${SEVERITY[event.severity] ?? ""}`, event.text);
			return;
		}
		if (!d || i < 0 || i >= d.busy.length) {
			this.tip.hide();
			return;
		}
		const zone = this.host.zone();
		const seen = 1 - d.unseen[i];
		this.tip.show(e.clientX, e.clientY, `${day(t, zone)} ${clock(t, zone)} ${zoneName(t, zone)}`,
			!isFinite(d.busy[i]) ? null : seen > 0.001 ? `${percent(d.busy[i])} of the machine busy, at most ${percent(d.peak[i])} in a second`
				: "not observed: this is not idle time",
			seen > 0.001 && seen < 0.98 ? `${percent(seen)} observed` : null);
	}
}
