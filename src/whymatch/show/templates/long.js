// What long texts need: runs without links folded, and a map of both texts beside them.

// Folds runs of spans without a link; gives a function that folds them anew when the links have changed.
const foldRuns = (spans, redraw) => {
  const least = 3; // spans of a run that is folded
  return () => spans.forEach((column) => {
    for (const fold of column[0]?.parentElement.querySelectorAll(".fold") ?? []) fold.remove();
    let run = [];
    const close = () => {
      const folded = run;
      run = [];
      for (const span of folded) span.hidden = folded.length >= least;
      if (folded.length < least) return;
      const button = make("button", { type: "button", className: "fold", textContent: `${folded.length} without a counterpart` });
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", (event) => {
        event.stopPropagation();
        const opens = folded[0].hidden;
        for (const span of folded) span.hidden = !opens;
        button.setAttribute("aria-expanded", String(opens));
        redraw();
      });
      folded[0].before(button);
    };
    for (const span of column) {
      if (span.classList.contains("unmatched")) run.push(span);
      else {
        span.hidden = false;
        close();
      }
    }
    close();
  });
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
      const [[a, high], [b, tall]] = [at(link.from), at(link.to)];
      const line = shape("line", { x1: 14, y1: a + high / 2, x2: 46, y2: b + tall / 2 });
      line.dataset.colour = link.relation ?? number % colours;
      return line;
    });
    const view = shape("rect", { class: "view", x: 0, y: -box.top * scale, width: 60, height: window.innerHeight * scale });
    svg.replaceChildren(...bars, ...lines, view);
  };
};
