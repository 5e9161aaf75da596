// The slider of the explorer. Every number that is shown was computed by the exact core and stands
// in the page as text: this script looks it up, and turns it into places and shades of a picture.
"use strict";
(function () {
  var SVG = "http://www.w3.org/2000/svg";
  var data = JSON.parse(document.getElementById("data").textContent);
  var panel = document.getElementById("explorer");
  var columns = document.getElementById("x-column");
  var families = document.getElementById("x-family");
  var slider = document.getElementById("x-beta");
  var asked = document.getElementById("x-asked");
  var said = document.getElementById("x-said");
  var picture = document.getElementById("x-matrix");
  var none = document.getElementById("x-none");
  var cells = [];
  var drawn = null;

  function make(tag, given, text) {
    var made = document.createElementNS(SVG, tag);
    for (var name in given) made.setAttribute(name, given[name]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function option(select, words, value) {
    var made = document.createElement("option");
    made.textContent = words;
    made.value = value;
    select.appendChild(made);
  }

  function scene() { return data.scenes[Number(columns.value)]; }
  function family() { return data.laws[scene().size][Number(families.value)]; }

  // An empty picture for this many levels: a rectangle and a text for each cell.
  function lay() {
    var here = scene(), n = here.size;
    if (drawn === here) return;
    drawn = here;
    var few = n <= 12, cell = few ? 34 : 20, font = few ? 11 : 9, longest = 0, u, v;
    here.levels.forEach(function (name) { longest = Math.max(longest, name.length); });
    var wide = longest * font * 0.6, left = Math.max(wide, 3 * font) + 24, side = cell * n;
    // Above the columns names stand upright where they are wider than these.
    var upright = wide > cell - 2, top = upright ? wide + 30 : 34;
    while (picture.lastChild) picture.removeChild(picture.lastChild);
    cells = [];
    picture.appendChild(make("title", {}, "The chances of every report at the chosen beta"));
    picture.appendChild(make("desc", {}, ""));
    var group = make("g", { transform: "translate(" + left + " " + top + ")", "font-size": font });
    for (u = 0; u < n; u++) {
      for (v = 0; v < n; v++) {
        var box = make("rect", { x: v * cell, y: u * cell, width: cell, height: cell });
        box.setAttribute("class", "bs-ink");
        group.appendChild(box);
        cells.push({ box: box, text: null });
      }
    }
    var strike = make("path", { "class": "bs-strike" });
    group.appendChild(strike);
    var lines = "";
    for (u = 0; u <= n; u++) {
      lines += "M0 " + u * cell + "H" + side + "M" + u * cell + " 0V" + side;
    }
    group.appendChild(make("path", { "class": "bs-grid", d: lines }));
    for (u = 0; u < n; u++) {
      var middle = (u + 0.5) * cell;
      var name = here.levels[u], x = middle + font * 0.35;
      group.appendChild(make("text", upright
        ? { x: x, y: -6, transform: "rotate(-90 " + x + " -6)" }
        : { x: middle, y: -6, "text-anchor": "middle" }, name));
      group.appendChild(make("text", { x: -6, y: middle + 4, "text-anchor": "end" }, name));
      for (v = 0; v < n; v++) {
        var place = { x: (v + 0.5) * cell, y: middle + 4, "text-anchor": "middle" };
        var text = make("text", place);
        group.appendChild(text);
        cells[u * n + v].text = text;
      }
    }
    var quiet = { "class": "bs-quiet", y: 14 - top, x: side / 2, "text-anchor": "middle" };
    group.appendChild(make("text", quiet, "report"));
    quiet = { "class": "bs-quiet", y: -6, x: -6, "text-anchor": "end" };
    group.appendChild(make("text", quiet, "truth"));
    picture.appendChild(group);
    picture.setAttribute("viewBox", "0 0 " + (left + side + 2) + " " + (top + side + 2));
    picture.setAttribute("width", left + side + 2);
    picture.setAttribute("height", top + side + 2);
    picture.strike = strike;
    picture.cell = cell;
  }

  function show() {
    lay();
    var law = family(), here = scene(), n = here.size, at = Number(slider.value);
    var step = law.steps[at];
    // A text says why there is no such matrix.
    var known = typeof step !== "string", beta = data.betas[at];
    asked.textContent = beta;
    data.facts.forEach(function (_, i) {
      document.getElementById("x-fact-" + i).textContent = known ? step[0][i] : "–";
    });
    picture.toggleAttribute("hidden", !known);
    none.hidden = known;
    none.textContent = known ? "" : step;
    slider.setAttribute("aria-valuetext", "beta " + beta + ", " +
      (known ? "epsilon " + step[0][1] : "no such matrix"));
    if (!known) return step;
    var span = step[1];
    picture.querySelector("desc").textContent = "The truth is reported with probability " +
      span[0] + ", each other report with " + span[1] + "; " + span[2] + " of these never occur.";
    var strike = "", size = picture.cell;
    cells.forEach(function (cell, i) {
      var group = parseInt(law.index.substr(2 * i, 2), 36);
      var shade = parseInt(step[2].substr(2 * group, 2), 36);
      // 101 stands for exactly 0.
      var never = shade === 101;
      cell.box.setAttribute("fill-opacity", never ? 0 : 0.02 + 0.0058 * shade);
      cell.text.textContent = data.texts[n <= 12 ? 0 : 1][shade];
      if (never) {
        var x = (i % n) * size, y = Math.floor(i / n) * size;
        strike += "M" + x + " " + y + "l" + size + " " + size;
      }
    });
    picture.strike.setAttribute("d", strike);
    var words = "Beta " + step[0][0] + ", epsilon " + step[0][1] + ". ";
    if (step[0][1] === "infinite") {
      return words + "Some report rules some answer out, so that someone may become certain.";
    }
    return words + "A belief of 1 % becomes at most " + step[0][2] + ", one of 10 % at most " +
      step[0][3] + ".";
  }

  function start() {
    slider.value = scene().start;
    said.textContent = show();
  }

  function list() {
    var kept = families.selectedIndex;
    while (families.lastChild) families.removeChild(families.lastChild);
    data.laws[scene().size].forEach(function (law, i) { option(families, law.name, i); });
    families.selectedIndex = Math.max(0, kept);
  }

  data.scenes.forEach(function (each, i) { option(columns, each.name, i); });
  columns.parentNode.hidden = data.scenes.length < 2;
  slider.max = data.betas.length - 1;
  list();
  columns.addEventListener("change", function () { list(); start(); });
  families.addEventListener("change", function () { said.textContent = show(); });
  slider.addEventListener("input", show);
  // Read out once the slider rests, not at every step on the way.
  slider.addEventListener("change", function () { said.textContent = show(); });
  panel.hidden = false;
  start();
  document.documentElement.setAttribute("data-ready", "yes");
})();
