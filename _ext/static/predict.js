// Remembers how questions were answered, in this browser only, and counts at the chapter's end.
// Covers are the style sheet's work: they go when a choice is open or the box is `answered`, and
// that of the summary, which is `answered` when all boxes are.
(() => {
  const KEY = "where-am-i: predictions";
  const boxes = [...document.querySelectorAll(".predict")];
  const summaries = document.querySelectorAll("h2:has(+ .cover)");
  const score = document.querySelector(".predict-score");
  if (!boxes.length || !score) return;

  // id of a box -> { right, choice: its number } or { right, guess } or { looked: true }
  let answers = {};
  try {
    answers = JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch { /* storage may be refused; then the page forgets when it is left */ }

  function remember(box, answer) {
    if (!(box.id in answers)) answers[box.id] = answer; // the first answer counts
    try {
      localStorage.setItem(KEY, JSON.stringify(answers));
    } catch { /* as above */ }
    uncover(box);
    tell();
  }

  function uncover(box) {
    box.classList.add("answered");
    if (boxes.every((each) => each.matches(".answered")))
      for (const summary of summaries) summary.classList.add("answered");
    window.dispatchEvent(new Event("resize")); // what was covered had no size
  }

  // Who does not answer, or chooses wrongly, sees the answer: what would have been drawn, or the
  // right choice, open.
  function show(box) {
    box.querySelector(".guess")?.dispatchEvent(new Event("guess:show"));
    const choice = box.querySelector(":scope > .choice.right");
    if (!choice) return;
    if (choice.matches(".tried")) return; // it has been chosen
    choice.classList.add("shown");
    choice.querySelector("summary ~ * strong").textContent = "The answer.";
    choice.open = true;
  }

  function tell() {
    const here = boxes.map((box) => answers[box.id]).filter(Boolean);
    const counted = here.filter((answer) => !answer.looked);
    const right = counted.filter((answer) => answer.right).length;
    score.hidden = !here.length;
    score.querySelector("p").textContent =
      `Your predictions in this chapter: ${right} of ${boxes.length} right at the first try` +
      (counted.length < boxes.length ? `, ${boxes.length - counted.length} not made.` : ".");
  }

  score.innerHTML = "<p role='status'></p><button type='button'>Forget my answers</button>";
  score.querySelector("button").addEventListener("click", () => {
    for (const box of boxes) delete answers[box.id];
    try {
      localStorage.setItem(KEY, JSON.stringify(answers));
    } catch { /* as above */ }
    location.reload();
  });

  for (const box of boxes) {
    const choices = [...box.querySelectorAll(":scope > details.choice")];
    const earlier = answers[box.id];
    if (earlier?.choice !== undefined && choices[earlier.choice])
      choices[earlier.choice].open = true;
    if (earlier?.guess)
      box.querySelector(".guess")?.dispatchEvent(
        new CustomEvent("guess:restore", { detail: earlier.guess }));
    if (earlier?.looked) show(box);
    if (earlier) uncover(box);
    choices.forEach((choice, n) =>
      choice.addEventListener("toggle", () => {
        if (!choice.open) return;
        choice.classList.toggle("tried", !choice.matches(".shown"));
        remember(box, { choice: n, right: choice.matches(".right") });
        if (!choice.matches(".right")) show(box);
      }));
    box.addEventListener("guess:compared", ({ detail }) => remember(box, detail));

    if (box.nextElementSibling?.matches(".cover"))
      offer(box, "Show it without an answer", () => {
        remember(box, { looked: true });
        show(box);
      });
  }
  for (const summary of summaries)
    offer(summary, "Show it now", () => uncover(summary));
  tell();

  // A way round what the cover after this asks for.
  function offer(covering, words, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", act);
    covering.nextElementSibling.append(" ", button);
  }

  // Who follows a link to a covered place wants to be there.
  function arrive() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let covered = target?.closest(".covered");
    if (!covered) return;
    for (; covered; covered = covered.parentElement.closest(".covered"))
      uncover(covered.previousElementSibling.previousElementSibling);
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", arrive);
  arrive();
})();
