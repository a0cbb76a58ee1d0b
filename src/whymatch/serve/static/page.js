(() => {
  const at = (id) => document.getElementById(id);
  const forms = { compare: at("compare"), search: at("search") };
  const constraint = at("constraint");
  const result = at("result");
  const largest = 1e6; // bytes of a file
  const patience = 60; // seconds that a model may take to load
  let found = null; // what is shown: its answer, its page and the state that asked for it
  let asking = null;

  const say = (text, bad = false) => {
    at("status").textContent = text;
    at("status").classList.toggle("bad", bad);
  };

  // State: what a link holds, after the #.
  const state = (way) => way === "search"
    ? { query: at("query").value, top_k: Number(at("top").value) }
    : { left: at("left").value, right: at("right").value, spans: at("spans").value, rule: constraint.value, k: Number(at("k").value) };

  const choose = (select, value) => {
    if ([...select.options].some((option) => option.value === String(value) && !option.disabled)) select.value = value;
  };

  const fill = (values) => {
    for (const name of ["left", "right", "query"]) {
      if (typeof values[name] === "string") {
        at(name).value = values[name];
        origin(name, "");
      }
    }
    choose(at("spans"), values.spans ?? at("spans").options[0].value);
    choose(constraint, values.rule ?? "");
    choose(at("top"), values.top_k ?? 10);
    if (Number.isInteger(values.k) && values.k > 0) at("k").value = values.k;
    offerK();
  };

  const packed = (values) => {
    const bytes = new TextEncoder().encode(JSON.stringify(values));
    const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    return `#t=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  };

  const unpacked = (fragment) => {
    if (!fragment.startsWith("#t=")) return null;
    try {
      const text = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
      const values = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
      return values !== null && typeof values === "object" ? values : null;
    } catch {
      say("This link is damaged: nothing could be read from it.", true);
      return null;
    }
  };

  // Requests.
  const asked = (way, values) => {
    if (way === "search") return { query: values.query, top_k: values.top_k, page: true };
    const rule = values.rule === "" ? {} : { constraint: values.rule === "balanced" ? values.rule : `${values.rule}:${values.k}`, clip: true };
    return { left: values.left, right: values.right, spans: values.spans, page: true, ...rule };
  };

  const wait = (seconds, signal) => new Promise((done, stop) => {
    const timer = setTimeout(done, 1000 * seconds);
    signal.addEventListener("abort", () => { clearTimeout(timer); stop(signal.reason); });
  });

  const post = async (path, body, signal) => {
    const headers = { "Content-Type": "application/json" };
    const token = sessionStorage.getItem("token");
    if (token) headers.Authorization = `Bearer ${token}`;
    for (const until = Date.now() + 1000 * patience; ;) {
      const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
      const retry = Number(response.headers.get("Retry-After"));
      if (response.status !== 503 || !retry || Date.now() > until) return response;
      say("The server is busy or still loading its model. One moment …");
      await wait(retry, signal);
    }
  };

  const run = async (way) => {
    const values = state(way);
    const empty = (way === "search" ? ["query"] : ["left", "right"]).find((name) => !at(name).value.trim());
    if (empty) {
      say(way === "search" ? "Give a text to look for." : "Both texts are needed: paste them above, or try an example.", true);
      at(empty).focus();
      return;
    }
    asking?.abort();
    const mine = asking = new AbortController();
    result.setAttribute("aria-busy", "true");
    say(way === "search" ? "Searching …" : "Aligning …");
    try {
      const response = await post(way === "search" ? "search" : "align", asked(way, values), mine.signal);
      const answer = await response.json();
      if (!response.ok) {
        refused(response.status, answer);
        return;
      }
      at("token-row").hidden = true;
      show(way, values, answer);
    } catch (error) {
      if (!mine.signal.aborted) say("The server cannot be reached. Is it running?", true);
    } finally {
      if (asking === mine) result.removeAttribute("aria-busy");
    }
  };

  const refused = (status, problem) => {
    say(problem.detail ?? `The server answered with status ${status}.`, true);
    if (status === 401) {
      at("token-row").hidden = false;
      at("token").focus();
    }
  };

  // The server's page is parsed without being run; its parts move here, and the same script shows them.
  const show = (way, values, { page, ...answer }) => {
    const parsed = new DOMParser().parseFromString(page.replace(/<style>[^<]*<\/style>/, ""), "text/html");
    const main = parsed.querySelector(".picture");
    const picture = make("div", { className: main.className }, [...main.childNodes]);
    for (const rules of picture.querySelectorAll(".rules")) { // a search has one rule: nothing to choose
      rules.replaceWith(make("p", { className: "hit", textContent: rules.querySelector(".name").textContent }));
    }
    const data = JSON.parse(parsed.getElementById("data").textContent);
    found = { answer, page, link: packed({ way, ...values }) };
    picture.querySelector(".verdict")?.remove(); // it is the heading of the result
    at("result-title").textContent = way === "search" ? "What was found, and why" : answer.judgement ? answer.verdict : "Links between the texts";
    at("shown").replaceChildren(picture);
    result.hidden = false;
    (way === "search" ? showGallery : showPicture)(picture, data);
    say(way === "search" ? searched(answer) : summary(answer));
    at("result-title").focus({ preventScroll: true });
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    at("status").scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
  };

  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const summary = ({ links, score, unmatched, bits }) => {
    const alone = unmatched.left.length + unmatched.right.length;
    const rest = alone ? `; ${count(alone, "span")} without a counterpart` : "";
    const worth = bits === null ? `score ${three(score)}` : `${one(bits)} bits`;
    return links.length ? `${count(links.length, "link")}, ${worth}${rest}.` : "No link is significant. Ask for the k best pairs to see what comes nearest.";
  };
  const searched = ({ hits, candidates }) => hits.length ? `${count(hits.length, "document")} of ${candidates} that were aligned.` : "Nothing was found.";

  // Tools.
  const copy = async (text, done) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // no clipboard without HTTPS
      const area = make("textarea", { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say(done);
  };
  at("copy-json").addEventListener("click", () => copy(JSON.stringify(found.answer, null, 1), "The JSON is in the clipboard."));
  at("copy-link").addEventListener("click", () => {
    history.replaceState(null, "", found.link);
    copy(location.href, "The link is in the clipboard. It holds the texts themselves.");
  });
  at("save").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([found.page], { type: "text/html" }));
    make("a", { href: url, download: "whymatch.html" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });

  // Files.
  const origin = (name, text) => {
    document.querySelector(`.box[data-for="${name}"] .from`).textContent = text;
  };
  const read = async (name, file) => {
    if (file.size > largest) {
      say(`${file.name} is larger than a megabyte: paste the part that matters.`, true);
      return;
    }
    try {
      at(name).value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      origin(name, file.name);
      say(`${file.name} was read.`);
    } catch {
      say(`${file.name} is no text in UTF-8.`, true);
    }
  };
  for (const box of document.querySelectorAll(".box")) {
    const input = box.querySelector("input[type=file]");
    box.querySelector(".open").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      if (input.files.length) read(box.dataset.for, input.files[0]);
      input.value = "";
    });
    for (const kind of ["dragenter", "dragover"]) {
      box.addEventListener(kind, (event) => {
        if (![...event.dataTransfer.types].includes("Files")) return;
        event.preventDefault();
        box.classList.add("dropping");
      });
    }
    box.addEventListener("dragleave", (event) => { if (!box.contains(event.relatedTarget)) box.classList.remove("dropping"); });
    box.addEventListener("drop", (event) => {
      box.classList.remove("dropping");
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      read(box.dataset.for, event.dataTransfer.files[0]);
    });
    box.querySelector("textarea").addEventListener("input", () => origin(box.dataset.for, ""));
    box.querySelector("textarea").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.closest("form").requestSubmit();
    });
  }

  // The form.
  const offerK = () => { at("k-label").hidden = ["", "balanced"].includes(constraint.value); };
  const go = (way) => {
    for (const [name, form] of Object.entries(forms)) {
      form.hidden = name !== way;
      at(`way-${name}`).setAttribute("aria-pressed", String(name === way));
    }
  };
  constraint.addEventListener("change", offerK);
  at("token-row").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", at("token").value.trim());
    run(forms.search.hidden ? "compare" : "search");
  });
  for (const [way, form] of Object.entries(forms)) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      run(way);
    });
    at(`way-${way}`).addEventListener("click", () => go(way));
  }
  at("examples").append(...firstVisit.map(({ name, ...values }) => {
    const button = make("button", { type: "button", textContent: name });
    button.addEventListener("click", () => {
      fill(values);
      run("compare");
    });
    return button;
  }));

  // What the server has, once its model is loaded; and what the link asks for.
  const greet = async () => {
    for (const until = Date.now() + 1000 * patience; Date.now() < until;) {
      const response = await fetch("ready").catch(() => null);
      if (response?.ok) {
        const { spans, search } = await response.json();
        at("ways").hidden = !search;
        for (const kind of spans) {
          if (![...at("spans").options].some((option) => option.value === kind)) at("spans").append(new Option(kind === "text" ? "whole" : kind, kind));
        }
        for (const option of at("spans").options) option.disabled = option.hidden = !spans.includes(option.value);
        if (at("spans").selectedOptions[0]?.disabled) choose(at("spans"), spans[0]);
        return;
      }
      await new Promise((done) => setTimeout(done, 1000));
    }
  };
  const follow = () => {
    const values = unpacked(location.hash);
    if (!values) return;
    const way = values.way === "search" ? "search" : "compare";
    fill(values);
    go(way);
    run(way);
  };
  addEventListener("hashchange", follow);
  greet();
  follow();
})();
