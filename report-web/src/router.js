// Views are reached by the part of the address after #, so links, bookmarks and the back button work.

/** Return the parts of an address such as #/topics/3: ["topics", "3"]. */
export function parts(hash) {
  return hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decode);
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the address of a view: link("topics", 3) is #/topics/3. */
export function link(...names) {
  return `#/${names.map((name) => encodeURIComponent(name)).join("/")}`;
}

/** Return the view for an address and what stands for its :names, or null. */
export function match(views, hash) {
  const own = parts(hash);
  for (const view of views) {
    const pattern = parts(view.path);
    const fits = (name, k) => name.startsWith(":") || name === own[k];
    if (pattern.length === own.length && pattern.every(fits)) {
      const named = pattern.map((name, k) => [name.slice(1), own[k]]).filter((_, k) => pattern[k].startsWith(":"));
      return { view, values: Object.fromEntries(named) };
    }
  }
  return null;
}
