// A file of HTML as a reader sees it, by the rules of `whymatch compare`. The document is inert: it runs and loads nothing.

const htmlText = (html) => {
  const unseen = "script, style, template, noscript, iframe, object";
  const blocks = new Set(
    ("ARTICLE ASIDE BLOCKQUOTE DD DETAILS DIV DL DT FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION "
      + "SUMMARY TABLE TBODY TFOOT THEAD TR UL").split(" "),
  );
  const refused = /([\s"'/])(style|on[a-z]+)\s*=/gi; // by the policy, which would report such attributes of inert documents too
  const unstyled = html.replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(refused, "$1data-$2="))
    .replace(/<(\/?)style\b/gi, "<$1template");
  const page = new DOMParser().parseFromString(unstyled, "text/html");
  for (const element of page.querySelectorAll(unseen)) element.remove();
  const texts = [];
  let pieces = "", bullet = false;
  const end = (verbatim = false) => {
    const text = verbatim ? pieces.replace(/^[\r\n]+/, "").trimEnd() : pieces.replace(/ *\n */g, "\n").replace(/ {2,}/g, " ").trim();
    pieces = "";
    if (!text.trim()) return;
    texts.push(bullet && !/^[\d(§•*–-]/.test(text) ? `- ${text}` : text);
    bullet = false;
  };
  const cell = (element) => element.textContent.replace(/\s+/g, " ").trim();
  const read = (node, verbatim) => {
    if (node.nodeType === Node.TEXT_NODE) pieces += verbatim ? node.data : node.data.replace(/\s+/g, " ");
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    if (node.tagName === "BR") pieces += "\n";
    const block = blocks.has(node.tagName);
    if (block) end(verbatim);
    if (node.tagName === "LI") bullet = true;
    if (node.tagName === "TR") pieces = `| ${[...node.cells].map(cell).join(" | ")} |`;
    else for (const child of node.childNodes) read(child, verbatim || node.tagName === "PRE");
    if (block) end(verbatim || node.tagName === "PRE");
    if (node.tagName === "LI") bullet = false;
  };
  read(page.documentElement, false);
  end();
  return texts.join("\n\n");
};
