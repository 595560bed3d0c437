/** A real Chromium: tests of the console need one, and are skipped, and reported as such, where the machine has none. */
import { existsSync } from "node:fs";
import { describe } from "@jest/globals";
import { type Browser, type BrowserContextOptions, type Page, chromium } from "playwright-core";

const program = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path !== undefined && existsSync(path),
);

export const describeWithChromium: typeof describe.skip = program === undefined ? describe.skip : describe;

/** Title of such tests. */
export const inChromium = program === undefined ? "in Chromium (there is none)" : "in Chromium";

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: program as string, args: ["--no-sandbox", "--disable-gpu"] });

export interface Visit {
  readonly page: Page;
  /** Everything that a page must not do: requests to other origins, errors of scripts, reports of the content security policy. */
  readonly complaints: string[];
}

/** Opens a page that remembers what went wrong on it. @param origin the only one that it may ask */
export async function visit(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ baseURL: origin, ...options });
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
