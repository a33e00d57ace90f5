// The page works without this: it adds sorting and a search over all tables.
const form = document.querySelector("form.filters");
const tables = [...document.querySelectorAll("table")];
const number = (text) => { const found = Number.parseFloat(text.replaceAll(",", "")); return Number.isNaN(found) ? text : found; };

function sortBy(table, column, heading) {
  const down = heading.getAttribute("aria-sort") === "descending";
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "ascending" : "descending");
  const body = table.tBodies[0];
  const value = (row) => number(row.cells[column].textContent.trim());
  const rows = [...body.rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return down ? order : -order;
  });
  body.append(...rows);
}

function show() {
  const words = new FormData(form).get("words").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0, all = 0;
  for (const table of tables) {
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
      all += 1;
    }
  }
  form.querySelector("output").textContent = `${shown} of ${all} results`;
}

for (const table of tables) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, column, heading));
    heading.append(button);
  });
}
form.hidden = tables.length === 0;
form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
show();
