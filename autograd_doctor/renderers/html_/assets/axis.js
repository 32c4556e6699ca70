"use strict";
// Where the values of a curve stand on their axis, and which marks it bears. Whoever draws it is given places, which are
// a few units from zero (of a logarithmic axis: a few hundred), and never values: these may be 5e-324 as well as 1e308.
const Axis = (() => {
  const MOST = 6;
  const WIDTH = 1e-4; // of a range, in parts of its ends: values have four digits
  const { MAX_VALUE, MIN_VALUE } = Number;
  const SPANS = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200];

  // Round places from one to another, of steps of 1, 2 or 5 times a power of ten.
  function round(from, to) {
    const least = (to - from) / (MOST - 1), power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((each) => each * power >= least * (1 - 1e-9));
    const first = Math.ceil(from / step), many = Math.min(Math.floor(to / step) - first + 1, MOST + 1);
    return many > 0 ? Array.from({ length: many }, (_, at) => (first + at) * step) : [];
  }

  // Places are values in a unit, the largest power of `base` below them.
  function linear(values, base = 10) {
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const highest = Math.floor(Math.log(MAX_VALUE) / Math.log(base));
    const power = largest ? Math.floor(Math.log(largest) / Math.log(base)) : 0;
    const unit = base ** Math.max(-highest, Math.min(highest, power));
    const place = (value) => value / unit, value = (at) => Math.max(-MAX_VALUE, Math.min(MAX_VALUE, at * unit));
    const around = (from, to) => {
      if (from === to) return [from < 0 ? from - 1 : 0, from > 0 ? from * 1.5 : 1];
      const room = Math.max((to - from) / 10, Math.max(Math.abs(from), Math.abs(to)) * WIDTH);
      return [from >= 0 ? Math.max(0, from - room) : from - room, to <= 0 ? Math.min(0, to + room) : to + room];
    };
    return { place, value, range: (from, to) => around(from, to).map((at) => place(value(at))), marks: round, isPower: () => false };
  }

  // Places are exponents of ten. What is zero or less has none: it stands on a floor apart, below all that is more.
  function logarithmic(values) {
    const lowest = Math.min(...values.filter((each) => each > 0).map(Math.log10)), highest = Math.log10(Math.max(...values));
    const low = Math.max(Math.floor(lowest), Math.log10(MIN_VALUE));
    const floor = values.some((each) => each <= 0) ? low - Math.max((highest - low) / 6, 0.2) : null;
    const place = (value) => (value > 0 ? Math.log10(value) : floor);
    const value = (at) => Math.max(MIN_VALUE, Math.min(MAX_VALUE, 10 ** at)), within = (at) => Math.log10(value(at));
    return {
      place,
      value,
      floor,
      range(from, to) {
        const room = from === to ? 1 : Math.max((to - from) / 20, WIDTH);
        if (floor !== null && from <= floor) return [floor - Math.max(room, (low - floor) / 3), within(Math.max(to + room, low + 1))];
        return [within(from - room), within(to + room)];
      },
      marks(from, to) {
        const above = exponents(floor === null ? from : Math.max(from, low), to);
        return floor !== null && from <= floor && floor <= to ? [floor, ...above] : above;
      },
      isPower: Number.isInteger,
    };
  }

  // A few whole ones, or where there are too few of these, what stands between them.
  function exponents(from, to) {
    const powers = Array.from({ length: Math.max(0, Math.floor(to) - Math.floor(from) + 1) }, (_, at) => Math.floor(from) + at);
    const whole = powers.filter((each) => each >= from);
    if (whole.length > 2) return whole.filter((each) => each % SPANS.find((span) => span >= whole.length / MOST) === 0);
    for (const heads of [[1, 3], [1, 2, 5]]) {
      const marks = powers.flatMap((each) => heads.map((head) => each + Math.log10(head))).filter((each) => from <= each && each <= to);
      if (marks.length > 2) return marks;
    }
    const base = Math.floor(from);
    return round(10 ** (from - base), 10 ** (to - base)).map((at) => Math.log10(at) + base).filter((each) => from <= each && each <= to);
  }

  return { linear, logarithmic };
})();
