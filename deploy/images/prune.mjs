/** Removes from node_modules what no process reads: half of its size. Run in the folder above it. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** TypeScript and its declarations, source maps, documentation. */
const needless = /\.([cm]?ts|map|tsbuildinfo|md|markdown)$/i;

/** Files that say under which terms a package may be passed on. */
const terms = /^(licen[cs]e|notice|copying)/i;

/** Folders that packages publish for their own tests. */
const testFolder = /^(tests?|__tests__)$/;

/** Parts of single packages. A build for browsers is one that Node never resolves. */
const parts = [
  // Only a part of pdfjs-dist that draws pages would load the canvas; PDFs are read by the small build in legacy/.
  "@napi-rs",
  "pdfjs-dist/build",
  "pdfjs-dist/image_decoders",
  "pdfjs-dist/web",
  "pdfjs-dist/legacy/image_decoders",
  "pdfjs-dist/legacy/web",
  "pdfjs-dist/legacy/build/pdf.mjs",
  "pdfjs-dist/legacy/build/pdf.sandbox.mjs",
  "pdfjs-dist/legacy/build/pdf.sandbox.min.mjs",
  "pdfjs-dist/legacy/build/pdf.worker.mjs",
  "@azure/msal-browser",
  "@azure/msal-common/dist-browser",
  "libphonenumber-js/bundle",
  "libphonenumber-js/source",
  "zod/src",
];

const isNeedless = (entry) =>
  entry.isDirectory() ? testFolder.test(entry.name) : needless.test(entry.name) && !terms.test(entry.name);

for (const entry of readdirSync("node_modules", { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (isNeedless(entry)) rmSync(path, { recursive: true, force: true });
}
for (const part of parts) rmSync(join("node_modules", part), { recursive: true, force: true });
