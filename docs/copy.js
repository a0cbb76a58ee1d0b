// Copying an example copies what is typed: no prompts, and nothing of what comes out.
document.addEventListener(
  "click",
  (event) => {
    const button = event.target.closest?.("[data-clipboard-target]");
    const code = button && document.querySelector(button.dataset.clipboardTarget);
    if (!code?.querySelector(".gp")) return;
    const typed = code.innerText.split("\n").filter((line) => /^(>>>|\.\.\.)( |$)/.test(line));
    button.dataset.clipboardText = typed.map((line) => line.slice(4)).join("\n");
  },
  true,
);
