// SPDX-License-Identifier: Apache-2.0
/* The side panel: what the selection is, who ran in it, how much of it was observed, filters. */
import type { StoreFacts } from "./api";
import { el, fill } from "./dom";
import { bytes, count, cpuTime, duration, percent } from "./format";
import type { Filter, State } from "./state";
import { processes, type Tree } from "./tree";

const MOST_ROWS = 9;

export interface PanelHost {
	addFilter(name: Filter, value: string): void;
	setOnly(only: State["only"]): void;
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
	private who = el("section");
	private coverage = el("section");
	private add = el("section");

	constructor(private host: PanelHost) {
		this.root.append(this.summary, this.who, this.coverage, this.add);
		this.buildFilters();
	}

	show(tree: Tree | null, name: string, each: number, machine: number, store: StoreFacts | null): void {
		this.showSummary(tree, name, each, machine);
		this.showWho(tree, each, machine);
		this.showCoverage(tree, store);
	}

	private showSummary(t: Tree | null, name: string, each: number, machine: number): void {
		if (!t) {
			fill(this.summary, el("p", { class: "quiet" }, "Reading…"));
			return;
		}
		const used = t.total[0] * each;
		fill(this.summary,
			el("div", { class: "quiet" }, name),
			el("p", { class: "headline" }, ...this.headline(t, each, machine)),
			el("div", { class: "soft" }, `${count(t.total[0])} ${t.unit}` + (used ? `, ${cpuTime(used)}` : "") +
				(machine ? `, ${percent(used / machine)} of the machine` : "")));
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

	private showWho(t: Tree | null, each: number, machine: number): void {
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
			el("span", { class: "quiet" }, machine && each ? "% of machine" : "% of selection")), list,
		all.length > MOST_ROWS ? el("div", { class: "quiet" }, `and ${count(all.length - MOST_ROWS)} more`) : null);
	}

	private showCoverage(t: Tree | null, store: StoreFacts | null): void {
		const seen = (t?.meta.seen ?? null) as Seen | null;
		const whole = seen ? seen.samples + seen.idle + seen.lost + seen.damaged : 0;
		/* Of the samples that were due, and of the time: between windows nobody counted any. */
		const inTime = seen && seen.observed_ns + seen.gap_ns ? seen.observed_ns / (seen.observed_ns + seen.gap_ns) : 1;
		const observed = (seen && whole ? (seen.samples + seen.idle) / whole : 1) * inTime;
		const good = !seen || (observed > 0.999 && !seen.gap_ns && !seen.unreadable);
		fill(this.coverage,
			el("div", { class: "head" }, el("h2", {}, "Coverage"), el("span", { class: "grow" }),
				el("span", { class: "dot " + (good ? "good" : "part") }), el("span", { class: "soft" }, good ? "complete" : "incomplete")),
			el("dl", { class: "facts" },
				el("dt", {}, "Observed"), el("dd", {}, percent(observed)),
				el("dt", {}, "Idle"), el("dd", {}, seen && seen.samples + seen.idle ? percent(seen.idle / (seen.samples + seen.idle)) : "–"),
				el("dt", {}, "Lost"), el("dd", {}, seen ? count(seen.lost + seen.damaged) : "–"),
				el("dt", {}, "Gaps"), el("dd", {}, seen?.gap_ns ? duration(seen.gap_ns / 1e6) : "none")),
			seen?.unreadable ? el("p", { class: "soft" }, `${count(seen.unreadable)} windows could not be read`) : null,
			store ? el("p", { class: "quiet" }, `${store.host || "unknown host"} · ${count(store.cpus)} CPUs · ` +
				`${count(store.windows)} ${store.windows === 1 ? "window" : "windows"}, ${bytes(store.bytes)} · perfcam ${store.version}`) : null);
	}

	private buildFilters(): void {
		const name = el("select", { "aria-label": "Filter by" },
			...(["comm", "pid", "cgroup", "uid", "match", "exclude"] as Filter[]).map((f) => el("option", { value: f }, {
				comm: "process name", pid: "pid", cgroup: "cgroup", uid: "uid", match: "stacks with", exclude: "stacks without",
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
