// SPDX-License-Identifier: Apache-2.0
/* The side panel: what the selection is, what happened near, who ran and who waited, how much was observed, filters. */
import type { StoreFacts } from "./api";
import { el, fill } from "./dom";
import { bytes, clock, count, cpuTime, day, duration, percent, type Zone } from "./format";
import { GLYPHS, near, rank, SEVERITY, shape, type Happening } from "./happening";
import { FILTERS, type Filter, type State } from "./state";
import { valueWords } from "./track_view";
import type { Tracks } from "./tracks";
import { against, headline, sentences, type Place, type Unusual, type Why } from "./why";
import { processes, type Tree } from "./tree";

const MOST_ROWS = 9, MOST_EVENTS = 30, MOST_WAITERS = 4;

export interface PanelHost {
	addFilter(name: Filter, value: string): void;
	setOnly(only: State["only"]): void;
	openEvent(e: Happening): void;
	stepEvent(by: number): void;
	goTo(place: Place): void;
	point(place: Place | null): void;
	compare(): void;
	comparing(): boolean;
	findMoments(): void;
	recording(): boolean;
	pin(): void;
	openMoment(m: Unusual): void;
	command(): string;
}

interface Seen {
	samples: number;
	idle: number;
	lost: number;
	damaged: number;
	unreadable: number;
	gap_ns: number;
	observed_ns: number;
	other_events: number;
}

export class Panel {
	readonly root = el("aside", { class: "side", "aria-label": "About the selection" });
	private summary = el("section");
	private why_: Why | "asked" | null = null;
	private happened = el("section", { hidden: true });
	private host_ = el("section", { hidden: true });
	private unusual = el("section");
	private who = el("section");
	private coverage = el("section");
	private add = el("section");

	constructor(private host: PanelHost) {
		this.showMoments(null, { utc: true });
		this.root.append(this.summary, this.happened, this.unusual, this.who, this.host_, this.coverage, this.add);
		this.buildFilters();
	}

	/* "asked": the answer is still to come; null: nothing was asked. */
	showWhy(why: Why | "asked" | null): void {
		this.why_ = why;
	}

	show(tree: Tree | null, name: string, each: number, machine: number, of: string, store: StoreFacts | null): void {
		this.showSummary(tree, name, each, machine, of);
		this.showWho(tree, each, machine, of);
		this.showCoverage(tree, store);
	}

	/* Those in the span, and the nearest around it. */
	showEvents(list: Happening[], all: number, span: { from: number; to: number }, chosen: string, zone: Zone): void {
		this.happened.hidden = !list.length;
		if (!list.length)
			return;
		const { shown, inside } = near(list, span.from, span.to, MOST_EVENTS);
		const rows = el("ul", { class: "rows events" });
		const today = day(span.to, zone);
		for (const e of shown) {
			const out = e.time < span.from || e.time >= span.to;
			rows.append(el("li", {}, el("button", { type: "button", class: "row" + (e.id === chosen ? " chosen" : "") + (out ? " outside" : ""),
				"aria-current": e.id === chosen ? "true" : undefined,
				title: `${day(e.time, zone)} ${clock(e.time, zone, 3)}, ${e.source}, ${SEVERITY[e.severity] ?? ""}\n${e.text}`, onclick: () => this.host.openEvent(e) },
			el("span", { class: "glyph " + (shape(e) === "diamond" ? "find" : rank(e)), "aria-label": SEVERITY[e.severity] ?? "" }, GLYPHS[shape(e)]),
			el("span", { class: "soft" }, day(e.time, zone) === today ? clock(e.time, zone, 3) : `${day(e.time, zone)} ${clock(e.time, zone)}`),
			el("span", { class: "cut" }, e.text))));
		}
		fill(this.happened, el("div", { class: "head" }, el("h2", {}, "Events"),
			el("span", { class: "quiet" }, `${count(all)}, ${count(inside)} in span`), el("span", { class: "grow" }),
			el("button", { type: "button", class: "key", title: "The event before ([)", "aria-label": "The event before", onclick: () => this.host.stepEvent(-1) }, "["),
			el("button", { type: "button", class: "key", title: "The next event (])", "aria-label": "The next event", onclick: () => this.host.stepEvent(1) }, "]")), rows);
	}

	/* null: not asked for; "asked": the answer is to come. */
	showMoments(list: Unusual[] | "asked" | null, zone: Zone): void {
		const found = Array.isArray(list) ? list : [];
		const rows = el("ul", { class: "rows events" });
		for (const m of found)
			rows.append(el("li", {}, el("button", { type: "button", class: "row", title: `${day(m.from, zone)} ${clock(m.from, zone, 3)}, ${duration(m.to - m.from)}\n${m.words}`, onclick: () => this.host.openMoment(m) },
				el("span", { class: "glyph find" }, "◆"), el("span", { class: "soft" }, clock(m.from, zone, 3)), el("span", { class: "cut" }, m.words))));
		fill(this.unusual, el("div", { class: "head" }, el("h2", {}, "Unusual moments"), el("span", { class: "quiet" }, list === "asked" ? "looking through all that is kept…" : list ? (found.length ? "most telling first" : "none found") : ""),
			el("span", { class: "grow" }), el("button", { type: "button", class: "framed", disabled: list === "asked", title: "Looks through all that is kept, without any event (u)", onclick: () => this.host.findMoments() }, list ? "Again" : "Find")),
		found.length ? rows : null);
	}

	/* What the host counted in the selection; null: nothing did. */
	showHost(t: Tracks | null): void {
		this.host_.hidden = !t || !t.by.size;
		if (!t || !t.by.size)
			return;
		const facts = el("dl", { class: "facts" });
		const fact = (key: string, words: string, peak = false) => {
			const v = t.by.get(key), x = v ? (peak ? v.peak[0] : v.mean[0]) : NaN;
			if (v && isFinite(x))
				facts.append(el("dt", {}, words), el("dd", {}, valueWords(v.unit, x)));
		};
		fact("runnable", "Run queue", true);
		fact("pressure_cpu", "Pressure");
		fact("steal", "Stolen");
		fact("softirq", "Softirq");
		const more = el("dl", { class: "facts" });
		const second = (key: string, words: string, always: boolean) => {
			const v = t.by.get(key);
			if (v && isFinite(v.mean[0]) && (always || v.mean[0] > 0.001))
				more.append(el("dt", {}, words), el("dd", {}, valueWords(v.unit, v.mean[0])));
		};
		second("memory_cgroups", "Cgroups", true);
		second("switches", "Switches", true);
		second("pressure_io", "IO waits", false);
		second("pressure_memory", "Mem. waits", false);
		const rows = el("ul", { class: "rows" });
		for (const w of t.waiters.slice(0, MOST_WAITERS).filter((x) => x.waited >= 1))
			rows.append(el("li", {}, el("div", { class: "row" }, el("span", { class: "cut" }, w.comm || "thread"), el("span", { class: "quiet" }, String(w.tid)),
				el("span", { class: "num" }, duration(w.waited)))));
		fill(this.host_, el("div", { class: "head" }, el("h2", {}, "Host"), el("span", { class: "quiet" }, "counted by the kernel")), facts, more,
			rows.children.length ? el("div", { class: "head under" }, el("span", { class: "soft" }, "Ready, and waited to run"), el("span", { class: "quiet" }, "of the threads watched")) : null,
			rows.children.length ? rows : null);
	}

	private showSummary(t: Tree | null, name: string, each: number, machine: number, of: string): void {
		if (!t) {
			fill(this.summary, el("p", { class: "quiet" }, "Reading…"));
			return;
		}
		const used = t.total[0] * each, why = this.why_ && this.why_ !== "asked" ? this.why_ : null;
		const answer = why ? headline(why) : null;
		fill(this.summary,
			el("div", { class: "quiet" }, name),
			el("p", { class: "headline" }, ...(!t.before && answer ? answer : this.headline(t, each, machine))),
			el("div", { class: "soft" }, `${count(t.total[0])} ${t.unit}` + (used ? `, ${cpuTime(used)}` : "") +
				(machine ? `, ${percent(used / machine)} of ${of}` : "")),
			...this.whyLines(why));
	}

	/* Numbers link the words to the pictures: hovering a sentence shows its place, a click goes there. */
	private whyLines(why: Why | null): (Node | null)[] {
		if (!why)
			return [this.why_ === "asked" ? el("p", { class: "quiet" }, "Looking for what was different…") : null];
		const list = el("ol", { class: "why" });
		sentences(why).forEach((s, i) => {
			const place = s.place;
			list.append(el("li", {}, el("button", { type: "button", class: "sentence", disabled: !place,
				onclick: () => place && this.host.goTo(place), onpointerenter: () => this.host.point(place), onpointerleave: () => this.host.point(null),
				onfocus: () => this.host.point(place), onblur: () => this.host.point(null) },
			el("span", { class: "number", "aria-hidden": "true" }, String(i + 1)),
			el("span", { class: "grow" }, el("span", {}, ...s.text), s.evidence ? el("span", { class: "evidence" }, s.evidence) : null))));
		});
		return [list.children.length ? list : null, el("p", { class: "quiet against" }, against(why)),
			el("div", { class: "head acts" },
				el("button", { type: "button", class: "primary", onclick: () => this.host.compare() }, this.host.comparing() ? "Show plain" : "See the difference"),
				this.host.recording() ? el("button", { type: "button", class: "framed", title: "Keep this time, whatever else has to go", onclick: () => this.host.pin() }, "Pin") : null,
				el("span", { class: "grow" }),
				el("button", { type: "button", title: this.host.command(), onclick: () => void navigator.clipboard?.writeText(this.host.command()) }, "Copy command"))];
	}

	/* Who ran most; of a comparison, whose change is the largest beyond chance. */
	private headline(t: Tree, each: number, machine: number): (Node | string)[] {
		const all = processes(t), first = all[0];
		if (!first)
			return ["Nothing was sampled here"];
		if (!t.before)
			return [el("span", {}, first.name), ` ran most: ${percent(first.total / t.total[0])} of the samples`];
		const changed = all.filter((p) => p.change).sort((p, q) => Math.abs(q.total - q.before) - Math.abs(p.total - p.before))[0];
		if (!changed)
			return ["Nothing changed beyond chance"];
		const share = (v: number) => percent(machine && each ? (v * each) / machine : v / t.total[0]);
		return [el("span", { class: changed.change === 1 ? "more" : "less" }, changed.name),
			changed.before ? ` used ${share(changed.total)}, ${ratio(changed.total, changed.before)} of before` : ` used ${share(changed.total)}, and nothing before`];
	}

	private showWho(t: Tree | null, each: number, machine: number, of: string): void {
		const all = t ? processes(t) : [];
		const share = (v: number) => (machine && each ? (v * each) / machine : t ? v / t.total[0] : 0);
		const list = el("ul", { class: "rows" });
		for (const p of all.slice(0, MOST_ROWS)) {
			const meter = el("div", { class: "meter" });
			meter.style.width = (100 * p.total) / all[0].total + "%";
			list.append(el("li", {},
				el("button", { class: "row", type: "button", title: "Only this process; with Alt: all but it",
					onclick: (e) => this.host.addFilter(e instanceof MouseEvent && e.altKey ? "exclude" : "comm",
						e instanceof MouseEvent && e.altKey ? `^${escapeExpression(p.name)}$` : escapeWildcards(p.name)) },
				el("span", { class: "cut" }, p.name), el("span", { class: "num" }, percent(share(p.total))),
				t!.before ? el("span", { class: "ratio " + ["", "more", "less"][p.change] }, ratio(p.total, p.before)) : null),
				meter));
		}
		fill(this.who, el("div", { class: "head" }, el("h2", {}, "Who ran"),
			el("span", { class: "quiet" }, machine && each ? `% of ${of.replace("the ", "")}` : "% of selection")), list,
		all.length > MOST_ROWS ? el("div", { class: "quiet" }, `and ${count(all.length - MOST_ROWS)} more`) : null);
	}

	private showCoverage(t: Tree | null, store: StoreFacts | null): void {
		const seen = (t?.meta.seen ?? null) as Seen | null;
		const { observed, good } = coverage(t);
		fill(this.coverage,
			el("div", { class: "head" }, el("h2", {}, "Coverage"), el("span", { class: "grow" }),
				el("span", { class: "dot " + (good ? "good" : "part") }), el("span", { class: "soft" }, good ? "complete" : "incomplete")),
			el("dl", { class: "facts" },
				el("dt", {}, "Observed"), el("dd", {}, percent(observed)),
				el("dt", {}, "Idle"), el("dd", {}, seen && seen.samples + seen.idle ? percent(seen.idle / (seen.samples + seen.idle)) : "–"),
				el("dt", {}, "Lost"), el("dd", {}, seen ? count(seen.lost + seen.damaged) : "–"),
				el("dt", {}, "Gaps"), el("dd", {}, seen?.gap_ns ? duration(seen.gap_ns / 1e6) : "none")),
			...((t?.meta.notes ?? []) as string[]).map((n) => el("p", { class: "soft note" }, n)),
			seen?.unreadable ? el("p", { class: "soft" }, `${count(seen.unreadable)} windows could not be read`) : null,
			store ? el("p", { class: "quiet" }, `${store.host || "unknown host"} · ${count(store.cpus)} CPUs · ` +
				`${count(store.windows)} ${store.windows === 1 ? "window" : "windows"}, ${bytes(store.bytes)} · perfcam ${store.version}`) : null);
	}

	private buildFilters(): void {
		const name = el("select", { "aria-label": "Filter by" },
			...FILTERS.map((f) => el("option", { value: f }, {
				comm: "process name", pid: "pid", tid: "thread", exe: "program", cgroup: "cgroup", container: "container", uid: "uid",
				match: "stacks with", exclude: "stacks without", hide: "hide frames", focus: "begin at",
			}[f])));
		const value = el("input", { "aria-label": "Value of the filter", placeholder: "value", class: "grow", maxlength: 1024 });
		const form = el("form", { class: "filter", onsubmit: (e) => {
			e.preventDefault();
			if (value.value.trim())
				this.host.addFilter(name.value as Filter, value.value.trim());
			value.value = "";
		} }, name, value, el("button", { class: "framed" }, "Add"));
		const only = el("div", { class: "head" });
		for (const [word, v] of [["All", ""], ["Kernel", "kernel"], ["User", "user"]] as const)
			only.append(el("button", { type: "button", "data-only": v, onclick: () => this.host.setOnly(v) }, word));
		this.add.append(el("div", { class: "head" }, el("h2", {}, "Filters")), only, form);
	}

	showOnly(only: string): void {
		for (const b of this.add.querySelectorAll<HTMLElement>("[data-only]")) {
			b.classList.toggle("framed", b.dataset.only === only);
			b.setAttribute("aria-pressed", String(b.dataset.only === only));
		}
	}
}

/* Of the samples that were due, and of the time: between windows nobody counted any. */
export function coverage(t: Tree | null): { observed: number; good: boolean } {
	const seen = (t?.meta.seen ?? null) as Seen | null;
	const whole = seen ? seen.samples + seen.idle + seen.lost + seen.damaged : 0;
	const inTime = seen && seen.observed_ns + seen.gap_ns ? seen.observed_ns / (seen.observed_ns + seen.gap_ns) : 1;
	const observed = (seen && whole ? (seen.samples + seen.idle) / whole : 1) * inTime;
	return { observed, good: !seen || (observed > 0.999 && !seen.gap_ns && !seen.unreadable) };
}

/* How many times what it was: "1.03×", "27×", "new". */
export function ratio(now: number, before: number): string {
	if (!before)
		return now ? "new" : "–";
	const r = now / before;
	return r > 99 ? ">99×" : r >= 10 ? r.toFixed(0) + "×" : r.toFixed(2) + "×";
}

export function escapeWildcards(s: string): string {
	return s.replace(/[\\*?[\]]/g, "\\$&");
}

export function escapeExpression(s: string): string {
	return s.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
