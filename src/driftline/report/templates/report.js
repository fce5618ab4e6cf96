"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const style = getComputedStyle(document.documentElement);
  const colour = (role) => style.getPropertyValue("--" + role).trim();
  const raised = (digits) => [...digits].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");

  // A number as people write it.
  function spell(value, digits = 5) {
    if (value == null) return "";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e7 || size < 1e-4)) {
      const [mantissa, exponent] = value.toExponential(Math.min(digits, 4) - 1).split("e");
      return (Number(mantissa) + " × 10" + raised(String(Number(exponent)))).replace("-", "−");
    }
    return value.toLocaleString("en", { maximumSignificantDigits: size >= 1e4 ? 7 : digits }).replace("-", "−");
  }
  const place = (value) => {
    if (value == null) return "";
    if (!data.dates) return spell(value, 7);
    return new Date(value * 1e3).toISOString().slice(0, 19).replace("T", " ").replace(/(:00)?:00$/, (s) => s.slice(0, 3));
  };

  const plots = [];
  let whole = [Infinity, -Infinity];
  for (const chart of data.charts) whole = [Math.min(whole[0], chart.x[0]), Math.max(whole[1], chart.x.at(-1))];

  // All charts show the same stretch of the stream.
  let zooming = false;
  function zoom(from, to) {
    if (zooming || !(to > from)) return;
    zooming = true;
    for (const plot of plots) plot.setScale("x", { min: Math.max(from, whole[0]), max: Math.min(to, whole[1]) });
    zooming = false;
  }

  // Lines across: resets and alarms; and the level that a chart is read against.
  function marks(chart) {
    return (plot) => {
      const { ctx, bbox } = plot, ratio = devicePixelRatio || 1;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top - 6 * ratio, bbox.width, bbox.height + 6 * ratio);
      ctx.clip();
      ctx.lineWidth = ratio;
      if (chart.level != null) {
        const y = plot.valToPos(chart.level, "y", true);
        ctx.strokeStyle = colour("quiet");
        ctx.setLineDash([3 * ratio, 3 * ratio]);
        ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
      }
      for (const [kind, places] of Object.entries(chart.marks)) {
        ctx.strokeStyle = ctx.fillStyle = colour(kind);
        ctx.setLineDash(kind === "resets" ? [2 * ratio, 3 * ratio] : []);
        for (const at of places) {
          const x = plot.valToPos(at, "x", true), top = bbox.top;
          ctx.globalAlpha = places.length > 12 ? 0.25 : 1; // many lines must not hide what they mark
          ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + bbox.height); ctx.stroke();
          ctx.globalAlpha = 1;
          if (kind === "alarms") {
            ctx.beginPath(); ctx.moveTo(x - 4 * ratio, top - 5 * ratio); ctx.lineTo(x + 4 * ratio, top - 5 * ratio); ctx.lineTo(x, top + 2 * ratio); ctx.fill();
          }
        }
      }
      ctx.restore();
    };
  }

  // From the lowest to the highest value in view; outliers of lines that may be cut do not count.
  function extent(plot, chart) {
    const [first, last] = plot.series[0].idxs ?? [0, chart.x.length - 1];
    let low = Infinity, high = -Infinity;
    for (const line of chart.lines) {
      if (!plot.series[1 + chart.lines.indexOf(line)].show) continue;
      const seen = Float64Array.from(line.values.slice(first, last + 1).filter((value) => value != null)).sort();
      if (!seen.length) continue;
      let [least, most] = [seen[0], seen.at(-1)];
      if (line.cut) {
        const under = seen[Math.floor(0.05 * (seen.length - 1))], over = seen[Math.ceil(0.95 * (seen.length - 1))];
        least = Math.max(least, 2 * under - over);
        most = Math.min(most, 2 * over - under);
      }
      low = Math.min(low, least);
      high = Math.max(high, most);
    }
    return [low, high];
  }

  function range(chart) {
    if (chart.log) return undefined;
    return (plot) => {
      let [low, high] = extent(plot, chart);
      if (!(low <= high)) return [0, 1];
      if (chart.level != null) { low = Math.min(low, chart.level); high = Math.max(high, chart.level); }
      if (low === high) { const room = Math.abs(low) * 0.1 || 1; return [low - room, high + room]; }
      const room = (high - low) * 0.06;
      return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
    };
  }

  function options(chart, width) {
    const small = Math.round(parseFloat(style.fontSize) * 0.78), font = small + "px " + style.getPropertyValue("--sans");
    const axis = { stroke: () => colour("quiet"), font, grid: { stroke: () => colour("grid"), width: 1 }, ticks: { show: false } };
    const room = { x: 5 * small, y: 3 * small };
    const left = { ...axis, space: room.y, size: (plot, values) => 14 + Math.max(30, ...(values || []).map((v) => String(v ?? "").length * small * 0.58)) };
    if (chart.log) left.values = (plot, ticks) => ticks.map((v) => (v != null && /^[125]/.test(v.toExponential()) ? spell(v, 3) : ""));
    else left.values = (plot, ticks) => ticks.map((v) => spell(v, 4));
    const bottom = { ...axis, space: room.x };
    if (!data.dates) bottom.values = (plot, ticks) => ticks.map((v) => spell(v, 7));
    return {
      width,
      height: Math.round(Math.min(Math.max(width * 0.36, 240), 30 * parseFloat(style.fontSize))),
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "UTC"),
      cursor: {
        sync: { key: "stream", scales: ["x", null], setSeries: false },
        drag: { x: true, y: false, setScale: false },
        points: { size: 7 },
        bind: { dblclick: () => () => { zoom(...whole); return null; } },
      },
      scales: { x: { time: data.dates, range: (plot, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) }, y: { distr: chart.log ? 3 : 1, range: range(chart) } },
      axes: [bottom, left],
      series: [
        { label: data.axis, value: (plot, v) => place(v) },
        ...chart.lines.map((line) => ({
          label: line.label,
          class: line.label ? undefined : "unnamed",
          stroke: () => colour(line.role) + (line.faint ? "55" : line.role === "target" ? "b0" : ""),
          width: line.faint || line.role === "target" ? 1 : 1.8,
          dash: line.dashed ? [6, 4] : undefined,
          points: { show: chart.x.length < 4 ? true : undefined, size: 5 },
          value: (plot, v) => spell(v),
        })),
      ],
      bands: chart.bands.map(([upper, lower, role]) => ({ series: [upper + 1, lower + 1], fill: () => colour(role) + "2b" })),
      hooks: {
        drawAxes: [marks(chart)],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    };
  }

  for (const chart of data.charts) {
    const mount = document.querySelector(`[data-chart="${chart.key}"]`);
    const plot = new uPlot(options(chart, mount.clientWidth), [chart.x, ...chart.lines.map((line) => line.values)], mount);
    plots.push(plot);
    new ResizeObserver(() => {
      const { width, height } = options(chart, mount.clientWidth);
      if (width && width !== plot.width) plot.setSize({ width, height });
    }).observe(mount);
  }

  zoom(...whole);

  const moves = {
    in: (from, to) => [from + (to - from) / 4, to - (to - from) / 4],
    out: (from, to) => [from - (to - from) / 2, to + (to - from) / 2],
    earlier: (from, to) => { const step = Math.min((to - from) / 2, from - whole[0]); return [from - step, to - step]; },
    later: (from, to) => { const step = Math.min((to - from) / 2, whole[1] - to); return [from + step, to + step]; },
    all: () => whole,
  };
  for (const button of document.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => plots.length && zoom(...moves[button.dataset.zoom](plots[0].scales.x.min, plots[0].scales.x.max)));

  globalThis.driftlineReport = { data, plots, zoom };

  const redraw = () => plots.forEach((plot) => plot.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; redraw(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; redraw(); });
})();
