// SPDX-License-Identifier: Apache-2.0
/* The flame graph on a canvas: only what is at least half a pixel wide is looked at. */
import { mix } from "./colour";
import { el, type Theme, type Tip } from "./dom";
import { FrameCanvas, SIDE, type FrameHost, type Way } from "./frame_canvas";
import { frameFill, KIND_WORDS, ROW } from "./frames";
import { count, cpuTime, percent } from "./format";
import type { Colour } from "./state";
import type { Place } from "./why";
import { CHANGE, findPath, findStack, isBaseline, KIND, nameOf, nodeAt, parentOf, pathOf, visible, type Tree } from "./tree";

export interface FlameHost extends FrameHost {
	colour(): Colour;
	zoomed(path: string[]): void;
	/* What is shown goes on with the time: nobody has asked for another graph. */
	follows(): boolean;
	/* CPU-seconds a unit of the tree stands for; 0: not known. And the machine's in that time. */
	cpuSeconds(): { each: number; machine: number; of: string };
	menu(node: number, x: number, y: number): void;
}

const SIGNS = 24; /* px that signs of processes take */

/* A finding's sign: of a frame from x, so wide; y: the frame's middle, null: it is a process, or out of sight; top: the edge of its tower. */
interface Sign {
	place: Place;
	words: string;
	x: number;
	w: number;
	y: number | null;
	top: number;
}

/* How many rows stand above a node. */
function heightOf(t: Tree, node: number): number {
	let most = t.depth[node];
	for (let i = node + 1; i < t.end[node]; i++)
		most = Math.max(most, t.depth[i]);
	return most - t.depth[node];
}

export class FlameView extends FrameCanvas {
	private tree: Tree | null = null;
	private zoom = 0;
	private look = "";
	private fills = new Map<number, string>();

	constructor(private host: FlameHost, tip: Tip, id = "flame", label = "Flame graph") {
		super(id, label + ". Arrow keys walk the frames, Enter zooms, Shift F10 opens a frame's menu, Escape goes back", host, tip, 4, 6);
		this.layers.root.addEventListener("contextmenu", (e) => {
			const node = this.at(e.offsetX, e.offsetY);
			if (this.byKey || node > 0)
				e.preventDefault();
			if (!this.byKey && node > 0) {
				this.tip.hide();
				this.host.menu(node, e.clientX, e.clientY);
			}
			this.byKey = false;
		});
		this.layers.root.addEventListener("keydown", (e) => {
			this.byKey = e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey);
			const place = this.byKey && this.walkedTo > 0 ? this.placeOf(this.walkedTo) : null, box = this.layers.root.getBoundingClientRect();
			if (!place)
				return;
			e.preventDefault();
			this.host.menu(this.walkedTo, box.left + place.x + 8, box.top + this.y(place.row) + ROW);
		});
	}
	private byKey = false; /* a browser tells of the menu's key as of a click somewhere */

	/* Nothing happens where that is what stands there. */
	show(tree: Tree | null, zoom: number): void {
		const look = `${this.host.icicle()} ${this.host.colour()}`;
		if (tree === this.tree && zoom === this.zoom && look === this.look)
			return;
		/* Who has walked or scrolled in it, or points at a frame, is still there when it only goes on. */
		const names = (t: Tree | null, node: number) => (t ? pathOf(t, node).map((i) => nameOf(t, i)) : []), walked = names(this.tree, this.walkedTo);
		const goesOn = this.host.follows() && look === this.look && this.tree !== null && tree !== null && names(this.tree, this.zoom).join("\n") === names(tree, zoom).join("\n");
		this.look = look;
		this.tree = tree;
		this.zoom = zoom;
		this.walkedTo = goesOn ? findPath(tree!, walked) : zoom;
		this.hovered = -1;
		if (goesOn) {
			this.scrollBy(0);
			this.pointAgain();
		} else
			this.scroll = this.scrollTo(zoom);
		this.layers.redraw();
	}

	/* px that bring a node into sight, and half a window of what is above it; it stays near the edge that everything grows from. */
	private scrollTo(node: number): number {
		const t = this.tree, { height } = this.layers;
		if (!t || !height)
			return 0;
		const above = Math.min(heightOf(t, node), Math.floor(height / ROW / 2));
		return Math.max(0, Math.min((t.depth[node] - 2) * ROW, this.heightFor(t.depth[node] + above + 1) - height));
	}

	/* The theme has changed. */
	restyle(): void {
		this.fills.clear();
		this.layers.redraw();
	}

	zoomTo(node: number): void {
		if (!this.tree || node === this.zoom)
			return;
		this.zoom = node;
		this.walkedTo = node;
		this.scroll = this.scrollTo(node);
		this.host.zoomed(pathOf(this.tree, node).map((i) => nameOf(this.tree!, i)));
		this.layers.redraw();
	}

	shownTree(): Tree | null {
		return this.tree;
	}

	protected enter(node: number): void {
		this.zoomTo(node);
	}

	protected rows(): number {
		return this.tree ? this.tree.maxDepth + 1 : 0;
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
		return mix(th.color("chance"), th.color(change === CHANGE.more ? "more-fill" : "less-fill"), 0.35 + 0.65 * Math.sqrt(delta / (this.maxDelta || 1)));
	}
	private maxDelta = 0;

	/* Findings, by number: a sign on the tower of the process and on the function. */
	showPlaces(list: Place[], pointed: Place | null): void {
		const room = this.room();
		this.places = list;
		this.pointed = pointed;
		if (room !== this.room())
			this.layers.redraw();
		else
			this.drawOver();
	}
	private places: Place[] = [];
	private pointed: Place | null = null;

	protected drawMore(g: CanvasRenderingContext2D, th: Theme): void {
		const t = this.tree;
		if (!t || !(t.total[0] > 0))
			return;
		const icicle = this.host.icicle(), edge = icicle ? this.layers.height - SIGNS / 2 : SIGNS / 2;
		let taken = this.toldUntil; /* of the free edge, from the left */
		const signs: Sign[] = [];
		for (const p of this.places) {
			const node = p.process ? findStack(t, p.process, p.words ? [] : p.functions) : -1;
			if (node < 0 || (this.zoom && t.depth[node] <= t.depth[this.zoom]) || p.cpu !== null)
				continue;
			const whole = t.total[this.zoom] / t.total[0] || 1;
			const x = SIDE + ((t.x[node] - t.x[this.zoom]) / whole) * this.plotWidth(), w = (t.total[node] / t.total[0] / whole) * this.plotWidth();
			if (x + w < SIDE || x > SIDE + this.plotWidth())
				continue;
			const own = p.words ? null : this.y(t.depth[node]);
			const seen = own !== null && own >= (icicle ? 0 : SIGNS) && own + ROW <= this.layers.height - (icicle ? SIGNS : 0);
			const top = this.y(t.depth[node] + heightOf(t, node)) + (icicle ? ROW : 0);
			signs.push({ place: p, words: p.words ? `${p.number}  ${p.words}` : String(p.number), x, w, y: seen ? own + ROW / 2 : null, top: icicle ? Math.min(top, this.layers.height - SIGNS) : Math.max(top, SIGNS) });
		}
		g.font = "700 10px system-ui, sans-serif";
		g.textBaseline = "middle";
		g.textAlign = "left";
		for (const s of signs.sort((p, q) => p.x - q.x)) {
			const wide = Math.max(16, g.measureText(s.words).width + 12), right = SIDE + this.plotWidth() - wide;
			/* On its own frame; else in the free edge, beside those before, and a line leads to it. */
			let left = s.y !== null ? s.x + s.w - wide - 3 : s.x + s.w / 2 - wide / 2;
			if (s.y === null) {
				left = Math.max(taken, left);
				taken = left + wide + 4;
				if (s.place.words)
					this.drawLead(g, th, Math.min(right, left) + wide / 2, edge, s);
			}
			this.drawSign(g, th, s, Math.max(SIDE, Math.min(right, left)), s.y ?? edge, wide);
		}
	}

	private drawLead(g: CanvasRenderingContext2D, th: Theme, x: number, y: number, s: Sign): void {
		g.strokeStyle = th.color("find");
		g.lineWidth = 1;
		g.beginPath();
		g.moveTo(x, y);
		g.lineTo(s.x + s.w / 2, s.top);
		g.stroke();
	}

	private drawSign(g: CanvasRenderingContext2D, th: Theme, s: Sign, left: number, y: number, wide: number): void {
		g.fillStyle = th.color(s.place.words ? "bg1" : "find");
		g.strokeStyle = th.color("find");
		g.lineWidth = s.place === this.pointed ? 2.5 : 1.5;
		g.beginPath();
		g.arc(left + 8, y, 8, Math.PI / 2, -Math.PI / 2);
		g.arc(left + wide - 8, y, 8, -Math.PI / 2, Math.PI / 2);
		g.closePath();
		g.fill();
		g.stroke();
		g.fillStyle = th.color(s.place.words ? "find" : "bg1");
		g.fillText(s.words, left + 6, y + 0.5);
	}

	/* Signs of processes stand where no frame is. */
	protected room(): number {
		return this.places.some((p) => p.words && p.process && p.cpu === null) ? SIGNS : 0;
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
		this.deepest = 0;
		if (t && t.total[0] > 0) {
			if (this.shown !== t || this.shownBy !== this.host.colour()) {
				this.fills.clear();
				this.maxDelta = 0;
				this.shown = t;
				this.shownBy = this.host.colour();
			}
			this.beginFrames(g);
			const w0 = this.plotWidth();
			visible(t, this.zoom, 0.5 / w0, (node, x, w) => {
				const y = this.y(t.depth[node]);
				this.deepest = Math.max(this.deepest, t.depth[node]);
				if (y > -ROW && y < height)
					this.drawFrame(g, t, node, SIDE + x * w0, y, w * w0, { fill: this.fillOf(t, node, th), faded: t.depth[node] < t.depth[this.zoom],
						quiet: t.change !== null && t.change[t.frame[node]] === CHANGE.chance, words: node === 0 ? this.rootLabel(t) : nameOf(t, node) });
			});
			g.globalAlpha = 1;
			g.fillStyle = th.color("bg1");
			g.fillRect(0, this.host.icicle() ? height - this.room() : 0, width, this.room());
		}
		this.drawOver();
	}
	private shown: Tree | null = null;
	private shownBy: Colour = "kind";

	private rootLabel(t: Tree): string {
		const { each, machine, of } = this.host.cpuSeconds();
		const s = t.total[0] * each;
		return `${t.kind[t.frame[0]] === KIND.root ? "all" : nameOf(t, 0)}   ${count(t.total[0])} ${t.unit}` + (s ? ` · ${cpuTime(s)}` : "") +
			(machine && each ? ` · ${percent(s / machine)} of ${of}` : "");
	}

	protected at(x: number, y: number): number {
		const t = this.tree;
		if (!t || !(t.total[0] > 0))
			return -1;
		if (this.host.icicle() ? y > this.layers.height - this.room() : y < this.room())
			return -1;
		const depth = this.rowAt(y), at = (x - SIDE) / this.plotWidth();
		return depth < 0 || depth > t.maxDepth || at < 0 || at >= 1 ? -1 : nodeAt(t, this.zoom, at, depth);
	}

	protected tell(node: number): (Node | string)[] | null {
		return this.tree && node >= 0 ? [el("b", { class: "mono" }, node ? nameOf(this.tree, node) : "everything selected"), ...this.describe(node)] : null;
	}

	protected title(node: number): string {
		return node ? nameOf(this.tree!, node) : "everything";
	}

	protected describe(node: number): string[] {
		const t = this.tree!, { each, machine, of } = this.host.cpuSeconds();
		const kind = KIND_WORDS[t.kind[t.frame[node]]];
		const module = t.modules[t.module[node]] ?? "";
		const share = t.total[node] / t.total[0];
		const lines = [`${count(t.total[node])} ${t.unit}` + (each ? ` · ${cpuTime(t.total[node] * each)}` : "")];
		lines.push(`${percent(share)} of the ${isBaseline(t) ? "baseline" : "selection"}` + (machine && each ? ` · ${percent((t.total[node] * each) / machine)} of ${of}` : ""));
		if (t.before)
			lines.push(`${isBaseline(t) ? "after" : "before"} ${percent(t.before[node] / (t.total[0] || 1))} of this width` +
				(t.change![t.frame[node]] === CHANGE.chance ? "; the difference may be chance" : ""));
		if (t.self[node] > 0)
			lines.push(`${percent(t.self[node] / t.total[0])} in itself`);
		if (t.note[t.frame[node]] && t.self[node] > 0)
			lines.push(...((t.meta.notes ?? []) as string[]));
		if (node)
			lines.push(module ? `${kind} · ${module}` : kind);
		return lines;
	}

	protected placeOf(node: number): { x: number; w: number; row: number } | null {
		const t = this.tree;
		if (!t || !(t.total[0] > 0))
			return null;
		const above = t.depth[node] < t.depth[this.zoom], whole = t.total[this.zoom] / t.total[0] || 1, wide = this.plotWidth();
		return { x: SIDE + (above ? 0 : (t.x[node] - t.x[this.zoom]) / whole) * wide, w: (above ? 1 : t.total[node] / t.total[0] / whole) * wide, row: t.depth[node] };
	}

	protected wheel(e: WheelEvent): void {
		if (this.tree && this.scrollBy(e.deltaY))
			e.preventDefault();
	}

	protected next(node: number, way: Way): number {
		const t = this.tree!;
		const family = (parent: number) => {
			const all: number[] = [];
			for (let c = parent + 1; c < t.end[parent]; c = t.end[c])
				all.push(c);
			return all.sort((p, q) => t.x[p] - t.x[q]);
		};
		if (way === "up")
			return family(node)[0] ?? node;
		if (way === "down")
			return parentOf(t, node);
		const all = family(parentOf(t, node));
		return all[all.indexOf(node) + (way === "right" ? 1 : -1)] ?? node;
	}
}
