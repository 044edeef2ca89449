// Turns the formulas that arithmatex marks into MathML, which browsers draw themselves.
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll(".arithmatex").forEach(function (element) {
    const tex = element.textContent.trim().replace(/^\\[([]/, "").replace(/\\[)\]]$/, "");
    temml.render(tex, element, { displayMode: element.tagName === "DIV" });
  });
});
