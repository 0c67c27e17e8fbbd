/* The ranking table: search, sort, "selected only", and only those rows in the document that can be seen.
 *
 * Hooks that tests rely on: #search, #selected-only, #ranking (the region that scrolls), #count ("n of N features"),
 * button[data-sort="rank|feature|score|said"] in th[aria-sort], tr[data-rank] (a row), #rows (the data).
 *
 * Feature names are data: they reach the page through textContent and attributes, never as markup.
 */
"use strict";
(() => {
  const PRINTED = 40; // rows on paper, as many as a browser without scripts shows
  const MOST = 120; // rows in sight, on the highest of screens
  const MARGIN = 12; // rows kept ready above and below what is seen

  const region = document.getElementById("ranking");
  if (!region) return;
  const table = region.querySelector("table");
  const body = table.tBodies[0];
  const search = document.getElementById("search");
  const selectedOnly = document.getElementById("selected-only");
  const count = document.getElementById("count");
  const buttons = [...table.querySelectorAll("button[data-sort]")];
  const more = document.getElementById("more"); // on paper only
  const paper = matchMedia("print");

  const rows = JSON.parse(document.getElementById("rows").textContent);
  const n = rows.names.length;
  const chosen = new Uint8Array(n);
  for (const i of rows.selected) chosen[i] = 1;
  const lowered = rows.names.map((name) => name.toLowerCase());

  /* Orders, each made when first asked for. Rows are stored best first, so a place in the data is a rank. */

  const value = (text) => (text === "∞" ? Infinity : Number(text.replaceAll("−", "-"))); // "not scored" is NaN
  const makers = {
    rank: () => (i) => i,
    score: () => {
      const values = rows.scores.map(value);
      return (i) => values[i];
    },
    said: () => (i) => rows.said[i] || NaN,
    feature: () => {
      // Numbers in names count as numbers: x2 before x10. Keys, since an Intl.Collator takes half a second for 20,000 names.
      const keys = lowered.map((name) => name.replace(/\d+/g, (digits) => digits.padStart(15, "0")));
      const places = new Float64Array(n);
      const sorted = Array.from(keys.keys()).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
      sorted.forEach((i, place) => (places[i] = place));
      return (i) => places[i];
    },
  };
  const FIRST = { rank: 1, feature: 1, score: rows.small ? 1 : -1, said: -1 }; // the direction of the first click: best first
  const orders = {};
  const order = (key) => {
    if (!orders[key]) {
      const of = makers[key]();
      const missing = (i) => Number.isNaN(of(i));
      const all = Array.from({ length: n }, (_, i) => i);
      const there = all.filter((i) => !missing(i)).sort((a, b) => FIRST[key] * (of(a) - of(b) || 0) || a - b);
      orders[key] = { there, missing: all.filter(missing) };
    }
    return orders[key];
  };

  const state = { key: "rank", direction: 1, shown: [], height: 0 };

  function choose() {
    const { there, missing } = order(state.key);
    const turned = state.direction === FIRST[state.key] ? there : there.toReversed?.() ?? [...there].reverse();
    const wanted = search.value.trim().toLowerCase();
    const only = selectedOnly.checked;
    const fits = (i) => (!only || chosen[i]) && (!wanted || lowered[i].includes(wanted));
    state.shown = [...turned, ...missing].filter(fits); // what has no value is last in either direction
    count.textContent = `${state.shown.length} of ${n} features`;
    if (more) more.textContent = state.shown.length > PRINTED ? `… and ${state.shown.length - PRINTED} more.` : "";
    table.setAttribute("aria-rowcount", String(state.shown.length + 1));
    region.scrollTop = 0;
    draw();
  }

  /* Drawing: a spacer above, the rows near the window, a spacer below. */

  function cell(row, kind, text) {
    const made = row.insertCell();
    made.className = kind;
    if (text) made.textContent = text;
    return made;
  }

  function isolated(row, kind, text) {
    const made = cell(row, kind);
    made.title = text;
    made.appendChild(document.createElement("bdi")).textContent = text;
    return made;
  }

  function marked(rank) {
    const mark = document.createElement("span");
    mark.className = "mark";
    mark.title = "selected";
    mark.textContent = "●";
    const word = mark.appendChild(document.createElement("span"));
    word.className = "unseen";
    word.textContent = " selected";
    rank.prepend(mark);
  }

  function makeRow(i, place) {
    const row = document.createElement("tr");
    row.dataset.rank = String(i + 1);
    row.setAttribute("aria-rowindex", String(place + 2));
    const rank = cell(row, "n", String(i + 1));
    if (chosen[i]) {
      row.className = "chosen";
      marked(rank);
    }
    const name = isolated(row, "name", rows.names[i]);
    cell(row, "n", rows.scores[i]);
    cell(row, "bar").append(document.createElement("span"));
    row.style.setProperty("--share", String(rows.bars[i] / 1000));
    if (rows.said) {
      const said = rows.said[i] ? `${rows.percents[rows.said[i]]} %, most like ${rows.names[rows.of[i]]}` : "";
      isolated(row, "said", said);
      if (said) name.dataset.said = said; // on a phone there is no room beside the name
    }
    return row;
  }

  function spacer(height) {
    const row = document.createElement("tr");
    row.className = "spacer";
    row.setAttribute("aria-hidden", "true");
    row.insertCell().style.height = `${height}px`; // one cell: a span would widen the table by columns that a phone hides
    return row;
  }

  function nothing() {
    const row = document.createElement("tr");
    const made = row.insertCell();
    made.colSpan = [...table.tHead.rows[0].cells].filter((head) => head.offsetWidth > 0).length;
    made.className = "nothing";
    made.textContent = "No feature has this in its name.";
    return row;
  }

  let drawn = {};
  let printing = false;

  function draw() {
    const { shown, height } = state;
    // On paper the region is as high as its rows: while styles change, that must not become a reason to make more of them.
    const seen = printing ? PRINTED : Math.min(MOST, Math.ceil((region.clientHeight || 600) / height));
    const top = printing ? 0 : Math.floor(region.scrollTop / height);
    const first = Math.max(0, Math.min(top - MARGIN, shown.length - seen));
    const last = Math.min(shown.length, printing ? PRINTED : top + seen + MARGIN);
    if (drawn.shown === shown && drawn.first === first && drawn.last === last && drawn.printing === printing) return;
    drawn = { shown, first, last, printing };
    const made = document.createDocumentFragment();
    if (!shown.length) made.append(nothing());
    if (first > 0 && !printing) made.append(spacer(first * height));
    for (let place = first; place < last; place++) made.append(makeRow(shown[place], place));
    if (last < shown.length && !printing) made.append(spacer((shown.length - last) * height));
    body.replaceChildren(made);
  }

  function measure() {
    if (printing || paper.matches) return;
    // From the rows that are there, so that larger letters and narrow windows count.
    const row = body.querySelector("tr[data-rank]");
    const height = row ? row.getBoundingClientRect().height : 0;
    if (height > 0 && Math.abs(height - state.height) > 0.01) {
      state.height = height;
      drawn = {};
    }
  }

  /* What people do. */

  function sortBy(button) {
    const key = button.dataset.sort;
    state.direction = key === state.key ? -state.direction : FIRST[key];
    state.key = key;
    for (const other of buttons) other.closest("th").removeAttribute("aria-sort");
    button.closest("th").setAttribute("aria-sort", state.direction > 0 ? "ascending" : "descending");
    table.dataset.sorted = key;
    choose();
  }

  for (const button of buttons) button.addEventListener("click", () => sortBy(button));
  search.addEventListener("input", choose);
  selectedOnly.addEventListener("change", choose);

  let waiting = false;
  region.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  });
  new ResizeObserver(() => {
    if (printing) return;
    measure();
    draw();
  }).observe(region);

  let place = 0;
  function print(now) {
    if (now === printing) return;
    if (now) place = region.scrollTop;
    printing = now;
    draw();
    if (!now) requestAnimationFrame(settle); // when the styles of the screen are back
  }
  function settle() {
    measure();
    draw();
    region.scrollTop = place;
  }
  paper.addEventListener("change", () => print(paper.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));

  /* Code that can be copied, where the browser lets a page do that. */

  for (const code of navigator.clipboard ? document.querySelectorAll("pre") : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(code.textContent).then(
        () => (button.textContent = "copied"),
        () => button.remove(), // not allowed after all: the text can still be marked by hand
      ),
    );
    code.before(button);
  }

  document.documentElement.classList.add("scripted"); // from here on the controls work, so they are shown
  measure();
  choose();
})();
