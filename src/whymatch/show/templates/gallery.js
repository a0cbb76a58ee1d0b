// Brings a gallery to life: `main` is the element around its examples, `data` the rules of each.
const showGallery = (main, data) => {
  const many = 12; // links, beyond which numbers would hide the text
  for (const { number, chosen, rules } of data) {
    const example = main.querySelector(`#example-${number}`);
    const texts = example.querySelector(".texts");
    const said = example.querySelector(".said");
    const buttons = [...example.querySelectorAll(".rule")];
    const spans = ["left", "right"].map((side) => [...texts.querySelectorAll(`[data-side="${side}"] .span`)]);
    let links = [];

    const curves = () => {
      const ends = links.map(([i, j, weight]) => ({ from: spans[0][i], to: spans[1][j], weight }));
      draw(texts, ends, !texts.classList.contains("stacked"));
    };
    const show = (rule) => {
      links = rules[rule].links;
      texts.classList.toggle("dense", links.length > many);
      paint(spans, links, links.length <= many);
      said.textContent = rules[rule].words;
      buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(place === rule)));
      curves();
    };
    buttons.forEach((button, rule) => button.addEventListener("click", () => show(rule)));
    new ResizeObserver(curves).observe(texts);
    show(chosen);
  }
};
