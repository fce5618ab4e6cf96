// A button that copies a block of code: of a session, what was typed, without prompts and answers.
function typed(pre) {
  const copy = pre.cloneNode(true);
  const session = copy.querySelector(".gp") !== null;
  copy.querySelectorAll(".gp, .go, .gt, .gr").forEach((span) => span.remove());
  const text = copy.textContent;
  return (session ? text.replace(/\n\s*\n+/g, "\n") : text).trim() + "\n";
}

document.addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return; // on plain HTTP
  document.querySelectorAll("div.highlight > pre").forEach((pre) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(typed(pre));
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    pre.parentElement.append(button);
  });
});
