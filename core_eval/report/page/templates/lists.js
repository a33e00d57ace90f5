// The page works without this: it adds sorting, filters, and opens what a link leads to.
const rows = [...document.querySelectorAll("table.list tbody tr")];
const form = document.querySelector("form.filters");
const text = (row, column) => row.cells[column].textContent.trim();
// Read once: a log may have thousands of episodes.
const facts = new Map(rows.map((row) => [row, {
  all: row.textContent.toLowerCase(), task: text(row, 1), agent: text(row, 2), marks: row.dataset.marks.split(" "),
}]));
const stories = new Map([...document.querySelectorAll("details.story")].map((one) => [one.dataset.episode, one]));
const collator = new Intl.Collator();
const more = document.createElement("button");
let most = 200;  // rows that are shown: the browser lays out each of them anew

function show() {
  const wanted = Object.fromEntries(new FormData(form));
  const words = wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const of = facts.get(row);
    const unwanted = Boolean((wanted.task && of.task !== wanted.task.trim()) || (wanted.agent && of.agent !== wanted.agent.trim())
      || (wanted.mark && !of.marks.includes(wanted.mark)) || !words.every((word) => of.all.includes(word)));
    shown += !unwanted;
    const hidden = unwanted || shown > most;
    if (row.hidden !== hidden) row.hidden = hidden;
    const story = stories.get(row.cells[0].textContent.trim());
    if (story && story.hidden !== unwanted) story.hidden = unwanted;
  }
  form.querySelector("output").textContent = `${shown} of ${rows.length} episodes`;
  more.textContent = `Show all ${shown}, not the first ${most}`;
  more.hidden = shown <= most;
}

function sortBy(column, heading) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => {
    const said = text(row, column);
    const number = said === "yes" ? 1 : said === "no" ? 0 : Number.parseFloat(said);
    return Number.isNaN(number) ? said : number;
  };
  const values = new Map(rows.map((row) => [row, value(row)]));
  rows.sort((a, b) => {
    const [x, y] = [values.get(a), values.get(b)];
    const order = typeof x === "number" && typeof y === "number" ? x - y : collator.compare(x, y);
    return down ? -order : order;
  });
  rows[0].parentElement.append(...rows);
  show();
}

if (form) {
  form.hidden = false;
  more.type = "button";
  more.addEventListener("click", () => { most = Infinity; show(); });
  form.append(more);
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show));
  document.querySelectorAll("table.list thead th").forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(column, heading));
    heading.append(button);
  });
  show();
}
