// SPDX-License-Identifier: Apache-2.0
/* The functions of the selection as a table: the flame graph for those who do not see canvases. */
import { el, fill } from "./dom";
import { count, percent } from "./format";
import type { Sort } from "./state";
import { CHANGE, KIND, functions, isBaseline, nowAndThen, type Match, type Row, type Tree } from "./tree";
import { KIND_COLOURS, KIND_WORDS } from "./frames";

const MOST = 500;

export interface TableHost {
	sort(): Sort;
	setSort(by: Sort): void;
	search(name: string): void;
}

export class TableView {
	readonly root = el("div", { class: "table", role: "region", "aria-label": "Functions", tabindex: 0 });

	constructor(private host: TableHost) {}

	show(t: Tree | null, zoom: number, match: Match | null): void {
		if (!t) {
			fill(this.root);
			return;
		}
		let rows = functions(t, zoom);
		if (match)
			rows = rows.filter((r) => match.frames[r.frame]);
		const by = this.host.sort() === "change" && !t.before ? "self" : this.host.sort();
		if (by === "total")
			rows.sort((p, q) => q.total - p.total || q.self - p.self);
		else if (by === "change")
			rows.sort((p, q) => Math.abs(q.total - q.before) - Math.abs(p.total - p.before));
		else if (by === "name")
			rows.sort((p, q) => (t.names[p.frame] < t.names[q.frame] ? -1 : 1));
		const head = (key: Sort, words: string) => el("th", { scope: "col", "aria-sort": by === key ? (key === "name" ? "ascending" : "descending") : undefined },
			el("button", { type: "button", title: `In order of ${words.toLowerCase()}`, onclick: () => this.host.setSort(key) }, words));
		/* Files of others count what they like. */
		const of = () => el("th", { scope: "col", title: t.unit }, t.unit.length > 16 ? "weight" : t.unit);
		const body = el("tbody");
		for (const r of rows.slice(0, MOST))
			body.append(this.row(t, r));
		fill(this.root, el("table", {},
			el("thead", {}, el("tr", {}, head("name", "Function"), head("self", "Self"), of(), head("total", "Total"), of(),
				...(t.before ? [el("th", { scope: "col" }, isBaseline(t) ? "After" : "Before"), head("change", "Change")] : []), el("th", { scope: "col" }, "Kind"))), body),
		rows.length > MOST ? el("p", { class: "quiet bar" }, `the first ${MOST} of ${count(rows.length)}; search narrows`) : null);
	}

	private row(t: Tree, r: Row): HTMLElement {
		const kind = t.kind[r.frame], name = t.names[r.frame];
		const mark = el("span", { class: "swatch" });
		mark.style.background = `var(--${KIND_COLOURS[kind] ?? "mark"})`;
		mark.style.display = "inline-block";
		return el("tr", {},
			el("td", { class: "cut mono", title: name }, mark, " ", el("button", { type: "button", class: "mono cut", title: name, onclick: () => this.host.search(name) }, name),
				t.note[r.frame] && r.self > 0 ? el("span", { class: "soft", title: String((t.meta.notes as string[] | undefined)?.[0] ?? "") }, " † time with interrupts off lands here") : null),
			el("td", {}, percent(r.self / t.total[0])), el("td", { class: "soft" }, count(r.self)),
			el("td", {}, percent(r.total / t.total[0])), el("td", { class: "soft" }, count(r.total)),
			...(t.before ? this.change(t, r) : []), el("td", { class: "soft" }, kind === KIND.mark ? "" : KIND_WORDS[kind]));
	}
	/* What it had before, and by how much that differs; without a colour where it may be chance. */
	private change(t: Tree, r: Row): HTMLElement[] {
		const [now, then] = nowAndThen(t, r), by = (now - then) / t.total[0], how = t.change![r.frame];
		const kind = how === CHANGE.more ? "more" : how === CHANGE.less ? "less" : "soft";
		return [el("td", { class: "soft" }, percent(r.before / t.total[0])),
			el("td", { class: kind, title: kind === "soft" ? "may be chance" : "exceeds chance" }, `${by < 0 ? "−" : by > 0 ? "+" : ""}${percent(Math.abs(by))}`)];
	}
}
