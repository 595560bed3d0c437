/** Daily questions of an operator, each answered in at most three clicks from the front page, with addresses that keep the answer. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Locator, Page } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { type Visit, findBarriers, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

const keys = ["hr-bot", "notebooks-bob"] as const;

describeWithChromium(`the console ${inChromium}`, () => {
  let acme: Upstream;
  let installation: Installation;
  let browser: Browser;
  let visited: Visit;
  beforeAll(async () => {
    acme = await startUpstream();
    installation = await startInstallation({
      config: `
capture: {key: "${Buffer.alloc(32, 1).toString("base64")}", retention: 1h}
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: gone, dialect: chat, base_url: "http://127.0.0.1:1/v1"}
alerts: [{name: ops, webhook: {url: "http://127.0.0.1:1/", secret: "whsec_${Buffer.alloc(32, 1).toString("base64")}"}}]
models:
  - {id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "2", completion: "8"}}]}
  - {id: acme/safe, endpoints: [{provider: gone, pricing: {prompt: "1", completion: "1"}}, {provider: acme, pricing: {prompt: "2", completion: "8"}}]}
  - {id: gone/model, endpoints: [{provider: gone, pricing: {prompt: "1", completion: "1"}}]}
`,
    });
    browser = await openBrowser();
    await use();
    visited = await visit(browser, new URL(installation.baseUrl).origin);
    await signInTo(visited, installation.managementKey);
  });
  afterAll(async () => {
    expect(visited?.complaints ?? []).toEqual([]);
    await browser?.close();
    await installation?.stop();
    await acme?.stop();
  });

  const send = (path: string, key: string, body?: object): Promise<Response> =>
    fetch(`${installation.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });

  async function use(): Promise<void> {
    const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
    acme.script([chatAnswer({ role: "assistant", content: "Of course." }, "stop", { usage })]);
    for (const name of keys) {
      const made = await send("/keys", installation.managementKey, { name, capture_content: true });
      const { key } = (await made.json()) as { readonly key: string };
      const tools = [{ type: "function", name: "get_weather", parameters: { type: "object" } }];
      const turns = [
        { model: "acme/large", input: "What is the weather?", tools, session_id: `run of ${name}` },
        {
          model: "acme/safe",
          input: "And tomorrow?",
          session_id: `run of ${name}`,
          provider: { order: ["gone", "acme"] },
        },
        { model: "gone/model", input: "Hello" },
      ];
      for (const turn of turns) await (await send("/responses", key, turn)).text();
    }
    await eventually(async () => (await totals()).requests === 2 * 3);
  }

  interface Totals {
    readonly requests: number;
    readonly cost_usd: string;
  }

  async function totals(query = ""): Promise<Totals> {
    const response = await send(`/usage/series${query}`, installation.managementKey);
    const { totals: sums } = (await response.json()) as { readonly totals: readonly Totals[] };
    return sums[0] ?? { requests: 0, cost_usd: "0" };
  }

  /** Number of clicks from the front page. */
  async function follow(...ways: ((page: Page) => Locator)[]): Promise<Page> {
    expect(ways.length).toBeLessThanOrEqual(3);
    const { page } = visited;
    await page.goto("/console");
    for (const way of ways) await way(page).click();
    return page;
  }

  const link = (name: string | RegExp) => (page: Page) => page.getByRole("link", { name, exact: true }).first();

  test("shows what a key has spent, on which models, and why its spend has changed", async () => {
    const page = await follow(link("notebooks-bob"), link("Spend"));
    await page.getByText("What changed").waitFor();
    await page.getByText(/^\+\$\d.*, of which/).waitFor();
    const hash = new URL(page.url()).searchParams.get("key") ?? "";
    const { cost_usd: cost } = await totals(`?key=${hash}`);
    expect(Number(cost)).toBeGreaterThan(0);
    const shown = page.locator("tfoot [title^='$']").first();
    expect(await shown.getAttribute("title")).toBe(`$${cost.replace(/0+$/, "")}`);
  });

  test("shows failed requests, the cause, and other failures of the same kind", async () => {
    const page = await follow(link("Explorer"), link("Errors"), (at) =>
      at.getByRole("row", { name: "connect_refused" }).getByRole("link", { name: "2", exact: true }).first(),
    );
    await page.getByText("502 failed").first().waitFor();
    expect(await page.getByText("502 failed").count()).toBe(2);
    await page.getByRole("rowheader").getByRole("link").first().click();
    await page.getByRole("alert").getByText("connect_refused").waitFor();
    await page.getByRole("link", { name: "Similar failures of the last 7 days" }).click();
    await page.getByText("502 failed").nth(1).waitFor();
  });

  test("shows the providers that a request has tried, and its prompt as a conversation for the playground", async () => {
    const page = await follow(link("Sessions"), link("run of hr-bot"), (at) =>
      at.getByRole("listitem").filter({ hasText: "acme/safe" }).getByRole("link"),
    );
    await page.getByText("gone · acme/safe").first().waitFor();
    await page.getByText("acme · acme/safe").first().waitFor();
    await page.getByText("1,000 tokens in × $2.00 per million + 100 tokens out").waitFor();
    await page.getByRole("button", { name: "Show prompt and answer" }).click();
    await page.getByText("Of course.", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Open in the playground" }).click();
    expect(await page.getByLabel("Input", { exact: true }).inputValue()).toBe("And tomorrow?");
  });

  test("keeps a filter in the address, for Back, a reload and a link", async () => {
    const page = await follow(link("Explorer"), link("Requests"));
    const search = page.getByLabel("Search", { exact: true });
    await search.fill("notebooks");
    await search.press("Enter");
    await page.getByRole("link", { name: "hr-bot" }).first().waitFor({ state: "detached" });
    const address = page.url();
    expect(address).toContain("q=notebooks");
    await page.getByText("Filters", { exact: true }).click();
    const status = page.getByLabel("Status", { exact: true });
    await status.fill("5xx");
    await status.press("Enter");
    await page.waitForURL(/status=5xx/);
    await page.getByText("200 completed").first().waitFor({ state: "detached" });
    await page.goBack();
    await page.getByText("200 completed").first().waitFor();
    expect(page.url()).toBe(address);
    await page.reload();
    await page.getByText("200 completed").first().waitFor();
    expect(await page.getByRole("link", { name: "hr-bot" }).count()).toBe(0);
  });

  test("saves a view under a name, and opens it after a reload", async () => {
    const page = await follow(link("Explorer"), link("Errors"));
    await page.waitForURL(/tab=errors/);
    const address = page.url();
    const open = () => page.getByRole("button", { name: "Saved views" }).click();
    await open();
    await page.getByLabel("Name", { exact: true }).fill("What fails");
    await page.getByRole("button", { name: "Save this view" }).click();
    await page.getByRole("link", { name: "What fails" }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.goto("/console/explorer");
    await open();
    await page.getByRole("link", { name: "What fails" }).click();
    await page.waitForURL(address);
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await open();
    await page.getByRole("button", { name: "Remove What fails" }).click();
    await page.getByText("No saved views in this workspace.").waitFor();
  });

  test("chooses columns by the keyboard, and keeps them in the address and the CSV file", async () => {
    const page = await follow(link("Explorer"));
    await page.goto("/console/explorer?tab=requests");
    const costs = page.getByRole("table").filter({ has: page.getByRole("columnheader", { name: /^Cost/ }) });
    const heads = () => costs.getByRole("columnheader").allInnerTexts();
    await page.getByRole("columnheader", { name: "Tokens out" }).waitFor();
    await page.getByText("Columns", { exact: true }).focus();
    await page.keyboard.press("Enter");
    for (const name of ["Status", "Key", "Tokens in", "Tokens out", "First token", "Duration"]) {
      await page.getByRole("checkbox", { name, exact: true }).focus();
      await page.keyboard.press("Space");
      await page.getByRole("columnheader", { name, exact: true }).waitFor({ state: "detached" });
    }
    await page.getByRole("checkbox", { name: "Session", exact: true }).focus();
    await page.keyboard.press("Space");
    await page.waitForURL(/columns=model%2Ccost%2Csession_id/);
    await page.reload();
    await page.getByRole("columnheader", { name: "Session" }).waitFor();
    expect(await heads()).toEqual(["Time (UTC)", "Model", "Cost", "Session"]);
    expect(await findBarriers(page)).toEqual([]);
    expect(await csvHead(page)).toBe("id,created_at,requested_model,model,provider,cost_usd,session_id");
    await page.goto("/console/explorer?by=key&columns=failures,output");
    await page.getByRole("columnheader", { name: "Output" }).waitFor();
    expect((await heads()).map((text) => text.replace(/ .$/, ""))).toEqual([
      "Key",
      "Cost",
      "Change",
      "Failures",
      "Output",
    ]);
    expect(await csvHead(page)).toBe("day,key,cost,failures,output");
  });

  async function csvHead(page: Page): Promise<string> {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    return readFileSync(await download.path(), "utf8").split("\r\n", 1)[0] ?? "";
  }

  test("sets, tests and deletes an alert on a view", async () => {
    const page = await follow(link("Explorer"));
    await page.goto("/console/explorer?model=acme%2Flarge");
    await page.getByRole("button", { name: "Set an alert" }).click();
    await page.getByText("On usage with Model acme/large.").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Failures of large");
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Set alert", exact: true }).click();
    await page.getByText("The alert Failures of large is set.").waitFor();
    const listed = await send("/alert-rules/Failures%20of%20large", installation.managementKey);
    expect(await listed.json()).toMatchObject({
      data: { filters: { model: "acme/large" }, condition: "error_rate", threshold: 5, channels: ["ops"] },
    });
    await link("Alerts")(page).click();
    await page.getByRole("button", { name: "History and test of Failures of large" }).click();
    await page.getByRole("button", { name: "Send a test alert" }).click();
    await page.getByText(/ops: not delivered: /).waitFor();
    await page.getByRole("cell", { name: "test", exact: true }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Delete Failures of large" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("No alert is set").waitFor();
  });

  test("offers views that an earlier build stored in the browser once, and moves them to the workspace", async () => {
    const page = await follow(link("Explorer"));
    const { data: session } = (await (await page.request.get("/console/api/session")).json()) as {
      readonly data: { readonly workspace: { readonly id: string } };
    };
    const kept = JSON.stringify([
      { name: "By key", address: "/console/explorer?by=key" },
      { name: "Elsewhere", address: "https://example.com" },
    ]);
    const storageName = JSON.stringify(`sluice-views ${session.workspace.id}`);
    await page.evaluate(`localStorage.setItem(${storageName}, ${JSON.stringify(kept)})`);
    await page.getByRole("button", { name: "Saved views" }).click();
    await page.getByRole("button", { name: "Move them to the workspace" }).click();
    await page.getByRole("link", { name: "By key" }).waitFor();
    await page.getByRole("button", { name: "Move them to the workspace" }).waitFor({ state: "detached" });
    const listed = await send("/views", installation.managementKey);
    expect(await listed.json()).toMatchObject({ data: [{ name: "By key", query: "by=key" }] });
    expect(await page.evaluate(`localStorage.getItem(${storageName})`)).toBe(null);
  });

  test("reads and narrows a chart by the keyboard, and finds a page with Ctrl-K", async () => {
    const page = await follow(link("Explorer"));
    const chart = page.getByRole("slider");
    await chart.focus();
    await page.keyboard.press("End");
    expect(await chart.getAttribute("aria-valuetext")).toContain("acme/large: $");
    await page.keyboard.press("Enter");
    await page.waitForURL(/from=/);
    await page.keyboard.press("Control+k");
    await page.getByLabel("Pages, keys, models and ids").fill("audit");
    await page.getByRole("option", { name: /Audit log/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
  });
});
