"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = makeView(data);
  const { spell, place, sizes, options } = makeCharts(data, { select: (from, to) => zoom(from, to), reset: () => zoom(...whole), over: (strip) => brush(strip), shown: () => shown });
  const plots = [];
  const whole = view.whole;
  let shown = whole;

  // Charts of what is in view, computed anew for every zoom.
  const LEARN = { errors: "Root mean squared error of each ", coverage: "The share of labels inside their intervals, in each " };
  const count = (rows) => (rows === 1 ? "row" : spell(rows, 7) + " rows");
  function zoomed(chart, from, to, width) {
    if (chart.key === "predictions") return view.predictions(from, to, Math.max(width * 1.2, 300));
    if (chart.key === "coverage") return view.coverage(from, to, width / 8);
    return view.errors(from, to, width / (chart.key === "overview" ? 3 : 6), chart.lines.map((line) => line.role));
  }
  function caption(chart, rows) {
    const line = document.querySelector(`#${chart.key} .about .zoomed`);
    if (!line) return;
    if (chart.key !== "predictions") line.textContent = LEARN[chart.key] + count(rows);
    else line.textContent = rows === 1 ? "Every row: its label, and what was predicted before it was seen." : `Medians of each ${count(rows)}. The grey area holds nine tenths of the labels, the blue one the intervals${data.view.width > 1 ? ", by a sample of the rows" : ""}; zoom in for rows.`;
  }
  // The stretch of a chart of few points: as many of them around what is shown as make a line that can be read.
  const POINTS = 8;
  function around(x, from, to) {
    let first = x.findIndex((at) => at >= from), last = x.findLastIndex((at) => at <= to);
    if (first < 0) first = x.length;
    while (last - first + 1 < Math.min(POINTS, x.length)) {
      const [before, after] = [from - (x[first - 1] ?? -Infinity), (x[last + 1] ?? Infinity) - to];
      if (before <= after) first--; else last++;
    }
    return [Math.min(from, x[first] ?? from), Math.max(to, x[last] ?? to)];
  }
  function draw(plot, from, to) {
    const { chart } = plot;
    if (!chart.zoomed) {
      const [first, last] = around(chart.x, from, to);
      plot.wider = first < from || last > to;
      const said = plot.root.closest(".card").querySelector(".wider");
      if (said) said.hidden = !plot.wider;
      plot.setScale("x", { min: first, max: last });
      return;
    }
    const { x, lines, rows } = zoomed(chart, from, to, plot.width);
    plot.batch(() => {
      plot.setData([x, ...lines], false);
      if (chart.key === "predictions") for (const n of [1, 2]) plot.setSeries(n, { show: rows > 1 }, false);
      plot.setScale("x", { min: from, max: to });
    });
    caption(chart, rows);
  }

  // All charts show the same stretch of the stream.
  let overview = null;
  function brush(strip) {
    const [left, right] = shown.map((at) => strip.valToPos(at, "x"));
    strip.setSelect({ left, width: Math.max(right - left, 3), top: 0, height: strip.over.clientHeight }, false);
  }
  function zoom(from, to) {
    [from, to] = [Math.max(from, whole[0]), Math.min(to, whole[1])];
    if (!(to > from) && whole[1] > whole[0]) return;
    shown = [from, to];
    for (const plot of plots) draw(plot, from, to);
    if (overview) brush(overview);
    document.querySelector("[data-shown]").textContent = from === whole[0] && to === whole[1] ? "the whole stream" : `${place(from)} to ${place(to)}`;
    for (const [side, alarm] of [["before", alarmBefore()], ["after", alarmAfter()]]) {
      const button = document.querySelector(`[data-zoom=${side}]`);
      if (!button) continue;
      button.disabled = alarm < 0;
      button.title = alarm < 0 ? `No alarm ${side === "before" ? "earlier" : "later"}` : `Alarm at ${place(data.alarms[alarm][0])}`;
    }
    for (const row of document.querySelectorAll("[data-alarm]")) {
      const [at] = data.alarms[row.dataset.alarm];
      row.classList.toggle("chosen", at >= from && at <= to && !(from === whole[0] && to === whole[1]));
    }
  }
  // The nearest alarms outside of what is shown.
  const alarmBefore = () => data.alarms.findLastIndex(([at]) => at < shown[0]), alarmAfter = () => data.alarms.findIndex(([at]) => at > shown[1]);
  function goTo(alarm) {
    if (alarm < 0) return;
    const [, , from, to] = data.alarms[alarm];
    zoom(from, to);
    const row = document.querySelector(`[data-alarm="${alarm}"]`), table = row.closest(".tall");
    const first = row.offsetTop - table.querySelector("thead").offsetHeight, last = row.offsetTop + row.offsetHeight - table.clientHeight;
    table.scrollTop = Math.max(Math.min(table.scrollTop, first), last);
  }

  function add(chart, mount) {
    const first = chart.zoomed ? zoomed(chart, ...whole, mount.clientWidth) : { x: chart.x, lines: chart.lines.map((line) => line.values) };
    const plot = new uPlot(options(chart, mount.clientWidth), [first.x, ...first.lines], mount);
    plot.chart = chart;
    new ResizeObserver(() => {
      const size = sizes(chart, mount.clientWidth);
      if (!size.width || size.width === plot.width) return;
      plot.setSize(size);
      draw(plot, ...(plot === overview ? whole : shown));
    }).observe(mount);
    return plot;
  }
  const ZOOMED = ["errors", "predictions", "coverage"];
  for (const chart of data.charts) {
    chart.zoomed = ZOOMED.includes(chart.key);
    if (chart.key === "predictions") completeAreas(chart);
    const mount = document.querySelector(`[data-chart="${chart.key}"]`);
    if (!chart.apart) { plots.push(add(chart, mount)); continue; }
    for (const line of chart.lines) {
      const panel = mount.appendChild(document.createElement("div")), name = panel.appendChild(document.createElement("h4"));
      name.textContent = line.label;
      plots.push(add({ ...chart, lines: [{ ...line, role: "model", dashed: false }], together: chart.lines, small: true }, panel.appendChild(document.createElement("div"))));
    }
  }
  // The series of predictions are always the six that the view gives.
  function completeAreas(chart) {
    const [label, said] = chart.lines, interval = chart.lines.filter((line) => line.cut);
    const none = (role) => ({ label: "", role, faint: true, values: [] });
    const areas = [{ ...none("target"), label: `nine tenths of ${label.label}`, zoomed: true }, none("target"), interval[0] ?? none("model"), interval[1] ?? none("model")];
    chart.lines = [...areas, said, label];
    chart.bands = [[0, 1, "target"], [2, 3, "model"]];
  }

  const strip = document.querySelector('[data-chart="overview"]'), errors = data.charts.find((chart) => chart.key === "errors");
  if (strip && errors && whole[1] > whole[0]) {
    const own = errors.lines.filter((line) => line.role === "model");
    overview = add({ ...errors, key: "overview", lines: own, marks: {}, log: false, zoomed: true }, strip);
    strip.addEventListener("click", (event) => { // a click moves the view there
      const at = overview.posToVal(event.clientX - overview.over.getBoundingClientRect().left, "x"), half = (shown[1] - shown[0]) / 2;
      if (at < shown[0] || at > shown[1]) zoom(...within(at - half, at + half));
    });
  }
  function within(from, to) {
    const shift = Math.max(whole[0] - from, 0) || Math.min(whole[1] - to, 0);
    return [from + shift, to + shift];
  }

  // The page opens on the last rows that can be read, or on the last alarm where they have none.
  const readable = Math.min(Math.max(Math.round((plots[0]?.width ?? 800) / 2), 150), 600);
  const latest = data.view.rows > 1.5 * readable ? view.tail(readable) : whole;
  if (plots.length) {
    zoom(...latest);
    if (alarmBefore() === data.alarms.length - 1) goTo(alarmBefore());
  }

  const moves = {
    in: (from, to) => [from + (to - from) / 4, to - (to - from) / 4],
    out: (from, to) => [from - (to - from) / 2, to + (to - from) / 2],
    earlier: (from, to) => within(from - (to - from) / 2, to - (to - from) / 2),
    later: (from, to) => within(from + (to - from) / 2, to + (to - from) / 2),
    latest: () => latest,
    all: () => whole,
  };
  const jumps = { before: alarmBefore, after: alarmAfter };
  for (const button of document.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => {
      const { zoom: verb } = button.dataset;
      if (jumps[verb]) goTo(jumps[verb]());
      else if (plots.length) zoom(...moves[verb](...shown));
    });

  // A click on an alarm goes there on every chart.
  for (const row of document.querySelectorAll("[data-alarm]"))
    row.addEventListener("click", (event) => {
      if (event.target.closest("details")) return;
      goTo(Number(row.dataset.alarm));
    });

  globalThis.driftlineReport = { data, plots, zoom, view };

  const redraw = () => [...plots, ...(overview ? [overview] : [])].forEach((plot) => plot.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; zoom(...whole); redraw(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; redraw(); });
})();
