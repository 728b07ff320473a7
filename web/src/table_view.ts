// SPDX-License-Identifier: Apache-2.0
/* The functions of the selection as a table: the flame graph for those who do not see canvases. */
import { el, fill } from "./dom";
import { count, percent } from "./format";
import { KIND, functions, type Match, type Row, type Tree } from "./tree";
import { KIND_COLOURS, KIND_WORDS } from "./frames";

const MOST = 500;
type Key = "self" | "total" | "name";

export class TableView {
	readonly root = el("div", { class: "table", role: "region", "aria-label": "Functions", tabindex: 0 });
	private key: Key = "self";

	constructor(private search: (name: string) => void) {}

	show(t: Tree | null, zoom: number, match: Match | null): void {
		if (!t) {
			fill(this.root);
			return;
		}
		let rows = functions(t, zoom);
		if (match)
			rows = rows.filter((r) => match.frames[r.frame]);
		if (this.key === "total")
			rows.sort((p, q) => q.total - p.total);
		else if (this.key === "name")
			rows.sort((p, q) => (t.names[p.frame] < t.names[q.frame] ? -1 : 1));
		const again = () => this.show(t, zoom, match);
		const head = (key: Key, words: string) => el("th", { scope: "col", "aria-sort": this.key === key ? (key === "name" ? "ascending" : "descending") : undefined },
			el("button", { type: "button", onclick: () => {
				this.key = key;
				again();
			} }, words));
		const body = el("tbody");
		for (const r of rows.slice(0, MOST))
			body.append(this.row(t, r));
		fill(this.root, el("table", {},
			el("thead", {}, el("tr", {}, head("name", "Function"), head("self", "Self"), el("th", { scope: "col" }, "samples"),
				head("total", "Total"), el("th", { scope: "col" }, "samples"), el("th", { scope: "col" }, "Kind"))), body),
		rows.length > MOST ? el("p", { class: "quiet bar" }, `the first ${MOST} of ${count(rows.length)}; search narrows`) : null);
	}

	private row(t: Tree, r: Row): HTMLElement {
		const kind = t.kind[r.frame], name = t.names[r.frame];
		const mark = el("span", { class: "swatch" });
		mark.style.background = `var(--${KIND_COLOURS[kind] ?? "mark"})`;
		mark.style.display = "inline-block";
		return el("tr", {},
			el("td", { class: "cut mono", title: name }, mark, " ", el("button", { type: "button", class: "mono", onclick: () => this.search(name) }, name),
				t.note[r.frame] && r.self > 0 ? el("span", { class: "soft", title: String((t.meta.notes as string[] | undefined)?.[0] ?? "") }, " † time with interrupts off lands here") : null),
			el("td", {}, percent(r.self / t.total[0])), el("td", { class: "soft" }, count(r.self)),
			el("td", {}, percent(r.total / t.total[0])), el("td", { class: "soft" }, count(r.total)),
			el("td", { class: "soft" }, kind === KIND.mark ? "" : KIND_WORDS[kind]));
	}
}
