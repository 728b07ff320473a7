// SPDX-License-Identifier: Apache-2.0
/* By time: the frames of one core, one behind the other. Shows what a sum hides: who ran when, and what did not run meanwhile. */
import { boxAt, boxesOf, coresOf, type Boxes, type Chart } from "./chart";
import { el, fill, type Theme, type Tip } from "./dom";
import { clock, count, cpuName, duration, tickLabel, ticks, tickStep, zoneName, zoneShort, type Zone } from "./format";
import { FrameCanvas, SIDE, type FrameHost, type Way } from "./frame_canvas";
import { frameFill, KIND_WORDS, ROW } from "./frames";
import type { Colour } from "./state";
import { GUTTER } from "./timeline_view";
import { nameOf } from "./tree";

const AXIS = 20;
const LEAST_MS = 1; /* what can be zoomed to */

export interface ChartHost extends FrameHost {
	zone(): Zone;
	colour(): Colour;
	setCore(cpu: number): void;
}

export class ChartView extends FrameCanvas {
	private select: HTMLSelectElement = el("select", { "aria-label": "Core", title: "Whose time is shown (, and .)", onchange: () => this.host.setCore(Number(this.select.value)) });
	readonly picker = el("label", { class: "legend" }, this.select);
	readonly empty = el("div", { class: "empty", hidden: true });
	private chart: Chart | null = null;
	private boxes: Boxes | null = null;
	private core = -1;
	private view = { from: 0, to: 1 }; /* ms behind the chart's beginning */

	constructor(private host: ChartHost, tip: Tip) {
		super("chart", "Frames of one core by time. Arrow keys walk, Enter zooms to a frame, plus and minus zoom, comma and full stop change the core", host, tip, AXIS, AXIS);
		this.scrolls = "Shift and scroll";
		this.layers.root.append(this.empty);
		this.layers.root.addEventListener("dblclick", () => this.reset());
	}

	/* wanted: the core that was chosen, -1: the busiest. why: in words, where there is nothing to show. */
	show(chart: Chart | null, wanted: number, why: string): void {
		const cores = chart ? coresOf(chart) : [];
		const busiest = cores.reduce((p, q) => (q[1] > p[1] ? q : p), [-1, 0])[0];
		const core = wanted >= 0 ? wanted : busiest;
		this.empty.hidden = !why;
		fill(this.empty, el("h3", {}, why));
		if (chart !== this.chart || core !== this.core) {
			this.chart = chart;
			this.core = core;
			this.boxes = chart ? boxesOf(chart, core) : null;
			if (chart)
				this.view = { from: 0, to: chart.to - chart.from };
			this.scroll = 0;
			this.hovered = this.walkedTo = -1;
			const listed = cores.some(([cpu]) => cpu === core) || core < 0 ? cores : [...cores, [core, 0] as [number, number]].sort((p, q) => p[0] - q[0]);
			fill(this.select, ...listed.map(([cpu, n]) => el("option", { value: cpu }, `${cpuName(cpu)} (${count(n)})`)));
		}
		this.select.value = String(core);
		this.picker.hidden = cores.length === 0 && core < 0;
		this.layers.redraw();
	}

	/* The next core that ran anything, or the one before. */
	step(by: number): void {
		const all = [...this.select.options].map((o) => Number(o.value)), at = all.indexOf(this.core);
		if (all.length)
			this.host.setCore(all[(at + by + all.length) % all.length]);
	}

	/* True: it was zoomed, and is not any more. */
	reset(): boolean {
		const c = this.chart, all = c ? c.to - c.from : 1;
		if (!c || this.view.to - this.view.from >= all)
			return false;
		this.setView(0, all);
		return true;
	}

	words(): string {
		const b = this.boxes, n = b?.byDepth[0] ? [...b.byDepth[0]].reduce((sum, i) => sum + b.samples[i], 0) : 0;
		return `${cpuName(this.core)}, ${count(n)} samples in order of time. Empty: idle, or not selected. Click or wheel: zoom, double click: all`;
	}

	protected rows(): number {
		return this.boxes?.byDepth.length ?? 0;
	}
	private x(t: number): number {
		return SIDE + ((t - this.view.from) / (this.view.to - this.view.from)) * this.plotWidth();
	}
	private time(x: number): number {
		return this.view.from + ((x - SIDE) / this.plotWidth()) * (this.view.to - this.view.from);
	}

	private setView(from: number, to: number): void {
		const all = this.chart!.to - this.chart!.from, length = Math.max(LEAST_MS, Math.min(all, to - from));
		const start = Math.max(0, Math.min(all - length, from));
		this.view = { from: start, to: start + length };
		this.layers.redraw();
	}

	protected enter(box: number): void {
		const b = this.boxes!, room = (b.end[box] - b.start[box]) * 0.05;
		this.setView(b.start[box] - room, b.end[box] + room);
	}

	draw(): void {
		const { base: g, width, height } = this.layers;
		const th = this.host.theme(), b = this.boxes;
		if (!width)
			return;
		this.layers.clear(th.color("bg1"));
		this.deepest = 0;
		if (b && this.chart) {
			this.beginFrames(g);
			this.deepest = b.byDepth.length - 1;
			for (let d = 0; d < b.byDepth.length; d++) {
				const y = this.y(d);
				if (y > -ROW && y < height)
					this.drawRow(g, th, b, d, y);
			}
			g.globalAlpha = 1;
			this.drawAxis(g, th);
		}
		this.drawOver();
	}

	private drawRow(g: CanvasRenderingContext2D, th: Theme, b: Boxes, depth: number, y: number): void {
		const t = this.chart!.tree, by = this.host.colour();
		let drawn = -1; /* to here the row is painted: what is narrower than half a pixel does not paint it again */
		for (const i of b.byDepth[depth]) {
			if (b.end[i] <= this.view.from || b.start[i] >= this.view.to)
				continue;
			const x0 = Math.max(SIDE, this.x(b.start[i])), x1 = Math.min(SIDE + this.plotWidth(), this.x(b.end[i])), w = x1 - x0;
			if (x1 <= drawn + 0.5)
				continue;
			drawn = x1;
			const node = b.node[i];
			this.drawFrame(g, t, node, x0, y, w, { fill: frameFill(t, node, by, th), faded: false, quiet: false, words: nameOf(t, node) });
		}
	}

	private drawAxis(g: CanvasRenderingContext2D, th: Theme): void {
		const zone = this.host.zone(), c = this.chart!, from = c.from + this.view.from, to = c.from + this.view.to;
		const top = this.host.icicle(), y = top ? 0 : this.layers.height - AXIS;
		g.globalAlpha = 1;
		g.fillStyle = th.color("bg1");
		g.fillRect(0, y, this.layers.width, AXIS);
		g.fillStyle = th.color("line2");
		g.fillRect(SIDE, top ? AXIS - 1 : y, this.plotWidth(), 1);
		g.font = "10px system-ui, sans-serif";
		g.textBaseline = "middle";
		g.fillStyle = th.color("tx3");
		g.textAlign = "left";
		g.fillText(zoneShort(from, zone), SIDE, y + AXIS / 2);
		g.textAlign = "center";
		const step = tickStep(((to - from) / this.plotWidth()) * 90);
		for (const t of ticks(from, to, step, zone)) {
			const x = this.x(t - c.from);
			if (x < GUTTER || x > SIDE + this.plotWidth() - 24)
				continue;
			g.fillRect(x, top ? AXIS - 4 : y, 1, 4);
			g.fillText(tickLabel(t, step, zone), x, y + AXIS / 2 + (top ? -1 : 2));
		}
	}

	protected at(x: number, y: number): number {
		const b = this.boxes, row = this.rowAt(y);
		return !b || row < 0 || x < SIDE || x > SIDE + this.plotWidth() ? -1 : boxAt(b, row, this.time(x));
	}

	protected tell(box: number, x: number): (Node | string)[] | null {
		const c = this.chart, zone = this.host.zone();
		if (!c || x < SIDE || x > SIDE + this.plotWidth())
			return null;
		return box < 0 ? [`${clock(c.from + this.time(x), zone, 3)} ${zoneName(c.from, zone)}`] : [el("b", { class: "mono" }, this.title(box)), ...this.describe(box)];
	}

	protected title(box: number): string {
		return nameOf(this.chart!.tree, this.boxes!.node[box]);
	}

	protected describe(box: number): string[] {
		const b = this.boxes!, c = this.chart!, t = c.tree, node = b.node[box], zone = this.host.zone();
		const module = t.modules[t.module[node]] ?? "", kind = KIND_WORDS[t.kind[t.frame[node]]];
		return [`${clock(c.from + b.start[box], zone, 3)} – ${clock(c.from + b.end[box], zone, 3)} ${zoneName(c.from, zone)}, ${cpuName(this.core)}`,
			`${duration(b.end[box] - b.start[box])} without a break · ${count(b.samples[box])} ${b.samples[box] === 1 ? "sample" : "samples"}`,
			module ? `${kind} · ${module}` : kind];
	}

	private rowOf(box: number): number {
		return this.chart!.tree.depth[this.boxes!.node[box]] - 1;
	}

	protected placeOf(box: number): { x: number; w: number; row: number } | null {
		const b = this.boxes;
		if (!b)
			return null;
		const x0 = Math.max(SIDE, this.x(b.start[box])), x1 = Math.min(SIDE + this.plotWidth(), this.x(b.end[box]));
		return { x: x0, w: x1 - x0, row: this.rowOf(box) };
	}

	protected wheel(e: WheelEvent): void {
		if (!this.chart)
			return;
		e.preventDefault();
		if (e.shiftKey)
			this.scrollBy(e.deltaY || e.deltaX);
		else
			this.zoom(Math.exp(Math.sign(e.deltaY) * 0.25), this.time(e.offsetX));
	}

	private zoom(by: number, around = (this.view.from + this.view.to) / 2): void {
		this.setView(around - (around - this.view.from) * by, around + (this.view.to - around) * by);
	}

	protected next(box: number, way: Way): number {
		const b = this.boxes!, row = box < 0 ? -1 : this.rowOf(box), all = b.byDepth[Math.max(0, row)] ?? [];
		if (way === "up")
			return row < 0 ? all[0] ?? -1 : boxAt(b, row + 1, b.start[box]);
		if (way === "down")
			return row > 0 ? boxAt(b, row - 1, b.start[box]) : box;
		return (row < 0 ? (way === "right" ? all[0] : undefined) : all[all.indexOf(box) + (way === "right" ? 1 : -1)]) ?? -1;
	}

	protected otherKey(key: string): boolean {
		if (key !== "+" && key !== "=" && key !== "-")
			return false;
		this.zoom(key === "-" ? 2 : 0.5);
		return true;
	}
}
