/** The page of the health of providers: its figures are those of the ledger, and each leads to its requests. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { type Visit, findBarriers, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

const answered = 7;
const fallbacks = 5;

describeWithChromium(`the page of provider health ${inChromium}`, () => {
  let acme: Upstream;
  let installation: Installation;
  let browser: Browser;
  let database: pg.Client;
  let visited: Visit;
  beforeAll(async () => {
    acme = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: gone, name: Gone, dialect: chat, base_url: "http://127.0.0.1:1/v1"}
  - {id: idle, name: Idle, dialect: echo}
models:
  - {id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "2", completion: "8"}}]}
  - {id: acme/safe, endpoints: [{provider: gone, pricing: {prompt: "1", completion: "1"}}, {provider: acme, pricing: {prompt: "2", completion: "8"}}]}
  - {id: gone/model, endpoints: [{provider: gone, pricing: {prompt: "1", completion: "1"}}]}
  - {id: idle/model, endpoints: [{provider: idle, pricing: {prompt: "1", completion: "1"}}]}
`,
    });
    browser = await openBrowser();
    database = new pg.Client({ connectionString: installation.databaseUrl });
    await database.connect();
    await use();
    visited = await visit(browser, new URL(installation.baseUrl).origin);
    await signInTo(visited, installation.managementKey);
  });
  afterAll(async () => {
    expect(visited?.complaints ?? []).toEqual([]);
    await database?.end();
    await browser?.close();
    await installation?.stop();
    await acme?.stop();
  });

  async function use(): Promise<void> {
    acme.script([chatAnswer({ role: "assistant", content: "Of course." })]);
    const send = async (model: string, more: object = {}): Promise<number> => {
      const response = await fetch(`${installation.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model, input: "Hello", ...more }),
      });
      await response.text();
      return response.status;
    };
    for (let n = 0; n < answered; n++) expect(await send("acme/large")).toBe(200);
    // The fifth failure in a row ejects the endpoint.
    for (let n = 0; n < fallbacks; n++) {
      expect(await send("acme/safe", { provider: { order: ["gone", "acme"] } })).toBe(200);
    }
    expect(await send("gone/model")).toBe(502);
    await eventually(async () => (await calls("true")) === answered + 2 * fallbacks + 2);
  }

  async function calls(condition: string): Promise<number> {
    const { rows } = await database.query<{ count: string }>(
      `select count(*) from all_calls where payer = 'key' and ${condition}`,
    );
    return Number(rows[0]?.count);
  }

  const rowOf = (page: Page, provider: string, model: string) =>
    page
      .locator("section.card", { has: page.getByRole("heading", { name: provider }) })
      .getByRole("row", { name: model });

  test("shows uptime, calls and failures of each model as in the ledger, and an ejected endpoint", async () => {
    const { page } = visited;
    await page.getByRole("link", { name: "Health", exact: true }).click();
    const failing = rowOf(page, "Gone", "acme/safe");
    await failing.getByText("0.0%").waitFor();
    await failing.getByText("Ejected").waitFor();
    const shown = async (provider: string, model: string) => {
      const cells = await rowOf(page, provider, model).getByRole("cell").allTextContents();
      return [Number(cells[1]), cells[2], Number(cells[3])];
    };
    const failed = (provider: string, model: string) =>
      calls(`provider = '${provider}' and model = '${model}' and status = 'failed'`);
    expect(await shown("Gone", "acme/safe")).toEqual([
      await calls("provider = 'gone' and model = 'acme/safe'"),
      `${await failed("gone", "acme/safe")} status 502, then another call`,
      fallbacks,
    ]);
    // A request with a single endpoint calls it twice.
    expect(await shown("Gone", "gone/model")).toEqual([2, "1 connect_refused1 status 502, then another call", 1]);
    expect(await shown("Acme", "acme/large")).toEqual([answered, "None", 0]);
    expect(await shown("Acme", "acme/safe")).toEqual([fallbacks, "None", 0]);
    await rowOf(page, "Acme", "acme/large").getByText("100.0%").waitFor();
    await page.getByText("No calls in this period.").waitFor();
  });

  test("links failures, fallbacks and latencies to their requests, and Back returns to the page", async () => {
    const { page } = visited;
    await page.goto("/console/health?last=1h");
    await rowOf(page, "Gone", "gone/model").getByRole("link", { name: "connect_refused" }).click();
    await page.getByText("502 failed").waitFor();
    expect(await page.locator("tr.row-link").count()).toBe(1);
    await page.goBack();
    await rowOf(page, "Gone", "acme/safe").getByRole("link", { name: "then another call" }).click();
    await page.getByText("Fallback from: gone").waitFor();
    await page.locator("tr.row-link").first().waitFor();
    expect(await page.locator("tr.row-link").count()).toBe(fallbacks + 1);
    await page.goBack();
    await rowOf(page, "Acme", "acme/large").getByRole("link", { name: "ms" }).first().click();
    await page.waitForURL(/tab=latency/);
    await page.getByRole("rowheader", { name: "acme/large" }).waitFor();
  });

  test("tests a provider by the keyboard only, and is accessible in narrow windows and in the dark", async () => {
    const { page } = visited;
    await page.goto("/console/health");
    const button = page.getByRole("button", { name: "Test Gone" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("ECONNREFUSED").waitFor();
    for (const [width, colorScheme] of [
      [390, "light"],
      [390, "dark"],
      [768, "light"],
      [1400, "dark"],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.reload();
      await page.getByText("No calls in this period.").waitFor();
      expect([width, colorScheme, await findBarriers(page)]).toEqual([width, colorScheme, []]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      if (process.env["SCREENSHOTS"]) {
        await page.screenshot({
          path: `${process.env["SCREENSHOTS"]}/health-${width}-${colorScheme}.png`,
          fullPage: true,
        });
      }
    }
  });
});
