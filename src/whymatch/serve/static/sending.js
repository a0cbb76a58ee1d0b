// Answers on their way to the server: in order, one at a time, again until they arrive; kept in this browser meanwhile.

const token = () => {
  const given = location.hash.startsWith("#token=") ? location.hash.slice("#token=".length) : null;
  if (given) sessionStorage.setItem("whymatch:token", given);
  if (given) history.replaceState(null, "", location.pathname);
  return sessionStorage.getItem("whymatch:token");
};

class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const ask = async (path, settings = {}) => {
  const headers = { ...(settings.body ? { "Content-Type": "application/json" } : {}) };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const response = await fetch(path, { ...settings, headers, cache: "no-store", signal: AbortSignal.timeout(20000) });
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, body.detail ?? `The server answered ${response.status}.`);
  return body;
};

// Where a browser keeps nothing, answers wait in memory alone.
const kept = {
  read(key) { try { return localStorage.getItem(key); } catch { return null; } },
  write(key, value) { try { if (value === null) localStorage.removeItem(key); else localStorage.setItem(key, value); } catch { /* in memory */ } },
};

const passing = (error) => !(error instanceof Refused) || error.status >= 500 || [408, 421, 429].includes(error.status);

class Sending {
  constructor(study, annotator, tell) {
    this.annotator = annotator;
    this.tell = tell;
    this.key = `whymatch:${study}:${annotator}`;
    this.waiting = new Map(JSON.parse(kept.read(this.key) ?? "[]"));
    this.busy = false;
    this.tries = 0;
    window.addEventListener("online", () => this.send());
  }

  answers() {
    return [...this.waiting.entries()].map(([place, value]) => [...place.split(" "), value]);
  }

  give(item, question, value) {
    const place = `${item} ${question}`;
    this.waiting.delete(place);
    this.waiting.set(place, value);
    this.keep();
    this.send();
  }

  keep() {
    kept.write(this.key, this.waiting.size ? JSON.stringify([...this.waiting]) : null);
  }

  async send() {
    if (this.busy) return;
    this.busy = true;
    clearTimeout(this.timer);
    while (this.waiting.size && (await this.sendFirst()));
    this.busy = false;
  }

  // Whether to go on with the next one at once.
  async sendFirst() {
    this.tell(this.tries ? "trying" : "saving");
    const [place, value] = this.waiting.entries().next().value;
    const path = `api/answers/${place.split(" ").map(encodeURIComponent).join("/")}`;
    try {
      await ask(path, { method: "PUT", body: JSON.stringify({ annotator: this.annotator, value }) });
    } catch (error) {
      if (passing(error)) {
        this.tries += 1;
        this.timer = setTimeout(() => this.send(), Math.min(15000, 500 * 2 ** this.tries));
        this.tell("trying");
        return false;
      }
      this.tell("refused", error.message);
      if (![404, 422].includes(error.status)) return false; // a token may be missing: it waits
      this.waiting.delete(place); // it will never be taken, and holds up the others
      this.keep();
      return true;
    }
    this.tries = 0;
    if (this.waiting.get(place) === value) this.waiting.delete(place); // not where it was changed meanwhile
    this.keep();
    if (!this.waiting.size) this.tell("saved");
    return true;
  }
}
