/** The site of the documentation, which every gateway serves at `/docs`. `npx vitepress dev docs` shows it while it is written. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import { colorsToClasses, theme } from "./highlight.mjs";
import { siteLinks, toAnchor } from "./links.mjs";
import { files, outline, pathOf, root, stage, summaryOf, titleOf, work } from "./pages.mjs";

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
stage();

const groups = outline().map(({ title, pages }) => ({
  text: title,
  collapsed: true,
  items: pages.map((file) => ({ text: titleOf(file), link: `/${pathOf(file)}` })),
}));

/** The API reference is a program of its own below the base of the site. */
const reference = { text: "API", link: "/api", target: "_self", rel: "", noIcon: true };

export default defineConfig({
  title: "Sluice",
  description: summaryOf("README.md"),
  lang: "en",
  base: "/docs/",
  srcDir: join(work, "pages"),
  outDir: join(work, "site"),
  cacheDir: join(work, "cache"),
  // `assets/` belongs to the console and the API reference.
  assetsDir: "static",
  cleanUrls: true,
  metaChunk: true,
  useWebFonts: false,
  // Otherwise a script adds a style, which the content security policy refuses.
  appearance: { disableTransition: false },
  // Addresses of examples, such as http://127.0.0.1:8080; the reference is not built here.
  ignoreDeadLinks: ["localhostLinks", /^\/api/],
  // The gateway answers few requests a minute without a key.
  router: { prefetchLinks: false },
  head: [["link", { rel: "icon", href: "/docs/icon.svg" }]],
  markdown: {
    theme,
    codeTransformers: [colorsToClasses],
    anchor: { slugify: toAnchor },
    config: (markdown) => void markdown.use(siteLinks),
  },
  transformPageData(page) {
    const file = files.get(page.relativePath);
    return { description: file && summaryOf(file), frontmatter: { ...page.frontmatter, file } };
  },
  themeConfig: {
    search: { provider: "local", options: { detailedView: true } },
    nav: [reference, { text: `Version ${version}`, link: "/changelog" }],
    sidebar: [...groups, { text: "API reference", link: reference.link, target: "_self", rel: "" }],
    outline: { level: [2, 3] },
    externalLinkIcon: false,
  },
  vite: { logLevel: "error", build: { chunkSizeWarningLimit: 2_000 } },
});
