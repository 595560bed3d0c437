/** Longer ways through the console: a refused call and its rule, only the keyboard, hostile names, and no secret left behind. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { type Visit, findBarriers, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually, root } from "../../support/processes.ts";

/** Evaluates to the time of the first paint with content, in milliseconds since the navigation began; the browser may report it after the page has loaded. */
const firstPaint = `new Promise((resolve) =>
  new PerformanceObserver((list) => {
    const [paint] = list.getEntriesByName("first-contentful-paint");
    if (paint) resolve(paint.startTime);
  }).observe({ type: "paint", buffered: true }))`;

test("the whole console is at most 150 KB, compressed with gzip", () => {
  const site = JSON.parse(readFileSync(join(root, "gateway/console/dist/site.json"), "utf8")) as {
    readonly files: readonly { readonly gzip: string }[];
  };
  const bytes = site.files.reduce((sum, { gzip }) => sum + Buffer.byteLength(gzip, "base64"), 0);
  expect(bytes).toBeLessThanOrEqual(150_000);
});

describeWithChromium(`the console ${inChromium}`, () => {
  let installation: Installation;
  let browser: Browser;
  beforeAll(async () => {
    installation = await startInstallation();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await installation.stop();
  });

  async function signedIn(): Promise<Visit> {
    const visited = await visit(browser, new URL(installation.baseUrl).origin);
    await signInTo(visited, installation.managementKey);
    return visited;
  }

  async function makeKey(page: Page, name: string): Promise<string> {
    await page.goto("/console/keys");
    await page.getByRole("button", { name: "Make key" }).click();
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByRole("dialog").getByRole("button", { name: "Make key" }).click();
    const secret = await page.getByText(/^sk-sl-\w{49}$/).textContent();
    await page.getByRole("button", { name: "Done" }).click();
    return secret as string;
  }

  async function sendRequest(key: string, input: string): Promise<number> {
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input }),
    });
    await response.text();
    return response.status;
  }

  test("shows its first content in less than 300 ms, from at most 150 KB and no other server", async () => {
    const { page, complaints } = await signedIn();
    const client = await page.context().newCDPSession(page);
    await client.send("Network.enable");
    await client.send("Network.setCacheDisabled", { cacheDisabled: true });
    let bytes = 0;
    client.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    // A busy machine delays single paints, so visits are repeated: a page that is slow by itself never passes.
    await eventually(async () => {
      bytes = 0;
      await page.goto("/console");
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      return Number(await page.evaluate(firstPaint)) < 300;
    });
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThanOrEqual(150_000);
    expect(complaints).toEqual([]);
  });

  test("creates, tries and assigns a guardrail, and shows its refused call with the rule", async () => {
    const { page, complaints } = await signedIn();
    const key = await makeKey(page, "guarded");
    await page.getByRole("link", { name: "Guardrails" }).click();
    await page.getByRole("button", { name: "Make guardrail" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Projects");
    await page.getByRole("button", { name: "Add pattern" }).click();
    await page.getByLabel("Pattern 1", { exact: true }).fill("(?i)project falcon");
    await page.getByLabel("Label of pattern 1").fill("secret project");
    await page.getByRole("dialog").getByRole("button", { name: "Make guardrail" }).click();

    await page.getByLabel("Text", { exact: true }).fill("Tell me about Project Falcon.");
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByText("Blocked", { exact: true }).waitFor();

    await page.getByRole("checkbox", { name: /^guarded/ }).check();
    await page.getByRole("button", { name: "Apply to 1 key" }).click();
    await page.getByText("In force: 1 key").waitFor();
    expect(await sendRequest(key, "Hello")).toBe(200);
    expect(await sendRequest(key, "Tell me about Project Falcon.")).toBe(403);

    await page.goto("/console/explorer?tab=requests");
    await expectWithin(page, "403 refused");
    await expectWithin(page, "200 completed");
    await page
      .getByRole("row", { name: /refused/ })
      .getByRole("link")
      .first()
      .click();
    await page.getByRole("heading", { level: 1, name: "Request" }).waitFor();
    await page.getByRole("alert").getByText("secret project").waitFor();

    await page.goto("/console");
    await page.getByRole("link", { name: /^403 refused/ }).click();
    await page.getByRole("heading", { level: 1, name: "Explorer" }).waitFor();
    await page.getByText("Filters (1)").click();
    await page.getByLabel("Key", { exact: true }).selectOption({ label: "guarded" });
    await page.getByText("Filters (2)").waitFor();
    await page.getByText("403 refused").waitFor();
    expect(await page.getByText("200 completed").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("shows why a provider is left out on the page of models", async () => {
    const { page, complaints } = await signedIn();
    await page.goto("/console/models");
    await page.getByText(/^\d+ providers are left out$/).click();
    await page.getByText("OPENAI_API_KEY is not set", { exact: true }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  /** Looks again until the text appears; the time limit of the test ends a search without success. */
  async function expectWithin(page: Page, text: string): Promise<void> {
    while ((await page.getByText(text).count()) === 0) {
      await page.getByRole("button", { name: "Refresh" }).click();
      await page.waitForTimeout(100);
    }
  }

  test("signs in, and opens and leaves a page and a dialog by the keyboard only", async () => {
    const { page } = await visit(browser, new URL(installation.baseUrl).origin);
    await page.goto("/console");
    await page.getByRole("heading", { name: "Sign in to Sluice" }).waitFor();
    await page.keyboard.type(installation.managementKey);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await tabTo(page, "Keys");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    await tabTo(page, "Make key");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await focused(page)).toBe("Make key");
  });

  const focused = (page: Page) => page.evaluate<string>("document.activeElement.textContent.trim()");

  async function tabTo(page: Page, text: string): Promise<void> {
    for (let n = 0; n < 40 && (await focused(page)) !== text; n++) await page.keyboard.press("Tab");
    expect(await focused(page)).toBe(text);
  }

  test("shows HTML or formulas in names as text", async () => {
    const { page, complaints } = await signedIn();
    const name = '<img src=x onerror="document.title=1"><b>=1+1</b>';
    await makeKey(page, name);
    await page.getByRole("button", { name }).click();
    await page.getByRole("dialog").getByRole("heading", { name }).waitFor();
    expect(await page.locator("img, b").count()).toBe(0);
    await page.goto("/console");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("exports usage in a file whose formulas no spreadsheet runs", async () => {
    const { page, complaints } = await signedIn();
    await sendRequest(await makeKey(page, '=HYPERLINK("x"),1'), "Hello");
    await page.goto("/console/explorer?tab=requests");
    await expectWithin(page, '=HYPERLINK("x"),1');
    await page.goto("/console/explorer?by=key");
    await page.getByRole("rowheader", { name: "=HYPERLINK" }).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    expect(readFileSync(await file.path(), "utf8")).toContain(`,"'=HYPERLINK(""x""),1",`);
    expect(complaints).toEqual([]);
  });

  test("leaves no key in the page, its storage or its cookies", async () => {
    const { page } = await signedIn();
    const key = await makeKey(page, "shown once");
    await page.goto("/console/playground");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/done after/).waitFor();
    const kept = await page.evaluate<string>(
      "JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage }, document.cookie])",
    );
    expect(kept).not.toContain(key);
    expect(kept).not.toContain(installation.managementKey);
    expect(kept).not.toMatch(/[sm]k-sl-\w{49}/);
    expect(kept).not.toContain("sluice_console");
  });
});
