/** Configuration of the documentation site, which every gateway serves at `/docs`. `npx vitepress dev docs` shows the site while it is written. */
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

/** Link to the API reference, a program of its own below the base of the site. */
const reference = { text: "API", link: "/api", target: "_self", rel: "", noIcon: true };

export default defineConfig({
  title: "Sluice",
  description: summaryOf("README.md"),
  lang: "en",
  base: "/docs/",
  srcDir: join(work, "pages"),
  outDir: join(work, "site"),
  cacheDir: join(work, "cache"),
  // The folder is not `assets/`, which belongs to the console and the API reference.
  assetsDir: "static",
  cleanUrls: true,
  metaChunk: true,
  useWebFonts: false,
  // With the transition, a script would add a style, which the content security policy refuses.
  appearance: { disableTransition: false },
  // Links that are not checked: addresses in examples, such as http://127.0.0.1:8080, and the API reference, which is not built here.
  ignoreDeadLinks: ["localhostLinks", /^\/api/],
  // Links are not fetched in advance, since the gateway answers only a limited number of requests without a key each minute.
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
