"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = makeView(data);
  const style = getComputedStyle(document.documentElement);
  const colour = (role) => style.getPropertyValue("--" + role).trim();
  const raised = (digits) => [...digits].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], DAY = 86400;
  const LARGE = [[1e15, "quadrillion"], [1e12, "trillion"], [1e9, "billion"], [1e6, "million"]];

  // A number as people write it.
  function spell(value, digits = 4) {
    if (value == null) return "";
    const size = Math.abs(value), plain = (number) => number.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, Math.floor(Math.log10(Math.abs(number) || 1)) + 1) });
    const large = size >= 1e7 && size < 1e18 && LARGE.find(([unit]) => size >= unit);
    let text;
    if (large) text = plain(value / large[0]) + " " + large[1];
    else if (size !== 0 && (size >= 1e18 || size < 1e-4)) {
      const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
      text = Number(mantissa) + " × 10" + raised(String(Number(exponent)));
    } else text = plain(value);
    return text.replace("-", "−");
  }

  // A date as people write it: 2 Nov 2014, 03:30.
  const two = (number) => String(number).padStart(2, "0");
  function day(seconds, year = true) {
    const date = new Date(seconds * 1e3);
    return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}${year ? " " + date.getUTCFullYear() : ""}`;
  }
  function clock(seconds) {
    const date = new Date(seconds * 1e3), rest = date.getUTCSeconds();
    return two(date.getUTCHours()) + ":" + two(date.getUTCMinutes()) + (rest ? ":" + two(rest) : "");
  }
  const place = (value) => (value == null ? "" : data.dates ? `${day(value)}, ${clock(value)}` : spell(value, 7));
  function ticks(plot, splits, axis, space, step) {
    if (!data.dates) return splits.map((value) => spell(value, 7));
    let year = null, shown = null;
    return splits.map((seconds) => {
      if (seconds == null) return "";
      const date = new Date(seconds * 1e3), own = date.getUTCFullYear(), new_year = own !== year;
      year = own;
      if (step >= 27 * DAY) return MONTHS[date.getUTCMonth()] + (new_year ? "\n" + own : "");
      if (step >= DAY) return day(seconds, false) + (new_year ? "\n" + own : "");
      const today = day(seconds, new_year), first = today.split(" ").slice(0, 2).join(" ") !== shown;
      shown = today.split(" ").slice(0, 2).join(" ");
      return clock(seconds) + (first ? "\n" + today : "");
    });
  }

  const plots = [];
  const whole = view.whole;
  let shown = whole;

  // Lines across: alarms, with the stretch from their onset on, and resets; and the level that a chart is read against.
  function marks(chart) {
    return (plot) => {
      const { ctx, bbox } = plot, ratio = devicePixelRatio || 1, top = bbox.top;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, top - 6 * ratio, bbox.width, bbox.height + 6 * ratio);
      ctx.clip();
      ctx.lineWidth = ratio;
      if (chart.level != null) {
        const y = plot.valToPos(chart.level, "y", true);
        ctx.strokeStyle = colour("quiet");
        ctx.setLineDash([3 * ratio, 3 * ratio]);
        ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
      }
      ctx.setLineDash([]);
      const faint = data.alarms.length > 40;
      for (const [at, onset] of data.alarms) {
        const x = plot.valToPos(at, "x", true), from = plot.valToPos(onset, "x", true);
        ctx.strokeStyle = ctx.fillStyle = colour("alarms");
        ctx.globalAlpha = 0.1;
        ctx.fillRect(from, top, Math.max(x - from, 0), bbox.height);
        ctx.globalAlpha = faint ? 0.3 : 0.8;
        ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + bbox.height); ctx.stroke();
        ctx.globalAlpha = 1;
        ctx.beginPath(); ctx.moveTo(x - 4 * ratio, top - 5 * ratio); ctx.lineTo(x + 4 * ratio, top - 5 * ratio); ctx.lineTo(x, top + 2 * ratio); ctx.fill();
      }
      ctx.strokeStyle = colour("resets");
      ctx.setLineDash([2 * ratio, 3 * ratio]);
      for (const at of chart.marks.resets ?? []) {
        const x = plot.valToPos(at, "x", true);
        ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + bbox.height); ctx.stroke();
      }
      ctx.restore();
    };
  }

  // From the lowest to the highest value in view; outliers of lines that may be cut do not count.
  function extent(plot, lines) {
    const [first, last] = plot.series[0].idxs ?? [0, plot.data[0].length - 1];
    let low = Infinity, high = -Infinity;
    lines.forEach(({ values, cut }) => {
      const seen = Float64Array.from(values.slice(first, last + 1).filter((value) => value != null)).sort();
      if (!seen.length) return;
      let [least, most] = [seen[0], seen.at(-1)];
      if (cut) {
        const under = seen[Math.floor(0.05 * (seen.length - 1))], over = seen[Math.ceil(0.95 * (seen.length - 1))];
        least = Math.max(least, 2 * under - over);
        most = Math.min(most, 2 * over - under);
      }
      low = Math.min(low, least);
      high = Math.max(high, most);
    });
    return [low, high];
  }
  function range(chart) {
    if (chart.log) { // from and to one digit, so that the ticks have one too
      const unit = (value) => 10 ** Math.floor(Math.log10(value));
      return (plot, low, high) => (low > 0 ? [Math.floor(low / unit(low)) * unit(low), Math.ceil((high * 1.01) / unit(high)) * unit(high)] : [1, 10]);
    }
    return (plot) => {
      const lines = chart.together ?? chart.lines.map((line, n) => ({ values: plot.data[n + 1], cut: line.cut, show: plot.series[n + 1].show })).filter((line) => line.show);
      let [low, high] = extent(plot, lines);
      if (!(low <= high)) return [0, 1];
      if (chart.level != null) { low = Math.min(low, chart.level); high = Math.max(high, chart.level); }
      if (low === high) { const room = Math.abs(low) * 0.1 || 1; return [low - room, high + room]; }
      const room = (high - low) * 0.06;
      return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
    };
  }

  // A swatch looks like its line: solid, dashed, or an area.
  const isArea = (chart, n) => chart.bands.some(([upper]) => upper === n);
  const stroke = (line) => colour(line.role) + (line.faint ? "55" : line.role === "target" ? "c0" : "");
  const fill = (role) => colour(role) + (role === "target" ? "26" : "30");
  const swatches = (chart) => ({
    width: 2,
    stroke: (plot, n) => (n ? (isArea(chart, n - 1) ? "transparent" : stroke(chart.lines[n - 1])) : "transparent"),
    dash: (plot, n) => (n && chart.lines[n - 1].dashed ? "dashed" : "solid"),
    fill: (plot, n) => (n && isArea(chart, n - 1) ? fill(chart.lines[n - 1].role) : "transparent"),
  });

  // Without a cursor the legend has the last values in view.
  function legend(plot) {
    let [first, last] = plot.series[0].idxs ?? [0, -1];
    const lacks = (at) => plot.series.some((series, n) => n && series.show && plot.data[n][at] == null);
    while (last > first && lacks(last)) last--;
    if (plot.cursor.idx == null && last >= 0) plot.setLegend({ idx: last }, false);
  }

  function sizes(chart, width) {
    const rem = parseFloat(style.fontSize);
    if (chart.key === "overview") return { width, height: Math.round(5.4 * rem) };
    return { width, height: Math.round(chart.small ? 8 * rem : Math.min(Math.max(width * 0.36, 240), 26 * rem)) };
  }
  function options(chart, width) {
    const small = Math.round(parseFloat(style.fontSize) * 0.78), font = small + "px " + style.getPropertyValue("--sans");
    const axis = { stroke: () => colour("quiet"), font, grid: { stroke: () => colour("grid"), width: 1 }, ticks: { show: false } };
    const left = { ...axis, space: (chart.small ? 1.8 : 3) * small, size: (plot, values) => 14 + Math.max(30, ...(values || []).map((v) => String(v ?? "").length * small * 0.58)) };
    left.values = chart.log
      ? (plot, splits) => splits.map((v) => (v != null && (splits.length < 7 || /^[125]e/.test(Number(v.toPrecision(6)).toExponential())) ? spell(v, 3) : ""))
      : (plot, splits) => splits.map((v) => spell(v));
    const bottom = { ...axis, space: (chart.small ? 7 : 6) * small, values: ticks, size: data.dates ? 3.4 * small : undefined };
    const strip = chart.key === "overview";
    return {
      ...sizes(chart, width),
      padding: [10, null, 0, null],
      legend: { show: !chart.small && !strip, markers: swatches(chart) },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "UTC"),
      cursor: {
        sync: { key: "stream", scales: ["x", null], setSeries: false },
        drag: { x: true, y: false, setScale: false },
        points: { size: chart.small ? 5 : 7, show: strip ? false : undefined },
        bind: { dblclick: () => () => { zoom(...whole); return null; } },
      },
      scales: { x: { time: data.dates, range: (plot, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) }, y: { distr: chart.log ? 3 : 1, range: range(chart) } },
      axes: [bottom, { ...left, show: !strip }],
      series: [
        { label: data.axis, value: (plot, v) => place(v) },
        ...chart.lines.map((line, n) => ({
          label: line.label,
          class: !line.label ? "unnamed" : line.zoomed ? "zoomed" : undefined,
          show: !line.hidden,
          stroke: () => stroke(line),
          width: line.faint || line.role === "target" ? 1 : 1.8,
          dash: line.dashed ? [6, 4] : undefined,
          points: { show: chart.x.length > 0 && chart.x.length < 4 ? true : undefined, size: 5 },
          value: (plot, v, at, i) => (isArea(chart, n) && v != null ? spell(plot.data[at + 1][i]) + " to " : "") + spell(v),
        })),
      ],
      bands: chart.bands.map(([upper, lower, role]) => ({ series: [upper + 1, lower + 1], fill: () => fill(role) })),
      hooks: {
        drawAxes: [marks(chart)],
        draw: [strip ? brush : legend],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width >= 4) zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          if (!strip) plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
        setCursor: [legend],
      },
    };
  }

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
  function draw(plot, from, to) {
    const { chart } = plot;
    if (!chart.zoomed) { plot.setScale("x", { min: from, max: to }); return; }
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

  const readable = Math.min(Math.max(Math.round((plots[0]?.width ?? 800) / 2), 150), 600);
  if (plots.length) zoom(...(data.view.rows > 1.5 * readable ? view.tail(readable) : whole));

  const moves = {
    in: (from, to) => [from + (to - from) / 4, to - (to - from) / 4],
    out: (from, to) => [from - (to - from) / 2, to + (to - from) / 2],
    earlier: (from, to) => within(from - (to - from) / 2, to - (to - from) / 2),
    later: (from, to) => within(from + (to - from) / 2, to + (to - from) / 2),
    all: () => whole,
  };
  for (const button of document.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => plots.length && zoom(...moves[button.dataset.zoom](...shown)));

  // A click on an alarm goes there on every chart.
  for (const row of document.querySelectorAll("[data-alarm]"))
    row.addEventListener("click", (event) => {
      if (event.target.closest("details")) return;
      const [, , from, to] = data.alarms[row.dataset.alarm];
      zoom(from, to);
      for (const other of document.querySelectorAll("[data-alarm]")) other.classList.toggle("chosen", other === row);
    });

  globalThis.driftlineReport = { data, plots, zoom, view };

  const redraw = () => [...plots, ...(overview ? [overview] : [])].forEach((plot) => plot.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; zoom(...whole); redraw(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; redraw(); });
})();
