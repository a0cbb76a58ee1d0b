(() => {
  const scales = {
    redundancy: ["Redundancy", "Do the links repeat one another?", ["Most say the same again", "Some overlap", "Each says something of its own"]],
    relevance: ["Relevance", "Do the linked pieces belong together, and explain the match?", ["Hardly any do", "Some do", "All of them do"]],
    overall: ["Overall quality", "Would these links convince you that, and why, the texts match?", ["No", "In part", "Yes"]],
  };
  const verdicts = ["Reject", "Accept"];
  const keys = { 0: 0, 1: 1, 2: 2, r: 0, a: 1 };
  const $ = (id) => document.getElementById(id);
  const screens = ["start", "judging", "end"].map($);
  const form = $("questions");
  let study, sending, items = [], answers = {}, at = 0, spans = [[], []], shown = null, loading = false;
  const cache = new Map();

  const show = (name) => screens.forEach((screen) => { screen.hidden = screen.id !== name; });
  const given = (id) => answers[id] ?? {};
  const openOf = (item) => item.questions.filter((question) => !(question in given(item.id)));
  const complete = () => items.filter((item) => !openOf(item).length).length;
  const groups = () => [...form.querySelectorAll("fieldset")];

  const fail = (error) => {
    const away = "The server cannot be reached. Try again soon: your answers are kept.";
    const closed = "This study needs its token: open the whole address that you were given, which ends in #token=…";
    $("failed").textContent = !(error instanceof Refused) ? away : error.status === 401 ? closed : error.message;
    $("failed").hidden = false;
  };

  const told = (state, detail) => {
    const words = { saving: "Saving…", saved: "Saved", trying: "Not saved yet: trying again…", refused: `Not saved: ${detail}` };
    for (const place of document.querySelectorAll(".saved")) {
      place.textContent = words[state];
      place.dataset.state = state;
    }
    const trouble = state === "trying" || state === "refused" ? words[state] : "";
    if ($("trouble").textContent !== trouble) $("trouble").textContent = trouble; // said once, not with every answer
  };

  // Two texts as the server cut them, with room for the curves between them.
  const texts = (columns, inBlocks) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "curves");
    svg.setAttribute("aria-hidden", "true");
    const sections = columns.map((column) => {
      const parts = column.parts.filter((part) => part.text !== undefined || !inBlocks || part.between.trim()).map((part) => {
        if (part.text === undefined) return make("span", { className: "between", textContent: part.between });
        const span = make("span", { className: "span", dir: inBlocks ? "auto" : "" }, [
          make("span", { className: "words", textContent: part.text }),
          make("span", { className: "badges" }),
        ]);
        span.dataset.number = part.number;
        return span;
      });
      const section = make("section", { className: `text ${inBlocks ? "blocks" : "inline"}`, dir: "auto" }, parts);
      section.setAttribute("aria-label", `${column.side} text`);
      section.dataset.side = column.side;
      return section;
    });
    return make("div", { className: inBlocks ? "texts" : "texts stacked" }, [svg, ...sections]);
  };

  const curves = () => {
    const box = $("place").querySelector(".texts");
    if (!box || !shown) return;
    draw(box, shown.links.map(({ at: [i, j] }) => ({ from: spans[0][i], to: spans[1][j], weight: 0 })), !box.classList.contains("stacked"));
  };

  const follow = (number) => {
    const main = $("judging");
    main.classList.toggle("following", number !== null);
    for (const element of main.querySelectorAll(".followed")) element.classList.remove("followed");
    if (number === null) return;
    const [i, j] = shown.links[number].at;
    for (const element of [spans[0][i], spans[1][j], main.querySelector(`path[data-link="${number}"]`)]) element?.classList.add("followed");
  };

  const choice = (question, value, words, chosen) => {
    const input = make("input", { type: "radio", name: question, value: String(value), checked: chosen === value });
    return make("label", { className: "choice" }, [input, make("span", {}, words)]);
  };

  const ofLink = (link, number, chosen) => {
    const pieces = link.texts.map((text) => make("q", { dir: "auto", textContent: text }));
    const legend = make("legend", {}, [make("span", { className: "unseen", textContent: "Link " }), badge(number), " ", pieces[0], make("span", { className: "with", textContent: " with " }), pieces[1]]);
    const choices = [1, 0].map((value) => choice(link.question, value, [make("strong", { textContent: verdicts[value] })], chosen));
    const group = make("fieldset", { className: "judged link" }, [legend, make("div", { className: "choices" }, choices)]);
    group.dataset.link = number;
    return group;
  };

  const ofRating = (question, chosen) => {
    const [name, asks, words] = scales[question];
    const legend = make("legend", {}, [make("strong", { textContent: name }), make("span", { className: "asks", textContent: asks })]);
    const choices = words.map((word, value) => choice(question, value, [make("strong", { textContent: String(value) }), ` ${word}`], chosen));
    return make("fieldset", { className: "judged rating" }, [legend, make("div", { className: "choices" }, choices)]);
  };

  const part = (title, fields) => (fields.length ? [make("section", {}, [make("h2", { textContent: title }), ...fields])] : []);

  const current = () => {
    const focused = document.activeElement?.closest("fieldset");
    return focused ?? groups().find((group) => !group.querySelector(":checked")) ?? null;
  };

  const refresh = () => {
    for (const group of groups()) {
      group.classList.toggle("current", group === current());
      group.classList.toggle("answered", Boolean(group.querySelector(":checked")));
    }
    const done = complete();
    $("progress").max = items.length;
    $("progress").value = done;
    $("complete").textContent = `${done} of ${items.length} complete.`;
    $("back").disabled = at === 0;
    const link = current()?.dataset.link;
    follow(link === undefined || !document.activeElement?.closest("fieldset") ? null : Number(link));
  };

  const render = (item) => {
    shown = item;
    const mine = given(item.id);
    const asked = items[at].questions;
    const box = texts(item.columns, item.blocks);
    $("place").replaceChildren(box);
    spans = ["left", "right"].map((side) => [...box.querySelectorAll(`[data-side="${side}"] .span`)]);
    paint(spans, item.links.map((link) => link.at), true);
    const links = item.links.filter((link) => asked.includes(link.question));
    form.replaceChildren(
      ...part("Each link", links.map((link, number) => ofLink(link, number, mine[link.question]))),
      ...part(links.length ? "All links together" : "The links", Object.keys(scales).filter((name) => asked.includes(name)).map((name) => ofRating(name, mine[name]))),
    );
    $("heading").textContent = `Item ${at + 1} of ${items.length}`;
    $("said").textContent = "";
    new ResizeObserver(curves).observe(box);
    refresh();
    curves();
    scrollTo(0, 0);
    $("heading").focus({ preventScroll: true });
  };

  // The next item is fetched ahead; one that could not be had is asked for again.
  const fetched = (place) => {
    const { id } = items[place];
    if (!cache.has(id)) {
      const found = ask(`api/items/${encodeURIComponent(id)}`);
      found.catch(() => cache.delete(id));
      cache.set(id, found);
    }
    return cache.get(id);
  };

  const go = async (place) => {
    if (loading) return;
    if (place >= items.length) { finish(); return; }
    loading = true; // what is typed meanwhile belongs to no item
    try {
      const item = await fetched(Math.max(0, place));
      at = Math.max(0, place);
      $("failed").hidden = true;
      show("judging");
      render(item);
      if (at + 1 < items.length) fetched(at + 1);
    } catch (error) { fail(error); }
    loading = false;
  };

  const finish = () => {
    const missing = items.length - complete();
    show("end");
    $("thanks").textContent = missing ? "You are at the end" : "Thank you, you have judged everything";
    $("left-open").textContent = missing ? `${missing} of ${items.length} items still have open questions.` : `All ${items.length} items are complete. Once everything is saved you may close this page, or change an answer.`;
    $("open").hidden = !missing;
    $("thanks").focus();
  };

  const next = () => {
    const missing = groups().filter((group) => !group.querySelector(":checked"));
    if (!missing.length) { go(at + 1); return; }
    $("said").textContent = `${missing.length === 1 ? "One question is" : `${missing.length} questions are`} still open. Answer, or skip this item.`;
    missing[0].querySelector("input").focus();
  };

  const answer = (group, value) => {
    const input = group.querySelector(`input[value="${value}"]`);
    if (!input) return false;
    input.checked = true;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    const after = groups().find((other) => !other.querySelector(":checked"));
    (after ? after.querySelector("input") : $("next")).focus();
    return true;
  };

  form.addEventListener("change", ({ target }) => {
    const { id } = shown;
    answers[id] = { ...given(id), [target.name]: Number(target.value) };
    $("said").textContent = "";
    sending.give(id, target.name, Number(target.value));
    refresh();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("focusin", refresh);
  form.addEventListener("pointerover", ({ target }) => {
    const link = target.closest?.("[data-link]")?.dataset.link;
    follow(link === undefined ? null : Number(link));
  });
  form.addEventListener("pointerleave", () => follow(null));

  document.addEventListener("keydown", (event) => {
    if ($("judging").hidden || loading || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    const onButton = event.target.closest?.("button, summary");
    const key = event.key.toLowerCase();
    const group = current();
    let took = true;
    if (key in keys && group) took = /[ar]/.test(key) === group.classList.contains("link") && answer(group, keys[key]);
    else if (key === "enter" && !onButton) next();
    else if (key === "backspace") go(at - 1);
    else took = false;
    if (took) event.preventDefault();
  });

  $("next").addEventListener("click", next);
  $("skip").addEventListener("click", () => go(at + 1));
  $("back").addEventListener("click", () => go(at - 1));
  $("review").addEventListener("click", () => go(0));
  $("open").addEventListener("click", () => go(items.findIndex((item) => openOf(item).length)));

  const begin = async (name) => {
    const found = await ask(`api/items?${new URLSearchParams({ annotator: name })}`);
    items = found.items;
    answers = found.answers;
    sending = new Sending(study.study, found.annotator, told);
    for (const [item, question, value] of sending.answers()) answers[item] = { ...given(item), [question]: value };
    kept.write("whymatch:annotator", found.annotator);
    $("leave").textContent = `Not ${found.annotator}?`;
    $("again").append($("help"));
    told("saved");
    sending.send();
    const open = items.findIndex((item) => openOf(item).length);
    if (open < 0) finish();
    else await go(open);
  };

  $("leave").addEventListener("click", () => {
    kept.write("whymatch:annotator", null);
    location.reload();
  });
  $("begin").addEventListener("submit", (event) => {
    event.preventDefault();
    $("failed").hidden = true;
    begin($("name").value).catch(fail);
  });

  const start = async () => {
    study = await ask("api/study");
    document.title = study.title;
    $("title").textContent = study.title;
    $("name").maxLength = study.longest_name;
    document.body.dataset.asked = study.asked;
    $("scales").append(...Object.values(scales).flatMap(([name, asks, words]) => [
      make("dt", { textContent: name }),
      make("dd", {}, [asks, make("ol", { start: 0 }, words.map((word) => make("li", { textContent: word })))]),
    ]));
    const name = kept.read("whymatch:annotator");
    if (name) return begin(name);
    show("start");
    $("name").focus();
    return undefined;
  };
  start().catch(fail);
})();
