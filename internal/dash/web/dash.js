// Pages work without this file. It adds what only a script can: reading a chart under the pointer, picking
// two points of it, zooming, following a run that goes on, and pinning views.

const svg = (name, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// chart makes a line readable: commits come from the API once somebody points at it.
function chart(figure) {
  const picture = figure.querySelector("svg.trend");
  const page = new URL(figure.dataset.page, location.href);
  let places;
  const load = async () => {
    if (places) return places;
    const address = new URL(figure.dataset.series, location.href);
    for (const name of ["from", "to"]) {
      const value = new URLSearchParams(location.search).get(name);
      if (value) address.searchParams.set(name, value);
    }
    const answer = await fetch(address);
    if (!answer.ok) return [];
    const line = await answer.json();
    places = line.commit.map((commit, i) => ({ commit, run: line.run[i], at: new Date(1000 * line.at[i]).toISOString(), verdict: line.verdict[i], index: line.index[i], base: line.base[i], debt: line.debt[i] }));
    return places;
  };
  const percent = (v) => `${v < 0 ? "−" : v > 0 ? "+" : ""}${Math.abs(100 * v).toFixed(1)}%`;
  const note = element("p", "", { class: "reading", role: "status" });
  figure.append(note);
  const cross = svg("line", { class: "cross", x1: 0, x2: 0, y1: 0, y2: "95%", visibility: "hidden" });
  const zone = svg("rect", { class: "zone", x: 0, y: 0, width: 0, height: "95%", visibility: "hidden" });
  picture.append(zone, cross);

  // As the server draws: commits lie in the middle of equal parts of the width between 1% and 99%.
  const share = (i) => 0.01 + (0.98 * (i + 0.5)) / places.length;
  const nearest = (event) => {
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width - 0.01) / 0.98;
    return Math.max(0, Math.min(places.length - 1, Math.floor(at * places.length)));
  };
  const say = (i) => {
    const place = places[i];
    const parts = [place.commit.slice(0, 9), place.at.slice(0, 16).replace("T", " "), place.verdict || "measured"];
    if (place.index) parts.push(`${percent(place.index - 1)} against the first`);
    if (place.base !== null) parts.push(`${percent(place.base)} against its base`);
    if (place.debt) parts.push(`${percent(place.debt - 1)} against the best-known`);
    if (picked) parts.push("a second click compares");
    note.textContent = parts.join(" · ");
    cross.setAttribute("x1", `${100 * share(i)}%`);
    cross.setAttribute("x2", `${100 * share(i)}%`);
    cross.setAttribute("visibility", "visible");
  };

  let picked, from;
  picture.addEventListener("pointermove", async (event) => {
    if (!(await load()).length) return;
    const i = nearest(event);
    if (from === undefined) return say(i);
    const [a, b] = [Math.min(from, i), Math.max(from, i)];
    zone.setAttribute("x", `${100 * share(a)}%`);
    zone.setAttribute("width", `${100 * (share(b) - share(a))}%`);
    zone.setAttribute("visibility", a === b ? "hidden" : "visible");
  });
  picture.addEventListener("pointerleave", () => cross.setAttribute("visibility", "hidden"));
  picture.addEventListener("pointerdown", async (event) => {
    if (event.button === 0 && (await load()).length) from = nearest(event);
  });
  // A drag zooms; a click picks a commit, and the second one compares.
  picture.addEventListener("pointerup", async (event) => {
    if (from === undefined) return;
    const [start, end] = [from, nearest(event)];
    from = undefined;
    zone.setAttribute("visibility", "hidden");
    if (Math.abs(start - end) > 1) {
      page.searchParams.set("from", places[Math.min(start, end)].commit.slice(0, 12));
      page.searchParams.set("to", places[Math.max(start, end)].commit.slice(0, 12));
      location.assign(page);
    } else if (!event.target.closest("a")) {
      pick(start);
    }
  });
  const pick = (i) => {
    const run = places[i].run;
    if (picked === undefined) {
      picked = i;
      const mark = svg("line", { class: "picked", x1: `${100 * share(i)}%`, x2: `${100 * share(i)}%`, y1: 0, y2: "95%" });
      picture.append(mark);
      return say(i);
    }
    const to = new URL("/compare", location.href);
    const [a, b] = [Math.min(picked, i), Math.max(picked, i)];
    to.searchParams.set("a", places[a].run);
    to.searchParams.set("b", a === b ? run : places[b].run);
    to.searchParams.set("kernel", page.searchParams.get("name"));
    to.searchParams.set("config", page.searchParams.get("config"));
    location.assign(to);
  };

  // Among the dots the arrow keys lead: one stop of the tab key is enough.
  const dots = [...picture.querySelectorAll("a")];
  dots.forEach((dot, i) => dot.setAttribute("tabindex", i === dots.length - 1 ? "0" : "-1"));
  picture.addEventListener("keydown", (event) => {
    const at = dots.indexOf(document.activeElement), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (at < 0 || !step || !dots[at + step]) return;
    event.preventDefault();
    dots[at].setAttribute("tabindex", "-1");
    dots[at + step].setAttribute("tabindex", "0");
    dots[at + step].focus();
  });
}

// follow keeps the page of a run that goes on up to date.
function follow(box) {
  const source = new EventSource(box.dataset.follow);
  let busy = false, again = false;
  const renew = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href);
      if (answer.ok) {
        const made = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
        if (made) box.replaceChildren(...made.childNodes);
        box.dataset.renewed = String(Number(box.dataset.renewed || 0) + 1);
      }
    } finally {
      setTimeout(() => {
        busy = false;
        if (again) {
          again = false;
          renew();
        }
      }, 700);
    }
  };
  source.addEventListener("changed", renew);
  source.addEventListener("ended", () => {
    source.close();
    renew();
  });
}

// pins are views that this browser keeps.
function pins(box) {
  const read = () => {
    try {
      return JSON.parse(localStorage.getItem("pawl pins") || "[]").filter((p) => typeof p.name === "string" && typeof p.address === "string" && p.address.startsWith("/") && !p.address.startsWith("//"));
    } catch {
      return [];
    }
  };
  const write = (list) => localStorage.setItem("pawl pins", JSON.stringify(list.slice(-30)));
  const here = location.pathname + location.search;
  const show = () => {
    box.replaceChildren();
    for (const pin of read()) box.append(element("a", pin.name, { href: pin.address }), " ");
    const pinned = read().some((p) => p.address === here);
    const button = element("button", pinned ? "unpin this view" : "pin this view", { type: "button" });
    button.addEventListener("click", () => {
      write(pinned ? read().filter((p) => p.address !== here) : [...read(), { name: document.title.split(" · ")[0] + (location.search ? " " + decodeURIComponent(location.search.slice(1)).replaceAll("+", " ").slice(0, 40) : ""), address: here }]);
      show();
      box.querySelector("button").focus();
    });
    box.append(button);
  };
  box.hidden = false;
  show();
}

document.querySelectorAll(".trendbox[data-series]").forEach(chart);
document.querySelectorAll("[data-follow]").forEach(follow);
document.querySelectorAll(".pins").forEach(pins);
document.querySelectorAll(".filters select").forEach((select) => select.addEventListener("change", () => select.form.requestSubmit()));
document.addEventListener("keydown", (event) => {
  const search = document.querySelector("input[type=search]");
  if (event.key === "/" && search && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    search.focus();
  }
});
