async ({ warm, frames }) => {
  // Drags the first memory in a circle of 0.2 and notes the times of each frame.
  const overlay = document.getElementById("overlay"), box = overlay.getBoundingClientRect();
  const send = (type, target, x, y) => target.dispatchEvent(new PointerEvent(type, {
    clientX: box.left + (1 + x) / 2 * box.width, clientY: box.top + (1 - y) / 2 * box.height,
    pointerId: 1, pointerType: "mouse", button: 0, bubbles: true }));
  overlay.setPointerCapture = () => {};  // only real pointers can be captured
  const { x, y } = playground.state.memories[0], rows = [];
  send("pointerdown", overlay.querySelector(".memory"), x, y);
  let before = null;
  for (let i = 0; i < warm + frames; i++) {
    const angle = i / 25;
    send("pointermove", overlay, x + 0.2 * Math.sin(angle), y + 0.2 * (1 - Math.cos(angle)));
    // This callback comes after the page's own, which the event asked for.
    const now = await new Promise(requestAnimationFrame);
    const { compute, frame, done } = playground.timing;
    if (i >= warm) rows.push([compute, frame, now - before, +done]);
    before = now;
  }
  send("pointerup", overlay, x, y);
  return rows;
}
