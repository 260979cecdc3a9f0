// The page: reads its data, and shows the view that the address names.

import { readBlock } from "./blocks.js";
import { fill, h, user } from "./dom.js";
import { comparisonKind } from "./kinds/comparison.js";
import { stateKind } from "./kinds/states.js";
import { topicKind } from "./kinds/topics.js";
import { match } from "./router.js";

/**
 * A kind of model: `model(main, block)` makes what its views share from the data; `views` are its views. A view has
 *   path     the address, such as "topics/:topic";
 *   label    its name in the navigation, if it is there, or (model) => its name;
 *   when     (model) => whether there is anything to show, by default true;
 *   render   (model, values) => {title, node}, or a promise of it.
 * README.md in src/plait/report says more.
 */
const KINDS = { comparison: comparisonKind, lda: topicKind, states: stateKind };

export async function start(root = document.getElementById("report")) {
  const main = await readBlock("main");
  const kind = KINDS[main.kind];
  const blocks = new Map();
  const block = (name) => {
    if (!blocks.has(name)) blocks.set(name, parsed().then(() => readBlock(name)));
    return blocks.get(name);
  };
  const model = kind.model(main, block);
  const views = kind.views.filter((view) => !view.when || view.when(model));
  const nav = h("nav", { "aria-label": "Views" });
  const content = h("main", { id: "content", tabindex: "-1" });
  fill(
    root,
    // A link would change the address, which names the view.
    h("button", { class: "skip", onclick: () => content.focus() }, "Skip to the content"),
    h("header", { class: "top" }, h("a", { class: "brand", href: "#/" }, user(main.title)), nav),
    content,
    h("footer", {}, `Made by plait ${(main.about ?? main.models[0].about).version}. Topics, states and documents have the numbers of the model.`),
  );
  let turn = 0;
  async function show(isFirst) {
    const own = ++turn;
    const found = match(views, location.hash) ?? match(views, "#/");
    const { title, node } = await found.view.render(model, found.values);
    if (own !== turn) return; // another address was called meanwhile
    document.title = title ? `${title} \u00b7 ${main.title}` : main.title;
    fill(nav, navigation(model, views, found.view));
    fill(content, node);
    if (!isFirst) {
      window.scrollTo(0, 0);
      content.focus({ preventScroll: true });
    }
  }
  addEventListener("hashchange", () => show(false));
  await show(true);
  root.dataset.ready = "true";
}

function navigation(model, views, current) {
  const section = (view) => view.path.split("/")[0];
  return views
    .filter((view) => view.label)
    .map((view) =>
      h(
        "a",
        { href: `#/${view.path}`, "aria-current": section(view) === section(current) ? "page" : null },
        typeof view.label === "function" ? view.label(model) : view.label,
      ),
    );
}

/** Wait until all of the page has been read: blocks other than the main one come after the script. */
function parsed() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => addEventListener("DOMContentLoaded", resolve, { once: true }));
}

start();
