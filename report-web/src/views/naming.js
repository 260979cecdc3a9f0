// The form in which a topic or a state is named.

import { fill, h } from "../dom.js";

/** Return the form; `onchange` is called when the name has changed. */
export function nameForm(names, number, noun, onchange, { canHide = false } = {}) {
  const problem = h("span", { class: "problem", role: "alert" });
  const save = h("button", { hidden: !names.hasChanges, onclick: () => names.download() }, "Save names");
  const changed = () => {
    save.hidden = !names.hasChanges;
  };
  const name = h("input", {
    type: "text",
    maxlength: 1000,
    dir: "auto",
    value: names.of(number) ?? "",
    placeholder: `Name this ${noun}`,
    "aria-label": `Name of the ${noun}`,
    onchange: () => {
      fill(problem, names.rename(number, name.value));
      onchange();
      changed();
    },
  });
  const hidden = h("input", {
    type: "checkbox",
    checked: names.isHidden(number),
    onchange: () => {
      names.hide(number, hidden.checked);
      changed();
    },
  });
  return h("p", { class: "controls" }, name, canHide ? h("label", {}, hidden, " hide") : null, save, problem);
}
