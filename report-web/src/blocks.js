// Reads the blocks of data in the page; plait.report.packing writes them and describes their form.

const TYPES = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
};

/** Return the value of a block; its text is dropped from the page, to free memory. */
export async function readBlock(name) {
  const element = document.getElementById(`data-${name}`);
  if (!element) return null;
  const bytes = fromBase64(element.textContent.trim());
  element.textContent = "";
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return unpack(await new Response(stream).arrayBuffer());
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = characters.charCodeAt(k);
  return bytes;
}

function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const first = Math.ceil((4 + length) / 8) * 8;
  const arrays = head.arrays.map(([type, shape, start]) => {
    const size = shape.reduce((product, n) => product * n, 1);
    const array = new TYPES[type](buffer, first + start, size);
    array.shape = shape;
    return array;
  });
  return withArrays(head.value, arrays);
}

function withArrays(value, arrays) {
  if (Array.isArray(value)) {
    // Lists of text and numbers, which may be long, hold no arrays.
    return value.some((own) => own && typeof own === "object") ? value.map((own) => withArrays(own, arrays)) : value;
  }
  if (value && typeof value === "object") {
    if ("$array" in value) return arrays[value.$array];
    return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, withArrays(own, arrays)]));
  }
  return value;
}

/** Return row `k` of an array of two dimensions, without a copy. */
export function row(array, k) {
  const width = array.shape[1];
  return array.subarray(k * width, (k + 1) * width);
}

/** Return where each of several stretches starts, given their lengths; at the end their sum. */
export function offsets(lengths) {
  const found = new Uint32Array(lengths.length + 1);
  for (let k = 0; k < lengths.length; k++) found[k + 1] = found[k] + lengths[k];
  return found;
}
