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
  const stacked = texts.classList.contains("stacked");
  const long = main.classList.contains("long"); // curves of what is in view, and folded runs
  const folds = long ? foldRuns(spans, () => curves()) : null;
  let anchor = null; // what was clicked: the words of its link stand beneath it
  const map = long ? documentMap(texts, spans) : null;
  const all = make("button", { type: "button", className: "all", hidden: true });
  part("links").closest("table").after(all);

  const curves = () => {
    const ends = view.links.map((link) => ({ from: spans[0][link[0]], to: spans[1][link[1]], weight: link[3], relation: relation(link) }));
    texts.classList.toggle("crowded", stacked && ends.length > data.rowsAtFirst);
    draw(texts, ends, !stacked, long ? inView : undefined);
    if (map) map(ends);
    if (zoomed) {
      place();
      const of = (side) => stack.querySelectorAll(`[data-side="${side}"] .span`);
      const [left, right] = [of("left"), of("right")];
      draw(stack, zoomed.links.map(([i, j, , share]) => ({ from: left[i], to: right[j], weight: share, relation: left[i].dataset.colour })), false);
    }
    if (pinned !== null) follow(pinned);
  };

  const follow = (number) => {
    main.classList.toggle("following", number !== null);
    for (const element of main.querySelectorAll(".followed")) element.classList.remove("followed");
    if (number === null) return;
    const [i, j] = view.links[number];
    for (const element of [spans[0][i], spans[1][j], rows.querySelector(`[data-link="${number}"]`), texts.querySelector(`path[data-link="${number}"]`)]) {
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
    folds?.fold(view.links);
    const isAsked = view === data.views[0];
    certificate.textContent = view.certificate;
    if (asked) asked.setAttribute("aria-pressed", String(isAsked));
    if (slider && isAsked) slider.value = slider.defaultValue;
    curves();
  };

  // The words of a link, one text above the other, beneath what was clicked: in the table a row of its own.
  const home = zoom.previousElementSibling;
  const holder = make("tr", { className: "holder" }, [make("td", { colSpan: rows.closest("table").querySelectorAll("th").length })]);
  const place = () => {
    const box = anchor.getBoundingClientRect();
    zoom.style.top = `${box.bottom - main.getBoundingClientRect().top + 6}px`;
  };
  const open = (number, from = null) => {
    const [i, j] = number === null ? [] : view.links[number];
    const alone = (side, at) => ({ text: spans[side][at].querySelector(".words").textContent, spans: [] });
    zoomed = number === null ? null : words.get(`${i}-${j}`) ?? (long ? { left: alone(0, i), right: alone(1, j), links: [] } : null);
    zoom.hidden = !zoomed;
    home.after(zoom);
    holder.remove();
    if (!zoomed) return;
    anchor = from;
    if (from.matches("tr")) {
      from.after(holder);
      holder.firstChild.append(zoom);
    }
    part("zoomed").textContent = String(number + 1);
    const said = (name, [start, stop]) => [...zoomed[name].text].slice(start, stop).join("").toLowerCase();
    const alike = ([i, j]) => said("left", zoomed.left.spans[i]) === said("right", zoomed.right.spans[j]);
    for (const [side, name] of ["left", "right"].entries()) {
      const characters = [...zoomed[name].text]; // spans count code points
      const cut = (from, to) => characters.slice(from, to).join("");
      const link = new Map(zoomed.links.map((found, index) => [found[side], alike(found) ? "alike" : index % colours]));
      let end = 0;
      const parts = [];
      zoomed[name].spans.forEach(([start, stop], index) => {
        const span = make("span", { className: "span", textContent: cut(start, stop) });
        if (link.has(index)) span.dataset.colour = link.get(index);
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
    open(number, from);
    if (zoomed) zoom.scrollIntoView({ block: "nearest" });
  };
  const shut = () => {
    const back = zoom.contains(document.activeElement) ? anchor : null;
    pin(null);
    back?.focus({ preventScroll: true });
  };
  part("shut").addEventListener("click", shut);
  for (const [side, name] of ["left", "right"].entries()) { // goes to where a span of the link stands in its text
    const button = part(`to-${name}`);
    button.hidden = !long;
    button.addEventListener("click", () => {
      const span = spans[side][view.links[pinned][side]];
      folds.unfold(span);
      anchor = span;
      curves();
      span.scrollIntoView({ block: "center" });
      span.focus({ preventScroll: true });
    });
  }
  main.addEventListener("pointermove", (event) => { if (pinned === null) follow(linkOf(event.target)); });
  main.addEventListener("pointerleave", () => { if (pinned === null) follow(null); });
  main.addEventListener("focusin", (event) => { if (pinned === null) follow(linkOf(event.target)); });
  main.addEventListener("focusout", (event) => { if (pinned === null && !event.relatedTarget) follow(null); });
  const chosen = (target) => {
    const number = linkOf(target);
    return number === pinned ? pin(null) : pin(number, target.closest("[data-link]"));
  };
  main.addEventListener("click", (event) => {
    if (!event.target.closest("header, .zoom, .sure")) chosen(event.target);
  });
  main.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pinned !== null) { shut(); return; }
    if (linkOf(event.target) === null || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    chosen(event.target);
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
