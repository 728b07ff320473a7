// SPDX-License-Identifier: Apache-2.0
/* The bar between heatmap and graph: what is selected, how much of it was observed, its filters, and what it is compared with. */
import { el, fill } from "./dom";
import { clocks, percent, zoneName, type Zone } from "./format";
import { coverage } from "./panel";
import { baseline, type Base, type Part, type State } from "./state";
import type { Tree } from "./tree";

export interface BarHost {
	readonly state: State;
	part(): Part;
	partName(p: Part): string;
	zone(): Zone;
	comparing(): boolean;
	change(by: Partial<State>, step: boolean): void;
	select(part: Part | null, final: boolean): void;
}

const BASE_WORDS: [Base, string][] = [["before", "just before"], ["minute", "the minute before"], ["around", "the minute around"],
	["hour", "an hour ago"], ["b", "B, as dragged"]];

export class SelectionBar {
	private first = el("span", { class: "inside" });
	private last = el("span", { class: "inside" });
	private observed = el("span", { class: "legend wide" });
	private bases = el("select", { "aria-label": "Baseline", title: "What it is compared with: just before is the same length", onchange: () => this.app.change({ base: this.bases.value as Base }, true) },
		...BASE_WORDS.map(([v, words]) => el("option", { value: v }, words))) as HTMLSelectElement;

	/* The chooser stays where it is while the rest is filled anew: it may be open. */
	private chooser = el("span", { class: "inside" }, el("span", { class: "grow" }), el("span", { class: "quiet wide" }, "vs"), el("span", { class: "letter b", "aria-hidden": "true" }, "B"), this.bases);
	readonly root = el("div", { class: "bar selection" }, this.first, this.chooser, this.last);

	constructor(private app: BarHost) {}

	show(): void {
		const s = this.app.state, part = this.app.part(), zone = this.app.zone();
		this.bases.value = s.base;
		this.chooser.hidden = this.last.hidden = !isFinite(part.from);
		fill(this.last, ...this.comparison(s, part, zone));
		fill(this.first, s.a ? el("span", { class: "letter", "aria-hidden": "true" }, "A") : null,
			el("b", { class: "cut name", title: s.a ? this.app.partName(part) : "" }, s.a ? this.app.partName(part) : "Whole span"),
			!isFinite(part.from) ? null : el("span", { class: "soft" }, `${clocks(part.from, part.to, zone, 3)} ${zoneName(part.from, zone)}`),
			s.a ? el("button", { type: "button", title: "Clear the selection (Esc)", "aria-label": "Clear the selection", onclick: () => this.app.select(null, true) }, "×") : null,
			this.observed, ...this.chips(s));
	}

	private chips(s: State): (Node | null)[] {
		const also: [string, string, Partial<State>][] = [];
		if (s.only)
			also.push([`${s.only} only`, "Remove this filter", { only: "" }]);
		if (s.collapse)
			also.push(["recursion as one frame", "Show each call of itself", { collapse: false, zoom: [] }]);
		return [...s.filters.map(([name, value], i) => el("span", { class: "chip" }, el("span", { class: "cut", title: `${name} ${value}` }, `${name} ${value}`),
			el("button", { type: "button", "aria-label": `Remove the filter ${name} ${value}`, onclick: () =>
				this.app.change({ filters: s.filters.filter((_, k) => k !== i), zoom: [] }, true) }, "×"))),
		...also.map(([words, label, by]) => el("span", { class: "chip" }, el("span", { class: "cut", title: words }, words), el("button", { type: "button", "aria-label": label, onclick: () => this.app.change(by, true) }, "×")))];
	}

	private comparison(s: State, part: Part, zone: Zone): (Node | null)[] {
		const b = baseline(s, part), on = this.app.comparing();
		return [on && b ? el("span", { class: "soft wide" }, clocks(b.from, b.to, zone)) : null,
			el("button", { type: "button", class: "framed", "aria-pressed": String(on), title: "Compare with the baseline (c)", disabled: b === null,
				onclick: () => this.app.change({ compare: !s.compare, zoom: [] }, true) }, on ? "Show plain" : "Compare"),
			on ? el("button", { type: "button", title: "Widths of the baseline: shows what vanished (x)", "aria-pressed": String(s.flip), class: s.flip ? "wide framed" : "wide",
				onclick: () => this.app.change({ flip: !s.flip, zoom: [] }, true) }, "Flip") : null,
			on ? el("button", { type: "button", title: "Only what the other side has and this one has not", "aria-pressed": String(s.elided), class: s.elided ? "wide framed" : "wide",
				onclick: () => this.app.change({ elided: !s.elided, zoom: [] }, true) }, "Elided") : null];
	}

	showCoverage(t: Tree | null, asked: number): void {
		const seen = coverage(t, asked);
		fill(this.observed, t ? el("span", { class: "dot " + (seen.good ? "good" : "part") }) : null, t ? `${percent(seen.observed)} observed` : "");
	}
}
