// SPDX-License-Identifier: Apache-2.0
/* The flame graph on a canvas: only what is at least half a pixel wide is looked at. */
import { mix } from "./colour";
import { el, Layers, type Theme, type Tip } from "./dom";
import { FONT, frameFill, KIND_WORDS, LABEL_LEAST, Labels, ROW } from "./frames";
import { count, cpuTime, percent } from "./format";
import type { Colour } from "./state";
import type { Place } from "./why";
import { CHANGE, findStack, KIND, nameOf, nodeAt, parentOf, pathOf, visible, type Match, type Tree } from "./tree";

const SIDE = 12;

export interface FlameHost {
	theme(): Theme;
	icicle(): boolean;
	colour(): Colour;
	zoomed(path: string[]): void;
	walked(words: string): void;
	/* CPU-seconds a unit of the tree stands for; 0: not known. And the machine's in that time. */
	cpuSeconds(): { each: number; machine: number; of: string };
	menu(node: number, x: number, y: number): void;
}

/* How many rows stand above a node. */
function heightOf(t: Tree, node: number): number {
	let most = t.depth[node];
	for (let i = node + 1; i < t.end[node]; i++)
		most = Math.max(most, t.depth[i]);
	return most - t.depth[node];
}

export class FlameView {
	readonly layers: Layers;
	private tree: Tree | null = null;
	private zoom = 0;
	private hovered = -1;
	private walkedTo = 0;
	private scroll = 0;
	private match: Match | null = null;
	private fills = new Map<number, string>();
	private labels = new Labels();

	constructor(private host: FlameHost, private tip: Tip, id = "flame", label = "Flame graph") {
		this.layers = new Layers(id, label + ". Arrow keys walk the frames, Enter zooms, Escape goes back",
			() => this.draw());
		const r = this.layers.root;
		r.addEventListener("pointermove", (e) => this.hover(e));
		r.addEventListener("pointerleave", () => {
			this.hovered = -1;
			this.tip.hide();
			this.drawOver();
		});
		r.addEventListener("click", (e) => {
			const node = this.at(e.offsetX, e.offsetY);
			if (node >= 0)
				this.zoomTo(node);
		});
		r.addEventListener("contextmenu", (e) => {
			const node = this.at(e.offsetX, e.offsetY);
			if (node > 0) {
				e.preventDefault();
				this.tip.hide();
				this.host.menu(node, e.clientX, e.clientY);
			}
		});
		r.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
		r.addEventListener("keydown", (e) => this.key(e));
	}

	show(tree: Tree | null, zoom: number): void {
		this.tree = tree;
		this.zoom = zoom;
		this.walkedTo = zoom;
		this.hovered = -1;
		this.scroll = 0;
		this.draw();
	}

	showMatch(match: Match | null): void {
		this.match = match;
		this.draw();
	}

	/* The theme has changed. */
	restyle(): void {
		this.fills.clear();
		this.draw();
	}

	zoomTo(node: number): void {
		if (!this.tree || node === this.zoom)
			return;
		this.zoom = node;
		this.walkedTo = node;
		this.scroll = 0;
		this.host.zoomed(pathOf(this.tree, node).map((i) => nameOf(this.tree!, i)));
		this.draw();
	}

	shownTree(): Tree | null {
		return this.tree;
	}

	private plotWidth(): number {
		return Math.max(1, this.layers.width - 2 * SIDE);
	}

	/* The top edge of a row. */
	private y(depth: number): number {
		return this.host.icicle() ? 4 + depth * ROW - this.scroll : this.layers.height - 6 - (depth + 1) * ROW + this.scroll;
	}

	/* More is red, less is blue, by how much of the machine; what may be chance has no colour. */
	private changeFill(t: Tree, node: number, th: Theme): string {
		const kind = t.kind[t.frame[node]], change = t.change![t.frame[node]];
		if (kind === KIND.root)
			return th.color("root");
		if (change === CHANGE.chance)
			return th.color("chance");
		const delta = Math.abs(t.total[node] - t.before![node]);
		if (this.maxDelta === 0)
			for (let i = 1; i < t.n; i++)
				if (t.change![t.frame[i]] !== CHANGE.chance)
					this.maxDelta = Math.max(this.maxDelta, Math.abs(t.total[i] - t.before![i]));
		return mix(th.color("chance"), th.color(change === CHANGE.more ? "more" : "less"), 0.35 + 0.65 * Math.sqrt(delta / (this.maxDelta || 1)));
	}
	private maxDelta = 0;

	/* Findings, by number: a sign on the tower of the process and on the function. */
	showPlaces(list: Place[], pointed: Place | null): void {
		this.places = list;
		this.pointed = pointed;
		this.drawOver();
	}
	private places: Place[] = [];
	private pointed: Place | null = null;

	private drawPlaces(g: CanvasRenderingContext2D, th: Theme, t: Tree): void {
		const taken: number[] = [];
		for (const p of this.places) {
			const node = p.process ? findStack(t, p.process, p.words ? [] : p.functions) : -1;
			if (node < 0 || (this.zoom && t.depth[node] <= t.depth[this.zoom]) || p.cpu !== null)
				continue;
			const whole = t.total[this.zoom] / t.total[0] || 1;
			const x = SIDE + ((t.x[node] - t.x[this.zoom]) / whole) * this.plotWidth(), w = (t.total[node] / t.total[0] / whole) * this.plotWidth();
			if (x + w < SIDE || x > SIDE + this.plotWidth())
				continue;
			g.font = "700 10px system-ui, sans-serif";
			g.textBaseline = "middle";
			const words = p.words ? `${p.number}  ${p.words}` : String(p.number), wide = Math.max(16, g.measureText(words).width + 12);
			const deep = p.words ? t.depth[node] + heightOf(t, node) + 1 : t.depth[node];
			let y = this.y(deep) + ROW / 2;
			/* A tower that does not fit: the sign stays in sight, and numbers below it. */
			y = Math.max(p.words ? 12 : 32, Math.min(this.layers.height - 12, y));
			const left = Math.max(SIDE, Math.min(SIDE + this.plotWidth() - wide, p.words ? x + w / 2 - wide / 2 : x + w - wide - 3));
			if (p.words && taken.some((at) => Math.abs(at - left) < wide))
				continue;
			if (p.words)
				taken.push(left);
			g.fillStyle = th.color(p.words ? "bg1" : "find");
			g.strokeStyle = th.color("find");
			g.lineWidth = p === this.pointed ? 2.5 : 1.5;
			g.beginPath();
			g.arc(left + 8, y, 8, Math.PI / 2, -Math.PI / 2);
			g.arc(left + wide - 8, y, 8, -Math.PI / 2, Math.PI / 2);
			g.closePath();
			g.fill();
			g.stroke();
			g.fillStyle = th.color(p.words ? "find" : "bg1");
			g.textAlign = "left";
			g.fillText(words, left + 6, y + 0.5);
		}
	}

	private fillOf(t: Tree, node: number, th: Theme): string {
		const frame = t.frame[node];
		if (t.change)
			return this.changeFill(t, node, th);
		let c = this.fills.get(frame);
		if (c === undefined) {
			const by = this.host.colour();
			c = frameFill(t, node, by, th);
			if (by === "module" && t.kind[frame] > KIND.process)
				return c; /* of a node, not of a frame */
			this.fills.set(frame, c);
		}
		return c;
	}

	draw(): void {
		const { base: g, width, height } = this.layers;
		const th = this.host.theme(), t = this.tree;
		if (!width)
			return;
		this.layers.clear(th.color("bg1"));
		if (t && t.total[0] > 0) {
			if (this.shown !== t) {
				this.fills.clear();
				this.maxDelta = 0;
				this.shown = t;
			}
			g.font = FONT;
			g.textBaseline = "middle";
			g.textAlign = "left";
			const w0 = this.plotWidth(), ink = th.color("ink"), tx = th.color("tx");
			visible(t, this.zoom, 0.5 / w0, (node, x, w) => {
				const y = this.y(t.depth[node]);
				if (y > -ROW && y < height)
					this.drawFrame(g, th, t, node, SIDE + x * w0, y, w * w0, ink, tx);
			});
			g.globalAlpha = 1;
		}
		this.drawOver();
	}
	private shown: Tree | null = null;

	private drawFrame(g: CanvasRenderingContext2D, th: Theme, t: Tree, node: number, x: number, y: number, w: number,
		ink: string, tx: string): void {
		const frame = t.frame[node], kind = t.kind[frame];
		const faded = t.depth[node] < t.depth[this.zoom] || (this.match && !this.match.frames[frame] && kind !== KIND.root);
		const inset = kind === KIND.inlined && w > 6 ? 1.5 : 0;
		g.globalAlpha = faded ? 0.4 : 1;
		g.fillStyle = this.match?.frames[frame] ? th.color("find") : this.fillOf(t, node, th);
		g.fillRect(x + inset, y, Math.max(0.5, w - (w > 2 ? 1 : 0) - inset * 2), ROW - 1);
		if (w < LABEL_LEAST)
			return;
		const own = kind === KIND.root || kind === KIND.process;
		g.fillStyle = own || (t.change && t.change[frame] === CHANGE.chance) ? tx : ink;
		g.font = (own ? "600 " : kind === KIND.inlined ? "italic " : "") + FONT;
		const label = this.labels.fit(g, node === 0 ? this.rootLabel(t) : nameOf(t, node), w - 8);
		if (label)
			g.fillText(label, x + 4 + inset, y + ROW / 2);
	}

	private rootLabel(t: Tree): string {
		const { each, machine, of } = this.host.cpuSeconds();
		const s = t.total[0] * each;
		return `all   ${count(t.total[0])} ${t.unit}` + (s ? ` · ${cpuTime(s)}` : "") +
			(machine ? ` · ${percent(s / machine)} of ${of}` : "");
	}

	private at(x: number, y: number): number {
		const t = this.tree;
		if (!t || !(t.total[0] > 0))
			return -1;
		const depth = this.host.icicle() ? Math.floor((y - 4 + this.scroll) / ROW)
			: Math.floor((this.layers.height - 6 - y + this.scroll) / ROW);
		const at = (x - SIDE) / this.plotWidth();
		return depth < 0 || depth > t.maxDepth || at < 0 || at >= 1 ? -1 : nodeAt(t, this.zoom, at, depth);
	}

	private hover(e: PointerEvent): void {
		const t = this.tree, node = this.at(e.offsetX, e.offsetY);
		if (node !== this.hovered) {
			this.hovered = node;
			this.drawOver();
		}
		this.layers.root.style.cursor = node >= 0 ? "pointer" : "default";
		if (!t || node < 0) {
			this.tip.hide();
			return;
		}
		this.tip.show(e.clientX, e.clientY, el("b", { class: "mono" }, node ? nameOf(t, node) : "everything selected"),
			...this.describe(t, node));
	}

	describe(t: Tree, node: number): string[] {
		const { each, machine, of } = this.host.cpuSeconds();
		const kind = KIND_WORDS[t.kind[t.frame[node]]];
		const module = t.modules[t.module[node]] ?? "";
		const share = t.total[node] / t.total[0];
		const lines = [`${count(t.total[node])} ${t.unit}` + (each ? ` · ${cpuTime(t.total[node] * each)}` : "")];
		lines.push(`${percent(share)} of the selection` + (machine && each ? ` · ${percent((t.total[node] * each) / machine)} of ${of}` : ""));
		if (t.before)
			lines.push(`before ${percent(t.before[node] / (t.total[0] || 1))} of this width` +
				(t.change![t.frame[node]] === CHANGE.chance ? "; the difference may be chance" : ""));
		if (t.self[node] > 0)
			lines.push(`${percent(t.self[node] / t.total[0])} in itself`);
		if (t.note[t.frame[node]] && t.self[node] > 0)
			lines.push(...((t.meta.notes ?? []) as string[]));
		if (node)
			lines.push(module ? `${kind} · ${module}` : kind);
		return lines;
	}

	private drawOver(): void {
		const { over: g } = this.layers;
		const th = this.host.theme(), t = this.tree;
		this.layers.clearOver();
		if (!t || !(t.total[0] > 0))
			return;
		this.drawPlaces(g, th, t);
		const focus = document.activeElement === this.layers.root;
		const mark = this.hovered >= 0 ? this.hovered : focus ? this.walkedTo : -1;
		if (mark < 0)
			return;
		const above = t.depth[mark] < t.depth[this.zoom];
		const whole = t.total[this.zoom] / t.total[0] || 1;
		const x = above ? 0 : (t.x[mark] - t.x[this.zoom]) / whole, w = above ? 1 : t.total[mark] / t.total[0] / whole;
		g.strokeStyle = th.color("tx");
		g.lineWidth = 1.5;
		g.strokeRect(SIDE + x * this.plotWidth(), this.y(t.depth[mark]) - 0.5, Math.max(1, w * this.plotWidth() - 1), ROW);
	}

	private wheel(e: WheelEvent): void {
		const t = this.tree;
		if (!t)
			return;
		const most = Math.max(0, (t.maxDepth + 1) * ROW + 12 - this.layers.height);
		const by = this.host.icicle() ? e.deltaY : -e.deltaY;
		const to = Math.max(0, Math.min(most, this.scroll + by));
		if (most)
			e.preventDefault();
		if (to !== this.scroll) {
			this.scroll = to;
			this.draw();
		}
	}

	private key(e: KeyboardEvent): void {
		const t = this.tree;
		if (!t || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const up = this.host.icicle() ? "ArrowDown" : "ArrowUp", down = this.host.icicle() ? "ArrowUp" : "ArrowDown";
		let to = -1;
		const node = this.walkedTo;
		const family = (parent: number) => {
			const all: number[] = [];
			for (let c = parent + 1; c < t.end[parent]; c = t.end[c])
				all.push(c);
			return all.sort((p, q) => t.x[p] - t.x[q]);
		};
		if (e.key === up)
			to = family(node)[0] ?? node;
		else if (e.key === down)
			to = parentOf(t, node);
		else if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
			const all = family(parentOf(t, node));
			to = all[all.indexOf(node) + (e.key === "ArrowRight" ? 1 : -1)] ?? node;
		} else if (e.key === "Enter") {
			this.zoomTo(node);
			to = node;
		}
		if (to < 0)
			return;
		e.preventDefault();
		e.stopPropagation();
		this.walkedTo = to;
		this.hovered = -1;
		this.drawOver();
		this.host.walked([to ? nameOf(t, to) : "everything", ...this.describe(t, to)].join(", "));
	}
}
