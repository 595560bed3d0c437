/** A real Chromium, for tests and measurements of the console. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, type Page, chromium } from "playwright-core";

/** Path of the program; undefined if the machine has none. */
export const chromiumPath = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path !== undefined && existsSync(path),
);

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath as string, args: ["--no-sandbox", "--disable-gpu"] });

export interface Visit {
  readonly page: Page;
  /** What a page must not do: requests to other origins, script errors, violations of the content security policy. */
  readonly complaints: string[];
}

/** Opens a page, and records its errors. @param origin the only origin that the page may use */
export async function visit(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Visit> {
  // By default the visitor has dismissed the welcome page before.
  const dismissed = { cookies: [], origins: [{ origin, localStorage: [{ name: "sluice-welcome", value: "over" }] }] };
  const context = await browser.newContext({ baseURL: origin, storageState: dismissed, ...options });
  // Milliseconds to wait for a condition: a busy machine needs more than Playwright's 30 s, and a test that ends after its 120 s would not name the
  // missed condition.
  context.setDefaultTimeout(100_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith("data:")) complaints.push(`request to ${url}`);
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(`console: ${message.text()}`);
  });
  return { page, complaints };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The findings of axe on a page: each violated rule with its first elements. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return await page.evaluate<string[]>(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ html }) => html).join(" ")))`);
}

/** Signs in to the console, and waits for its first page. */
export async function signInTo({ page }: Visit, managementKey: string): Promise<void> {
  await page.goto("/console");
  await page.getByLabel("Management key").fill(managementKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}
