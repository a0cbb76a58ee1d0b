// Brings the picture of an alignment to life: `main` is the element around it, `data` its views and words.
const showPicture = (main, data) => {
  const part = (id) => main.querySelector(`#${id}`);
  const texts = part("texts");
  const zoom = part("zoom");
  const stack = part("stack");
  const rows = part("links");
  const slider = part("slider");
  const asked = part("asked");
  const certificate = part("certificate");
  const only = part("only");
  const meaning = ([i, j]) => data.meanings[`${i}-${j}`];
  const spans = ["left", "right"].map((side) => [...texts.querySelectorAll(`[data-side="${side}"] .span`)]);
  const words = new Map(data.words.map((inside) => [inside.at.join("-"), inside]));
  let view = data.views[0];
  let pinned = null;
  let zoomed = null;

  const relation = (link) => meaning(link)?.relation;
  const long = spans.some((column) => column.length > data.longFrom); // curves of what is in view, and folded runs
  const folds = long ? foldRuns(spans, () => curves()) : null;
  const map = long ? documentMap(texts, spans) : null;
  const all = make("button", { type: "button", className: "all", hidden: true });
  part("links").closest("table").after(all);

  const curves = () => {
    const ends = view.links.map((link) => ({ from: spans[0][link[0]], to: spans[1][link[1]], weight: link[3], relation: relation(link) }));
    draw(texts, ends, !texts.classList.contains("stacked"), long ? inView : undefined);
    if (map) map(ends);
    if (zoomed) {
      const of = (side) => stack.querySelectorAll(`[data-side="${side}"] .span`);
      const [left, right] = [of("left"), of("right")];
      draw(stack, zoomed.links.map(([i, j, , share]) => ({ from: left[i], to: right[j], weight: share })), false);
    }
    if (pinned !== null) follow(pinned);
  };

  const follow = (number) => {
    main.classList.toggle("following", number !== null);
    for (const element of main.querySelectorAll(".followed")) element.classList.remove("followed");
    if (number === null) return;
    const [i, j] = view.links[number];
    for (const element of [spans[0][i], spans[1][j], rows.children[number], texts.querySelector(`path[data-link="${number}"]`)]) {
      if (element) element.classList.add("followed");
    }
  };

  const explained = (known) => { // a cell of the table: what a link means, and the words in conflict
    const cell = make("td", { className: "meaning" });
    if (!known) return cell;
    cell.dataset.relation = known.relation;
    cell.append(`${known.sign} ${known.relation}`);
    for (const line of known.conflicts) cell.append(make("br"), make("span", { className: "conflict", textContent: line }));
    return cell;
  };

  const show = (chosen) => {
    view = chosen;
    pinned = null;
    follow(null);
    open(null);
    part("score").textContent = data.evidence ? `${one(view.score)} bits` : three(view.score);
    part("count").textContent = view.links.length;
    part("noun").textContent = view.links.length === 1 ? "link" : "links";
    if (!data.evidence) part("zero").textContent = view.zero;
    part("view").textContent = view.name;
    const of = paint(spans, view.links, true, view.links.map(relation));
    spans.forEach((column, side) => column.forEach((span, number) => {
      const links = of[side].get(number);
      if (links) {
        span.dataset.link = links[0];
        span.tabIndex = 0;
      } else {
        delete span.dataset.link;
        span.removeAttribute("tabindex");
      }
    }));
    const piece = (side, number) => spans[side][number].querySelector(".words").textContent;
    rows.replaceChildren(...view.links.map(([i, j, cost, share], number) => { // where costs are evidence, `cost` is bits
      const measures = data.evidence ? { bits: one(cost) } : { cost: three(cost), strength: three(share) };
      const row = make("tr", { tabIndex: 0 }, [
        make("td", {}, [badge(number, relation([i, j]))]),
        make("td", { dir: "auto", textContent: piece(0, i) }),
        make("td", { dir: "auto", textContent: piece(1, j) }),
        ...Object.entries(measures).map(([unit, measure]) => {
          const cell = make("td", { className: "number", textContent: measure });
          cell.dataset.unit = unit;
          return cell;
        }),
        ...(Object.keys(data.meanings).length ? [explained(meaning([i, j]))] : []),
      ]);
      row.dataset.link = number;
      row.hidden = long && number >= data.rowsAtFirst;
      return row;
    }));
    all.hidden = !long || view.links.length <= data.rowsAtFirst;
    all.textContent = `Show all ${view.links.length} links`;
    if (folds) folds();
    const isAsked = view === data.views[0];
    certificate.textContent = view.certificate;
    if (asked) asked.setAttribute("aria-pressed", String(isAsked));
    if (slider && isAsked) slider.value = slider.defaultValue;
    curves();
  };

  // The words of a link, one text above the other.
  const open = (number) => {
    const [i, j] = number === null ? [] : view.links[number];
    zoomed = (number !== null && words.get(`${i}-${j}`)) || null;
    zoom.hidden = !zoomed;
    if (!zoomed) return;
    part("zoomed").textContent = String(number + 1);
    for (const [side, name] of ["left", "right"].entries()) {
      const characters = [...zoomed[name].text]; // spans count code points
      const cut = (from, to) => characters.slice(from, to).join("");
      const link = new Map(zoomed.links.map((found, index) => [found[side], index]));
      let end = 0;
      const parts = [];
      zoomed[name].spans.forEach(([start, stop], index) => {
        const span = make("span", { className: "span", textContent: cut(start, stop) });
        if (link.has(index)) span.dataset.colour = link.get(index) % colours;
        else span.classList.add("unmatched");
        parts.push(cut(end, start), span);
        end = stop;
      });
      stack.querySelector(`[data-side="${name}"]`).replaceChildren(...parts, cut(end));
    }
    curves();
  };

  const linkOf = (target) => {
    const element = target instanceof Element ? target.closest("[data-link]") : null;
    return element ? Number(element.dataset.link) : null;
  };
  const pin = (number, from = null) => {
    pinned = number;
    follow(number);
    open(number);
    if (number === null || !long) return;
    const ends = [spans[0][view.links[number][0]], spans[1][view.links[number][1]]];
    const away = ends.find((end) => end !== from && !inView(end)); // of a link in the table, its left end first
    if (!from || !ends.includes(from)) away?.scrollIntoView({ block: "center" });
  };
  main.addEventListener("pointerover", (event) => { if (pinned === null) follow(linkOf(event.target)); });
  main.addEventListener("pointerleave", () => { if (pinned === null) follow(null); });
  main.addEventListener("focusin", (event) => { if (pinned === null) follow(linkOf(event.target)); });
  main.addEventListener("focusout", (event) => { if (pinned === null && !event.relatedTarget) follow(null); });
  main.addEventListener("click", (event) => {
    if (event.target.closest("header, .zoom, .sure")) return;
    const number = linkOf(event.target);
    pin(number === pinned ? null : number);
  });
  main.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { pin(null); return; }
    const number = linkOf(event.target);
    if (number === null || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    pin(number === pinned ? null : number);
  });
  all.addEventListener("click", () => {
    for (const row of rows.children) row.hidden = false;
    all.hidden = true;
  });
  if (long) window.addEventListener("scroll", () => requestAnimationFrame(curves), { passive: true });
  if (slider) slider.addEventListener("input", () => show(data.views[Number(slider.value)]));
  if (asked) asked.addEventListener("click", () => show(data.views[0]));
  if (only) only.addEventListener("change", () => main.classList.toggle("conflicts-only", only.checked));
  new ResizeObserver(curves).observe(texts);
  show(view);
};
