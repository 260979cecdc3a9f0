// A Potts field: its picture, its labels, and where the paths agree; of a volume, slice by slice.

import { fill, h, user, visible } from "../dom.js";
import { count, number } from "../format.js";
import { canvasOf } from "../charts/canvas.js";
import { responsive } from "../charts/responsive.js";
import { legend } from "./state_parts.js";

export const fieldView = {
  path: "field",
  label: "Picture",
  when: (model) => model.field !== null,
  async render(model) {
    const pixels = await model.pixels();
    const [planes, rows, columns] = pixels.shape;
    const axes = planes > 1 ? ["plane", "row", "column"] : ["plane"];
    let axis = 0;
    let at = Math.floor(planes / 2);
    const box = h("div", { class: "fields" });
    const readout = h("p", { class: "readout", role: "status" }, "Point at a picture to read its labels.");
    const slider = h("input", { type: "range", min: 0, max: planes - 1, step: 1, value: at, "aria-label": "Slice", oninput: () => ((at = Number(slider.value)), draw()) });
    const value = h("output", { class: "value" });
    const choice = h(
      "select",
      {
        "aria-label": "Direction of the slices",
        onchange: () => {
          axis = choice.selectedIndex;
          slider.max = pixels.shape[axis] - 1;
          at = Math.floor(pixels.shape[axis] / 2);
          slider.value = at;
          draw();
        },
      },
      axes.map((name) => h("option", {}, `by ${name}`)),
    );
    const draw = () => {
      const slice = sliceOf([planes, rows, columns], axis, at);
      value.textContent = `${at} of ${pixels.shape[axis]}`;
      const tell = (i) => fill(readout, i === null ? "Point at a picture to read its labels." : described(model, pixels, slice, i));
      fill(
        box,
        pixels.pictures.map(({ name, values, low, high }) =>
          panel(slice, visible(name), `The data: black is ${number(low)}, white is ${number(high)}.`, (i) => [values[i], values[i], values[i]], tell),
        ),
        panel(slice, "Labels", "The label that most paths have.", (i, colour) => colour(model.variable(pixels.labels[i])), tell),
        pixels.agreement
          ? panel(slice, "Agreement", `The share of the ${model.n_paths} paths that have it: white where all agree.`, (i) => [pixels.agreement[i], pixels.agreement[i], pixels.agreement[i]], tell)
          : null,
      );
    };
    draw();
    const isThinned = pixels.whole_shape.reduce((a, b) => a * b, 1) > planes * rows * columns;
    return {
      title: "Picture",
      node: [
        h("h1", {}, "Picture"),
        h("p", { class: "lead" }, `${pixels.whole_shape.map(count).join(" \u00d7 ")} pixels, coupling ${number(model.field.coupling)}, ${model.field.neighbours} neighbours.`),
        isThinned ? h("p", { class: "notice" }, `This file has ${count(planes * rows * columns)} of the pixels, at equal distances.`) : null,
        planes > 1 ? h("p", { class: "controls" }, choice, h("label", { class: "slider" }, "Slice ", slider, value)) : null,
        legend(model, model.numbers.slice(0, 16)),
        box,
        readout,
      ],
    };
  },
};

/** Return a slice of a volume: its width and height, and (x, y) => number of the pixel. */
function sliceOf([planes, rows, columns], axis, at) {
  if (axis === 0) return { width: columns, height: rows, pixel: (x, y) => (at * rows + y) * columns + x };
  if (axis === 1) return { width: columns, height: planes, pixel: (x, y) => (y * rows + at) * columns + x };
  return { width: rows, height: planes, pixel: (x, y) => (y * rows + x) * columns + at };
}

function panel(slice, title, note, shade, tell) {
  const { width, height, pixel } = slice;
  const drawn = responsive((wide) => {
    const scale = Math.min(wide / width, 560 / height);
    const [w, tall] = [Math.max(1, Math.floor(width * scale)), Math.max(1, Math.floor(height * scale))];
    const canvas = canvasOf(
      w,
      tall,
      (context, variable) => {
        const memory = new Map();
        const colour = (name) => {
          if (!memory.has(name)) memory.set(name, rgb(variable(name)));
          return memory.get(name);
        };
        const image = new ImageData(width, height);
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) image.data.set([...shade(pixel(x, y), colour), 255], 4 * (y * width + x));
        }
        const small = document.createElement("canvas");
        [small.width, small.height] = [width, height];
        small.getContext("2d").putImageData(image, 0, 0);
        context.imageSmoothingEnabled = w < width;
        context.drawImage(small, 0, 0, w, tall);
      },
      { "aria-label": `${title}, ${width} by ${height} pixels` },
    );
    canvas.addEventListener("pointermove", (event) => {
      const { left, top } = canvas.getBoundingClientRect();
      const x = Math.floor((event.clientX - left) / (w / width));
      const y = Math.floor((event.clientY - top) / (tall / height));
      tell(x >= 0 && y >= 0 && x < width && y < height ? { x, y } : null);
    });
    canvas.addEventListener("pointerleave", () => tell(null));
    return canvas;
  });
  return h("figure", {}, h("h2", {}, user(title)), drawn, h("figcaption", { class: "note" }, note));
}

/** Return the parts of a colour that the browser understands. */
function rgb(colour) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

function described(model, pixels, slice, { x, y }) {
  const i = slice.pixel(x, y);
  const seen = pixels.pictures.map(({ name, values, low, high }) => [", ", user(name), ` ${number(low + (values[i] / 255) * (high - low))}`]);
  const agreed = pixels.agreement ? `, agreement ${number(pixels.agreement[i] / 255)}` : "";
  return [`Row ${y}, column ${x}: `, h("strong", {}, user(model.label(pixels.labels[i]))), agreed, seen];
}
