/* The ranking table: search, sort and "selected only". Only the visible rows are in the document.
 *
 * Tests rely on: #search, #selected-only, #ranking (the scrolling region), #count ("n of N features"),
 * button[data-sort="rank|feature|score|gain|redundancy"] in th[aria-sort], tr[data-rank] (a row), #rows (the data).
 *
 * Feature names are data. They enter the page through textContent and attributes, never as markup.
 */
"use strict";
(() => {
  const PRINTED = 40; // rows on paper, as in a browser without scripts
  const MOST = 120; // visible rows on the tallest screens
  const MARGIN = 12; // rows kept ready above and below the visible ones

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

  /* Sort orders, each computed on first use. Rows are stored best first, so a position in the data is a rank. */

  const value = (text) => (text === "∞" ? Infinity : Number(text.replaceAll("−", "-"))); // "not scored" is NaN
  const makers = {
    rank: () => (i) => i,
    score: () => {
      const values = rows.scores.map(value);
      return (i) => values[i];
    },
    gain: () => (i) => (rows.gains[i] ? value(rows.gains[i]) : NaN),
    redundancy: () => (i) => rows.redundancy[i] || NaN,
    feature: () => {
      // Numbers in names are sorted as numbers: x2 before x10. Padded keys are used, because an Intl.Collator takes half a
      // second for 20,000 names.
      const keys = lowered.map((name) => name.replace(/\d+/g, (digits) => digits.padStart(15, "0")));
      const places = new Float64Array(n);
      const sorted = Array.from(keys.keys()).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
      sorted.forEach((i, place) => (places[i] = place));
      return (i) => places[i];
    },
  };
  const FIRST = { rank: 1, feature: 1, score: rows.small ? 1 : -1, gain: -1, redundancy: -1 }; // the first click sorts best first
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
    state.shown = [...turned, ...missing].filter(fits); // rows without a value come last in either direction
    count.textContent = `${state.shown.length} of ${n} features`;
    if (more) more.textContent = state.shown.length > PRINTED ? `… and ${state.shown.length - PRINTED} more.` : "";
    table.setAttribute("aria-rowcount", String(state.shown.length + 1));
    region.scrollTop = 0;
    draw();
  }

  /* Drawing: a spacer above, the visible rows, a spacer below. */

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
    cell(row, "n score", rows.scores[i]);
    if (rows.gains) cell(row, "n gain", rows.gains[i]);
    cell(row, "bar").append(document.createElement("span"));
    row.style.setProperty("--share", String(rows.bars[i] / 1000));
    if (rows.redundancy) {
      const redundancy = rows.redundancy[i] ? `${rows.percents[rows.redundancy[i]]} % (closest: ${rows.names[rows.of[i]]})` : "";
      isolated(row, "redundancy", redundancy);
      if (redundancy) name.dataset.redundancy = redundancy; // on a phone it is shown below the name
    }
    return row;
  }

  function spacer(height) {
    const row = document.createElement("tr");
    row.className = "spacer";
    row.setAttribute("aria-hidden", "true");
    row.insertCell().style.height = `${height}px`; // a single cell, because a span would count the columns that a phone hides
    return row;
  }

  function nothing() {
    const row = document.createElement("tr");
    const made = row.insertCell();
    made.colSpan = [...table.tHead.rows[0].cells].filter((head) => head.offsetWidth > 0).length;
    made.className = "nothing";
    made.textContent = "No feature name contains this text.";
    return row;
  }

  let drawn = {};
  let printing = false;

  function draw() {
    const { shown, height } = state;
    // On paper the region is as tall as its rows. Its height must not determine the number of rows there.
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
    // Measured on existing rows, so that font size and window width are taken into account.
    const row = body.querySelector("tr[data-rank]");
    const height = row ? row.getBoundingClientRect().height : 0;
    if (height > 0 && Math.abs(height - state.height) > 0.01) {
      state.height = height;
      drawn = {};
    }
  }

  /* User actions. */

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
    if (!now) requestAnimationFrame(settle); // once the screen styles apply again
  }
  function settle() {
    measure();
    draw();
    region.scrollTop = place;
  }
  paper.addEventListener("change", () => print(paper.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));

  /* Copy buttons, if the browser permits access to the clipboard. */

  for (const code of navigator.clipboard ? document.querySelectorAll("pre") : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(code.textContent).then(
        () => (button.textContent = "copied"),
        () => button.remove(), // permission denied; the text can still be selected by hand
      ),
    );
    code.before(button);
  }

  document.documentElement.classList.add("scripted"); // the controls work from here on, so they are shown
  measure();
  choose();
})();
