/** The documentation as the gateway serves it: every page and link, without anything from elsewhere. */
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isDocument, writeDocument } from "@sluice/gateway/edge/docs/route.js";
import { version } from "@sluice/proto/lib/process/version.js";
import { findPages, readPage } from "../support/pages.ts";
import { root } from "../support/processes.ts";

interface BuiltFile {
  readonly path: string;
  readonly type: string;
}

const { files } = JSON.parse(readFileSync(join(root, "docs/dist/site.json"), "utf8")) as {
  readonly files: readonly BuiltFile[];
};
const paths = new Set(files.map(({ path }) => path));

/** The pages of `docs/`, with their addresses below `/docs/`. */
const pages = findPages()
  .filter((file) => file.startsWith("docs/"))
  .map((file) => ({ file, markdown: file.slice("docs/".length), html: toHtml(file.slice("docs/".length)) }));

function toHtml(path: string): string {
  return path.replace(/README\.md$/, "index.md").replace(/\.md$/, ".html");
}

let server: Server;
let origin: string;
/** The text of each file by its path in the build. */
const texts = new Map<string, string>();

beforeAll(async () => {
  server = createServer((incoming, response) => {
    if (isDocument(incoming)) void writeDocument(incoming, response);
    else response.writeHead(599).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const { path } of files.filter(({ type }) => /html|javascript|css/.test(type))) {
    texts.set(path, await (await send(path)).text());
  }
});
afterAll(() => void server.close());

const send = (path: string, init: RequestInit = {}) => fetch(`${origin}/docs/${path}`, { redirect: "manual", ...init });

const textOf = (path: string): string => texts.get(path) ?? "";

/** The addresses in a page's attributes. */
const attributesOf = (html: string, names: string): string[] =>
  [...html.matchAll(new RegExp(`\\s(?:${names})="([^"]*)"`, "g"))].map(([, value = ""]) => value);

/** The file that the gateway serves at an address of the site; undefined for none. */
function fileAt(address: string): string | undefined {
  const path = address.slice("/docs/".length);
  const asPage = path === "" || path.endsWith("/") ? `${path}index.html` : `${path}.html`;
  return [path, asPage].find((each) => paths.has(each));
}

/** The links of a page that lead to nothing. */
function brokenLinks(html: string, self: string): string[] {
  const links = attributesOf(html, "href|src").filter((link) => link.startsWith("/") || link.startsWith("#"));
  return links.filter((link) => {
    const [address = "", anchor] = link.split("#");
    if (/^\/docs\/api(?:\/|$)/.test(address)) return false;
    const file = address === "" ? self : fileAt(address);
    if (file === undefined) return true;
    const isKnown =
      anchor === undefined ||
      anchor === "VPContent" ||
      attributesOf(textOf(file), "id").includes(decodeURIComponent(anchor));
    return !isKnown;
  });
}

describe("the documentation site", () => {
  test("has every page of docs/, with its title and the version", () => {
    for (const { file, html } of pages) {
      const title = /^# (.*)$/m.exec(readPage(file))?.[1]?.replaceAll(/[`*]/g, "") ?? "";
      const heading = /<h1[^>]*>(.*?) <a/s.exec(textOf(html))?.[1]?.replaceAll(/<[^>]*>/g, "");
      expect([file, heading]).toEqual([file, title]);
      expect(textOf(html)).toContain(`Version ${version}`);
    }
  });

  test("has no link to a missing page or section", () => {
    const broken = pages.flatMap(({ html }) => brokenLinks(textOf(html), html).map((link) => `${html}: ${link}`));
    expect(broken).toEqual([]);
    expect(brokenLinks('<a href="/docs/clients/codex#gone">', "index.html")).toEqual(["/docs/clients/codex#gone"]);
  });

  test("loads no file from another server", () => {
    const elsewhere = [...texts].flatMap(([path, text]) => {
      const loaded = path.endsWith(".html")
        ? [...text.matchAll(/<(?:script|link|img|iframe|source)\b[^>]*\s(?:src|href)="((?:https?:)?\/\/[^"]*)"/g)]
        : [...text.matchAll(/(?:url\(|@import |import\(|fetch\()\s*["'`]?((?:https?:)?\/\/[^)"'`]*)/g)];
      return loaded.map(([, url]) => `${path}: ${url}`);
    });
    expect(elsewhere).toEqual([]);
  });

  test("finds words of pages in the browser", () => {
    const index = [...texts].find(([path]) => path.includes("localSearchIndex"))?.[1] ?? "";
    expect(index).toContain("ollama");
  });
});

describe("the documentation for language models", () => {
  test("has each page as Markdown, byte for byte, in the list llms.txt", async () => {
    const list = await (await send("llms.txt")).text();
    for (const { file, markdown } of pages) {
      const answer = await send(markdown);
      expect([file, answer.headers.get("content-type")]).toEqual([file, "text/markdown; charset=utf-8"]);
      expect(await answer.text()).toBe(readPage(file));
      expect(list).toContain(`(/docs/${markdown.replace(/README\.md$/, "index.md")})`);
    }
  });

  test("has all pages in llms-full.txt", async () => {
    const all = await (await send("llms-full.txt")).text();
    expect(pages.filter(({ file }) => !all.includes(readPage(file))).map(({ file }) => file)).toEqual([]);
  });
});

describe("a documentation address", () => {
  test.each([
    ["of the site without a slash", "/docs", "/docs/"],
    ["of a folder without a slash", "/docs/clients", "/docs/clients/"],
    ["of an operation as it was before the site", "/docs/createKey", "/docs/api/createKey"],
  ])("%s redirects: %s", async (_, path, location) => {
    const answer = await fetch(`${origin}${path}`, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([308, location]);
    expect((await fetch(`${origin}${location}`)).status).toBe(200);
  });

  test.each(["nothing", "clients/nothing", "static/nothing.js", "clients/..%2f..%2fpackage.json"])(
    "that does not exist, %s, is 404 with a page",
    async (path) => {
      const answer = await send(path);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
      expect(await answer.text()).toContain("<title>404 | Sluice</title>");
    },
  );
});

describe("a documentation file", () => {
  test.each([
    ["clients/codex", "text/html; charset=utf-8", "no-cache"],
    ["llms.txt", "text/plain; charset=utf-8", "no-cache"],
    ["icon.svg", "image/svg+xml", "no-cache"],
    [
      files.find(({ path }) => /^static\/app.*js$/.test(path))?.path ?? "",
      "text/javascript; charset=utf-8",
      "public, max-age=31536000, immutable",
    ],
  ])("%s has its type, is compressed, and is not sent again to a client that has it", async (path, type, caching) => {
    const answer = await send(path);
    const { headers } = answer;
    expect([headers.get("content-type"), headers.get("cache-control")]).toEqual([type, caching]);
    expect([headers.get("content-encoding"), headers.get("x-content-type-options")]).toEqual(["gzip", "nosniff"]);
    const again = await send(path, { headers: { "if-none-match": headers.get("etag") as string } });
    expect(again.status).toBe(304);
    const plain = await send(path, { headers: { "accept-encoding": "identity" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toBe(await answer.text());
  });

  test("that is a page permits only its own scripts, and inline scripts by their hashes", async () => {
    const policy = (await send("clients/codex")).headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'self'(?: 'sha256-[\w+/=]+')+;/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(textOf("clients/codex.html")).not.toMatch(/ style="/);
  });
});
