// How a run went: its verdict, its trace and its stages.

import { h } from "../dom.js";
import { plural } from "../format.js";
import { responsive } from "../charts/responsive.js";
import { traceChart } from "../charts/trace.js";
import { section } from "./parts.js";

/** Return the section; `remark` says what the verdict cannot tell. */
export function convergence(about, remark, ...children) {
  const { settings, verdict } = about;
  return section(
    "Did it converge?",
    null,
    h("p", { class: verdict.state === "settled" ? "verdict settled" : "verdict" }, `${verdict.text}.`),
    about.trace.sweep.length
      ? [
          responsive((width) => traceChart(about.trace, about.site_name, width)),
          h("p", { class: "note" }, "Each line is a path. ", remark),
        ]
      : null,
    about.trace.stages.length > 1
      ? h("ol", { class: "stages" }, settings.stages.map((own) => h("li", {}, `${own.description}: ${plural(own.sweeps, "sweep")}`)))
      : null,
    ...children,
  );
}
