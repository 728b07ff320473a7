// SPDX-License-Identifier: Apache-2.0
/* What the keys do, wherever the focus is; help.ts lists them. */
import type { App } from "./app";
import { exportMenu } from "./menus";

export function keyActs(app: App, e: KeyboardEvent): Record<string, () => void> {
	const s = app.state;
	return {
		ArrowLeft: () => app.arrow(-1, e.shiftKey), ArrowRight: () => app.arrow(1, e.shiftKey),
		"+": () => app.timeline.zoom(0.5), "=": () => app.timeline.zoom(0.5), "-": () => app.timeline.zoom(2),
		n: () => app.newest(), m: () => app.change({ mode: app.heatMode() === "sub" ? "cores" : "sub" }, true),
		"/": () => app.search.focus(), g: () => app.goto.focus(), i: () => app.change({ icicle: !s.icicle }, false),
		e: () => exportMenu(app, app.exporter), r: () => app.change({ collapse: !s.collapse, zoom: [] }, false),
		o: () => app.opening.choose(), u: () => void app.around.findMoments(),
		t: () => app.around.nextTrack(), "[": () => app.around.stepEvent(-1), "]": () => app.around.stepEvent(1),
		"1": () => app.change({ tab: "flame" }, true), "2": () => app.change({ tab: "table" }, true),
		"3": () => app.change({ tab: "sandwich" }, true), "4": () => app.change({ tab: "time" }, true),
		",": () => app.byTime.view.step(-1), ".": () => app.byTime.view.step(1),
		c: () => app.change({ compare: !s.compare, zoom: [] }, true), x: () => app.change({ flip: !s.flip, zoom: [] }, true),
		b: () => app.setDrags(!app.dragsBaseline), h: () => app.change({ paint: !s.paint }, false),
		z: () => app.change({ utc: !s.utc }, false), d: () => app.toggleTheme(), w: () => app.panel.focusWhy(), "?": () => app.help.showModal(),
		Backspace: () => history.back(),
	};
}
