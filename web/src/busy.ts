// SPDX-License-Identifier: Apache-2.0
/* What is on its way: the page as a whole says so, and each picture by itself; page.css lets it fade when that takes long. */
export class Busy<Kind extends string> {
	private running = 0;
	private waits = new Map<Kind, number>();

	/* views: which of them show what. */
	constructor(private whole: HTMLElement, private views: () => Partial<Record<Kind, HTMLElement[]>>) {}

	show(by: number, kind?: Kind): void {
		this.running += by;
		this.whole.setAttribute("aria-busy", String(this.running > 0));
		if (!kind)
			return;
		const waits = (this.waits.get(kind) ?? 0) + by;
		this.waits.set(kind, waits);
		for (const view of this.views()[kind] ?? [])
			view.setAttribute("aria-busy", String(waits > 0));
	}

	/* stale: what is shown is of another question, and to this one there was no answer. */
	mark(kind: Kind, stale: boolean): void {
		for (const view of this.views()[kind] ?? [])
			view.dataset.stale = String(stale);
	}

	/* Something of these is on its way. */
	waitsFor(...kinds: Kind[]): boolean {
		return kinds.some((k) => (this.waits.get(k) ?? 0) > 0);
	}
}
