// Copyright (c) 2026 The rdma.ofed engineers
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const { nodes, links, findings, totals } = data;
  const SEVERITIES = ["error", "warning", "notice"];
  const STATES = ["ok", "notice", "warning", "error"];
  const TYPES = { switch: "switch", ca: "adapter", router: "router" };
  const RANKS = ["Hosts", "Leaf", "Spine", "Core"];
  // Above this number of hosts, those of a leaf are folded until it is opened.
  const OPEN = 64;
  const ROWS = window.matchMedia("(max-width: 640px)").matches ? 12 : 100;
  // Pixels.
  const LEGIBLE = 6.2;
  // Switches of a rank that are in one line, before there are several.
  const LINE = 84;

  const collator = new Intl.Collator("en", { numeric: true });

  // Texts of the fabric become text nodes and nothing else.
  function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child != null));
    return made;
  }
  const svg = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const many = (count, one, more) => count + " " + (count === 1 ? one : more || one + "s");
  const short = (name) => name.split(" ")[0] || name;
  const when = (time) => time.replace("T", " ").replace(/:\d\dZ$/, " UTC");

  // What belongs to a node and to a link.
  nodes.forEach((node) => { node.links = []; node.findings = []; });
  links.forEach((link, number) => {
    link.findings = [];
    for (const [end] of link.ends) nodes[end].links.push(number);
  });
  findings.forEach((finding, number) => {
    for (const node of finding.nodes) nodes[node].findings.push(number);
    for (const link of finding.links) links[link].findings.push(number);
  });
  const place = ([node, port]) => nodes[node].name + (port ? " port " + port : "");
  const cable = (link) => place(link.ends[0]) + " \u2013 " + place(link.ends[1]);
  const pace = (link) => (link.lost ? "no link" : link.pace + (link.wanted && link.wanted !== link.pace ? ", could be " + link.wanted : ""));

  // ---------------------------------------------------------------- topology
  const hosts = nodes.map((node, number) => number).filter((number) => nodes[number].rank === 0);
  const children = new Map();
  const strays = [];
  for (const host of hosts) {
    const up = nodes[host].links.map((number) => links[number].ends.find(([end]) => end !== host)).find((end) => end && nodes[end[0]].rank > 0);
    if (!up) { strays.push(host); continue; }
    nodes[host].parent = up[0];
    if (!children.has(up[0])) children.set(up[0], []);
    children.get(up[0]).push(host);
  }
  for (const own of children.values()) own.sort((one, other) => collator.compare(nodes[one].name, nodes[other].name));
  const opened = new Set(hosts.length <= OPEN ? children.keys() : []);
  const foldable = hosts.length > OPEN;
  const top = nodes.reduce((most, node) => Math.max(most, node.rank), 0);
  const byRank = Array.from({ length: top + 1 }, () => []);
  nodes.forEach((node, number) => byRank[node.rank].push(number));

  const canvas = svg("svg", { tabindex: "0", role: "application", "aria-label": "Topology. Arrow keys move between nodes, Enter opens the hosts of a leaf, plus, minus and 0 zoom, Escape clears." });
  const frame = () => canvas.getBoundingClientRect();
  const margin = () => (frame().width > 600 ? { left: 92, right: 20, head: 52, foot: 24 } : { left: 16, right: 16, head: 72, foot: 24 });
  let boxes = new Map();
  let folds = new Map();
  let bands = [];
  let world = { width: 0, height: 0 };
  const widest = (numbers) => numbers.reduce((most, number) => Math.max(most, short(nodes[number].name).length), 1);

  // The distance of two ranks of switches, with which the drawing has the shape of its frame.
  function spread(width, foot) {
    const { width: across, height: down } = frame(), { left, right, head, foot: low } = margin();
    const ranks = byRank.slice(1).filter((numbers) => numbers.length).length;
    const wanted = (width * (down - head - low)) / Math.max(1, across - left - right) - foot;
    return Math.max(100, Math.min(ranks > 1 ? wanted / (ranks - 1) : 0, width * 0.6));
  }

  function layout() {
    boxes = new Map(); folds = new Map(); bands = [];
    const hostWidth = Math.min(96, Math.max(44, widest(hosts) * 7.2 + 12));
    const pitchOf = (numbers) => {
      const wanted = Math.min(150, widest(numbers) * 6.8 + 26);
      return numbers.length <= 12 ? Math.max(72, wanted) : numbers.length <= 40 ? Math.max(44, Math.min(60, wanted)) : 30;
    };
    const leaves = byRank[1] || [];
    const pitch = pitchOf(leaves);
    const perLine = Math.ceil(leaves.length / Math.ceil(leaves.length / Math.max(LINE, Math.sqrt(leaves.length) * 4))) || 1;
    // Leaves, each as wide as its hosts.
    const slots = leaves.map((leaf) => {
      const own = opened.has(leaf) ? children.get(leaf) || [] : [];
      const columns = Math.min(own.length, frame().width < 600 ? (own.length > 8 || leaves.length < 3 ? 3 : 2) : own.length > 24 ? 12 : own.length > 8 ? 6 : 8);
      return { leaf, own, columns, width: Math.max(pitch, columns * (hostWidth + 6) + 18) };
    });
    const lines = [];
    for (let at = 0; at < slots.length; at += perLine) lines.push(slots.slice(at, at + perLine));
    const wide = (line) => line.reduce((sum, slot) => sum + slot.width, 0);
    let width = Math.max(260, ...lines.map(wide));
    for (const numbers of byRank.slice(2)) width = Math.max(width, Math.min(numbers.length, LINE) * Math.min(pitchOf(numbers), 60));
    const gap = spread(width, slots.some((slot) => slot.own.length) ? 100 : 60);
    const put = (number, x, y, w, h) => boxes.set(number, { x, y, w, h });
    let y = 0;
    for (let rank = top; rank > 1; rank -= 1) {
      const numbers = byRank[rank];
      if (!numbers.length) continue;
      const own = pitchOf(numbers);
      const lines = Math.ceil(numbers.length / Math.max(1, Math.floor(width / Math.min(own, width / Math.min(numbers.length, LINE)))));
      const each = Math.ceil(numbers.length / lines);
      const step = width / each;
      const w = Math.min(step - 6, own * 0.82, 130), h = own >= 60 ? 24 : 14;
      bands.push({ rank, y, h });
      numbers.forEach((number, index) => {
        const line = Math.floor(index / each), count = line === lines - 1 ? numbers.length - each * line : each;
        put(number, width / 2 + (index % each - (count - 1) / 2) * step, y + line * (h + 8), w, h);
      });
      y += (lines - 1) * (h + 8) + gap;
    }
    if (leaves.length) {
      bands.push({ rank: 1, y, h: 24 });
      for (const line of lines) {
        const room = (width - wide(line)) / line.length;
        let x = room / 2, deepest = 0;
        for (const slot of line) {
          const middle = x + slot.width / 2, w = Math.min(pitch * 0.82, 130), h = pitch >= 60 ? 24 : 16, open = slot.own.length > 0;
          put(slot.leaf, middle, y, open ? Math.min(slot.width - 12, Math.max(w, short(nodes[slot.leaf].name).length * 7.4 + 14)) : w, open ? 24 : h);
          slot.own.forEach((host, index) => {
            const row = Math.floor(index / slot.columns), count = Math.min(slot.columns, slot.own.length - row * slot.columns);
            put(host, middle + (index % slot.columns - (count - 1) / 2) * (hostWidth + 6), y + 72 + row * 28, hostWidth, 20);
            deepest = Math.max(deepest, 72 + row * 28);
          });
          const own = children.get(slot.leaf);
          if (own && !slot.own.length) { folds.set(slot.leaf, { x: middle, y: y + 40, w, h: 16, hosts: own }); deepest = Math.max(deepest, 40); }
          x += slot.width + room;
        }
        if (line === lines[0] && deepest) bands.push({ rank: 0, y: y + (slots.some((slot) => slot.own.length) ? 72 : 40), h: 20 });
        y += deepest + 48;
      }
    }
    // Hosts at switches of other ranks, and those without a switch.
    const rest = hosts.filter((host) => !boxes.has(host) && !(nodes[host].parent >= 0 && nodes[nodes[host].parent].rank === 1));
    if (rest.length) {
      const each = Math.max(1, Math.floor(width / (hostWidth + 6)));
      rest.forEach((host, index) => put(host, width / 2 + (index % each - (Math.min(each, rest.length) - 1) / 2) * (hostWidth + 6), y + Math.floor(index / each) * 28, hostWidth, 20));
      y += Math.ceil(rest.length / each) * 28 + 12;
    }
    world = { width, height: Math.max(y - 20, 60) };
  }

  // The points of each link that is to be seen. Links of one pair lie beside each other.
  let courses = [];
  function route() {
    const pairs = new Map();
    courses = [];
    links.forEach((link, number) => {
      const [one, other] = link.ends.map(([node]) => node);
      if (!boxes.has(one) || !boxes.has(other)) return;
      const key = Math.min(one, other) + " " + Math.max(one, other);
      if (!pairs.has(key)) pairs.set(key, []);
      pairs.get(key).push(number);
    });
    for (const same of pairs.values()) {
      same.forEach((number, index) => {
        const shift = (index - (same.length - 1) / 2) * 6;
        let [near, far] = links[number].ends.map(([node]) => boxes.get(node));
        if (near.y > far.y) [near, far] = [far, near];
        const points = [];
        if (far.y - near.y < 30) {
          const depth = 26 + Math.abs(far.x - near.x) * 0.06 + index * 8;
          for (let step = 0; step <= 8; step += 1) {
            const part = step / 8;
            points.push([near.x + (far.x - near.x) * part, near.y + near.h / 2 + (far.y - near.y) * part + 4 * depth * part * (1 - part)]);
          }
        } else points.push([near.x + shift, near.y + near.h / 2], [far.x + shift, far.y - far.h / 2]);
        courses.push({ number, points });
      });
    }
  }
  const line = (points) => "M" + points.map(([x, y]) => x.toFixed(1) + " " + y.toFixed(1)).join("L");

  const view = svg("g");
  const ranksOf = svg("g", { class: "ranks" });
  canvas.append(view, ranksOf);
  const tip = el("div", { class: "tip", hidden: true });
  const side = el("div", { class: "side", "aria-live": "polite" });
  let chosen = null;
  let drawn = new Map();
  let overlay = null, hovered = null;

  function box(at, state, label, extra, about) {
    const size = Math.max(4, Math.min(at.h >= 20 ? 12 : 11, (at.w - 5) / (Math.max(1, label.length) * 0.6)));
    const text = svg("text", { "font-size": size.toFixed(1) });
    text.textContent = label;
    const group = svg("g", { class: "node s" + state + extra, transform: "translate(" + at.x.toFixed(1) + " " + at.y.toFixed(1) + ")" },
      svg("rect", { x: -at.w / 2, y: -at.h / 2, width: at.w, height: at.h, rx: 3 }), text);
    group.about = about;
    group.size = size;
    return group;
  }

  function draw() {
    layout();
    route();
    view.replaceChildren();
    drawn = new Map();
    const quiet = courses.filter(({ number }) => !links[number].state);
    const loud = courses.filter(({ number }) => links[number].state).sort((one, other) => links[one.number].state - links[other.number].state);
    const faint = Math.max(quiet.length > 4000 ? 0.15 : frame().width > 600 ? 0.4 : 0.2, Math.min(1, (250 / (quiet.length + 1)) * (frame().width / 1000)));
    const all = svg("path", { class: "link", d: quiet.map(({ points }) => line(points)).join("") });
    all.style.strokeWidth = faint.toFixed(2);
    view.append(all);
    for (const [leaf, at] of folds) {
      const above = boxes.get(leaf);
      view.append(svg("path", { class: "link", d: line([[at.x, above.y + above.h / 2], [at.x, at.y - at.h / 2]]) }));
    }
    for (const { number, points } of loud) view.append(svg("path", { class: "link s" + links[number].state + (links[number].lost ? " lost" : ""), d: line(points) }));
    overlay = svg("path", { class: "link chosen", d: "" });
    hovered = svg("path", { class: "link hover", d: "" });
    view.append(overlay, hovered);
    for (const [number, at] of boxes) {
      const node = nodes[number];
      const group = box(at, node.state, short(node.name), node.lost ? " lost" : "", { node: number });
      drawn.set(number, group);
      view.append(group);
    }
    for (const [leaf, at] of folds) {
      const worst = at.hosts.reduce((most, host) => Math.max(most, nodes[host].state, ...nodes[host].links.map((number) => links[number].state)), 0);
      view.append(box(at, worst, String(at.hosts.length), " fold", { fold: leaf }));
    }
    ranksOf.replaceChildren(...bands.map(({ rank }) => svg("text", { x: 12 }, RANKS[Math.min(rank, 3)] + " ", svg("tspan", {}, String(byRank[rank].filter((number) => !nodes[number].lost).length)))));
    mark();
    legible();
  }

  let transform = d3.zoomIdentity;
  function legible() {
    for (const group of view.querySelectorAll(".node")) group.classList.toggle("mute", group.size * transform.k < LEGIBLE);
    const above = margin().left < 40;
    let last = -Infinity;
    [...ranksOf.children].forEach((text, index) => {
      const y = transform.applyY(bands[index].y) + (above ? -bands[index].h * transform.k / 2 - 6 : 4);
      text.setAttribute("y", y.toFixed(1));
      text.setAttribute("display", y - last < 13 ? "none" : "inline");
      if (y - last >= 13) last = y;
    });
  }
  const zoom = d3.zoom().scaleExtent([0.05, 12])
    // A wheel or one finger scrolls the page; the focused drawing, Ctrl and two fingers zoom.
    .filter((event) => {
      if (event.type === "wheel") return event.ctrlKey || event.metaKey || document.activeElement === canvas;
      if (event.touches) return event.touches.length > 1;
      return !event.button;
    })
    .on("zoom", (event) => {
      const scaled = event.transform.k !== transform.k;
      transform = event.transform;
      view.setAttribute("transform", transform);
      if (scaled || ranksOf.children.length) legible();
    });
  const stage = d3.select(canvas).call(zoom).on("dblclick.zoom", null);
  const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const move = () => (still() ? stage : stage.transition().duration(220));

  function fitted() {
    const { width, height } = frame(), { left, right, head, foot } = margin();
    const k = Math.min((width - left - right) / world.width, (height - head - foot) / world.height, 1.5);
    const x = left + (width - left - right - world.width * k) / 2, y = head + Math.max(0, (height - head - foot - world.height * k) / 2);
    return d3.zoomIdentity.translate(x, y).scale(k);
  }
  const fit = (how) => (how || move()).call(zoom.transform, fitted());

  function center(numbers, closer) {
    const at = numbers.map((number) => boxes.get(number)).filter(Boolean);
    if (!at.length) return;
    const { width, height } = frame();
    const seen = at.map(({ x, y }) => transform.apply([x, y])).every(([x, y]) => x > 20 && y > 20 && x < width - 20 && y < height - 20);
    if (seen && !closer && (numbers.length > 1 || drawn.get(numbers[0]).size * transform.k >= LEGIBLE)) return;
    const [left, right] = [Math.min(...at.map(({ x }) => x)), Math.max(...at.map(({ x }) => x))];
    const [head, foot] = [Math.min(...at.map(({ y }) => y)), Math.max(...at.map(({ y }) => y))];
    const k = Math.min(Math.max(fitted().k, 1.1), (width - 160) / (right - left + 1), (height - 160) / (foot - head + 1));
    move().call(zoom.transform, d3.zoomIdentity.translate(width / 2, height / 2).scale(k).translate(-(left + right) / 2, -(head + foot) / 2));
  }

  function toggle(leaf) {
    if (!foldable || !children.has(leaf)) return;
    const before = boxes.get(leaf);
    if (opened.has(leaf)) opened.delete(leaf); else opened.add(leaf);
    draw();
    const after = boxes.get(leaf);
    // It stays where it is on the screen, and its hosts come nearer.
    stage.call(zoom.transform, transform.translate(before.x - after.x, before.y - after.y));
    if (opened.has(leaf)) center([leaf, ...children.get(leaf)], true);
  }
  function reveal(numbers) {
    const shut = numbers.map((number) => nodes[number].parent).filter((leaf) => leaf >= 0 && nodes[leaf].rank === 1 && !opened.has(leaf));
    if (!shut.length) return;
    shut.forEach((leaf) => opened.add(leaf));
    draw();
  }

  function mark() {
    for (const [number, group] of drawn) group.classList.toggle("chosen", !!chosen && chosen.nodes.includes(number));
    const marked = new Set(chosen ? chosen.links : []);
    overlay.classList.toggle("several", marked.size > 2);
    overlay.setAttribute("d", courses.filter(({ number }) => marked.has(number)).map(({ points }) => line(points)).join(""));
  }
  function choose(what) {
    chosen = what;
    mark();
    describe();
  }
  function showOnMap(what, scroll) {
    const ends = [...what.nodes, ...what.links.flatMap((number) => links[number].ends.map(([node]) => node))];
    reveal(ends);
    choose(what);
    center(ends);
    if (scroll) canvas.scrollIntoView({ block: "center", behavior: still() ? "auto" : "smooth" });
  }
  const chooseNode = (number) => choose({ nodes: [number], links: nodes[number].links });
  const chooseLink = (number) => choose({ nodes: [], links: [number] });

  const severity = (name) => el("span", { class: name }, name);
  const list = (items) => el("ul", {}, ...items.map(({ title, more, act, kind }) => el("li", {}, el("button", { type: "button", onclick: act }, el("b", { class: kind }, title), more ? el("span", {}, more) : null))));
  const facts = (pairs) => el("dl", {}, ...pairs.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  const findingItem = (number) => {
    const each = findings[number];
    return { title: each.object, kind: each.severity, more: each.found + ", expected " + each.expected, act: () => showFinding(number) };
  };
  function showFinding(number, scroll) {
    const each = findings[number];
    showOnMap({ nodes: each.nodes, links: each.links, finding: number }, scroll);
  }

  function describe() {
    side.classList.toggle("idle", !chosen);
    const back = el("h4", {}, el("button", { type: "button", onclick: () => { choose(null); canvas.focus({ preventScroll: true }); } }, "All findings"));
    if (!chosen) {
      const shown = findings.map((finding, number) => number).slice(0, 40);
      side.replaceChildren(el("h3", {}, findings.length ? many(findings.length, "finding") : "No findings"),
        findings.length ? list(shown.map(findingItem)) : el("p", { class: "hint" }, "Click a node or a link to see both of its ends."));
      if (findings.length > shown.length) side.append(el("p", { class: "hint" }, "The others are in the table below."));
    } else if (chosen.finding !== undefined) {
      const each = findings[chosen.finding];
      side.replaceChildren(el("h3", { class: each.severity }, each.object),
        facts([["Found", each.found], ["Expected", each.expected], ["Likely cause", each.cause], ["Next step", each.next_step], ["Code", link(each.code)]]), back);
      if (!each.nodes.length && !each.links.length) back.before(el("p", { class: "hint" }, "It has no place in the drawing."));
    } else if (chosen.nodes.length) {
      const node = nodes[chosen.nodes[0]];
      const cables = node.links.map((number) => {
        const [near, far] = links[number].ends[0][0] === chosen.nodes[0] ? links[number].ends : [links[number].ends[1], links[number].ends[0]];
        return { number, port: near[1], title: "Port " + near[1] + " \u2013 " + place(far), more: pace(links[number]), kind: links[number].state ? STATES[links[number].state] : null };
      }).sort((one, other) => one.port - other.port);
      side.replaceChildren(el("h3", {}, node.name), facts([
        ["Type", TYPES[node.type] || node.type], ["State", node.lost ? "not in the fabric" : ""], ["GUID", node.guid], ["LID", node.lids.join(", ")], ["Ports", node.ports ? String(node.ports) : ""],
        ["Device ID", node.device_id], ["PSID", node.psid], ["Firmware", node.firmware]]));
      if (foldable && children.has(chosen.nodes[0])) {
        const leaf = chosen.nodes[0];
        side.append(el("h4", {}, el("button", { type: "button", onclick: () => { toggle(leaf); describe(); } }, (opened.has(leaf) ? "Fold " : "Show ") + many(children.get(leaf).length, "host"))));
      }
      if (node.findings.length) side.append(el("h4", {}, "Findings"), list(node.findings.map(findingItem)));
      side.append(el("h4", {}, many(node.links.length, "link")), list(cables.slice(0, 60).map((each) => ({ ...each, act: () => showOnMap({ nodes: [], links: [each.number] }) }))), back);
    } else {
      const number = chosen.links[0], each = links[number];
      side.replaceChildren(el("h3", {}, "Link"), facts([["Runs at", each.lost ? "no link" : each.pace || "not known"], ["Could be", each.wanted]]));
      for (const [node, port] of each.ends) {
        side.append(el("h4", {}, "End"), list([{ title: place([node, port]), more: nodes[node].guid, act: () => showOnMap({ nodes: [node], links: nodes[node].links }) }]));
      }
      if (each.findings.length) side.append(el("h4", {}, "Findings"), list(each.findings.map(findingItem)));
      side.append(back);
    }
    side.scrollTop = 0;
  }

  // The link next to the pointer, within some pixels.
  function nearest(x, y, reach) {
    let best = null, least = reach / transform.k;
    for (const course of courses) {
      for (let index = 1; index < course.points.length; index += 1) {
        const [ax, ay] = course.points[index - 1], [bx, by] = course.points[index];
        const dx = bx - ax, dy = by - ay;
        const part = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
        const distance = Math.hypot(x - ax - part * dx, y - ay - part * dy) - (links[course.number].state ? 1 / transform.k : 0);
        if (distance < least) { least = distance; best = course; }
      }
    }
    return best;
  }
  const spot = (event) => { const { left, top: head } = frame(); return [event.clientX - left, event.clientY - head]; };
  const groupOf = (event) => { const group = event.target.closest && event.target.closest(".node"); return group ? group.about : null; };
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse" || event.buttons) { tip.hidden = true; return; }
    const [px, py] = spot(event), about = groupOf(event);
    let text = "", path = "";
    if (about && about.node !== undefined) {
      const node = nodes[about.node];
      text = node.name + "\n" + (node.lost ? "not in the fabric" : many(node.links.length, "link")) + (node.findings.length ? ", " + many(node.findings.length, "finding") : "");
      const own = new Set(node.links);
      path = courses.filter(({ number }) => own.has(number)).map(({ points }) => line(points)).join("");
    } else if (about) text = many(children.get(about.fold).length, "host") + " of " + nodes[about.fold].name + "\nClick to show them.";
    else {
      const course = nearest(...transform.invert([px, py]), 7);
      if (course) { text = cable(links[course.number]) + "\n" + pace(links[course.number]); path = line(course.points); }
    }
    hovered.setAttribute("d", path);
    tip.hidden = !text;
    tip.textContent = text;
    const { width } = frame();
    tip.style.left = Math.max(4, Math.min(px + 14, width - tip.offsetWidth - 6)) + "px";
    tip.style.top = py + 16 + "px";
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; hovered.setAttribute("d", ""); });
  canvas.addEventListener("click", (event) => {
    canvas.focus({ preventScroll: true });
    const about = groupOf(event);
    if (about && about.fold !== undefined) { toggle(about.fold); chooseNode(about.fold); return; }
    if (about) { chooseNode(about.node); return; }
    const course = nearest(...transform.invert(spot(event)), 12);
    if (course) chooseLink(course.number); else choose(null);
  });
  canvas.addEventListener("dblclick", (event) => { const about = groupOf(event); if (about && about.node !== undefined) toggle(about.node); });
  canvas.addEventListener("keydown", (event) => {
    const now = chosen && chosen.nodes.length ? chosen.nodes[0] : null;
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key], upwards = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (event.key === "+" || event.key === "=") move().call(zoom.scaleBy, 1.4);
    else if (event.key === "-") move().call(zoom.scaleBy, 1 / 1.4);
    else if (event.key === "0") fit();
    else if (event.key === "Escape") choose(null);
    else if (event.key === "Enter" && now !== null) { toggle(now); describe(); }
    else if (sideways || upwards) {
      const start = now !== null ? now : [...boxes.keys()][0];
      const at = boxes.get(start), rank = nodes[start].rank;
      let best = start, least = Infinity;
      for (const [number, other] of now === null ? [] : boxes) {
        if (number === start) continue;
        const dx = other.x - at.x, dy = other.y - at.y;
        const fits = sideways ? nodes[number].rank === rank && Math.abs(dy) < 5 && dx * sideways > 0 : nodes[number].rank !== rank && dy * upwards < 0;
        const distance = sideways ? Math.abs(dx) : Math.abs(dy) * 1000 + Math.abs(dx);
        if (fits && distance < least) { least = distance; best = number; }
      }
      chooseNode(best);
      const target = boxes.get(best), [x, y] = transform.apply([target.x, target.y]), { width, height } = frame();
      if (x < 40 || y < 40 || x > width - 40 || y > height - 40) stage.call(zoom.translateTo, target.x, target.y);
    } else return;
    event.preventDefault();
  });

  // ---------------------------------------------------------------- tables
  const link = (code) => el("a", { href: "#code-" + code, class: "mono" }, code);
  const jump = (text, act) => el("button", { type: "button", class: "show", title: "Show in the topology", onclick: act }, text);
  const order = (row, other, id) => {
    const one = row.getValue(id), two = other.getValue(id);
    return typeof one === "number" && typeof two === "number" ? one - two : collator.compare(one, two);
  };

  // columns: id, title, value (what is searched and sorted), show (what is shown), kind (class).
  function table(id, rows, columns, start, first) {
    const text = rows.map((row) => columns.map((column) => column.value(row)).join(" ").toLowerCase());
    const least = Math.min(first || ROWS, ROWS);
    let limit = least;
    const model = TableCore.createTable({
      data: rows.map((row, index) => ({ row, text: text[index] })),
      columns: columns.map((column) => ({ id: column.id, accessorFn: ({ row }) => column.value(row), sortingFn: order, sortDescFirst: false, enableGlobalFilter: column === columns[0] })),
      state: {}, renderFallbackValue: null, onStateChange() {},
      getCoreRowModel: TableCore.getCoreRowModel(), getFilteredRowModel: TableCore.getFilteredRowModel(), getSortedRowModel: TableCore.getSortedRowModel(),
      getColumnCanGlobalFilter: (column) => column.id === columns[0].id,
      globalFilterFn: (row, column, words) => words.every((word) => row.original.text.includes(word)),
    });
    let state = { ...model.initialState, sorting: start || [] };
    model.setOptions((options) => ({ ...options, state, onStateChange: (update) => {
      state = update(state);
      model.setOptions((now) => ({ ...now, state }));
      paint();
    } }));
    const heads = columns.map((column) => el("th", { scope: "col", class: column.kind }, el("button", { type: "button", onclick: () => model.getColumn(column.id).toggleSorting() }, column.title)));
    const body = el("tbody"), count = el("span", { role: "status" });
    const more = el("div", { class: "more" });
    const input = el("input", { type: "search", placeholder: "Search", "aria-label": "Search in " + id, oninput: () => {
      limit = least;
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      model.setGlobalFilter(words.length ? words : undefined);
    } });
    function paint() {
      const found = model.getSortedRowModel().rows;
      body.replaceChildren(...found.slice(0, limit).map(({ original: { row } }) => el("tr", {}, ...columns.map((column) => {
        const value = column.value(row);
        return el("td", { class: (column.kind || "") + (value === "" ? " blank" : ""), "data-label": column.title }, el("span", {}, column.show ? column.show(row) : String(value)));
      }))));
      columns.forEach((column, index) => {
        const way = model.getColumn(column.id).getIsSorted();
        heads[index].setAttribute("aria-sort", way === "asc" ? "ascending" : way === "desc" ? "descending" : "none");
      });
      count.textContent = found.length === rows.length ? many(rows.length, "row") : found.length + " of " + many(rows.length, "row");
      const left = found.length - limit;
      more.replaceChildren(...(left > 0 ? [
        el("button", { type: "button", onclick: () => { limit += 500; paint(); } }, "Show " + Math.min(500, left) + " more"),
      ] : []));
    }
    paint();
    const bar = rows.length > 5 ? el("div", { class: "bar" }, input, count) : null;
    return el("div", { class: id + "-table" }, ...(bar ? [bar] : []), el("div", { class: "panel scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)), more);
  }
  const nothing = (words) => el("div", { class: "panel empty" }, words);
  const plain = (id, title, kind) => ({ id, title, kind, value: (row) => row[id] });
  const severityColumn = { id: "severity", title: "Severity", kind: "severity", value: (row) => 3 - SEVERITIES.indexOf(row.severity), show: (row) => severity(row.severity) };
  const objectColumn = (title) => ({ id: "object", title, value: (row) => row.object, show: (row) => (row.nodes.length || row.links.length ? jump(row.object, () => showFinding(findings.indexOf(row), true)) : row.object) });
  const codeColumn = { id: "code", title: "Code", kind: "code", value: (row) => row.code, show: (row) => link(row.code) };
  const state = (row) => (row.lost ? "lost" : STATES[row.state]);
  const stateColumn = { id: "state", title: "State", kind: "severity", value: (row) => 3 - row.state, show: (row) => el("span", { class: STATES[row.state] }, state(row)) };
  const nodeTable = () => table("nodes", nodes, [
    stateColumn,
    { id: "name", title: "Name", value: (row) => row.name, show: (row) => jump(row.name, () => { const number = nodes.indexOf(row); showOnMap({ nodes: [number], links: row.links }, true); }) },
    { id: "type", title: "Type", value: (row) => (row.rank ? RANKS[Math.min(row.rank, 3)].toLowerCase() + " switch" : TYPES[row.type] || row.type) },
    plain("guid", "GUID", "mono"),
    { id: "lids", title: "LID", kind: "number", value: (row) => (row.lids.length === 1 ? row.lids[0] : row.lids.join(", ")) },
    { id: "used", title: "Links", kind: "number", value: (row) => row.links.length },
    plain("ports", "Ports", "number"), plain("device_id", "Device ID", "mono"), plain("psid", "PSID", "mono"), plain("firmware", "Firmware", "mono"),
  ].filter((column) => ["state", "name"].includes(column.id) || nodes.some((row) => column.value(row) !== "")), [{ id: "state", desc: false }]);
  const linkTable = () => table("links", [...links].sort((one, other) => collator.compare(place(one.ends[0]), place(other.ends[0]))), [
    stateColumn,
    { id: "one", title: "One end", value: (row) => place(row.ends[0]), show: (row) => jump(place(row.ends[0]), () => showOnMap({ nodes: [], links: [links.indexOf(row)] }, true)) },
    { id: "other", title: "Other end", value: (row) => place(row.ends[1]), show: (row) => jump(place(row.ends[1]), () => showOnMap({ nodes: [], links: [links.indexOf(row)] }, true)) },
    { id: "pace", title: "Runs at", value: (row) => (row.lost ? "no link" : row.pace) },
    plain("wanted", "Both ends can do"),
  ], [{ id: "state", desc: false }]);

  // ---------------------------------------------------------------- page
  function chart(runs) {
    const width = 300, height = 46, step = Math.min(16, width / Math.max(runs.length, 12));
    const most = Math.max(1, ...runs.map((run) => run.error + run.warning + run.notice));
    const bars = runs.map((run, index) => {
      const x = width - (runs.length - index) * step;
      let y = height;
      const parts = SEVERITIES.filter((name) => run[name]).map((name) => {
        const tall = Math.max(2, (run[name] / most) * (height - 4));
        y -= tall;
        return svg("rect", { class: "fill-" + name, x: x.toFixed(1), y: y.toFixed(1), width: Math.max(1, step - 2).toFixed(1), height: Math.max(1, tall - 0.7).toFixed(1) });
      });
      const title = svg("title");
      title.textContent = when(run.time) + ": " + SEVERITIES.map((name) => many(run[name], name)).join(", ");
      if (!parts.length) parts.push(svg("rect", { class: "fill-ok", x: x.toFixed(1), y: height - 2, width: Math.max(1, step - 2).toFixed(1), height: 2 }));
      return svg("g", {}, title, svg("rect", { x: x.toFixed(1), y: 0, width: step.toFixed(1), height, fill: "transparent" }), ...parts);
    });
    const drawing = svg("svg", { viewBox: "0 0 " + width + " " + height, width, height, role: "img", "aria-label": "Findings of the last " + many(runs.length, "run"), preserveAspectRatio: "xMaxYMax meet" }, ...bars);
    return el("div", { class: "chart" }, drawing, el("div", {}, el("span", {}, "Findings, last " + many(runs.length, "run")), el("a", { href: "#history" }, "History")));
  }
  function words(paragraph) {
    return paragraph.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
  }
  const counts = SEVERITIES.map((name) => [name, findings.filter((each) => each.severity === name).length]);
  const figure = (name, value, kind) => [el("dt", {}, name), el("dd", { class: value ? kind : "none" }, String(value))];
  const pairOf = (name, value, kind) => el("div", {}, ...figure(name, value, kind));
  const changes = findings.filter((each) => each.change);
  const NAV = [["topology", "Topology"], ["findings", "Findings"], ["changes", "Changes"], ["nodes", "Nodes"], ["links", "Links"], ["history", "History"], ["codes", "Explanations"]]
    .filter(([id]) => id !== "codes" || Object.keys(data.codes).length);
  const section = (id, title, note, ...content) => el("section", { "aria-labelledby": id }, el("h2", { id }, title, note ? el("small", {}, note) : null), ...content);
  const dash = (label, kind) => el("span", {}, svg("svg", { width: 26, height: 6 }, svg("path", { class: "link " + kind, d: "M1 3L25 3" })), label);
  const tool = (text, label, act) => el("button", { type: "button", title: label, "aria-label": label, onclick: act }, text);

  const map = el("div", { class: "map" }, canvas, tip,
    el("div", { class: "tools" }, tool("+", "Zoom in", () => move().call(zoom.scaleBy, 1.5)), tool("\u2212", "Zoom out", () => move().call(zoom.scaleBy, 1 / 1.5)), tool("Fit", "Show all", () => fit()),
      foldable ? tool("Fold", "Fold all hosts", () => { opened.clear(); draw(); fit(); }) : null),
    el("div", { class: "key", "aria-hidden": "true" }, dash("healthy", ""), dash("notice", "s1"), dash("warning", "s2"), dash("error", "s3"), dash("lost", "s3 lost")));
  const sizes = (name) => (data.before[name] === totals[name] ? totals[name] : data.before[name] + " \u2192 " + totals[name]);

  document.body.append(
    el("header", {}, el("div", {}, el("h1", {}, "Fabric " + data.fabric), el("span", {}, when(data.time)), el("nav", { "aria-label": "Sections" }, ...NAV.map(([id, title]) => el("a", { href: "#" + id }, title))))),
    el("main", {},
      el("div", { class: "summary" },
        el("dl", {}, ...counts.map(([name, count]) => pairOf(name[0].toUpperCase() + name.slice(1) + "s", count, name))),
        el("dl", {}, pairOf("Switches", totals.switches), pairOf("Adapters", totals.cas), totals.routers ? pairOf("Routers", totals.routers) : null, pairOf("Links", totals.links)),
        chart(data.history)),
      data.problems.length ? el("ul", { class: "panel gaps" }, ...data.problems.map((each) => el("li", {}, "Not known: " + each))) : null,
      el("section", { id: "topology", "aria-label": "Topology" }, el("div", { class: "panel stage" }, map, side)),
      section("findings", "Findings", many(findings.length, "finding"), findings.length ? table("findings", findings, [
        severityColumn, objectColumn("Object"), plain("found", "Found"), plain("expected", "Expected"), plain("cause", "Likely cause"), plain("next_step", "Next step"), codeColumn,
      ]) : nothing("Nothing is wrong.")),
      section("changes", "Changes since the baseline", data.before ? "switches " + sizes("switches") + ", adapters " + sizes("cas") + ", links " + sizes("links") : null,
        changes.length ? table("changes", changes, [codeColumn, objectColumn("Object"), plain("expected", "Baseline"), plain("found", "Now")].map((column) => (column === codeColumn ? { ...column, title: "Change" } : column)))
          : nothing(data.before ? "The topology is that of the baseline." : "The fabric was not compared with a baseline. fabric_save_baseline=true saves one.")),
      section("nodes", "Nodes", null, nodes.length ? nodeTable() : nothing("No nodes.")),
      section("links", "Links", null, links.length ? linkTable() : nothing("No links.")),
      section("history", "History", "the last " + many(data.history.length, "run"), table("history", [...data.history].reverse(), [
        { id: "time", title: "Time", value: (row) => when(row.time) }, plain("error", "Errors", "number"), plain("warning", "Warnings", "number"), plain("notice", "Notices", "number"),
        plain("switches", "Switches", "number"), plain("cas", "Adapters", "number"), plain("links", "Links", "number")], [], 12)),
      Object.keys(data.codes).length ? section("codes", "Explanations", "as in docs/findings.md", el("dl", { class: "panel codes" }, ...Object.entries(data.codes).map(([code, paragraph]) =>
        el("div", { id: "code-" + code }, el("dt", {}, code), el("dd", {}, ...words(paragraph)))))) : null,
      el("footer", {}, "Made by the playbook rdma.ofed.fabric. This file needs no network.")));

  draw();
  describe();
  fit(stage);
  let wide = frame().width;
  new ResizeObserver(() => { if (Math.abs(frame().width - wide) > 1) { wide = frame().width; draw(); fit(stage); } }).observe(canvas);
  window.addEventListener("beforeprint", () => fit(stage));
  // For tests: when the page could be used, in milliseconds.
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
