"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const root = document.documentElement;
  const narrow = () => window.innerWidth < 640;
  const coarse = matchMedia("(pointer: coarse)").matches;
  // A4 without its margins, in CSS pixels.
  const PRINT_WIDTH = 660;
  const FEW = 20; // clusters with a colour of their own
  const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];

  // --- colours --------------------------------------------------------------------------------

  const THEMES = {
    light: { paper: "#fffefb", ink: "#1b1b1a", soft: "#5a5853", rule: "#dedbd4", wash: 0.3 },
    dark: { paper: "#161615", ink: "#ecebe6", soft: "#aba8a0", rule: "#3b3a37", wash: 0.36 },
    print: { paper: "#ffffff", ink: "#000000", soft: "#444444", rule: "#cccccc", wash: 0.3 },
  };
  const paletteOf = (theme) => data.colours[theme === "dark" ? "dark" : "light"];
  // Rows of cluster -1 are noise: in no cluster.
  const NOISE = "#999999";
  const colourOf = (theme, cluster) =>
    cluster < 0 ? NOISE : paletteOf(theme)[cluster % paletteOf(theme).length];
  const symbolOf = (cluster) =>
    cluster < 0 ? SYMBOLS[0] : SYMBOLS[Math.floor(cluster / FEW) % SYMBOLS.length];

  /** Mix a share of a colour into a background. */
  function mixed(colour, background, share) {
    const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const [a, b] = [parts(colour), parts(background)];
    return `rgb(${a.map((v, i) => Math.round(v * share + b[i] * (1 - share))).join(",")})`;
  }

  /** Plotly reads a little HTML in its texts: what comes from the table must stay text. */
  const text = (value) =>
    String(value).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  // --- what figures have in common -------------------------------------------------------------

  function layout(theme, extra) {
    const { paper, ink, soft, rule } = THEMES[theme];
    const axis = {
      color: soft, gridcolor: rule, zerolinecolor: rule, linecolor: rule, zeroline: false,
      ticks: "outside", ticklen: 4, tickcolor: rule, automargin: true,
      title: { font: { size: 13, color: soft }, standoff: 8 },
    };
    const merged = (own) => ({ ...axis, ...own, title: { ...axis.title, ...(own || {}).title } });
    return {
      paper_bgcolor: paper, plot_bgcolor: paper, showlegend: false, hovermode: "closest",
      font: { family: getComputedStyle(document.body).getPropertyValue("--sans"), size: 13, color: ink },
      margin: { l: 8, r: 8, t: 8, b: 8 },
      hoverlabel: { bgcolor: paper, bordercolor: soft, align: "left", font: { size: 13, color: ink } },
      dragmode: coarse ? false : "zoom",
      ...extra,
      xaxis: merged(extra.xaxis),
      yaxis: merged(extra.yaxis),
    };
  }

  function planeLayout(theme, width, grid) {
    const { x, y } = data.basins;
    const ends = (values) => [values[0], values[values.length - 1]];
    const [left, right] = ends(x), [low, high] = ends(y);
    // Principal components share their units: a step to the right is as long as one up.
    const equal = data.principal ? { scaleanchor: "x", constrain: "domain" } : {};
    const line = data.axes[1] === ""; // a table of one column
    const fitting = ((high - low) / (right - left)) * (width - 60) + 60;
    return layout(theme, {
      height: line ? 200 : data.principal ? Math.min(Math.max(fitting, 240), 560) : Math.min(0.9 * width, 500),
      xaxis: { range: [left, right], constrain: "domain", showgrid: grid, title: { text: text(data.axes[0]) } },
      yaxis: {
        range: [low, high], showgrid: grid && !line, showticklabels: !line, ticks: line ? "" : "outside",
        title: { text: text(data.axes[1]) }, ...equal,
      },
    });
  }

  function memories(theme) {
    const { x, y, cluster: clusters } = data.basins.memories;
    // Many numbers are small, and very many are told to those who point at them only.
    const few = x.length <= FEW;
    const [size, font] = !data.numbered ? [9, 1] : few ? (narrow() ? [17, 10] : [21, 12]) : (narrow() ? [13, 8] : [16, 9]);
    return {
      type: "scatter", x, y, mode: data.numbered ? "markers+text" : "markers",
      text: clusters.map(String), textfont: { size: font, color: THEMES[theme].ink, weight: 700 },
      hovertext: clusters.map((m) => `memory of cluster ${m}`), hoverinfo: "text",
      marker: {
        size, color: THEMES[theme].paper, line: { width: few ? 2.5 : 2, color: clusters.map((m) => colourOf(theme, m)) },
      },
    };
  }

  // --- the figures ------------------------------------------------------------------------------

  function rowText(index) {
    const { row, cluster, energy, entropy, features, values } = data.projection;
    const noise = cluster[index] < 0;
    const names = noise ? [] : features[cluster[index]];
    const told = names.map((name, i) => `${text(name)}: ${text(values[index][i])}`);
    return [
      `<b>row ${text(row[index])}</b>`, noise ? "noise" : `cluster ${cluster[index]}`, ...told,
      `energy ${energy[index]}, entropy ${entropy[index]}`,
    ].join("<br>");
  }

  function projection(theme, width) {
    const { x, y, cluster } = data.projection;
    const rows = {
      type: "scatter", mode: "markers", x, y,
      hovertext: x.map((_, i) => rowText(i)), hoverinfo: "text",
      marker: {
        size: (x.length > 800 ? 5 : 7) - (narrow() ? 1 : 0), opacity: 0.85,
        color: cluster.map((m) => colourOf(theme, m)), symbol: cluster.map(symbolOf),
        line: { width: 0.5, color: THEMES[theme].paper },
      },
    };
    return [[rows, memories(theme)], planeLayout(theme, width, true)];
  }

  function basins(theme, width) {
    const { x, y, labels, borders } = data.basins;
    const k = data.clusters;
    const { paper, ink, wash } = THEMES[theme];
    // The first colour is that of noise, -1.
    const colourscale = Array.from({ length: k + 1 }, (_, i) => {
      const colour = mixed(colourOf(theme, i - 1), paper, wash);
      return [[i / (k + 1), colour], [(i + 1) / (k + 1), colour]];
    }).flat();
    const told = (m) => (m < 0 ? "noise: out of reach of all memories" : `falls to memory ${m}`);
    const regions = {
      type: "heatmap", x, y, z: labels, zmin: -1.5, zmax: k - 0.5, colorscale: colourscale,
      showscale: false, hoverinfo: "text", hovertext: labels.map((line) => line.map(told)),
    };
    const lines = {
      type: "scatter", mode: "lines", hoverinfo: "skip",
      x: borders.flatMap((edge) => [edge[0], edge[2], null]),
      y: borders.flatMap((edge) => [edge[1], edge[3], null]),
      line: { color: ink, width: 1.3, dash: "dash" },
    };
    return [[regions, lines, memories(theme)], planeLayout(theme, width, false)];
  }

  function knives(theme) {
    const { paper, ink, soft } = THEMES[theme];
    const total = data.knives.reduce((sum, knife) => sum + knife.values.length, 0);
    const gap = Math.max(1, total * Math.min(0.02, 0.3 / data.knives.length));
    // Higher with many clusters; a blade whose number would cover that of another has none.
    const few = data.knives.length <= FEW;
    const height = Math.min(Math.max(narrow() ? 380 : 460, 17 * data.knives.length), 1000);
    const apart = ((total + gap * data.knives.length) * (few ? 13 : 11)) / (height - 60);
    let at = 0, least = 0, last = -Infinity;
    const annotations = [];
    const traces = data.knives.map(({ cluster, values, rows }) => {
      // Each row is a step, so that a cluster of one row can be seen too.
      const x = values.flatMap((v) => [v, v]);
      const y = values.flatMap((_, i) => [at + i, at + i + 1]);
      least = Math.min(least, ...values);
      const middle = at + values.length / 2;
      if (middle - last >= apart) {
        last = middle;
        annotations.push({
          x: 0, y: middle, xref: "paper", text: `<b>${cluster}</b>`, showarrow: false,
          xanchor: "left", font: { size: few ? 12 : 10, color: ink },
        });
      }
      at += values.length + gap;
      return {
        type: "scatter", mode: "lines", x: [0, ...x, 0], y: [y[0], ...y, y[y.length - 1]],
        fill: "toself", fillcolor: mixed(colourOf(theme, cluster), paper, 0.85), line: { width: 0.5, color: colourOf(theme, cluster) },
        hoveron: "points", hoverinfo: "text",
        hovertext: ["", ...rows.flatMap((row, i) => {
          const told = `<b>row ${text(data.projection.row[row])}</b><br>cluster ${cluster}<br>silhouette ${values[i].toFixed(2)}`;
          return [told, told];
        }), ""],
      };
    });
    const mean = {
      type: "line", x0: data.silhouette, x1: data.silhouette, y0: 0, y1: 1, yref: "paper",
      line: { color: ink, width: 1.3, dash: "dash" },
    };
    const room = least < -0.02 ? least * 1.1 : -0.02;
    return [traces, layout(theme, {
      height, annotations, shapes: [mean],
      margin: { l: 28, r: 8, t: 8, b: 8 },
      xaxis: { range: [room, 1], title: { text: "silhouette" }, zeroline: true, zerolinecolor: soft },
      yaxis: { range: [at - gap, 0], showticklabels: false, showgrid: false, ticks: "" },
    })];
  }

  function entropy(theme) {
    const { counts, edges } = data.entropy;
    const { ink, soft, paper } = THEMES[theme];
    const bars = {
      type: "bar", y: counts, x: counts.map((_, i) => (edges[i] + edges[i + 1]) / 2),
      width: edges[1] - edges[0], marker: { color: soft, line: { width: 1, color: paper } },
      hovertext: counts.map((n, i) =>
        `${n.toLocaleString("en")} row${n === 1 ? "" : "s"}<br>entropy ${edges[i].toFixed(2)} to ${edges[i + 1].toFixed(2)}`),
      hoverinfo: "text", textposition: "none",
    };
    const two = Math.log(2);
    const line = {
      type: "line", x0: two, x1: two, y0: 0, y1: 1, yref: "paper", line: { color: ink, width: 1.3, dash: "dash" },
    };
    const last = edges[edges.length - 1];
    const note = {
      x: two, y: 1, yref: "paper", yanchor: "top", xanchor: two > 0.6 * last ? "right" : "left", xshift: two > 0.6 * last ? -4 : 4,
      text: "two memories pull alike", showarrow: false, font: { size: 12, color: soft },
    };
    return [[bars], layout(theme, {
      height: 300, shapes: [line], annotations: [note], bargap: 0,
      xaxis: { range: [0, last * 1.01], title: { text: "entropy of the memberships" }, showgrid: false },
      yaxis: { title: { text: "rows" }, rangemode: "tozero" },
    })];
  }

  const figures = { projection, basins };
  if (data.knives) figures.knives = knives;
  if (data.entropy) figures.entropy = entropy;

  // --- drawing ----------------------------------------------------------------------------------

  function draw(theme, width) {
    for (const [identifier, build] of Object.entries(figures)) {
      const element = document.getElementById(identifier);
      const size = width || element.clientWidth;
      const [traces, shape] = build(theme, size);
      Plotly.react(element, traces, { ...shape, width: size }, { displayModeBar: false });
    }
    for (const element of document.querySelectorAll("[data-cluster]")) {
      element.style.backgroundColor = colourOf(theme, Number(element.dataset.cluster));
    }
  }

  const current = () => root.dataset.theme;
  const button = document.getElementById("theme");

  function setTheme(theme) {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${theme === "dark" ? "light" : "dark"} page`);
    draw(theme);
  }

  button.addEventListener("click", () => {
    const theme = current() === "dark" ? "light" : "dark";
    root.dataset.chosen = "";
    try { localStorage.setItem("amclust-theme", theme); } catch { /* not remembered, then */ }
    setTheme(theme);
  });

  // Browsers lay out paper in light and at another width: neither is the reader's doing.
  let printing = false;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    if (!printing && !("chosen" in root.dataset)) setTheme(event.matches ? "dark" : "light");
  });

  let waiting = 0;
  let lastWidth = window.innerWidth;
  window.addEventListener("resize", () => {
    // A phone's address bar that comes or goes changes the height only.
    if (printing || window.innerWidth === lastWidth) return;
    lastWidth = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (!printing) draw(current()); }, 100);
  });

  const unfolded = [];
  window.addEventListener("beforeprint", () => {
    printing = true;
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      unfolded.push(details);
    }
    draw("print", PRINT_WIDTH);
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    for (const details of unfolded.splice(0)) details.open = false;
    draw(current());
  });

  setTheme(current());
})();
