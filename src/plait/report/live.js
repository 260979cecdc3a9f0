// Added to a page that is served while a fit goes on: loads it again when there is a newer one.
(() => {
  const EVERY = 2000;
  const facts = (name) => document.querySelector(`meta[name="plait-${name}"]`).content;
  const version = facts("version");
  const bar = document.createElement("p");
  bar.className = "live";
  bar.setAttribute("role", "status");
  bar.textContent = "Live: this page is loaded again when the fit has written a checkpoint.";
  document.body.append(bar);
  let failures = 0;

  function isBusy() {
    const { activeElement: own } = document;
    return own && own.matches("input[type=text], input[type=search], select");
  }

  async function look() {
    try {
      const answer = await fetch("/", { method: "HEAD", cache: "no-store" });
      failures = 0;
      if (answer.ok && answer.headers.get("ETag") !== `"${version}"`) {
        if (!isBusy()) location.reload();
        else bar.textContent = "Live: there is a newer checkpoint; the page is loaded again when you leave the field.";
      }
    } catch {
      failures += 1;
      if (failures > 1) {
        bar.textContent = `The fit has ended, or was stopped. This page stays as it is; to keep it: plait report ${facts("model")} -o report.html`;
      }
    }
    setTimeout(look, failures > 1 ? 5 * EVERY : EVERY);
  }
  setTimeout(look, EVERY);
})();
