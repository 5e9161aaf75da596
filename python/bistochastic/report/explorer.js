// The slider of the explorer and of a report. The exact core computed every number that is shown,
// and the page holds it as a string: this script looks it up, and fills the cells of the picture.
"use strict";
(function () {
  var SVG = "http://www.w3.org/2000/svg";
  function find(id) { return document.getElementById(id); }
  var data = JSON.parse(find("data").textContent);
  var columns = find("x-column"), families = find("x-family"), slider = find("x-beta");
  // A report has no picture.
  var picture = find("x-matrix"), cells = [];

  function option(select, words, value) {
    var made = document.createElement("option");
    made.textContent = words;
    made.value = value;
    select.appendChild(made);
  }

  function scene() { return data.scenes[Number(columns.value)]; }
  function family() { return data.laws[scene().size][Number(families.value)]; }

  function add(group, tag, given) {
    var made = document.createElementNS(SVG, tag);
    for (var name in given) made.setAttribute(name, given[name]);
    return group.appendChild(made);
  }

  // A rectangle and a text for each cell of the frame.
  function lay() {
    var group = find("x-cells"), n = Number(group.dataset.size), side = Number(group.dataset.cell);
    for (var i = 0; i < n * n; i++) {
      var x = (i % n) * side, y = Math.floor(i / n) * side;
      cells.push({
        box: add(group, "rect", { x: x, y: y, width: side, height: side, "class": "bs-ink" }),
        text: add(group, "text", { x: x + side / 2, y: y + side / 2 + 4, "text-anchor": "middle" }),
        strike: "M" + x + " " + y + "l" + side + " " + side
      });
    }
  }

  function draw(law, step) {
    var strikes = "";
    picture.querySelector("desc").textContent = step[1];
    cells.forEach(function (cell, i) {
      var group = parseInt(law.index.substr(2 * i, 2), 36);
      var shade = parseInt(step[2].substr(2 * group, 2), 36);
      // 101 stands for exactly 0.
      var never = shade === 101;
      cell.box.setAttribute("fill-opacity", never ? 0 : 0.02 + 0.0058 * shade);
      cell.text.textContent = data.texts[shade];
      if (never) strikes += cell.strike;
    });
    find("x-strikes").setAttribute("d", strikes);
  }

  function show() {
    var law = family(), at = Number(slider.value), step = law.steps[at];
    // A string says why there is no such matrix.
    var known = typeof step !== "string", beta = data.betas[at];
    find("x-asked").textContent = beta;
    data.facts.forEach(function (_, i) {
      find("x-fact-" + i).textContent = known ? step[0][i] : "–";
    });
    find("x-none").hidden = known;
    find("x-none").textContent = known ? "" : step;
    slider.setAttribute("aria-valuetext", "beta " + beta + ", " +
      (known ? "epsilon " + step[0][1] : "no such matrix"));
    if (picture) picture.hidden = !known;
    if (!known) return step;
    if (picture) draw(law, step);
    var words = "Beta " + step[0][0] + ", epsilon " + step[0][1] + ". ";
    if (step[0][1] === "infinite") {
      return words + "Some reported value rules out some true value: a reader may become certain.";
    }
    return words + "A suspicion of 1% becomes at most " + step[0][2] + ", one of 10% at most " +
      step[0][3] + ".";
  }

  function tell() { find("x-said").textContent = show(); }
  function start() { slider.value = scene().start; tell(); }

  function list() {
    var chosen = families.selectedIndex;
    while (families.lastChild) families.removeChild(families.lastChild);
    data.laws[scene().size].forEach(function (law, i) { option(families, law.name, i); });
    families.selectedIndex = Math.max(0, chosen);
  }

  data.scenes.forEach(function (each, i) { option(columns, each.name, i); });
  columns.parentNode.hidden = data.scenes.length < 2;
  slider.max = data.betas.length - 1;
  if (picture) lay();
  list();
  columns.addEventListener("change", function () { list(); start(); });
  families.addEventListener("change", tell);
  slider.addEventListener("input", show);
  // Read out once the slider rests, not at every step on the way.
  slider.addEventListener("change", tell);
  find("explorer").hidden = false;
  start();
  document.documentElement.setAttribute("data-ready", "yes");
})();
