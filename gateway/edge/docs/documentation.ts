/**
 * The documentation at `/docs`: the site built from `docs/`, and the API reference below `/docs/api`. The gateway reads the site at its first request
 * and keeps it compressed, since most gateways never show it.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { operations } from "../../contract/operations/operations.ts";
import type { Published } from "../http/published.ts";
import { consoleSite, fileHeaders, pageHeaders } from "../http/site.ts";

/** A file of the built site. */
interface SiteFile {
  /** Path of the file below `/docs/`. */
  readonly path: string;
  readonly type: string;
  readonly etag: string;
  /** Content, compressed by gzip, in base64. */
  readonly gzip: string;
}

interface BuiltSite {
  /** Hashes of the scripts within the page, for its content security policy. */
  readonly scripts: readonly string[];
  readonly files: readonly SiteFile[];
}

type Site = ReadonlyMap<string, Published>;

const built = fileURLToPath(new URL("../../../../docs/dist/site.json", import.meta.url));

/**
 * The running or finished load of the site. Requests that arrive together share it: several loads at once would take processor time from requests to
 * models.
 */
let loading: Promise<Site | undefined> | undefined;

/** Loads the built site. @returns undefined until it is built, since a checkout builds it only after its first start */
async function load(): Promise<Site | undefined> {
  loading ??= readSite();
  const site = await loading.catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  if (!site) loading = undefined;
  return site;
}

async function readSite(): Promise<Site | undefined> {
  try {
    const { scripts, files } = JSON.parse(await readFile(built, "utf8")) as BuiltSite;
    const ofPages = pageHeaders(scripts);
    return new Map(files.map((file) => [file.path, publishFile(file, ofPages)]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function publishFile({ path, type, etag, gzip }: SiteFile, ofPages: Readonly<Record<string, string>>): Published {
  const bytes = Buffer.from(gzip, "base64");
  const own = path.startsWith("static/") ? fileHeaders : path.endsWith(".html") ? ofPages : {};
  let plain: Buffer | undefined;
  return {
    headers: { "content-type": type, ...own },
    representations: [
      { coding: "gzip", bytes, etag: `"${etag}-gzip"` },
      {
        coding: undefined,
        get bytes() {
          // The decompressed text is kept: otherwise each request of a client without compression would cost more than several requests with a key.
          return (plain ??= gunzipSync(bytes));
        },
        etag: `"${etag}"`,
      },
    ],
  };
}

const root = "/docs";

/** Finds a page. @param path path below `/docs`: empty, or with a slash before it */
export async function findInDocumentation(path: string): Promise<Published> {
  const address = path.slice(1);
  if (address === "api" || address.startsWith("api/")) return consoleSite.page ?? missing;
  const file = consoleSite.find(address);
  if (file && file !== consoleSite.page) return file;
  // The addresses of operations were directly below `/docs` before the site existed.
  if (Object.hasOwn(operations, address)) return redirect(`${root}/api/${address}`);
  const site = await load();
  if (!site) return unbuilt;
  if (path === "" || site.has(`${address}/index.html`)) return redirect(`${root}${path}/`);
  return findFile(site, address) ?? { ...(site.get("404.html") ?? missing), status: 404 };
}

const findFile = (site: Site, address: string): Published | undefined =>
  site.get(
    address === "" || address.endsWith("/") ? `${address}index.html` : address.replace(/\bREADME\.md$/, "index.md"),
  ) ?? site.get(`${address}.html`);

const redirect = (location: string): Published => ({
  ...text("", ""),
  status: 308,
  headers: { location },
});

/** A text written by the gateway itself. */
function text(content: string, etag: string): Published {
  const bytes = Buffer.from(content);
  return {
    headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-store", ...pageHeaders() },
    representations: [{ coding: undefined, bytes, etag: `"${etag}"` }],
  };
}

const missing: Published = {
  ...text("<!doctype html><title>Not found</title><p>There is no such page.</p>", "missing"),
  status: 404,
};

/** The page for a checkout whose site is not built yet. It reloads itself. */
const unbuilt: Published = {
  ...text(
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="3">
<title>Sluice documentation</title>
<h1>The documentation is being built</h1>
<p>A checkout builds it in the background after its first start, which takes some seconds; this page then shows it.
If it stays away, <code>npm run site</code> in the checkout builds it and shows what is wrong.</p>
<p>The <a href="${root}/api">API reference</a> is ready, and the pages are in <code>docs/</code> of the checkout.</p>
</html>
`,
    "unbuilt",
  ),
  status: 503,
};
