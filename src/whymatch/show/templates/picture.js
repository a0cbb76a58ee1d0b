"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const texts = document.getElementById("texts");
  const zoom = document.getElementById("zoom");
  const stack = document.getElementById("stack");
  const rows = document.getElementById("links");
  const slider = document.getElementById("slider");
  const asked = document.getElementById("asked");
  const certificate = document.getElementById("certificate");
  const main = document.querySelector(".picture");
  const colours = 6;
  const spans = ["left", "right"].map((side) => [...texts.querySelectorAll(`[data-side="${side}"] .span`)]);
  const words = new Map(data.words.map((inside) => [inside.at.join("-"), inside]));
  let view = data.views[0];
  let pinned = null;
  let zoomed = null;

  const make = (name, properties = {}, children = []) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) element[key] = value;
    element.append(...children);
    return element;
  };

  const three = (number) => (Math.round(number * 1000) / 1000 + 0).toFixed(3);

  const badge = (number) => {
    const element = make("sup", { className: "badge", textContent: String(number + 1) });
    element.dataset.colour = number % colours;
    return element;
  };

  // Curves from `from` to `to`, a pair of elements for each link; across a gap between columns, or down from row to row.
  const draw = (box, links, across) => {
    const svg = box.querySelector(".curves");
    const origin = box.getBoundingClientRect();
    const strongest = Math.max(...links.map((link) => link.weight), 1e-9);
    svg.replaceChildren(...links.map((link, number) => {
      const [a, b] = [link.from, link.to].map((element) => element.getClientRects());
      if (!a.length || !b.length) return "";
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
      path.dataset.colour = number % colours;
      path.dataset.link = number;
      return path;
    }));
  };

  const curves = () => {
    draw(texts, view.links.map(([i, j, , share]) => ({ from: spans[0][i], to: spans[1][j], weight: share })), !texts.classList.contains("stacked"));
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

  const show = (chosen) => {
    view = chosen;
    pinned = null;
    follow(null);
    open(null);
    document.getElementById("score").textContent = three(view.score);
    document.getElementById("count").textContent = view.links.length;
    document.getElementById("noun").textContent = view.links.length === 1 ? "link" : "links";
    document.getElementById("zero").textContent = view.zero;
    document.getElementById("view").textContent = view.name;
    const of = [new Map(), new Map()];
    view.links.forEach((link, number) => [0, 1].forEach((side) => {
      of[side].set(link[side], [...(of[side].get(link[side]) ?? []), number]);
    }));
    spans.forEach((column, side) => column.forEach((span, number) => {
      const links = of[side].get(number) ?? [];
      span.classList.toggle("unmatched", !links.length);
      span.querySelector(".badges").replaceChildren(...links.map(badge));
      if (links.length) {
        span.dataset.colour = links[0] % colours;
        span.dataset.link = links[0];
        span.tabIndex = 0;
      } else {
        delete span.dataset.colour;
        delete span.dataset.link;
        span.removeAttribute("tabindex");
      }
    }));
    const piece = (side, number) => spans[side][number].querySelector(".words").textContent;
    rows.replaceChildren(...view.links.map(([i, j, cost, share], number) => {
      const row = make("tr", { tabIndex: 0 }, [
        make("td", {}, [badge(number)]),
        make("td", { dir: "auto", textContent: piece(0, i) }),
        make("td", { dir: "auto", textContent: piece(1, j) }),
        make("td", { className: "number", textContent: three(cost) }),
        make("td", { className: "number", textContent: three(share) }),
      ]);
      row.dataset.link = number;
      return row;
    }));
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
    document.getElementById("zoomed").textContent = String(number + 1);
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
  const pin = (number) => {
    pinned = number;
    follow(number);
    open(number);
  };
  main.addEventListener("pointerover", (event) => { if (pinned === null) follow(linkOf(event.target)); });
  main.addEventListener("pointerleave", () => { if (pinned === null) follow(null); });
  main.addEventListener("focusin", (event) => { if (pinned === null) follow(linkOf(event.target)); });
  main.addEventListener("focusout", (event) => { if (pinned === null && !event.relatedTarget) follow(null); });
  main.addEventListener("click", (event) => {
    if (event.target.closest("header, .zoom")) return;
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
  if (slider) slider.addEventListener("input", () => show(data.views[Number(slider.value)]));
  if (asked) asked.addEventListener("click", () => show(data.views[0]));
  new ResizeObserver(curves).observe(texts);
  show(view);
})();
