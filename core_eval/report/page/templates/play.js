// Moves map, signals and calls of an episode together, over device time.
const SECONDS = 12;  // that an episode takes to play

for (const box of document.querySelectorAll(".play")) {
  const story = box.closest(".story"), data = JSON.parse(box.dataset.play);
  const [button, range, output] = box.children;
  const first = data.times[0], last = data.times[1];
  const place = (t) => data.places[0] + (data.places[1] - data.places[0]) * (t - first) / (last - first);
  const lines = [...story.querySelectorAll(".time .row")].map((row) => row.appendChild(document.createElement("i")));
  const map = data.way.length ? story.querySelector("svg.field") : null;
  const dot = map && map.appendChild(document.createElementNS(map.namespaceURI, "circle"));
  let started = null;

  function position(t) {
    const k = data.way.findIndex(([at]) => at > t);
    if (k < 1) return (k ? data.way[data.way.length - 1] : data.way[0]).slice(1);
    const [a, b] = [data.way[k - 1], data.way[k]];
    const share = (t - a[0]) / (b[0] - a[0]);
    return [1, 2].map((axis) => a[axis] + share * (b[axis] - a[axis]));
  }

  function show(share) {
    const t = first + share * (last - first);
    range.value = 1000 * share;
    output.textContent = `${t.toFixed(1)} s`;
    for (const line of lines) { line.className = "now"; line.style.left = `${place(t)}%`; }
    if (dot) {
      const [x, y] = position(t);
      dot.setAttribute("class", "playing");
      for (const [name, value] of [["cx", x], ["cy", y], ["r", 7]]) dot.setAttribute(name, value);
    }
    const done = data.calls.filter(([, begin]) => begin <= t).pop();
    for (const step of story.querySelectorAll(".steps > li.now")) step.classList.remove("now");
    const step = done && story.querySelector(`.steps > li[id$="s${done[0]}"]`);
    if (step) step.classList.add("now");
    box.dataset.t = t;
    box.dataset.call = done ? done[0] : "";
  }

  function stop() { started = null; button.textContent = "Play"; }

  function frame(now) {
    if (started === null) return;
    const share = Math.min(1, (now - started) / (1000 * SECONDS));
    show(share);
    if (share < 1) requestAnimationFrame(frame); else stop();
  }

  button.addEventListener("click", () => {
    if (started !== null) return stop();
    const from = Number(range.value) < 1000 ? Number(range.value) / 1000 : 0;
    started = performance.now() - 1000 * SECONDS * from;
    button.textContent = "Pause";
    requestAnimationFrame(frame);
  });
  range.addEventListener("input", () => { stop(); show(Number(range.value) / 1000); });
  box.hidden = false;
}
