// What long texts need: runs without links folded, and a map of both texts beside them.

// Folds runs of spans that have no link, or that are linked one after another with spans of the same words; those are
// unfolded in both texts at once. Gives two functions: one folds anew when the links have changed, the other unfolds the
// run that a span is in.
const foldRuns = (spans, redraw) => {
  const least = 3; // spans of a run that is folded
  const words = (span) => span.querySelector(".words").textContent;
  let runs = new Map(); // of one text or of both, each with its spans and its buttons

  const toggle = (run, opens) => {
    for (const button of run.buttons) button.setAttribute("aria-expanded", String(opens));
    for (const span of run.spans) span.hidden = !opens;
    redraw();
  };
  const close = (own, { name, says }) => {
    for (const span of own) span.hidden = Boolean(name) && own.length >= least;
    if (!own[0]?.hidden) return;
    const run = runs.get(name) ?? { spans: [], buttons: [] };
    const button = make("button", { type: "button", className: "fold", textContent: `${own.length} ${says}` });
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      toggle(run, own[0].hidden);
    });
    runs.set(name, run);
    run.spans.push(...own);
    run.buttons.push(button);
    own[0].before(button);
  };
  const fold = (links) => {
    runs = new Map();
    const ends = [new Map(), new Map()];
    for (const link of links) for (const side of [0, 1]) ends[side].set(link[side], [...(ends[side].get(link[side]) ?? []), link[1 - side]]);
    const kindOf = (span, side, place, last) => { // of two spans that follow one another in a run it has the same name
      const others = ends[side].get(place) ?? [];
      if (!others.length) return { name: last.alone ? last.name : `${side} ${place}`, alone: true, says: "without a counterpart" };
      const [left, right] = side ? [others[0], place] : [place, others[0]];
      const only = others.length === 1 && ends[1 - side].get(others[0]).length === 1;
      if (!only || words(span) !== words(spans[1 - side][others[0]])) return { name: "" };
      const goesOn = last.right - last.left === right - left;
      return { name: goesOn ? last.name : `${left} = ${right}`, left, right, says: "the same in both texts" };
    };
    spans.forEach((column, side) => {
      for (const old of column[0]?.parentElement.querySelectorAll(".fold") ?? []) old.remove();
      let [own, last] = [[], { name: "" }];
      column.forEach((span, place) => {
        const kind = kindOf(span, side, place, last);
        if (kind.name !== last.name) close(own.splice(0), last);
        own.push(span);
        last = kind;
      });
      close(own, last);
    });
  };
  return { fold, unfold: (span) => { if (span.hidden) toggle([...runs.values()].find((run) => run.spans.includes(span)), true); } };
};

// A small picture of both texts with their links and what is in view; a click moves there. Gives a function that draws it.
const documentMap = (texts, spans) => {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.classList.add("map");
  svg.setAttribute("viewBox", "0 0 60 1000");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  texts.after(svg);
  svg.addEventListener("click", (event) => {
    event.stopPropagation();
    const { top, height } = svg.getBoundingClientRect();
    const box = texts.getBoundingClientRect();
    const place = (event.clientY - top) / height;
    window.scrollTo({ top: window.scrollY + box.top + place * box.height - window.innerHeight / 2 });
  });
  const shape = (name, attributes) => {
    const element = document.createElementNS(namespace, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  return (ends) => {
    const box = texts.getBoundingClientRect();
    const scale = 1000 / Math.max(box.height, 1);
    const at = (element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return [(top - box.top) * scale, (bottom - top) * scale];
    };
    const bars = spans.flatMap((column, side) => column.filter((span) => !span.hidden).map((span) => {
      const [y, height] = at(span);
      const bar = shape("rect", { x: side ? 46 : 0, y, width: 14, height: Math.max(height - 1, 0.5) });
      bar.dataset.colour = span.dataset.colour ?? "none";
      return bar;
    }));
    const lines = ends.map((link, number) => {
      if (link.from.hidden || link.to.hidden) return "";
      const [[a, high], [b, tall]] = [at(link.from), at(link.to)];
      const line = shape("line", { x1: 14, y1: a + high / 2, x2: 46, y2: b + tall / 2 });
      line.dataset.colour = link.relation ?? number % colours;
      return line;
    });
    const view = shape("rect", { class: "view", x: 0, y: -box.top * scale, width: 60, height: window.innerHeight * scale });
    svg.replaceChildren(...bars, ...lines, view);
  };
};
