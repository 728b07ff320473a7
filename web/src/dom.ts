// SPDX-License-Identifier: Apache-2.0
/* Making elements. Text is only ever text: nothing here takes markup. */

type Child = Node | string | null | undefined | false;
type Props = Record<string, string | number | boolean | EventListener | undefined>;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]):
	HTMLElementTagNameMap[K] {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(props)) {
		if (typeof value === "function")
			e.addEventListener(key.slice(2), value);
		else if (value === true)
			e.setAttribute(key, "");
		else if (value !== false && value !== undefined)
			e.setAttribute(key, String(value));
	}
	put(e, children);
	return e;
}

export function put(e: Element, children: Child[]): void {
	for (const c of children)
		if (c || c === "")
			e.append(c as Node | string);
}

/* Whoever has the focus in it keeps it: what is live is filled anew every other second, while somebody walks it by keys. */
export function fill(e: Element, ...children: Child[]): void {
	const at = document.activeElement, held = at instanceof HTMLElement && at !== e && e.contains(at) ? at : null;
	const place = held ? takers(e).indexOf(held) : -1;
	e.replaceChildren();
	put(e, children);
	if (!held)
		return;
	const all = takers(e);
	(e.contains(held) ? held : all.find((x) => x.tagName === held.tagName && called(x) === called(held)) ?? all[Math.min(place, all.length - 1)])?.focus({ preventScroll: true });
}

const takers = (e: Element) => [...e.querySelectorAll<HTMLElement>("button:not(:disabled), a[href], input, select")];
/* By its name, not by what is counted beside it. */
const called = (e: HTMLElement) => e.dataset.name ?? e.getAttribute("aria-label") ?? e.textContent;

export interface Choice {
	value: string;
	label: string;
	title?: string;
}

/* A row of buttons of which one is pressed. */
export class Segment {
	readonly root: HTMLElement;
	private buttons = new Map<string, HTMLButtonElement>();

	constructor(label: string, choices: Choice[], choose: (value: string) => void, tabs = false) {
		this.root = el("div", { class: "seg", role: tabs ? "tablist" : "radiogroup", "aria-label": label });
		for (const c of choices) {
			const b = el("button", {
				type: "button", role: tabs ? "tab" : "radio", title: c.title,
				onclick: () => choose(c.value),
			}, c.label);
			this.buttons.set(c.value, b);
			this.root.append(b);
		}
		this.root.addEventListener("keydown", (ev) => this.walk(ev, choose));
		this.tabs = tabs;
	}
	private tabs: boolean;

	/* Arrow keys move within the row, as a radio group's do. */
	private walk(ev: KeyboardEvent, choose: (value: string) => void): void {
		const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[ev.key];
		if (!step || ev.ctrlKey || ev.metaKey || ev.altKey)
			return;
		const all = [...this.buttons.entries()];
		const at = all.findIndex(([, b]) => b === document.activeElement);
		const [value, b] = all[(at + step + all.length) % all.length];
		ev.preventDefault();
		ev.stopPropagation();
		b.focus();
		choose(value);
	}

	show(value: string): void {
		for (const [v, b] of this.buttons) {
			const on = v === value;
			b.setAttribute(this.tabs ? "aria-selected" : "aria-checked", String(on));
			b.tabIndex = on ? 0 : -1;
		}
		if (!this.buttons.has(value))
			[...this.buttons.values()][0].tabIndex = 0;
	}
}

/* The theme that was chosen last. A browser that keeps nothing for a page says so by an exception. */
export function keptTheme(choice?: string): string | null {
	try {
		if (choice)
			localStorage.setItem("theme", choice);
		return localStorage.getItem("theme");
	} catch {
		return null;
	}
}

/* Until what is drawn now is on the screen; at once where nobody looks. */
export function shown(): Promise<void> {
	return document.hidden ? Promise.resolve() : new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}

/* Two canvases of one size: the picture, and what moves with the pointer above it. */
export class Layers {
	readonly root: HTMLElement;
	readonly base: CanvasRenderingContext2D;
	readonly over: CanvasRenderingContext2D;
	width = 0;
	height = 0;

	private due = false;

	constructor(id: string, label: string, private draw: () => void) {
		const below = el("canvas"), above = el("canvas");
		this.root = el("div", { id, class: "canvas", role: "application", tabindex: 0, "aria-label": label }, below, above);
		this.base = below.getContext("2d", { alpha: false })!;
		this.over = above.getContext("2d")!;
		new ResizeObserver(() => {
			if (this.measure())
				this.draw();
		}).observe(this.root);
		/* The browser's graphics process was gone, and what was drawn and set with it. */
		for (const g of [this.base, this.over])
			g.canvas.addEventListener("contextrestored", () => {
				this.scale(g);
				this.redraw();
			});
	}

	private scale(g: CanvasRenderingContext2D): void {
		const k = devicePixelRatio || 1;
		g.setTransform(k, 0, 0, k, 0, 0);
	}

	/* The picture is drawn once, when all that is to change has been said: behind what runs now, and before it is shown. */
	redraw(): void {
		if (this.due)
			return;
		this.due = true;
		queueMicrotask(() => {
			this.due = false;
			this.draw();
		});
	}

	private measure(): boolean {
		const w = this.root.clientWidth, h = this.root.clientHeight, k = devicePixelRatio || 1;
		if (w === this.width && h === this.height)
			return false;
		this.width = w;
		this.height = h;
		for (const g of [this.base, this.over]) {
			g.canvas.width = Math.round(w * k);
			g.canvas.height = Math.round(h * k);
			this.scale(g);
		}
		return w > 0 && h > 0;
	}

	clear(color: string): void {
		this.base.fillStyle = color;
		this.base.fillRect(0, 0, this.width, this.height);
	}

	clearOver(): void {
		this.over.clearRect(0, 0, this.width, this.height);
	}
}

/* The tokens of the theme, read once a change. */
export interface Theme {
	light: boolean;
	color(name: string): string;
}

export function readTheme(): Theme {
	const style = getComputedStyle(document.documentElement);
	const known = new Map<string, string>();
	return {
		light: document.documentElement.dataset.theme === "light",
		color(name) {
			let c = known.get(name);
			if (c === undefined)
				known.set(name, (c = style.getPropertyValue("--" + name).trim()));
			return c;
		},
	};
}

/* Diagonal lines in a rectangle: time that was not observed. */
export function hatch(g: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, color: string): void {
	if (w <= 0 || h <= 0)
		return;
	g.save();
	g.beginPath();
	g.rect(x, y, w, h);
	g.clip();
	g.strokeStyle = color;
	g.lineWidth = 1;
	g.globalAlpha = 0.75;
	g.beginPath();
	for (let d = Math.floor((x - h - y) / 4) * 4; d < x + w - y + h; d += 4) {
		g.moveTo(d + y, y + h);
		g.lineTo(d + y + h, y);
	}
	g.stroke();
	g.restore();
}

export class Tip {
	private box = el("div", { class: "tip", role: "tooltip", hidden: true });

	constructor() {
		document.body.append(this.box);
	}

	show(x: number, y: number, ...lines: Child[]): void {
		fill(this.box, ...lines.map((l) => el("div", {}, l)));
		this.box.hidden = false;
		const w = this.box.offsetWidth, h = this.box.offsetHeight;
		this.box.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 8)) + "px";
		this.box.style.top = (y + 18 + h > innerHeight ? Math.max(4, y - h - 12) : y + 18) + "px";
	}

	hide(): void {
		this.box.hidden = true;
	}

	get shown(): boolean {
		return !this.box.hidden;
	}
}
