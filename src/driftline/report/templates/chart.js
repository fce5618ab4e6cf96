// Charts of the report and of the live page: lines over the stream, areas between two of them, and alarms across all charts.
// `data` says what the axis is, whether it has dates, and where the alarms are; `on` what follows when a stretch is selected,
// when the mouse is clicked twice, and when the overview is drawn, and what is shown.
function makeCharts(data, on = {}) {
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
      if (plot.wider) { // than what is shown elsewhere, which is shaded
        const [from, to] = on.shown().map((at) => plot.valToPos(at, "x", true));
        ctx.fillStyle = colour("model");
        ctx.globalAlpha = 0.12;
        ctx.fillRect(from, top, Math.max(to - from, 2 * ratio), bbox.height);
        ctx.globalAlpha = 1;
      }
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
      : (plot, splits, n, space, step) => splits.map((v) => spell(v, Math.min(Math.max(4, Math.ceil(Math.log10(Math.max(...splits.map(Math.abs)) / step)) + 1), 15)));
    const bottom = { ...axis, space: (chart.small ? 7 : 6) * small, values: ticks, size: (data.dates ? 3.4 : 2.2) * small };
    const strip = chart.key === "overview";
    return {
      ...sizes(chart, width),
      padding: [10, null, 0, null],
      legend: { show: !chart.small && !strip, markers: swatches(chart) },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "UTC"),
      cursor: {
        sync: { key: "stream", scales: ["x", null], setSeries: false },
        drag: { x: Boolean(on.select), y: false, setScale: false },
        points: { size: chart.small ? 5 : 7, show: strip ? false : undefined },
        bind: { dblclick: () => () => { on.reset?.(); return null; } },
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
        draw: [strip ? on.over : legend],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width >= 4) on.select?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          if (!strip) plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
        setCursor: [legend],
      },
    };
  }
  return { spell, place, sizes, options };
}
