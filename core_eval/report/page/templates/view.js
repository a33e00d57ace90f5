// The page works without this: it adds a search over the logs.
const form = document.querySelector("form.filters");
const logs = [...document.querySelectorAll(".log")];
form.addEventListener("input", () => {
  const words = new FormData(form).get("words").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const log of logs) {
    const text = log.textContent.toLowerCase();
    log.hidden = !words.every((word) => text.includes(word));
    shown += !log.hidden;
  }
  form.querySelector("output").textContent = `${shown} of ${logs.length} logs`;
});
