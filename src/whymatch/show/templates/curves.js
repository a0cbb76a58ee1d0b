"use strict";
const colours = 6;

const make = (name, properties = {}, children = []) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) element[key] = value;
  element.append(...children);
  return element;
};

const one = (number) => (Math.round(number * 10) / 10 + 0).toFixed(1);
const three = (number) => (Math.round(number * 1000) / 1000 + 0).toFixed(3);

const badge = (number, relation) => {
  const element = make("sup", { className: "badge", textContent: String(number + 1) });
  element.dataset.colour = relation ?? number % colours;
  return element;
};

const inView = (element) => {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < window.innerHeight;
};

// Curves from `from` to `to`, a pair of elements for each link; across a gap between columns, or down from row to row.
// Links whose ends are not both `shown` have no curve.
const draw = (box, links, across, shown = () => true) => {
  const svg = box.querySelector(".curves");
  const origin = box.getBoundingClientRect();
  const strongest = Math.max(...links.map((link) => link.weight), 1e-9);
  svg.replaceChildren(...links.map((link, number) => {
    const [a, b] = [link.from, link.to].map((element) => element.getClientRects());
    if (!a.length || !b.length || !shown(link.from) || !shown(link.to)) return "";
    const [first, last] = [a[a.length - 1], b[0]];
    let start, end;
    if (across) {
      const [p, q] = [link.from, link.to].map((element) => element.getBoundingClientRect());
      start = [p.right - origin.left, (p.top + p.bottom) / 2 - origin.top];
      end = [q.left - origin.left, (q.top + q.bottom) / 2 - origin.top];
    } else {
      start = [(first.left + first.right) / 2 - origin.left, first.bottom - origin.top];
      end = [(last.left + last.right) / 2 - origin.left, last.top - origin.top];
    }
    const bend = across ? [(end[0] - start[0]) / 2, 0] : [0, (end[1] - start[1]) / 2];
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M ${start} C ${start[0] + bend[0]} ${start[1] + bend[1]} ${end[0] - bend[0]} ${end[1] - bend[1]} ${end}`);
    path.setAttribute("stroke-width", (1.5 + 6 * Math.max(link.weight, 0) / strongest).toFixed(2));
    path.dataset.colour = link.relation ?? number % colours;
    path.dataset.link = number;
    return path;
  }));
};

// The spans of both texts in the colours of their links, with the links' numbers if wanted; `relations` has the relation
// of each link that was read, which is its colour.
const paint = (spans, links, numbered, relations = []) => {
  const of = [new Map(), new Map()];
  links.forEach((link, number) => [0, 1].forEach((side) => {
    of[side].set(link[side], [...(of[side].get(link[side]) ?? []), number]);
  }));
  spans.forEach((column, side) => column.forEach((span, place) => {
    const own = of[side].get(place) ?? [];
    span.classList.toggle("unmatched", !own.length);
    span.querySelector(".badges").replaceChildren(...(numbered ? own : []).map((number) => badge(number, relations[number])));
    if (own.length) span.dataset.colour = relations[own[0]] ?? own[0] % colours;
    else delete span.dataset.colour;
  }));
  return of;
};
