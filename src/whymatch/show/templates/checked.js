// Shows which spans of the sources speak of the claim that is chosen, and which claims a span is cited by, in the element `main`.
const showCheck = (main) => {
  const claims = [...main.querySelectorAll(".claim")];
  const quotes = [...main.querySelectorAll(".quote[data-claims]")];
  const cites = (quote, number) => quote.dataset.claims.trim().split(" ").includes(number);

  const choose = (number, scroll) => {
    const own = quotes.filter((quote) => number !== null && cites(quote, number));
    claims.forEach((claim) => claim.setAttribute("aria-pressed", String(claim.dataset.claim === number)));
    quotes.forEach((quote) => quote.classList.toggle("followed", own.includes(quote)));
    main.classList.toggle("following", own.length > 0);
    if (scroll && own.length) own[0].scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  let chosen = null;
  const toggle = (number, scroll) => {
    chosen = chosen === number ? null : number;
    choose(chosen, scroll);
  };
  for (const claim of claims) {
    claim.addEventListener("click", () => toggle(claim.dataset.claim, true));
    claim.addEventListener("pointermove", () => { if (chosen === null) choose(claim.dataset.claim, false); });
    claim.addEventListener("pointerleave", () => { if (chosen === null) choose(null, false); });
  }
  for (const quote of quotes) {
    const follow = () => {
      const number = quote.dataset.claims.trim().split(" ")[0];
      toggle(number, false);
      claims[Number(number) - 1].scrollIntoView({ block: "nearest", behavior: "smooth" });
    };
    quote.addEventListener("click", follow);
    quote.addEventListener("keydown", (event) => { if (event.key === "Enter") follow(); });
  }
};
