// A link to an episode or a step opens what it lies in; in a folder of pages it leads to its page.
function follow() {
  const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folder = document.body.dataset.folder;
  const episode = /^#e(?:pisode-)?(\d+)(?:s\d+)?$/.exec(location.hash);
  if (folder && episode) return void location.replace(folder + episode[1] + ".html" + location.hash);
  if (!place) return;
  for (let outer = place; outer; outer = outer.parentElement) {
    if (outer.tagName === "DETAILS") outer.open = true;
    outer.hidden = false;
  }
  place.scrollIntoView();
}
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => document.querySelectorAll("details:not([hidden])").forEach((one) => { one.open = true; }));
addEventListener("DOMContentLoaded", follow);
