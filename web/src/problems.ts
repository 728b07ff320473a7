// SPDX-License-Identifier: Apache-2.0
/* What could not be answered, by kind of question: the first of it is said in a banner, and leaves the pictures alone. */
import { Refusal } from "./api";
import { el, fill } from "./dom";

export interface ProblemsHost {
	state: { source: string; filters: unknown[] };
	useSource(id: string): void;
	change(by: { filters: [] }, step: boolean): void;
}

export class Problems {
	readonly banner = el("div", { class: "banner", role: "alert", hidden: true });
	/* Not of a question, but of what is kept. */
	readonly damage = el("div", { class: "banner", role: "status", hidden: true },
		"Files of this span are damaged: what cannot be read of it is hatched. All else is as it was; `perfcam verify` names them.");
	private all = new Map<string, unknown>();

	constructor(private app: ProblemsHost) {}

	/* e undefined: it is answered. */
	note(kind: string, e?: unknown): void {
		if (e === undefined)
			this.all.delete(kind);
		else
			this.all.set(kind, e);
		this.show();
	}

	has(kind: string): boolean {
		return this.all.has(kind);
	}

	forget(): void {
		this.all.clear();
	}

	/* What failed for want of an answer, and not because of the question. */
	mayRetry(): boolean {
		return [...this.all.values()].some((e) => !(e instanceof Refusal) || e.again);
	}

	private show(): void {
		const e = this.all.get("store") ?? [...this.all.values()][0];
		this.banner.hidden = e === undefined;
		if (e === undefined)
			return;
		const refused = e instanceof Refusal;
		this.banner.className = "banner" + (refused && e.status < 500 ? " bad" : "");
		fill(this.banner, el("span", { class: "grow" }, refused ? e.message : "The server does not answer. What is shown stays; trying again."),
			refused && e.status === 401 ? el("span", { class: "soft" }, "Open the address that perfcam printed when it started.") : null,
			refused && e.status === 404 && this.app.state.source
				? el("button", { class: "framed", type: "button", onclick: () => this.app.useSource("") }, "Show what the server has") : null,
			refused && e.status === 400 && this.app.state.filters.length
				? el("button", { class: "framed", type: "button", onclick: () => this.app.change({ filters: [] }, true) }, "Remove the filters") : null);
	}
}
