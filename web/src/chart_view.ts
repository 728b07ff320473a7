// SPDX-License-Identifier: Apache-2.0
/* By time: the frames of one core, one behind the other. Shows what a sum hides: who ran when, and what did not run meanwhile. */
import { boxAt, boxesOf, coresOf, type Boxes, type Chart } from "./chart";
import { el, fill, Layers, type Theme, type Tip } from "./dom";
import { clock, count, duration, tickLabel, ticks, tickStep, zoneName, type Zone } from "./format";
import { FONT, frameFill, KIND_WORDS, LABEL_LEAST, Labels, ROW } from "./frames";
import type { Colour } from "./state";
import { GUTTER } from "./timeline_view";
import { KIND, nameOf, type Match } from "./tree";

const AXIS = 20, SIDE = 12;
const LEAST_MS = 1; /* what can be zoomed to */

export interface ChartHost {
	theme(): Theme;
	zone(): Zone;
	colour(): Colour;
	icicle(): boolean;
	setCore(cpu: number): void;
	walked(words: string): void;
}

export class ChartView {
	readonly layers: Layers;
	private select: HTMLSelectElement = el("select", { "aria-label": "Core", title: "Whose time is shown (, and .)", onchange: () => this.host.setCore(Number(this.select.value)) });
	readonly picker = el("label", { class: "legend" }, this.select);
	readonly empty = el("div", { class: "empty", hidden: true });
	private chart: Chart | null = null;
	private boxes: Boxes | null = null;
	private core = -1;
	private view = { from: 0, to: 1 }; /* ms behind the chart's beginning */
	private hovered = -1;
	private walked = -1;
	private scroll = 0;
	private match: Match | null = null;
	private labels = new Labels();

	constructor(private host: ChartHost, private tip: Tip) {
		this.layers = new Layers("chart", "Frames of one core by time. Arrow keys walk, Enter zooms to a frame, plus and minus zoom, comma and full stop change the core", () => this.draw());
		const r = this.layers.root;
		r.append(this.empty);
		r.addEventListener("pointermove", (e) => this.hover(e));
		r.addEventListener("pointerleave", () => {
			this.hovered = -1;
			this.tip.hide();
			this.drawOver();
		});
		r.addEventListener("click", (e) => {
			const box = this.at(e.offsetX, e.offsetY);
			if (box >= 0)
				this.zoomTo(box);
		});
		r.addEventListener("dblclick", () => this.reset());
		r.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
		r.addEventListener("keydown", (e) => this.key(e));
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
			this.hovered = this.walked = -1;
			const listed = cores.some(([cpu]) => cpu === core) || core < 0 ? cores : [...cores, [core, 0] as [number, number]].sort((p, q) => p[0] - q[0]);
			fill(this.select, ...listed.map(([cpu, n]) => el("option", { value: cpu }, `CPU ${cpu} (${count(n)})`)));
		}
		this.select.value = String(core);
		this.picker.hidden = cores.length === 0 && core < 0;
		this.draw();
	}

	showMatch(match: Match | null): void {
		this.match = match;
		this.draw();
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
		return `CPU ${this.core}, ${count(n)} samples in order of time. Empty: idle, or not selected. Click a frame or turn the wheel to zoom, double click for all`;
	}

	private plotWidth(): number {
		return Math.max(1, this.layers.width - 2 * SIDE);
	}
	private x(t: number): number {
		return SIDE + ((t - this.view.from) / (this.view.to - this.view.from)) * this.plotWidth();
	}
	private time(x: number): number {
		return this.view.from + ((x - SIDE) / this.plotWidth()) * (this.view.to - this.view.from);
	}
	/* Flames grow up from the axis, as in the other picture; an icicle hangs from the top. */
	private y(depth: number): number {
		return this.host.icicle() ? AXIS + depth * ROW - this.scroll : this.layers.height - AXIS - (depth + 1) * ROW + this.scroll;
	}

	private setView(from: number, to: number): void {
		const all = this.chart!.to - this.chart!.from, length = Math.max(LEAST_MS, Math.min(all, to - from));
		const start = Math.max(0, Math.min(all - length, from));
		this.view = { from: start, to: start + length };
		this.draw();
	}

	private zoomTo(box: number): void {
		const b = this.boxes!, room = (b.end[box] - b.start[box]) * 0.05;
		this.setView(b.start[box] - room, b.end[box] + room);
	}

	draw(): void {
		const { base: g, width, height } = this.layers;
		const th = this.host.theme(), b = this.boxes;
		if (!width)
			return;
		this.layers.clear(th.color("bg1"));
		if (b && this.chart) {
			g.textBaseline = "middle";
			g.textAlign = "left";
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
		const t = this.chart!.tree, ink = th.color("ink"), tx = th.color("tx"), by = this.host.colour();
		let drawn = -1; /* to here the row is painted: what is narrower than half a pixel does not paint it again */
		for (const i of b.byDepth[depth]) {
			if (b.end[i] <= this.view.from || b.start[i] >= this.view.to)
				continue;
			const x0 = Math.max(SIDE, this.x(b.start[i])), x1 = Math.min(SIDE + this.plotWidth(), this.x(b.end[i])), w = x1 - x0;
			if (x1 <= drawn + 0.5)
				continue;
			drawn = x1;
			const node = b.node[i], frame = t.frame[node], kind = t.kind[frame];
			g.globalAlpha = this.match && !this.match.frames[frame] ? 0.4 : 1;
			g.fillStyle = this.match?.frames[frame] ? th.color("find") : frameFill(t, node, by, th);
			g.fillRect(x0, y, Math.max(0.7, w - (w > 2 ? 1 : 0)), ROW - 1);
			if (w < LABEL_LEAST)
				continue;
			g.fillStyle = kind === KIND.process ? tx : ink;
			g.font = (kind === KIND.process ? "600 " : kind === KIND.inlined ? "italic " : "") + FONT;
			const label = this.labels.fit(g, nameOf(t, node), w - 8);
			if (label)
				g.fillText(label, x0 + 4, y + ROW / 2);
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
		g.fillText(zoneName(from, zone), SIDE, y + AXIS / 2);
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

	private at(x: number, y: number): number {
		const b = this.boxes;
		const depth = this.host.icicle() ? Math.floor((y - AXIS + this.scroll) / ROW) : Math.floor((this.layers.height - AXIS - y + this.scroll) / ROW);
		return !b || depth < 0 || x < SIDE || x > SIDE + this.plotWidth() ? -1 : boxAt(b, depth, this.time(x));
	}

	private hover(e: PointerEvent): void {
		const box = this.at(e.offsetX, e.offsetY), c = this.chart;
		if (box !== this.hovered) {
			this.hovered = box;
			this.drawOver();
		}
		this.layers.root.style.cursor = box >= 0 ? "pointer" : "default";
		if (!c || e.offsetX < SIDE || e.offsetX > SIDE + this.plotWidth())
			this.tip.hide();
		else if (box < 0)
			this.tip.show(e.clientX, e.clientY, `${clock(c.from + this.time(e.offsetX), this.host.zone(), 3)} ${zoneName(c.from, this.host.zone())}`);
		else
			this.tip.show(e.clientX, e.clientY, el("b", { class: "mono" }, nameOf(c.tree, this.boxes!.node[box])), ...this.describe(box));
	}

	private describe(box: number): string[] {
		const b = this.boxes!, c = this.chart!, t = c.tree, node = b.node[box], zone = this.host.zone();
		const module = t.modules[t.module[node]] ?? "", kind = KIND_WORDS[t.kind[t.frame[node]]];
		return [`${clock(c.from + b.start[box], zone, 3)} – ${clock(c.from + b.end[box], zone, 3)} ${zoneName(c.from, zone)}, CPU ${this.core}`,
			`${duration(b.end[box] - b.start[box])} without a break · ${count(b.samples[box])} ${b.samples[box] === 1 ? "sample" : "samples"}`,
			module ? `${kind} · ${module}` : kind];
	}

	private drawOver(): void {
		const { over: g } = this.layers, b = this.boxes;
		this.layers.clearOver();
		const mark = this.hovered >= 0 ? this.hovered : document.activeElement === this.layers.root ? this.walked : -1;
		if (!b || mark < 0)
			return;
		const depth = this.chart!.tree.depth[b.node[mark]] - 1;
		const x0 = Math.max(SIDE, this.x(b.start[mark])), x1 = Math.min(SIDE + this.plotWidth(), this.x(b.end[mark]));
		g.strokeStyle = this.host.theme().color("tx");
		g.lineWidth = 1.5;
		g.strokeRect(x0, this.y(depth) - 0.5, Math.max(1, x1 - x0 - 1), ROW);
	}

	private wheel(e: WheelEvent): void {
		const c = this.chart;
		if (!c)
			return;
		e.preventDefault();
		if (e.shiftKey) {
			const most = Math.max(0, (this.boxes?.byDepth.length ?? 0) * ROW + AXIS + 8 - this.layers.height);
			this.scroll = Math.max(0, Math.min(most, this.scroll + (this.host.icicle() ? 1 : -1) * (e.deltaY || e.deltaX)));
			this.draw();
			return;
		}
		this.zoom(Math.exp(Math.sign(e.deltaY) * 0.25), this.time(e.offsetX));
	}

	private zoom(by: number, around = (this.view.from + this.view.to) / 2): void {
		this.setView(around - (around - this.view.from) * by, around + (this.view.to - around) * by);
	}

	private key(e: KeyboardEvent): void {
		const b = this.boxes;
		if (!b || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const depth = this.walked < 0 ? -1 : this.chart!.tree.depth[b.node[this.walked]] - 1;
		const upwards = this.host.icicle() ? "ArrowDown" : "ArrowUp", down = this.host.icicle() ? "ArrowUp" : "ArrowDown";
		const acts: Record<string, () => void> = {
			[upwards]: () => this.walk(depth < 0 ? b.byDepth[0]?.[0] ?? -1 : boxAt(b, depth + 1, b.start[this.walked])),
			[down]: () => this.walk(depth > 0 ? boxAt(b, depth - 1, b.start[this.walked]) : this.walked),
			ArrowLeft: () => this.walk(b.byDepth[depth]?.[b.byDepth[depth].indexOf(this.walked) - 1] ?? -1),
			ArrowRight: () => this.walk(b.byDepth[Math.max(0, depth)]?.[depth < 0 ? 0 : b.byDepth[depth].indexOf(this.walked) + 1] ?? -1),
			Enter: () => this.walked >= 0 && this.zoomTo(this.walked),
			"+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
		};
		const act = acts[e.key];
		if (!act)
			return;
		e.preventDefault();
		e.stopPropagation();
		act();
	}

	private walk(to: number): void {
		if (to < 0)
			return;
		this.walked = to;
		this.hovered = -1;
		this.drawOver();
		this.host.walked([nameOf(this.chart!.tree, this.boxes!.node[to]), ...this.describe(to)].join(", "));
	}
}
