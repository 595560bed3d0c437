/**
 * The pages of the documentation: their files, addresses, titles and order. `docs/` is the source of the site and reads well as plain files too, so
 * everything here is derived from those files: the order from the links of `docs/README.md` and of the README of each folder.
 */
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const docs = fileURLToPath(new URL("..", import.meta.url));
export const root = join(docs, "..");
/** Folder of this build, with copies of the pages in `pages` under their addresses. Each process has its own, so several builds may run at once. */
export const work = join(docs, "dist", `build-${process.pid}`);
const staged = join(work, "pages");

/** Titles of the folders, in the order of the site. */
const sections = {
  start: "Start",
  clients: "Clients",
  migrate: "Migrate",
  providers: "Providers",
  budgets: "Budgets and usage",
  guardrails: "Guardrails",
  plugins: "Plugins",
  tools: "Tools",
  console: "Console",
  deploy: "Deploy",
  operate: "Operate",
  reference: "Reference",
  internals: "How it is made",
};

/** Pages from the root of the checkout, with their files in the site. */
const rootPages = { "GLOSSARY.md": "glossary.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md" };
const contributing = { "README.md": "readme.md", "CONTRIBUTING.md": "contributing.md" };
const outside = { ...rootPages, ...contributing };

/** Paths in `docs/` that are not pages. */
const noPage = /^(?:dist|node_modules|\.)/;

const pathsIn = (folder) =>
  readdirSync(join(docs, folder), { recursive: true })
    .map((path) => posix.join(folder, path.replaceAll("\\", "/")))
    .filter((path) => !noPage.test(path));

/** For the path of each page in the checkout, its path in the site: `docs/clients/README.md` becomes `clients/index.md`. */
export const addresses = new Map([
  ...pathsIn("")
    .filter((path) => path.endsWith(".md"))
    .map((path) => [`docs/${path}`, path.replace(/README\.md$/, "index.md")]),
  ...Object.entries(outside),
]);
export const files = new Map([...addresses].map(([file, address]) => [address, file]));

export const readPage = (file) => readFileSync(join(root, file), "utf8");

/** A heading or sentence without Markdown marks. */
const toPlain = (text) => text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");

export const titleOf = (file) => toPlain(/^# (.*)$/m.exec(readPage(file))?.[1] ?? file);

/** The first sentence below a page's title; empty if the page begins with a table or a block. */
export function summaryOf(file) {
  const [, paragraph = ""] = /^# .*\n+((?:[^\n]+\n)+)/m.exec(readPage(file)) ?? [];
  if (/^[|`#!-]/.test(paragraph)) return "";
  const plain = toPlain(paragraph.replaceAll("\n", " ").trim());
  return /^.*?[.:](?=\s|$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain;
}

const linksOf = (file) =>
  [...readPage(file).matchAll(/\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g)].map(([, link]) =>
    posix.normalize(posix.join(posix.dirname(file), link)),
  );

/** The pages of a folder: its README, then those that it links, in that order, then the rest. */
function pagesOf(section) {
  const index = `docs/${section}/README.md`;
  const all = [...addresses.keys()].filter((file) => file.startsWith(`docs/${section}/`)).toSorted();
  const linked = [...linksOf("docs/README.md"), ...(all.includes(index) ? linksOf(index) : [])];
  return [...new Set([index, ...linked, ...all])].filter((file) => all.includes(file));
}

/** @returns the sections with their pages, as paths in the checkout */
export const outline = () => [
  ...Object.entries(sections).map(([section, title]) => ({ title, pages: pagesOf(section) })),
  { title: "More", pages: [...Object.keys(rootPages), ...Object.keys(contributing)] },
];

/** The address of a page below the base of the site, such as `clients/codex` and `clients/`. */
export const pathOf = (file) =>
  addresses
    .get(file)
    .replace(/\.md$/, "")
    .replace(/(^|\/)index$/, "$1");

/** Copies pages and pictures to the folder from which VitePress builds. */
export function stage() {
  rmSync(staged, { recursive: true, force: true });
  for (const [file, address] of addresses) {
    mkdirSync(dirname(join(staged, address)), { recursive: true });
    writeFileSync(join(staged, address), readPage(file));
  }
  for (const path of pathsIn("").filter((path) => /\.(?:png|svg)$/.test(path))) {
    mkdirSync(dirname(join(staged, path)), { recursive: true });
    cpSync(join(docs, path), join(staged, path));
  }
}

/**
 * Lists the pages for language models (https://llmstxt.org): titles, addresses of their Markdown, first sentences. @param base base of the site, such
 * as `/docs/`
 */
export function listForModels(base) {
  const line = (file) => {
    const summary = summaryOf(file);
    return `- [${titleOf(file)}](${base}${addresses.get(file)})${summary && `: ${summary}`}`;
  };
  const lines = outline().flatMap(({ title, pages }) => ["", `## ${title}`, "", ...pages.map(line)]);
  const head = ["# Sluice", "", `> ${summaryOf("README.md")}`, "", `- [${titleOf("docs/README.md")}](${base}index.md)`];
  return `${[...head, ...lines].join("\n")}\n`;
}

/** All pages in one text, each under its address. */
export const joinForModels = (base) =>
  ["docs/README.md", ...outline().flatMap(({ pages }) => pages)]
    .map((file) => `<!-- ${base}${addresses.get(file)} -->\n\n${readPage(file)}`)
    .join("\n");
