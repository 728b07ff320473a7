// SPDX-License-Identifier: Apache-2.0
/* The side panel: what the selection is, what happened near, who ran and who waited, how much was observed, filters. */
import type { Quality, StoreFacts } from "./api";
import { el, fill, Segment } from "./dom";
import { bytes, clock, count, cpuTime, day, duration, parseCpuList, percent, ratio, type Zone } from "./format";
import { GLYPHS, near, rank, SEVERITY, shape, type Happening } from "./happening";
import { FILTERS, type Filter, type Group, type State } from "./state";
import { valueWords } from "./track_view";
import type { Tracks } from "./tracks";
import { against, asUsual, headline, isFound, sentences, STRENGTHS, type Place, type Strength, type Unusual, type Why } from "./why";
import { CHANGE, nowAndThen, processes, type Tree } from "./tree";
import { cpusWords } from "./words";

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
	copy(text: string, what: string): void;
	setGroup(by: Group): void;
	group(): Group;
	selectCores(cpus: number[]): void;
	withoutCore(cpu: number): void;
	zoomTo(name: string): void; /* at the first level of the graph */
	takesAll(): boolean; /* no filter hides what else ran on the CPUs */
	capsule(): string; /* where it comes from as one file; empty: not of this */
}

interface Seen {
	samples: number;
	idle: number;
	idle_by_ledger: number;
	lost: number;
	damaged: number;
	unreadable: number;
	gap_ns: number;
	observed_ns: number;
	windows: number;
	other_events: number;
}

/* A fact: its name over its value. */
function pair(name: string, value: string, title?: string): HTMLElement {
	return el("div", { title }, el("dt", {}, name), el("dd", {}, value));
}

/* Whether a selection can be of all but one of them. */
const canLeaveOut = (by: Group) => by === "comm" || by === "cpu";

/* Three bars: weak, fair, strong. */
function bars(strength: Strength): HTMLElement {
	return el("span", { class: "bars", role: "img", "aria-label": `${STRENGTHS[strength]} evidence`, title: `${STRENGTHS[strength]} evidence` },
		...[1, 2, 3].map((k) => el("i", { class: k <= strength ? "on" : "" })));
}

export class Panel {
	readonly root = el("aside", { class: "side", "aria-label": "About the selection" });
	private summary = el("section");
	private why_: Why | "asked" | null = null;
	private usual: Tree | null = null; /* beside the minute before */
	private quality: Quality | null = null;
	private whoBy = new Segment("Who ran, by", [{ value: "comm", label: "Process" }, { value: "cgroup", label: "Cgroup" }, { value: "cpu", label: "Core" }], (v) => this.host.setGroup(v as Group));
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

	showUsual(tree: Tree | null): void {
		this.usual = tree;
	}

	showQuality(quality: Quality | null): void {
		this.quality = quality;
	}

	/* Those whose figures are the tree's. */
	ofTree(): HTMLElement[] {
		return [this.summary, this.who, this.coverage];
	}

	/* To the first sentence. */
	focusWhy(): void {
		this.summary.querySelector<HTMLElement>("button.sentence:not(:disabled)")?.focus();
	}

	/* known: a string says why there is no tree. asked: how long the time is that the tree was asked for, as far as it has been; ms. */
	show(known: Tree | string | null, name: string, each: number, machine: number, of: string, store: StoreFacts | null, asked: number): void {
		const tree = typeof known === "string" ? null : known;
		if (typeof known === "string")
			fill(this.summary, el("div", { class: "quiet cut", title: name }, name), el("p", { class: "headline" }, known));
		else
			this.showSummary(tree, name, each, machine, of, store?.windows === 0);
		this.showWho(tree, each, machine, of);
		this.showCoverage(tree, store, asked, each, machine);
	}

	/* Those in the span, and the nearest around it. */
	showEvents(list: Happening[], all: number, span: { from: number; to: number }, chosen: string, zone: Zone): void {
		this.happened.hidden = !list.length;
		if (!list.length)
			return;
		const { shown, inside } = near(list, span.from, span.to, MOST_EVENTS);
		const rows: HTMLElement = el("ul", { class: "rows events", onscroll: () => (this.eventsAt = rows.scrollTop) });
		const today = day(span.to, zone);
		for (const e of shown) {
			const out = e.time < span.from || e.time >= span.to;
			rows.append(el("li", {}, el("button", { type: "button", class: "row" + (e.id === chosen ? " chosen" : "") + (out ? " outside" : ""), "data-name": e.id,
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
		if (this.eventsAt)
			rows.scrollTop = this.eventsAt;
	}
	private eventsAt = 0; /* px its list was scrolled by */

	/* null: not asked for; "asked": the answer is to come. */
	showMoments(list: Unusual[] | "asked" | null, zone: Zone): void {
		const found = Array.isArray(list) ? list : [];
		const rows = el("ul", { class: "rows events" });
		for (const m of found)
			rows.append(el("li", {}, el("button", { type: "button", class: "row", title: `${day(m.from, zone)} ${clock(m.from, zone, 3)}, ${duration(m.to - m.from)}\n${m.words}`, onclick: () => this.host.openMoment(m) },
				el("span", { class: "glyph find" }, "◆"), el("span", { class: "soft" }, zone.dated ? `${day(m.from, zone)} ${clock(m.from, zone)}` : clock(m.from, zone, 3)), el("span", { class: "cut" }, m.words))));
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
				facts.append(pair(words, valueWords(v.unit, x)));
		};
		fact("runnable", "Run queue", true);
		fact("pressure_cpu", "Pressure");
		fact("steal", "Stolen");
		fact("softirq", "Softirq");
		const second = (key: string, words: string, always: boolean) => {
			const v = t.by.get(key);
			if (v && isFinite(v.mean[0]) && (always || v.mean[0] > 0.001))
				facts.append(pair(words, valueWords(v.unit, v.mean[0])));
		};
		second("memory_cgroups", "Cgroups", true);
		second("switches", "Switches", true);
		second("pressure_io", "IO waits", false);
		second("pressure_memory", "Mem. waits", false);
		const rows = el("ul", { class: "rows" });
		for (const w of t.waiters.slice(0, MOST_WAITERS).filter((x) => x.waited >= 1))
			rows.append(el("li", {}, el("div", { class: "row" }, el("span", { class: "cut", title: w.comm }, w.comm || "thread"), el("span", { class: "quiet" }, String(w.tid)),
				el("span", { class: "num" }, duration(w.waited)))));
		fill(this.host_, el("div", { class: "head" }, el("h2", {}, "Host"), el("span", { class: "quiet" }, "counted by the kernel")), facts,
			rows.children.length ? el("div", { class: "head under" }, el("span", { class: "soft" }, "Ready, and waited to run"), el("span", { class: "quiet" }, "of the threads watched")) : null,
			rows.children.length ? rows : null);
	}

	private showSummary(t: Tree | null, name: string, each: number, machine: number, of: string, nothing: boolean): void {
		if (!t) {
			fill(this.summary, el("p", { class: "quiet" }, nothing ? "Nothing has been recorded yet" : "Reading…"));
			return;
		}
		const used = t.total[0] * each, share = (v: number) => (machine && each ? (v * each) / machine : v / t.total[0]), why = this.why_ && this.why_ !== "asked" ? this.why_ : null;
		const answer = why ? headline(why) : null;
		fill(this.summary,
			el("div", { class: "quiet cut", title: name }, name),
			el("p", { class: "headline" }, ...(!t.before && answer ? answer : this.headline(t, each, machine))),
			el("div", { class: "soft" }, `${count(t.total[0])} ${t.unit}` + (used ? `, ${cpuTime(used)}` : "") +
				(machine && each ? `, ${percent(used / machine)} of ${of}` : "")),
			...this.whyLines(why, why && this.usual && !t.before ? asUsual(this.usual, why, share) : ""));
	}

	/* Numbers link the words to the pictures: hovering a sentence shows its place, a click goes there. */
	private whyLines(why: Why | null, usual: string): (Node | null)[] {
		if (!why)
			return [this.why_ === "asked" ? el("p", { class: "quiet" }, "Looking for what was different…") : null];
		const list = el("ol", { class: "why" });
		sentences(why).forEach((s, i) => {
			const place = s.place;
			list.append(el("li", {}, el("button", { type: "button", class: "sentence", disabled: !place,
				onclick: () => place && this.host.goTo(place), onpointerenter: () => this.host.point(place), onpointerleave: () => this.host.point(null),
				onfocus: () => this.host.point(place), onblur: () => this.host.point(null) },
			el("span", { class: "number", "aria-hidden": "true" }, String(i + 1)),
			el("span", { class: "grow" }, el("span", {}, ...s.text), el("span", { class: "evidence" }, el("span", {}, s.evidence), bars(s.strength))))));
		});
		const capsule = this.host.capsule();
		return [list.children.length ? list : null, el("p", { class: "quiet against" }, against(why), usual ? " " + usual : ""),
			el("div", { class: "head acts" },
				el("button", { type: "button", class: "primary", onclick: () => this.host.compare() }, this.host.comparing() ? "Show plain" : "See the difference"),
				this.host.recording() ? el("button", { type: "button", class: "framed", title: "Keep this time, whatever else has to go", onclick: () => this.host.pin() }, "Pin") : null,
				capsule ? el("a", { class: "button framed", href: capsule, download: true, title: "This time, its stacks and events as one HTML file to send" }, "Capsule") : null,
				el("span", { class: "grow" }),
				el("button", { type: "button", title: this.host.command(), onclick: () => this.host.copy(this.host.command(), "the command") }, "Copy CLI"))];
	}

	/* Who ran most; of a comparison, whose change is the largest beyond chance. */
	private headline(t: Tree, each: number, machine: number): (Node | string)[] {
		const all = processes(t), first = all[0];
		if (!first)
			return [t.elided ? "Nothing is on one side only" : "Nothing was sampled here"];
		if (!t.before)
			return [el("span", {}, first.name), ` ran most: ${percent(first.total / t.total[0])} of the ${t.unit === "samples" ? "samples" : "selection"}`];
		const changed = all.filter((p) => p.change).sort((p, q) => Math.abs(q.total - q.before) - Math.abs(p.total - p.before))[0];
		if (!changed)
			return ["Nothing changed beyond chance"];
		const share = (v: number) => percent(machine && each ? (v * each) / machine : v / t.total[0]), [now, then] = nowAndThen(t, changed);
		return [el("span", { class: changed.change === CHANGE.more ? "more" : "less" }, changed.name),
			!now ? ` used nothing, and ${share(then)} before` : then ? ` used ${share(now)}, ${ratio(now, then)} of before` : ` used ${share(now)}, and nothing before`];
	}

	private showWho(t: Tree | null, each: number, machine: number, of: string): void {
		const all = t ? processes(t) : [], by = this.host.group();
		const share = (v: number) => (machine && each ? (v * each) / machine : t ? v / t.total[0] : 0);
		/* Beside the minute before, unless it is compared with something else. */
		const beside = t && !t.before && this.usual ? new Map(processes(this.usual).map((p) => [p.name, p])) : null;
		const list = el("ul", { class: "rows" }), why = this.why_ === "asked" || by !== "comm" ? null : this.why_;
		for (const p of all.slice(0, MOST_ROWS)) {
			const than = t!.before ? p : beside?.get(p.name), meter = el("div", { class: "meter" }), tick = el("div", { class: "tick" });
			meter.style.width = (100 * p.total) / all[0].total + "%";
			tick.style.left = Math.min(100, (100 * (than?.before ?? 0)) / all[0].total) + "%";
			list.append(el("li", {},
				el("button", { class: "row", type: "button", "data-name": p.name, title: canLeaveOut(by) ? "Only this; with Alt: all but it" : "Only this", onclick: (e) => this.only(by, p.name, e instanceof MouseEvent && e.altKey) },
					el("span", { class: "cut", title: p.name }, p.name), el("span", { class: "num" }, percent(share(p.total))),
					than ? el("span", { class: "ratio " + (than.change === 2 ? "less" : than.change || (beside && isFound(why, p.name)) ? "more" : "") }, ratio(...(t!.before ? nowAndThen(t!, than) : [than.total, than.before] as const))) : null),
				el("div", { class: "track" }, meter, than && than.before ? tick : null)));
		}
		this.whoBy.show(by);
		fill(this.who, el("div", { class: "head" }, el("h2", {}, "Who ran"),
			el("span", { class: "quiet cut" }, machine && each ? `of ${of.replace("the ", "")}` : "of selection"), this.whoBy.root), list,
		all.length > MOST_ROWS ? el("div", { class: "quiet" }, `and ${count(all.length - MOST_ROWS)} more`) : null,
		beside ? el("div", { class: "quiet hint" }, "tick and ratio: the minute before") : null);
	}

	/* Only what has that name at the first level of the graph, or all but it: what a selection can say. What has no name can be looked at. */
	private only(by: Group, name: string, not: boolean): void {
		const number = /(\d+)\)?$/.exec(name)?.[1] ?? "";
		if (not && by === "cpu")
			this.host.withoutCore(Number(number));
		else if (not && canLeaveOut(by))
			this.host.addFilter("exclude", `^${escapeExpression(name)}$`);
		else if (by !== "comm" && /^\[.*\]$/.test(name))
			this.host.zoomTo(name);
		else if (by === "cpu")
			this.host.selectCores([Number(number)]);
		else if (by === "process" || by === "thread")
			this.host.addFilter(by === "process" ? "pid" : "tid", number);
		else if (by !== "user")
			this.host.addFilter(by, escapeWildcards(name));
		else if (number)
			this.host.addFilter("uid", number);
	}

	private showCoverage(t: Tree | null, store: StoreFacts | null, asked: number, each: number, machine: number): void {
		const seen = (t?.meta.seen ?? null) as Seen | null, q = this.quality;
		const { observed, outside, good } = coverage(t, asked);
		const frames = q ? q.frames.user + q.frames.jit + q.frames.kernel : 0, unnamed = q ? q.unnamed.user + q.unnamed.jit + q.unnamed.kernel : 0;
		const more: [string, string][] = [];
		if (seen?.lost || seen?.damaged)
			more.push(["Lost", count(seen.lost + seen.damaged)]);
		if (seen?.gap_ns)
			more.push(["Gaps", duration(seen.gap_ns / 1e6)]);
		if (outside)
			more.push(["Not recorded", duration(outside)]);
		fill(this.coverage,
			el("div", { class: "head" }, el("h2", {}, "Coverage and quality"), el("span", { class: "grow" }),
				t ? el("span", { class: "dot " + (good ? "good" : "part") }) : null, t ? el("span", { class: "soft" }, good ? "complete" : "incomplete") : null),
			el("dl", { class: "facts four" },
				pair("Observed", t ? percent(observed) : "–"), pair("Stacks", q && q.user ? percent(q.complete / q.user) : "–", "User stacks that reach their beginning"),
				pair("Names", frames ? percent(1 - unnamed / frames) : "–", "Frames that have a name"),
				pair("Idle", this.host.takesAll() ? idlePart(t, machine && each && t ? (t.total[0] * each) / machine : NaN) : "–", "Of the CPUs' time that was observed")),
			more.length ? el("dl", { class: "facts loose" }, ...more.map(([k, v]) => pair(k, v))) : null,
			...this.qualityLines(q),
			...((t?.meta.notes ?? []) as string[]).map((n) => el("p", { class: "soft note" }, n)),
			seen?.unreadable ? el("p", { class: "soft" }, `${seen.unreadable === 1 ? "1 window" : `${count(seen.unreadable)} windows`} could not be read`) : null,
			store ? el("p", { class: "quiet about" }, [store.host || "unknown host", store.cpus && store.cpu_model ? `${count(store.cpus)} × ${store.cpu_model}` : cpusWords(store.cpus), store.kernel ? `Linux ${store.kernel}` : ""].filter(Boolean).join(" · "),
				el("br"), `${count(store.windows)} ${store.windows === 1 ? "window" : "windows"}, ${bytes(store.bytes)} · perfcam ${store.version}`) : null);
	}

	/* Why stacks are incomplete, and whose names are missing: where it is enough to mislead. */
	private qualityLines(q: Quality | null): Node[] {
		if (!q)
			return [];
		const out: Node[] = [], incomplete = q.user - q.complete;
		if (q.user && incomplete / q.user > 0.005)
			out.push(el("p", { class: "soft" }, `${percent(incomplete / q.user)} of user stacks are incomplete: ` +
				q.incomplete.filter((r) => r.samples > 0).sort((r, k) => k.samples - r.samples).slice(0, 2).map((r) => `${r.words} (${percent(r.samples / q.user)})`).join(", ")));
		if (q.user && q.guessed / q.user > 0.005)
			out.push(el("p", { class: "soft" }, `${percent(Math.min(1, q.guessed / q.user))} of user stacks were guessed in part, by frame pointers`));
		/* Several processes may run one file. */
		const unnamed = new Map<string, number>();
		for (const w of q.worst.filter((x) => x.unnamed > 0))
			unnamed.set(w.file.replace(/^.*\//, ""), (unnamed.get(w.file.replace(/^.*\//, "")) ?? 0) + w.unnamed);
		const worst = [...unnamed].sort((p, r) => r[1] - p[1]).slice(0, 2);
		if (worst.length)
			out.push(el("p", { class: "soft" }, "Most frames without a name: ", ...worst.flatMap(([file, n], i) => [i ? ", " : "", el("span", { class: "mono" }, file), ` ${count(n)}`])));
		return out;
	}

	private buildFilters(): void {
		const name = el("select", { "aria-label": "Filter by" }, el("option", { value: "cpu" }, "core"),
			...FILTERS.map((f) => el("option", { value: f }, {
				comm: "process name", pid: "pid", tid: "thread", exe: "program", cgroup: "cgroup", container: "container", uid: "uid",
				match: "stacks with", exclude: "stacks without", hide: "hide frames", focus: "begin at",
			}[f])));
		name.value = "comm";
		const value = el("input", { "aria-label": "Value of the filter", placeholder: "value", class: "grow", maxlength: 1024 });
		const form = el("form", { class: "filter", onsubmit: (e) => {
			e.preventDefault();
			const cpus = name.value === "cpu" ? parseCpuList(value.value.trim()) : null;
			value.setAttribute("aria-invalid", String(name.value === "cpu" && !cpus));
			if (name.value === "cpu") {
				if (!cpus)
					return;
				this.host.selectCores(cpus);
			} else if (value.value.trim())
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

/*
 * A recorder's CPUs take no samples while they idle: its ledger counts those. Files have samples of the idle task, if at all:
 * without any, CPUs that were not all busy did not idle for nothing, it is not known for how long.
 */
export function idlePart(t: Tree | null, busy: number): string {
	const seen = (t?.meta.seen ?? null) as Seen | null, idle = seen ? seen.idle + seen.idle_by_ledger : 0;
	return seen && seen.samples + idle && (idle || busy > 0.98) ? percent(idle / (seen.samples + idle)) : "–";
}

/* CPU-seconds that were observed: what so many CPUs had, without the samples that were due and not taken; no less than what was used. */
export function machineSeconds(t: Tree | null, cpus: number, periodMs: number, used: number): number {
	const seen = (t?.meta.seen ?? null) as Seen | null;
	const all = ((seen?.observed_ns ?? 0) / 1e9) * cpus, lost = seen ? ((seen.lost + seen.damaged) * periodMs) / 1000 : 0;
	return lost ? Math.min(all, Math.max(used, all - lost)) : all;
}

/*
 * Of the samples that were due, and of the `asked` ms: between windows nobody counted any, nor before the first and behind
 * the last; of these two `outside` is the sum, unless it is next to nothing. NaN: there are no times.
 */
export function coverage(t: Tree | null, asked: number): { observed: number; outside: number; good: boolean } {
	const seen = (t?.meta.seen ?? null) as Seen | null;
	const had = seen ? seen.samples + seen.idle + seen.idle_by_ledger : 0, whole = seen ? had + seen.lost + seen.damaged : 0;
	const looked = seen ? (seen.observed_ns + seen.gap_ns) / 1e6 : 0, outside = seen && asked > looked ? asked - looked : 0;
	/* Where no window lies, nobody looked: no gap between two says so. */
	const inTime = seen?.windows === 0 ? 0 : seen && looked ? seen.observed_ns / 1e6 / (looked + outside) : 1;
	const observed = (whole ? had / whole : 1) * inTime;
	return { observed, outside: outside > asked / 1000 ? outside : 0, good: !seen || (observed > 0.999 && !seen.gap_ns && !seen.unreadable) };
}

export function escapeWildcards(s: string): string {
	return s.replace(/[\\*?[\]]/g, "\\$&");
}

export function escapeExpression(s: string): string {
	return s.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
