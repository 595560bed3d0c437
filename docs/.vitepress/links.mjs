/** Rewrites links of the pages for the site, and replaces attributes that its content security policy refuses by classes. */
import { posix } from "node:path";
import { addresses, files } from "./pages.mjs";

/** The anchor of a heading, as GitHub makes it, so links to sections work in both. */
export const toAnchor = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .trim()
    .replaceAll(" ", "-");

/**
 * A plugin of markdown-it. A relative link leads to the page of its file. A link to a file of the checkout that is not in the site becomes text with
 * the path as its title. A column without a heading gets an empty cell instead of an empty heading.
 */
export function siteLinks(markdown) {
  markdown.core.ruler.push("site-links", ({ tokens, env }) => {
    const file = files.get(env.relativePath);
    for (const token of tokens) {
      if (token.type === "inline" && file !== undefined) for (const child of token.children ?? []) rewrite(child, file);
      if (token.attrGet("style")) styleToClass(token);
    }
    for (const token of tokens) if (token.type === "inline") dropMarked(token);
    tokens.forEach((token, index) => {
      if (token.type === "th_open" && tokens[index + 1].content === "") token.tag = tokens[index + 2].tag = "td";
    });
  });
}

function rewrite(token, file) {
  if (token.type === "link_open") followLink(token, file);
  if (token.type === "image") token.attrSet("src", findPicture(token.attrGet("src"), file));
}

/** The path of a picture relative to the copy of its page. */
function findPicture(source, file) {
  const picture = posix.relative("docs", posix.join(posix.dirname(file), source));
  return `./${posix.relative(posix.dirname(addresses.get(file)), picture)}`;
}

function followLink(token, file) {
  const href = token.attrGet("href");
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return;
  const [path, anchor] = href.split("#");
  const target = posix.join(posix.dirname(file), path);
  const address = addresses.get(target);
  if (address === undefined) token.meta = { elsewhere: target };
  else token.attrSet("href", `/${address}${anchor === undefined ? "" : `#${anchor}`}`);
}

/** Turns links to files outside of the site, marked before, into `span` elements. */
function dropMarked(token) {
  const open = [];
  for (const child of token.children ?? []) {
    if (child.type === "link_open") {
      open.push(child.meta?.elsewhere);
      if (child.meta?.elsewhere === undefined) continue;
      Object.assign(child, { type: "elsewhere_open", tag: "span", attrs: [["title", child.meta.elsewhere]] });
    } else if (child.type === "link_close" && open.pop() !== undefined) {
      Object.assign(child, { type: "elsewhere_close", tag: "span" });
    }
  }
}

/** Replaces the style that aligns a column by a class. */
function styleToClass(token) {
  const [, side] = /text-align:(\w+)/.exec(token.attrGet("style")) ?? [];
  token.attrs = token.attrs.filter(([name]) => name !== "style");
  if (side !== undefined) token.attrJoin("class", `align-${side}`);
}
