"use strict";
// Everything that comes from a run is put in as text, never as markup: a model chooses some of the words.
const token = document.querySelector('meta[name="pathrig-token"]').content;
const cameras = JSON.parse(document.querySelector('meta[name="pathrig-cameras"]').content);
const PAUSE_MS = 600;
const SVG = document.getElementById("svg-names").namespaceURI;
let ahead = 0;          // by how much the run's clock is ahead of ours, s
let over = false;

function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  if (name) made.className = name;
  return made;
}

function pairs(list, values) {
  list.replaceChildren(...values.map(([name, value]) => {
    const both = element("div");
    both.append(element("dt", name), element("dd", value));
    return both;
  }));
}

function setReading(list, name, value, bad = false) {
  let there = [...list.querySelectorAll("dt")].find((one) => one.textContent === name);
  if (!there) {
    there = element("dt", name);
    list.append(there, element("dd"));
  }
  there.nextElementSibling.textContent = value;
  there.nextElementSibling.className = bad ? "bad" : "";
}

// A picture from the run's own process. It is drawn, never run: the page's policy allows its own script only.
function drawing(text) {
  if (!text) return [];
  const parsed = new DOMParser().parseFromString(
    text.replace("<svg ", '<svg xmlns="' + SVG + '" '), "image/svg+xml").documentElement;
  return parsed.querySelector("parsererror") ? [] : [document.importNode(parsed, true)];
}

function fill(item, k, call, kind, tags, notes) {
  const line = element("div", null, "line");
  line.append(element("span", k, "k"), element("code", call));
  if (kind) line.append(element("span", kind, "tag kind"));
  for (const [text, name] of tags) line.append(element("span", text, "tag " + name));
  item.replaceChildren(line, ...notes.map((text) => element("p", text, "note")));
}

function connection(text, name) {
  document.getElementById("connection").textContent = text;
  document.getElementById("connection").className = "tag " + name;
}

async function press(path, body, notice) {
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: {"x-pathrig-token": token, "content-type": "application/json"},
      body: JSON.stringify(body),
    });
    if (answer.ok || answer.status === 409) return true;
    notice(`The button did not work (${answer.status}): use the rig's own stop.`);
  } catch (error) {
    if (!over) notice("The run cannot be reached: use the rig's own stop.");
  }
  return false;
}

// One source of events: a run, a log or a rig. The names of elements carry its number, but for the first.
function panel(index) {
  const suffix = index ? "-" + index : "";
  const at = (id) => document.getElementById(id + suffix);
  let asked = null;       // the question that waits
  let about = "";         // what is known of the episode before its rig is ready

  function row(k) {
    const id = "step-" + k;
    let item = at(id);
    if (!item) {
      item = element("li");
      item.id = id + suffix;
      at("steps").prepend(item);  // the newest first, in sight without scrolling
    }
    return item;
  }

  function notice(text) {
    at("notice").textContent = text;
    at("notice").hidden = false;
  }

  function answers(enabled) {
    for (const button of at("question").querySelectorAll("button")) button.disabled = !enabled;
  }

  function count() {
    if (!asked) return;
    at("question-time").textContent = "It waits for an answer.";
    if (!asked.until) return;
    const left = Math.max(0, Math.round(asked.until - Date.now() / 1000 - ahead));
    at("question-time").textContent = `Without an answer in ${left} s it is refused.`;
  }
  setInterval(count, 500);

  for (const button of at("question").querySelectorAll("button")) {
    button.addEventListener("click", async () => {
      if (!asked) return;
      const number = asked.number;
      answers(false);
      const arrived = await press("answer", {number, answer: button.dataset.answer}, notice);
      // What did not arrive may be said again.
      if (!arrived && asked && asked.number === number) answers(true);
    });
  }
  // A bar of the time line leads to its call.
  at("time").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    at("step-" + link.getAttribute("href").split("s").pop())?.scrollIntoView({block: "center"});
  });
  if (!index && stop) stop.addEventListener("click", () => press("stop", {}, notice));

  return {
    clock: (data) => { ahead = data.now - Date.now() / 1000; },
    episode: (data) => {
      at("task").textContent = data.task;
      at("source").hidden = data.task === at("source").textContent;
      at("ended").hidden = true;
      at("prompt").textContent = data.prompt;
      about = data.about || `episode ${data.id} · ${data.agent} · seed ${data.seed}`;
      at("about").textContent = about;
      at("place").textContent = data.place || "";
      at("expects").textContent = "";
      for (const name of ["views", "time-section"]) at(name).hidden = true;
      for (const list of ["steps", "status", "samples", "scores"]) at(list).replaceChildren();
    },
    rig: (data) => {
      const guard = data.guard === "-" ? "" : ` · guard ${data.guard}`;
      at("about").textContent = `${about} · rig ${data.rig} (${data.device})${guard}`;
      // The page's policy names the hosts of the cameras that were known when it was loaded.
      const origin = (address) => new URL(address).origin;
      if (data.camera && !cameras.map(origin).includes(origin(data.camera))) location.reload();
      if (data.camera && at("camera").getAttribute("src") !== data.camera) at("camera").src = data.camera;
      at("camera").hidden = !data.camera;
    },
    call: (data) => {
      const item = row(data.k);
      const held = data.action !== "allow";
      item.className = data.kind + (held ? " held" : " running");
      fill(item, data.k, data.call, data.kind, [[held ? "held back" : "running", held ? "bad" : ""]], [data.reason]);
    },
    step: (data) => {
      const item = row(data.k);
      const held = data.status === "blocked";
      item.className = data.kind + (held ? " held" : "");
      const notes = [];
      if (data.code && !held) notes.push(`${data.code}: ${data.message}`);
      else if (data.value && Object.keys(data.value).length) notes.push(JSON.stringify(data.value));
      if (data.reason && !/^(progress|loop) in state [^;]*$/.test(data.reason)) notes.push(`guard: ${data.reason}`);
      fill(item, data.k, data.call, data.kind, [[data.status, data.status === "ok" ? "ok" : "bad"]], notes);
    },
    scores: (data) => {
      pairs(at("scores"), [...data.scores, ["accepted", data.accepted ? "yes" : "not yet"], ["state", data.state]]);
      at("expects").textContent = data.expects;
      at("question-expects").textContent = data.expects;
    },
    pictures: (data) => {
      at("views").hidden = false;
      at("map-section").hidden = !data.map;
      at("map").replaceChildren(...drawing(data.map));
      at("way-section").hidden = !data.way;
      at("way").replaceChildren(...drawing(data.way));
      // A wide automaton keeps its size, and scrolls in its frame.
      for (const wide of at("way").querySelectorAll(".wide")) wide.style.minWidth = `${wide.viewBox.baseVal.width}px`;
      at("key").replaceChildren(...data.key.map((line) => {
        const item = element("li", null, line.kind);
        item.append(element("b", line.mark), " " + line.words);
        return item;
      }));
      at("time-section").hidden = !data.rows.length;
      at("time").replaceChildren(...data.rows.map((line) => {
        const item = element("div", null, "row");
        const name = element("p", line.name + " ", "note");
        name.append(element("span", line.about));
        item.append(name, ...drawing(line.svg));
        return item;
      }), ...drawing(data.axis));
    },
    ended: (data) => {
      at("ended-link").textContent = `Run ${data.run} is over: its report`;
      at("ended-link").href = `report?token=${encodeURIComponent(token)}&source=${index}&run=${data.run}`;
      at("ended").hidden = false;
    },
    notice: (data) => notice(data.text),
    sample: (data) => setReading(at("samples"), data.sensor, `${data.value} at ${data.t.toFixed(1)} s`),
    status: (data) => setReading(at("status"), data.source, data.state, data.held),
    question: (data) => {
      const fresh = !asked || asked.number !== data.number;
      asked = data;
      at("question-call").textContent = data.call;
      at("question-reason").textContent = data.reason;
      at("question").hidden = false;
      if (fresh) {
        // A finger that was on its way to the last question must not answer this one.
        answers(false);
        setTimeout(() => { if (asked && asked.number === data.number) answers(true); }, PAUSE_MS);
      }
      count();
    },
    answered: (data) => {
      if (asked && asked.number === data.number) asked = null;
      if (!asked) at("question").hidden = true;
    },
    past: (data) => {
      at("past-section").hidden = false;
      const scores = data.scores.map(([name, value]) => `${name} ${value}`).join(" · ");
      const reason = data.reason && data.reason !== "done" ? ` (${data.reason})` : "";
      at("past").prepend(element("li", `${data.id} · ${data.task} · ${data.agent} · ${data.status}${reason} · ${scores}`));
    },
    stop: () => {
      if (stop) stop.disabled = true;
      notice("STOP was pressed: the rig is told to stop, and the run ends. What the rig says to it stands under Rig.");
    },
    over: (data) => {
      over = true;
      source.close();
      if (stop) stop.disabled = true;
      at("question").hidden = true;
      connection("over", "");
      if (data.report) location.replace("report?token=" + encodeURIComponent(token));
      else if (at("notice").hidden) notice("The run is over. Its log tells the rest.");
    },
  };
}

const names = JSON.parse(document.querySelector('meta[name="pathrig-sources"]').content);
const stop = document.getElementById("stop");
const first = document.getElementById("panel");
for (let index = 1; index < names.length; index++) {
  const copy = first.cloneNode(true);
  for (const part of [copy, ...copy.querySelectorAll("[id]")]) part.id += "-" + index;
  document.body.append(copy);
}
document.body.classList.toggle("many", names.length > 1);

const source = new EventSource("events?token=" + encodeURIComponent(token));
source.onopen = () => connection("live", "good");
source.onerror = () => { if (!over) connection("connection lost", "bad"); };
names.forEach((name, index) => {
  if (names.length > 1) document.getElementById("source" + (index ? "-" + index : "")).textContent = name;
  for (const [kind, show] of Object.entries(panel(index))) {
    source.addEventListener(index ? `${kind}@${index}` : kind, (event) => show(JSON.parse(event.data)));
  }
});
