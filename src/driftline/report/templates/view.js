// What is drawn of a stretch of the stream: windows of errors, shares and quantiles at the zoom's resolution, or the rows.
function makeView(data) {
  const view = data.view, count = view.counted.length;
  // Bucket i ends at place ends[i], its last row; without times a row's place is its number.
  const ends = view.ends ?? Array.from({ length: count }, (_, i) => Math.min((i + 1) * view.width, view.rows) - 1);
  const firstAfter = (place) => { // the first bucket that ends at this place or later
    let low = 0, high = count - 1;
    while (low < high) { const middle = (low + high) >> 1; if (ends[middle] < place) low = middle + 1; else high = middle; }
    return low;
  };
  const powerOf2 = (least) => 2 ** Math.ceil(Math.log2(Math.max(least, 1)));

  // Groups of buckets in view, at most `most` of them and of at least `fewest` rows. They begin at multiples of their
  // length, so that they stay the same ones when the view moves.
  function groups(from, to, most, fewest) {
    const first = firstAfter(from), last = firstAfter(to);
    const each = powerOf2(Math.max((last - first + 1) / most, fewest / view.width));
    const found = [];
    for (let start = Math.floor(first / each) * each; start <= last; start += each) found.push([start, Math.min(start + each, count)]);
    return { each, found };
  }
  const sum = (values, [start, stop]) => { let total = 0; for (let i = start; i < stop; i++) total += values[i] ?? NaN; return total; };
  const shown = (value) => (Number.isFinite(value) ? value : null);

  // A window's value stands at its last row, so that no error seems to rise before it did.
  function errors(from, to, most, names) {
    const inView = (firstAfter(to) - firstAfter(from) + 1) * view.width;
    const { each, found } = groups(from, to, most, Math.min(view.fewest, inView / 48));
    const rows = found.map((group) => sum(view.counted, group));
    const lines = names.map((name) => found.map((group, n) => shown(Math.sqrt(sum(view.losses[name], group) / rows[n]))));
    return { x: found.map(([, stop]) => ends[stop - 1]), lines, rows: each * view.width };
  }

  function coverage(from, to, most) {
    const { each, found } = groups(from, to, most, 64);
    const share = (group) => { const judged = sum(view.judged, group); return judged < 32 && found.length > 1 ? null : shown(sum(view.inside, group) / judged); };
    const lines = [found.map(share)]; // of fewer rows a share says nothing
    return { x: found.map(([, stop]) => ends[stop - 1]), lines, rows: each * view.width };
  }

  const rawPlaces = (segment) => (segment.at ??= segment.y.map((_, i) => segment.first + i));
  function quantile(sorted, share) {
    if (!sorted.length) return null;
    // of n values, the k-th has a share of k / (n + 1) below it
    const place = Math.min(Math.max(share * (sorted.length + 1) - 1, 0), sorted.length - 1), low = Math.floor(place);
    return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  }

  // [the upper and the lower end of nine tenths of the labels, the interval's ends, prediction, label], row by row where the
  // rows are there and fit, or else as quantiles of the sampled rows of each group.
  function predictions(from, to, most) {
    for (const segment of view.raw) {
      const places = rawPlaces(segment);
      if (places[0] > from || places.at(-1) < to) continue;
      const first = places.findIndex((place) => place >= from), last = places.findLastIndex((place) => place <= to);
      if (last < first || last - first > most) continue;
      const cut = (values) => values.slice(Math.max(first - 1, 0), last + 2), none = cut(places).map(() => null);
      return { x: cut(places), lines: [none, none, cut(segment.upper), cut(segment.lower), cut(segment.prediction), cut(segment.y)], rows: 1 };
    }
    const first = firstAfter(from), last = firstAfter(to), sample = view.sample;
    if (view.width === 1 && last - first <= most) {
      const cut = (values) => values.slice(Math.max(first - 1, 0), last + 1), none = cut(ends).map(() => null);
      return { x: cut(ends), lines: [none, none, cut(sample.upper), cut(sample.lower), cut(sample.prediction), cut(sample.y)], rows: 1 };
    }
    const { each, found } = groups(from, to, most / 12, 1);
    const lines = [[], [], [], [], [], []];
    for (const [start, stop] of found) {
      const sorted = (values) => Float64Array.from(values.slice(start, stop).filter((value) => value != null)).sort();
      const [said, labels, high, low] = [sample.prediction, sample.y, sample.upper, sample.lower].map(sorted);
      const values = [quantile(labels, 0.95), quantile(labels, 0.05), quantile(high, 0.95), quantile(low, 0.05), quantile(said, 0.5), quantile(labels, 0.5)];
      values.forEach((value, n) => lines[n].push(value));
    }
    return { x: found.map(([start, stop]) => ends[Math.floor((start + stop - 1) / 2)]), lines, rows: each * view.width };
  }

  // The last `rows` rows.
  const tail = (rows) => {
    const recent = view.raw.at(-1), begin = view.rows - rows;
    if (recent && begin >= recent.first) return [rawPlaces(recent)[begin - recent.first], ends.at(-1)];
    return [begin > 0 ? ends[Math.floor(begin / view.width)] : view.begin, ends.at(-1)];
  };
  return { errors, coverage, predictions, tail, whole: [view.begin, ends.at(-1)] };
}
