"use strict";
// Charts of a report, drawn from the JSON in each figure.chart: hover shows all values, dragging
// zooms along x, along y or along both, a double click or Escape shows all again, names in the
// legend switch lines on and off.
(() => {
  const SUPER = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const power = (n) => "10" + [...String(n)].map((c) => SUPER[c]).join("");
  const tens = (x) => { const n = Math.floor(Math.log10(x) + 1e-9), m = Math.round(x / 10 ** n); return (m === 1 ? "" : `${m}·`) + power(n); };
  const minus = (text) => text.replace("-", "−");
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const made = (tag, cls, text = "") => Object.assign(document.createElement(tag), { className: cls, textContent: text });

  function ticks(low, high, room, log, whole = false) {
    if (log) {
      const [a, b] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
      for (const digits of [[1, 2, 5], [1, 3], [1]]) {
        const fine = digits.flatMap((m) => Array.from({ length: b - a + 3 }, (_, i) => m * 10 ** (a - 1 + i))).filter((u) => u >= low * 0.999 && u <= high * 1.001).sort((u, w) => u - w);
        if (fine.length >= 2 && fine.length <= room + 2) return fine;
      }
      if (b - a >= 1) {
        const step = Math.ceil((b - a + 1) / room);
        return Array.from({ length: Math.floor((b - a) / step) + 1 }, (_, i) => 10 ** (a + i * step));
      }
    }
    const rough = Math.max((high - low) / room, whole ? 1 : 0), size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((s) => s * size >= rough * 0.999) * size, found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
    return found;
  }

  function labels(values, log) {
    const most = Math.max(...values.map(Math.abs)), spread = log && values.length > 1 && values[values.length - 1] >= 5 * values[0];
    if (spread) return { texts: values.map((x) => (x >= 0.01 && x < 1e4 ? String(+x.toPrecision(3)) : tens(x))), unit: "" };
    const exponent = most > 0 && (most < 0.01 || most >= 1e5) ? Math.floor(Math.log10(most) + 1e-9) : 0;
    const step = values.length > 1 ? Math.abs(values[1] - values[0]) / 10 ** exponent : 1;
    const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
    return { texts: values.map((x) => minus((x / 10 ** exponent).toFixed(digits))), unit: exponent ? `× ${power(exponent)}` : "" };
  }

  const shown = (x) => (x === null ? "–" : minus(x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6) ? x.toExponential(3) : String(+x.toPrecision(5))));

  // The place in an ascending list that is nearest to x.
  function nearest(list, x) {
    let a = 0, b = list.length - 1;
    while (b - a > 1) { const m = (a + b) >> 1; if (list[m] <= x) a = m; else b = m; }
    return Math.abs(list[b] - x) < Math.abs(list[a] - x) ? b : a;
  }

  // The last place in an ascending list that is not beyond x.
  const before = (list, x) => { const k = nearest(list, x); return k > 0 && list[k] > x ? k - 1 : k; };

  // The column of a histogram that x is in, or that is nearest to it.
  function column(line, x) {
    let k = Math.max(0, Math.min(line.x.length - 2, line.x.findIndex((u) => u > x) - 1));
    if (x >= line.x[line.x.length - 1]) k = line.x.length - 2;
    if (line.y[k] !== null || line.x.length < 4) return k;
    const [before, after] = [Math.max(0, k - 1), Math.min(line.x.length - 2, k + 1)];
    return x - line.x[k] < line.x[k + 1] - x ? before : after;
  }

  const shortened = (text) => (text.length > 24 ? `${text.slice(0, 8)}…${text.slice(-15)}` : text);

  // A cross or a ring about a place.
  const mark = (drawn, u, w, size) => (drawn === "crosses" ? `M${u - 3} ${w - 3}l6 6m0 -6l-6 6` : `M${u - size / 2} ${w}a${size / 2} ${size / 2} 0 1 0 ${size} 0a${size / 2} ${size / 2} 0 1 0 ${-size} 0`);

  class Panel {
    constructor(chart, data) {
      Object.assign(this, { chart, data, logx: data.log.includes("x"), logy: data.log.includes("y") });
      this.box = made("div", "panel");
      this.box.tabIndex = 0;
      this.box.setAttribute("role", "group");
      this.box.setAttribute("aria-label", `Chart: ${data.title} ${data.y} over ${data.x}. Arrow keys show values, + and − zoom, Shift with the arrows up and down zooms along y, Escape shows all.`);
      this.box.innerHTML = `<div class="axis"><b>${escaped(data.title)}</b> <span>${escaped(data.y)}</span></div>`;
      this.plot = this.box.appendChild(made("div", "plot"));
      this.readout = made("div", "readout");
      this.readout.setAttribute("aria-live", "polite");
      this.readout.hidden = true;
      this.whole = data.span;
      this.listen();
    }

    get lines() { return this.data.lines.filter((line) => !this.chart.hidden.has(line.name)); }
    get range() { return this.chart.zoom.get(this.data.x) || this.whole; }

    fitted() {  // the range of y
      if (this.upright) return this.upright;
      const [a, b] = this.range, zoomed = this.chart.zoom.has(this.data.x);
      if (!zoomed && (this.data.fixed || !this.chart.hidden.size)) return this.data.range;
      let low = Infinity, high = -Infinity;
      for (const line of this.lines) line.x.forEach((x, i) => {
        const y = line.y[i], [down, up] = line.bars ? [line.bars[0][i], line.bars[1][i]] : [0, 0];
        if (x < a || x > b || y === null || (this.logy && y <= 0)) return;
        low = Math.min(low, line.drawn === "steps" ? 0 : line.base ? line.base[i] ?? y : y - down); high = Math.max(high, y + up);
      });
      if (low > high) return this.data.range;
      if (this.logy) return [low / 1.2, high * 1.2];
      if (high - low < 1e-6 * (this.data.range[1] - this.data.range[0])) return this.data.range;  // rounding
      const room = 0.04 * (high - low);
      return [low - room, high + room];
    }

    draw() {
      const width = this.plot.clientWidth;
      if (!width) return;
      const data = this.data, [x0, x1] = this.range, [y0, y1] = this.fitted();
      const named = data.ticks.length > 0, over = named ? data.ticks.map((_, k) => k).filter((k) => k >= x0 && k <= x1) : ticks(x0, x1, Math.max(4, Math.floor(width / 70)), this.logx, data.counts);
      const longest = Math.max(0, ...over.map((k) => (named ? shortened(data.ticks[k]).length : 0)));
      const turned = named && (7.5 * longest + 8) * over.length > width - 50, room = turned ? 32 + 5.8 * longest : 38;
      const height = Math.round(Math.max(170, Math.min(320, 0.52 * width)) + room - 38);
      const up = ticks(y0, y1, Math.max(4, Math.floor(height / 36)), this.logy);
      const across = named ? { texts: over.map((k) => shortened(data.ticks[k])), unit: "" } : labels(over, this.logx), rising = labels(up, this.logy);
      const left = 12 + 7 * Math.max(...rising.texts.map((t) => t.length)), right = width - 12, top = rising.unit ? 20 : 8;
      const bottom = height - room;
      const place = (low, high, from, to, log) => {
        const [a, b] = log ? [Math.log10(low), Math.log10(high)] : [low, high];
        return (u) => from + (to - from) * ((log ? Math.log10(u) : u) - a) / (b - a);
      };
      const X = (this.X = place(x0, x1, left, right, this.logx)), Y = (this.Y = place(y0, y1, bottom, top, this.logy));
      Object.assign(this, { left, right, top, bottom });
      const parts = [];
      up.forEach((u, i) => parts.push(`<path class="grid" d="M${left} ${Y(u).toFixed(1)}H${right}"/><text x="${left - 6}" y="${(Y(u) + 4).toFixed(1)}" text-anchor="end">${rising.texts[i]}</text>`));
      const gap = named ? Math.max(1, Math.ceil((11 * over.length) / (right - left))) : 1;
      over.forEach((u, i) => {
        const at = X(u).toFixed(1), text = escaped(across.texts[i]);
        if (!named) parts.push(`<path class="grid" d="M${at} ${top}V${bottom}"/>`);
        if (i % gap) return;
        parts.push(turned ? `<text class="small" transform="translate(${+at + 3} ${bottom + 6}) rotate(-90)" text-anchor="end">${text}</text>` : `<text x="${Math.min(at, width - 3.7 * across.texts[i].length).toFixed(1)}" y="${bottom + 16}" text-anchor="middle">${text}</text>`);
      });
      if (rising.unit) parts.push(`<text x="${left}" y="12">${rising.unit}</text>`);
      parts.push(`<text x="${(left + right) / 2}" y="${height - 5}" text-anchor="middle">${escaped(data.x)}${across.unit ? " " + across.unit : ""}</text>`);
      const clip = [left, top - 3, Math.max(1, right - left), bottom - top + 6];  // marks at its ends are whole
      parts.push(`<svg x="${clip[0]}" y="${clip[1]}" width="${clip[2]}" height="${clip[3]}" viewBox="${clip.join(" ")}">`);
      for (const mark of data.marks) parts.push(`<path class="mark" d="M${X(mark).toFixed(1)} ${top}V${bottom}"/>`);
      for (const level of data.levels) if (level.y >= y0 && level.y <= y1) parts.push(`<path class="level" stroke="${level.colour}" d="M${left} ${Y(level.y).toFixed(1)}H${right}"><title>${escaped(level.name)}</title></path>`);
      for (const line of this.lines) parts.push(this.path(line, X, Y));
      parts.push("</svg>", `<path class="cursor" d=""/><rect class="chosen" y="${top}" height="0" width="0"/>`);
      this.plot.innerHTML = `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(data.title + " " + data.y)}">${parts.join("")}</svg>`;
      this.plot.append(this.readout);
    }

    path(line, X, Y) {
      const [a, b] = this.range, look = `stroke="${line.colour}" fill="none" stroke-width="${line.width}" opacity="${line.opacity}"`;
      if (line.drawn === "steps") return this.columns(line, X, Y);
      if (line.drawn === "band") return this.band(line, X, Y);
      const parts = [], dots = [];
      let pen = "M", from = 0, to = line.x.length - 1;
      const joined = line.drawn === "line" || line.drawn === "both" || line.drawn === "held";
      if (joined) { while (from < to && line.x[from + 1] < a) from++; while (to > from && line.x[to - 1] > b) to--; }
      for (let i = from; i <= to; i++) {
        const y = line.y[i];
        if (y === null || (this.logy && y <= 0)) { pen = "M"; continue; }
        const [u, w] = [X(line.x[i]).toFixed(1), Y(y).toFixed(1)];
        parts.push(line.drawn === "held" && pen === "L" ? `H${u}V${w}` : pen + u + " " + w); pen = "L";
        if (line.bars) dots.push(`M${u} ${Y(y - line.bars[0][i]).toFixed(1)}V${Y(y + line.bars[1][i]).toFixed(1)}`);
        if (line.drawn === "crosses" || line.drawn === "rings") dots.push(mark(line.drawn, +u, +w, line.size));
      }
      const spots = line.drawn === "both" || line.drawn === "dots" ? `<path class="line" ${look} style="stroke-width:${line.size};stroke-linecap:round" d="${parts.map((at) => `M${at.slice(1)}h0`).join("")}"/>` : "";
      return (joined ? `<path class="line" ${look} stroke-dasharray="${line.dash}" d="${parts.join("")}"/>` : "") + spots + (dots.length ? `<path class="line" ${look} d="${dots.join("")}"/>` : "");
    }

    columns(line, X, Y) {  // from zero, as of a histogram
      const floor = (this.logy ? this.bottom : Y(0)).toFixed(1), parts = [];
      for (let i = 0; i + 1 < line.x.length; i++) if (line.y[i] !== null) parts.push(`M${X(line.x[i]).toFixed(1)} ${floor}V${this.logy && line.y[i] <= 0 ? floor : Y(line.y[i]).toFixed(1)}H${X(line.x[i + 1]).toFixed(1)}V${floor}Z`);
      return `<path class="line" fill="${line.colour}" opacity="${line.opacity}" stroke="var(--paper)" stroke-width="0.6" d="${parts.join("")}"/>`;
    }

    band(line, X, Y) {  // from base to y, with gaps where one is not known
      const areas = [];
      let area = [];
      const end = () => { if (area.length) areas.push("M" + [...area.map((p) => p[0]), ...area.map((p) => p[1]).reverse()].join("L") + "Z"); area = []; };
      line.y.forEach((y, i) => {
        const base = line.base[i];
        if (y === null || base === null || (this.logy && y <= 0)) { end(); return; }
        const u = X(line.x[i]).toFixed(1);
        area.push([`${u} ${Y(y).toFixed(1)}`, `${u} ${(this.logy && base <= 0 ? this.bottom : Y(base)).toFixed(1)}`]);
      });
      end();
      return `<path class="line" fill="${line.colour}" opacity="${line.opacity}" stroke="none" d="${areas.join("")}"/>`;
    }

    point(x) {  // show all values at x; at null, none
      const cursor = this.plot.querySelector(".cursor");
      if (!cursor) return;
      this.readout.hidden = x === null || this !== this.chart.hovered;
      if (x === null || x < this.range[0] || x > this.range[1]) { cursor.setAttribute("d", ""); return; }
      const at = this.X(x);
      cursor.setAttribute("d", `M${at.toFixed(1)} ${this.top}V${this.bottom}`);
      if (this.readout.hidden) return;
      const rows = [];
      let over = null, span = "";
      for (const line of this.lines) {
        const steps = line.drawn === "steps", k = steps ? column(line, x) : line.drawn === "held" ? before(line.x, x) : nearest(line.x, x);
        if (steps) span = `${shown(line.x[k])} to ${shown(line.x[k + 1])}`;
        if (over === null || Math.abs(line.x[k] - x) < Math.abs(over - x)) over = line.x[k];
        rows.push([line.name || this.data.title, line.base ? `${shown(line.base[k])} to ${shown(line.y[k])}` : shown(line.y[k]), line.colour]);
      }
      const head = made("b", "", this.data.ticks.length ? this.data.ticks[Math.round(x)] || "" : `${this.data.x.split(",")[0]} ${span || shown(over)}${(this.data.x.match(/,(.*)/) || ["", ""])[1]}`);
      const list = made("div", "values");
      for (const [name, value, colour] of rows) {
        const row = list.appendChild(made("div", ""));
        row.append(made("i", ""), made("span", "", name), made("em", "", value));
        row.firstChild.style.background = colour;
      }
      this.readout.replaceChildren(head, list);
      this.readout.classList.toggle("many", rows.length > 8);
      const wide = this.readout.offsetWidth, room = this.plot.clientWidth;
      this.readout.style.left = `${Math.max(0, at + 14 + wide < room ? at + 14 : Math.min(at - 14 - wide, room - wide))}px`;
    }

    listen() {
      let start = null;
      const where = (event) => Math.min(this.right, Math.max(this.left, event.clientX - this.plot.getBoundingClientRect().left));
      const value = (u) => {
        const part = (u - this.left) / (this.right - this.left), [a, b] = this.range;
        return this.logx ? a * (b / a) ** part : a + (b - a) * part;
      };
      this.value = value;
      const height = (event) => Math.min(this.bottom, Math.max(this.top, event.clientY - this.plot.getBoundingClientRect().top));
      const rising = (w) => {
        const part = (this.bottom - w) / (this.bottom - this.top), [a, b] = this.fitted();
        return this.logy ? a * (b / a) ** part : a + (b - a) * part;
      };
      // What is chosen from a place to another: all of x or of y where the other way is far longer.
      const chosen = ([u, w], [u1, w1]) => {
        const [wide, high] = [Math.abs(u1 - u), Math.abs(w1 - w)], y = high > 16 && high > 0.25 * wide, x = wide > 8 && (!y || wide > 0.25 * high);
        const box = x || y ? [x ? [Math.min(u, u1), Math.max(u, u1)] : [this.left, this.right], y ? [Math.min(w, w1), Math.max(w, w1)] : [this.top, this.bottom]] : [[0, 0], [0, 0]];
        const rect = this.plot.querySelector(".chosen");
        Object.entries({ x: box[0][0], width: box[0][1] - box[0][0], y: box[1][0], height: box[1][1] - box[1][0] }).forEach(([k, n]) => rect.setAttribute(k, n));
        return { x: x && box[0].map(value), y: y && box[1].map(rising).reverse() };
      };
      this.plot.addEventListener("pointermove", (event) => {
        if (start !== null) chosen(start, [where(event), height(event)]);
        this.chart.hover(this, value(where(event)));
      });
      this.plot.addEventListener("pointerleave", () => start === null && this.chart.hover(null, null));
      this.plot.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        start = [where(event), height(event)];
        this.plot.setPointerCapture(event.pointerId);
        this.chart.hover(this, value(start[0]));
      });
      const ended = (event) => {
        if (start === null) return;
        const box = chosen(start, event.type === "pointerup" ? [where(event), height(event)] : start);
        start = null;
        if (box.y) this.upright = box.y;
        if (box.x) this.chart.zoomTo(this.data.x, ...box.x);
        else if (box.y) this.chart.draw();
      };
      this.plot.addEventListener("pointerup", ended);
      this.plot.addEventListener("pointercancel", ended);
      const all = () => { this.upright = null; this.chart.zoomTo(this.data.x, null); };
      this.plot.addEventListener("dblclick", all);
      this.box.addEventListener("keydown", (event) => {
        const middle = (this.left + this.right) / 2, at = this.chart.x === null ? middle : this.X(this.chart.x), step = (this.right - this.left) / 50;
        const half = { "+": 0.25, "=": 0.25, "-": 1 }[event.key] * (this.right - this.left);
        if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.chart.hover(this, value(Math.min(this.right, Math.max(this.left, at + (event.key === "ArrowLeft" ? -step : step)))));
        else if (half) this.chart.zoomTo(this.data.x, Math.max(this.whole[0], value(at - half)), Math.min(this.whole[1], value(at + half)));
        else if (event.shiftKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
          const part = event.key === "ArrowUp" ? -0.25 : 0.5, room = part * (this.bottom - this.top);
          this.upright = [rising(this.bottom + room), rising(this.top - room)];
          this.chart.draw();
        } else if (event.key === "Escape" || event.key === "0") { all(); this.chart.hover(null, null); }
        else return;
        event.preventDefault();
      });
      this.box.addEventListener("blur", () => this.chart.hover(null, null));
    }
  }

  class Chart {
    constructor(figure) {
      const data = JSON.parse(figure.querySelector("script").textContent);
      Object.assign(this, { figure, hidden: new Set(), zoom: new Map(), hovered: null, x: null });
      for (const panel of data.panels) for (const line of panel.lines) line.x = data.over[line.x];
      this.panels = data.panels.map((panel) => new Panel(this, panel));
      const grid = made("div", "panels");
      grid.style.setProperty("--columns", data.columns);
      grid.append(...this.panels.map((panel) => panel.box));
      const legend = made("div", "legend");
      if (data.legend.length > 1) legend.append(...data.legend.map((line) => this.entry(line)));
      this.reset = made("button", "reset", "Show all");
      this.reset.hidden = true;
      this.reset.onclick = () => { this.zoom.clear(); for (const panel of this.panels) panel.upright = null; this.draw(); };
      legend.append(this.reset);
      figure.querySelector(".drawn").replaceChildren(grid, legend);
      let width = 0;
      new ResizeObserver(() => { if (grid.clientWidth !== width) { width = grid.clientWidth; this.draw(); } }).observe(grid);
    }

    entry(line) {
      const button = made("button", "entry");
      button.type = "button";
      const one = { dots: "M13 5h0", crosses: mark("crosses", 13, 5), rings: mark("rings", 13, 5, 7) }[line.drawn];
      button.innerHTML = one ? `<svg width="26" height="10" aria-hidden="true"><path d="${one}" fill="none" stroke="${line.colour}" stroke-linecap="round" stroke-width="${line.drawn === "dots" ? 7 : 1.6}"/></svg>` : `<svg width="26" height="10" aria-hidden="true"><path d="M0 5H26" stroke="${line.colour}" stroke-width="${line.drawn === "steps" || line.drawn === "band" ? 8 : Math.min(3, line.width + 0.4)}" stroke-dasharray="${line.dash}" opacity="${line.opacity}"/></svg>`;
      button.append(line.name);
      button.setAttribute("aria-pressed", "true");
      button.onclick = () => {
        if (!this.hidden.delete(line.name)) this.hidden.add(line.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
        this.draw();
      };
      return button;
    }

    hover(panel, x) { this.hovered = panel; this.x = x; for (const p of this.panels) p.point(p.data.x === (panel || p).data.x ? x : null); }
    zoomTo(axis, low, high) { if (low === null) this.zoom.delete(axis); else if (high > low) this.zoom.set(axis, [low, high]); this.draw(); }
    draw() { for (const panel of this.panels) panel.draw(); this.reset.hidden = !this.zoom.size && !this.panels.some((panel) => panel.upright); if (this.x !== null) this.hover(this.hovered, this.x); }
  }

  // A table that does not fit its place is stacked: a block per row, a name before every value.
  function fit(tables) {
    for (const table of tables) table.classList.remove("stacked");
    const wide = tables.filter((table) => table.scrollWidth > table.parentElement.clientWidth + 1);
    for (const table of wide) table.classList.add("stacked");
  }

  const charts = [...document.querySelectorAll("figure.chart")].map((figure) => new Chart(figure));
  // A scene that is played has a slider; a line in the charts follows its time.
  for (const scene of document.querySelectorAll("iframe.scene")) setInterval(() => {
    const thumb = scene.contentDocument && scene.contentDocument.querySelector('[role="slider"]');
    const t = thumb && +scene.dataset.start + +thumb.getAttribute("aria-valuenow");
    if (thumb) for (const chart of charts) if (!chart.hovered && chart.x !== t) chart.hover(null, t);
  }, 40);
  const tablesIn = (part) => [...part.querySelectorAll(".table table")], fitAll = () => fit(tablesIn(document));
  fitAll();
  addEventListener("resize", fitAll);
  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", () => fit(tablesIn(details)));
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  for (const film of document.querySelectorAll("figure.film")) {
    const svg = film.querySelector("svg"), button = film.querySelector("button");
    const set = (paused) => { if (paused) svg.pauseAnimations(); else svg.unpauseAnimations(); button.textContent = paused ? "Play" : "Pause"; };
    button.hidden = false;
    button.onclick = () => set(!svg.animationsPaused());
    set(still);
  }
})();
