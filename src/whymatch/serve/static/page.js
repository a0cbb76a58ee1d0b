(() => {
  const at = (id) => document.getElementById(id);
  const ways = { // what can be asked: the fields that are needed, and the words of it
    match: { fields: ["left", "right"], path: "align", busy: "Matching", missing: "Both texts are needed: paste them above, or try an example." },
    check: { fields: ["answer"], path: "check", busy: "Checking", missing: "An answer and a source are needed: paste them above, or try the example." },
    compare: { fields: ["old", "new"], path: "compare", busy: "Comparing", missing: "Both versions are needed: paste them above, or try the example." },
    search: { fields: ["query"], path: "search", busy: "Searching", missing: "Give a text to look for." },
  };
  const names = Object.keys(ways);
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

  // Another question has begun, or this one has no answer: what is shown is the answer to neither.
  const forget = () => {
    asking?.abort();
    found = null;
    result.hidden = true;
    at("shown").replaceChildren();
  };

  // Sources of an answer: a box each, and always one that is empty or may be filled.
  const sourceBoxes = () => [...document.querySelectorAll(".source-box")];
  const addSource = (text = "", id = "") => {
    const box = at("source").content.firstElementChild.cloneNode(true);
    const area = box.querySelector("textarea");
    area.id = `source-${sourceBoxes().length + 1}`;
    box.querySelector("label").htmlFor = area.id;
    box.querySelector("label").textContent = `Source ${sourceBoxes().length + 1}`;
    at("sources").append(box);
    prepare(box);
    put(box, text, id);
    return area;
  };
  const put = (box, text, name = "") => {
    box.querySelector("textarea").value = text;
    box.querySelector(".from").textContent = name;
  };
  const sources = () => sourceBoxes().map((box) => {
    const id = box.querySelector(".from").textContent;
    return { ...(id ? { id } : {}), text: box.querySelector("textarea").value };
  }).filter(({ text }) => text.trim());

  // State: what a link holds, after the #.
  const state = (way) => ({
    ...Object.fromEntries(ways[way].fields.map((name) => [name, at(name).value])),
    ...(way === "match" ? { spans: at("spans").value, rule: constraint.value, k: Number(at("k").value) } : {}),
    ...(way === "check" ? { sources: sources() } : {}),
    ...(way === "search" ? { top_k: Number(at("top").value) } : {}),
  });

  const choose = (select, value) => {
    if ([...select.options].some((option) => option.value === String(value) && !option.disabled)) select.value = value;
  };

  const fill = (values) => {
    for (const name of names.flatMap((way) => ways[way].fields)) {
      if (typeof values[name] === "string") put(at(name).closest(".box"), values[name]);
    }
    if (Array.isArray(values.sources)) {
      at("sources").replaceChildren();
      for (const source of values.sources) addSource(String(source?.text ?? ""), String(source?.id ?? ""));
    }
    if (!sourceBoxes().length) addSource();
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
  const asked = ({ rule, k, ...values }) => ({
    ...values,
    page: true,
    ...(rule ? { constraint: rule === "balanced" ? rule : `${rule}:${k}`, clip: true } : {}),
  });

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
    const { fields, path, busy, missing } = ways[way];
    const empty = fields.map(at).find((area) => !area.value.trim())
      ?? (values.sources?.length === 0 ? sourceBoxes()[0].querySelector("textarea") : null);
    if (empty) {
      forget();
      say(missing, true);
      empty.focus();
      return;
    }
    asking?.abort();
    const mine = asking = new AbortController();
    result.setAttribute("aria-busy", "true");
    at("progress").hidden = false;
    say(`${busy} …`);
    at("status").scrollIntoView({ block: "nearest" });
    const slow = setTimeout(() => say(`${busy} … long texts take some seconds.`), 4000);
    try {
      const response = await post(path, asked(values), mine.signal);
      const answer = await response.json();
      if (!response.ok) {
        refused(response.status, answer);
        return;
      }
      at("token-row").hidden = true;
      show(way, values, answer);
    } catch (error) {
      if (mine.signal.aborted) return;
      forget();
      say("The server cannot be reached. Is it running?", true);
    } finally {
      clearTimeout(slow);
      if (asking === mine) {
        result.removeAttribute("aria-busy");
        at("progress").hidden = true;
      }
    }
  };

  const refused = (status, problem) => {
    forget();
    say(problem.detail ?? `The server answered with status ${status}.`, true);
    if (status === 401) {
      at("token-row").hidden = false;
      at("token").focus();
    }
  };

  // The server's page is parsed without being run; its parts move here, and the same script shows them.
  const brought = { match: showPicture, check: showCheck, compare: () => {}, search: showGallery };
  const show = (way, values, { page, ...answer }) => {
    const parsed = new DOMParser().parseFromString(page.replace(/<style>[^<]*<\/style>/, ""), "text/html");
    const main = parsed.querySelector(".picture");
    const picture = make("div", { className: main.className }, [...main.childNodes]);
    for (const rules of picture.querySelectorAll(".rules")) { // a search has one rule: nothing to choose
      rules.replaceWith(make("p", { className: "hit", textContent: rules.querySelector(".name").textContent }));
    }
    found = { answer, page, link: packed(values) };
    picture.querySelector("h1")?.remove(); // it is the heading of the result
    at("result-title").textContent = answer.judgement === null ? "Links between the texts" : answer.verdict ?? searched(answer);
    at("shown").replaceChildren(picture);
    result.hidden = false;
    brought[way](picture, JSON.parse(parsed.getElementById("data")?.textContent ?? "null"));
    say(way === "match" ? summary(answer) : "");
    at("result-title").focus({ preventScroll: true });
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    at("status").scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
  };

  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const summary = ({ links, unmatched, bits }) => {
    const alone = unmatched.left.length + unmatched.right.length;
    const rest = alone ? `; ${count(alone, "span")} without a counterpart` : "";
    const worth = bits === null ? "" : `, ${one(bits)} bits`;
    return links.length ? `${count(links.length, "link")}${worth}${rest}.` : "No link is significant. Ask for the k best pairs to see what comes nearest.";
  };
  const searched = ({ hits, candidates }) => {
    if (!hits.length) return "Nothing was found.";
    if (hits[0].probability == null) return `The closest ${hits.length} of ${count(candidates, "document")} that were read.`;
    const matching = hits.filter(({ probability }) => probability >= 0.5).length;
    const rest = matching < hits.length ? `; ${matching ? "then come the closest of the others" : "these come closest"}` : "";
    return `${matching ? count(matching, "document") : "No document"} ${matching > 1 ? "match" : "matches"}${rest}.`;
  };

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

  // Files. Of sources several may come at once, each for a box of its own.
  const read = async (box, file) => {
    if (file.size > largest) {
      say(`${file.name} is larger than a megabyte: paste the part that matters.`, true);
      return;
    }
    const bytes = await file.arrayBuffer();
    if (/\.(docx?|odt|rtf|pdf)$/i.test(file.name) || String.fromCharCode(...new Uint8Array(bytes.slice(0, 4))) === "PK\x03\x04") {
      say(`${file.name} is no text: save it as plain text or HTML, or copy its text. “whymatch compare” on the command line reads DOCX.`, true);
      return;
    }
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      const html = /\.x?html?$/i.test(file.name) || /^\s*(?:<!doctype html|<html[\s>])/i.test(text);
      put(box, html ? htmlText(text) : text, file.name);
      say(`${file.name} was read.`);
    } catch {
      say(`${file.name} is no text in UTF-8.`, true);
    }
  };
  const readAll = async (box, files) => {
    const [first, ...others] = files;
    await read(box, first);
    if (box.matches(".source-box")) for (const file of others) await read(addSource().closest(".box"), file);
  };
  const prepare = (box) => {
    const input = box.querySelector("input[type=file]");
    const area = box.querySelector("textarea");
    box.querySelector(".open").addEventListener("click", () => input.click());
    input.addEventListener("change", async () => {
      const files = [...input.files];
      input.value = "";
      if (files.length) await readAll(box, files);
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
      readAll(box, [...event.dataTransfer.files]);
    });
    area.addEventListener("input", () => { box.querySelector(".from").textContent = ""; });
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.closest("form").requestSubmit();
    });
  };
  document.querySelectorAll(".box").forEach(prepare);
  at("add-source").addEventListener("click", () => addSource().focus());
  addSource();

  // The form.
  const offerK = () => { at("k-label").hidden = ["", "balanced"].includes(constraint.value); };
  const go = (way) => {
    for (const name of names) {
      at(name).hidden = name !== way;
      at(`way-${name}`).setAttribute("aria-pressed", String(name === way));
    }
  };
  constraint.addEventListener("change", offerK);
  at("token-row").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", at("token").value.trim());
    run(names.find((name) => !at(name).hidden));
  });
  for (const way of names) {
    at(way).addEventListener("submit", (event) => {
      event.preventDefault();
      run(way);
    });
    at(`way-${way}`).addEventListener("click", () => {
      if (at(way).hidden) {
        forget();
        say("");
      }
      go(way);
    });
    at(way).querySelector(".examples").append(...firstVisit[way].map(({ name, ...values }) => {
      const button = make("button", { type: "button", textContent: name });
      button.addEventListener("click", () => {
        fill(values);
        run(way);
      });
      return button;
    }));
  }

  // What the server has, once its model is loaded; and what the link asks for.
  const greet = async () => {
    for (const until = Date.now() + 1000 * patience; Date.now() < until;) {
      const response = await fetch("ready").catch(() => null);
      if (response?.ok) {
        const { spans, ...can } = await response.json();
        for (const way of ["check", "compare", "search"]) at(`way-${way}`).hidden = !can[way];
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
    const way = names.find((name) => ways[name].fields[0] in values) ?? "match";
    fill(values);
    go(way);
    run(way);
  };
  addEventListener("hashchange", follow);
  greet();
  follow();
})();
