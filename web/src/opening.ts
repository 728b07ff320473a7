// SPDX-License-Identifier: Apache-2.0
/*
 * Which recording is shown: a picker of those that the server has, and files that are dropped onto the
 * page or chosen. A file goes to the server, is read there by a process of its own, and is one of the
 * picker's from then on, as long as the server runs.
 */
import { isAbort, Refusal, type Server, type Source, type Sources, type StoreFacts } from "./api";
import { el, fill } from "./dom";
import { bytes, count } from "./format";
import { openMenu, type Item } from "./menu";
import type { State } from "./state";

const SILENT_MS = 1000;
const KINDS = "perf.data, perf script, folded stacks, pprof, speedscope, Chrome's profiles, .pcw";

/* The end of a path is what tells it from others: as much of it as does. */
export function shortName(path: string, all: string[]): string {
	const parts = path.split("/"), end = (of: string[], n: number) => of.slice(-n).join("/");
	let n = parts[parts.length - 1] ? 1 : 2;
	while (n < parts.length && all.some((other) => other !== path && end(other.split("/"), n) === end(parts, n)))
		n++;
	return end(parts, n);
}

export interface OpeningHost {
	readonly server: Server;
	readonly state: State;
	readonly store: StoreFacts | null;
	useSource(id: string): void;
	say(words: string): void;
}

export class Opening {
	sources: Sources | null = null;
	private name = el("span", { class: "cut" });
	readonly button = el("button", { type: "button", class: "host", "aria-haspopup": "menu", title: "What is shown, and other recordings (o)", onclick: () => void this.pick() },
		this.name, el("span", { class: "quiet", "aria-hidden": "true" }, "▾"));
	readonly notice = el("div", { class: "banner", role: "status", hidden: true });
	private input = el("input", { type: "file", hidden: true, "aria-label": "A file to open", tabindex: -1, onchange: () => {
		if (this.input.files?.length)
			void this.take([...this.input.files]);
		this.input.value = "";
	} });
	private box = el("div", { class: "opening" });
	readonly overlay = el("div", { class: "overlay", role: "dialog", "aria-modal": "true", "aria-label": "Open a file", hidden: true }, this.box, this.input);
	private stop: (() => void) | null = null;
	private invites = false; /* the overlay says that a file may be dropped, and nothing else */
	private silence = 0; /* a timer */

	constructor(private app: OpeningHost) {
		const files = (e: DragEvent) => e.dataTransfer?.types.includes("Files") === true;
		addEventListener("dragenter", (e) => {
			if (!files(e))
				return;
			e.preventDefault();
			if (!this.stop)
				this.showInvitation();
		});
		addEventListener("dragover", (e) => {
			if (!files(e))
				return;
			e.preventDefault();
			this.expectMore();
		});
		addEventListener("dragleave", (e) => {
			/* Out of the window, not from one element to the next. */
			if (e.relatedTarget === null)
				this.endInvitation();
		});
		addEventListener("drop", (e) => {
			if (!files(e))
				return;
			e.preventDefault();
			clearTimeout(this.silence);
			this.endInvitation();
			if (!this.stop)
				void this.take([...(e.dataTransfer?.files ?? [])]);
		});
		this.overlay.addEventListener("keydown", (e) => {
			e.stopPropagation();
			if (e.key === "Escape")
				this.close();
		});
	}

	async load(): Promise<void> {
		try {
			this.sources = await this.app.server.sources();
		} catch (e) {
			if (!isAbort(e))
				this.sources = null; /* the page is as good without a picker */
		}
		this.showName();
	}

	/* A store is called by its host, unless there are several; a file by its name. */
	label(): string {
		const list = this.sources?.list ?? [], own = list.find((s) => s.id === this.app.state.source) ?? list[0], host = this.app.store?.host ?? "";
		const several = list.filter((s) => s.kind === "store").length > 1;
		return own && (own.kind !== "store" || several || !host) ? shortName(own.label, list.map((s) => s.label)) : host;
	}

	showName(): void {
		const name = this.label() || (this.app.store ? "store" : "");
		this.name.textContent = name;
		document.title = name ? `${name} · perfcam` : "perfcam";
	}

	private async pick(): Promise<void> {
		await this.load();
		const all = this.sources, shown = this.app.state.source || all?.list[0]?.id;
		const items: Item[] = (all?.list ?? []).map((s) => ({
			words: shortName(s.label, all!.list.map((x) => x.label)), title: s.label, detail: `${{ store: "store", file: "file", opened: "opened here" }[s.kind]} · ${count(s.samples)} samples`, checked: s.id === shown,
			act: () => this.app.useSource(s.id === all!.list[0].id ? "" : s.id),
		}));
		items.push(all?.open ? ["Open a file…", () => this.input.click()] : ["Open a file…", () => this.refuse("No file can be opened here", all?.why || "The server does not answer.")]);
		const box = this.button.getBoundingClientRect();
		openMenu("Recordings", box.left, box.bottom + 4, items);
	}

	choose(): void {
		void this.pick();
	}

	/* A drag that was given up tells nobody in some browsers; one that goes on says so all the time. */
	private expectMore(): void {
		clearTimeout(this.silence);
		this.silence = window.setTimeout(() => this.endInvitation(), SILENT_MS);
	}

	private endInvitation(): void {
		if (this.invites)
			this.cover(false);
		this.setInvites(false);
	}

	/* Something is said there, or asked: the page behind it has neither pointer nor keys, and the focus again when that is over. */
	private cover(on: boolean): void {
		const page = document.querySelector<HTMLElement>(".app")!;
		if (on && !page.inert)
			this.before = document.activeElement;
		this.overlay.hidden = !on;
		page.inert = on;
		if (!on && this.before instanceof HTMLElement)
			this.before.focus({ preventScroll: true });
		if (!on)
			this.before = null;
	}
	private before: Element | null = null;

	covers(): boolean {
		return !this.overlay.hidden && !this.invites;
	}

	/* It does not come between the pointer and the page meanwhile. */
	private setInvites(on: boolean): void {
		this.invites = on;
		this.overlay.classList.toggle("invites", on);
	}

	private showInvitation(): void {
		const open = this.sources?.open;
		this.setInvites(true);
		this.expectMore();
		this.overlay.hidden = false;
		fill(this.box, el("div", { class: "arrow", "aria-hidden": "true" }, "↓"), el("h3", {}, open ? "Drop it to open it" : "No file can be opened here"),
			el("p", {}, open ? KINDS : this.sources?.why ?? ""),
			open ? el("p", { class: "quiet" }, `At most ${bytes(open.bytes)}. It is read apart from everything else, and gone when the server ends.`) : null);
	}

	/* One after the other; the last one is shown. */
	private async take(files: File[]): Promise<void> {
		if (!this.sources)
			await this.load();
		const open = this.sources?.open;
		if (!open) {
			this.refuse("No file can be opened here", this.sources?.why || "The server does not answer.");
			return;
		}
		let last: Source | null = null;
		const notes: string[] = [];
		for (const file of files) {
			if (file.size > open.bytes) {
				this.refuse(`${file.name} is too large`, `It has ${bytes(file.size)}; at most ${bytes(open.bytes)} can be opened here. \`perfcam import FILE\` takes larger ones.`);
				break;
			}
			const got = await this.send(file);
			if (!got)
				break;
			last = got;
			notes.push(...(got.notes ?? []));
			this.cover(false);
		}
		if (!last)
			return;
		this.app.useSource(last.id);
		await this.load();
		this.app.say(`opened ${last.label}: ${count(last.samples)} samples`);
		this.showNotes(last, notes);
	}

	private async send(file: File): Promise<Source | null> {
		const words = el("p", { class: "soft" }, "Sending…"), bar = el("div", { class: "filled" });
		const progress = el("div", { class: "progress", role: "progressbar", "aria-label": "Sent", "aria-valuemin": 0, "aria-valuemax": 100 }, bar);
		const { answer, stop } = this.app.server.open(file, (share) => {
			bar.style.width = `${100 * share}%`;
			progress.setAttribute("aria-valuenow", String(Math.round(100 * share)));
			progress.classList.toggle("waits", share >= 1);
			words.textContent = share < 1 ? `Sending: ${bytes(file.size * share)} of ${bytes(file.size)}` : "Reading it: stacks, names, times…";
		});
		const cancel = el("button", { type: "button", class: "framed", onclick: () => this.close() }, "Cancel");
		this.stop = stop;
		this.cover(true);
		fill(this.box, el("h3", { class: "cut" }, file.name), progress, words, cancel);
		cancel.focus();
		try {
			return await answer;
		} catch (e) {
			if (isAbort(e))
				this.cover(false);
			else
				this.refuse(`${file.name} could not be opened`, e instanceof Refusal ? (e.message || `The server said ${e.status}.`) : "The server does not answer, or a folder was dropped.");
			return null;
		} finally {
			this.stop = null;
		}
	}

	private refuse(what: string, why: string): void {
		const close = el("button", { type: "button", class: "framed", onclick: () => this.close() }, "Close");
		this.cover(true);
		fill(this.box, el("h3", { class: "bad", title: what }, what), el("p", { role: "alert" }, why),
			el("div", { class: "head" }, this.sources?.open ? el("button", { type: "button", class: "primary", onclick: () => {
				this.close();
				this.input.click();
			} }, "Choose another file") : null, close));
		close.focus();
	}

	/* What could not be read of it stays on the page until somebody has seen it. */
	private showNotes(of: Source, notes: string[]): void {
		this.notice.hidden = !notes.length;
		fill(this.notice, el("span", { class: "grow" }, `${of.label}: ${notes.join("; ")}`),
			el("button", { type: "button", "aria-label": "Close this note", onclick: () => (this.notice.hidden = true) }, "×"));
	}

	close(): void {
		this.stop?.();
		this.stop = null;
		this.cover(false);
	}
}
