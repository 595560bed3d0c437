/**
 * Every page of the console, wide and narrow, light and dark: no finding of axe, no script error, no request elsewhere.
 * The variable SCREENSHOTS names a folder for a picture of each page.
 */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { type Visit, findBarriers, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { fillInstallation, showcase } from "./showcase.ts";

const pictures = process.env["SCREENSHOTS"];

/** Paths, each with a title that proves the page is shown, and a text that proves its data are. */
const pages = [
  { path: "", title: "Overview", shows: "Cost by day" },
  { path: "/explorer?last=30d", title: "Explorer", shows: "northwind/atlas-large" },
  { path: "/explorer?tab=requests&last=30d", title: "Explorer", shows: "northwind/atlas-large" },
  { path: "/explorer?tab=latency&last=30d&by=provider", title: "Explorer", shows: "northwind" },
  { path: "/sessions", title: "Sessions", shows: "checkout-run" },
  { path: "/sessions/checkout-run", title: "Session", shows: "Turns" },
  { path: "/health", title: "Health", shows: "Northwind" },
  { path: "/keys", title: "Keys", shows: "checkout-service" },
  { path: "/guardrails", title: "Guardrails", shows: "No secrets" },
  { path: "/models", title: "Models", shows: "Atlas Large" },
  { path: "/models/northwind/atlas-large", title: "Models", shows: "First token" },
  { path: "/providers", title: "Providers", shows: "northwind" },
  { path: "/live", title: "Live", shows: "Nothing is running" },
  { path: "/end-users", title: "End users", shows: "customer-1" },
  { path: "/workspaces", title: "Workspaces", shows: "default" },
  { path: "/audit", title: "Audit log", shows: "checkout-service" },
  { path: "/playground", title: "Playground", shows: "Dry run" },
  { path: "/reference/createKey", title: "API reference", shows: "Answers" },
  { path: "/docs/clients/codex", title: "Codex", shows: "codex exec" },
  { path: "/docs/api/createResponse", title: "API reference", shows: "Answers" },
] as const;

const forms = [
  { form: "wide and light", viewport: { width: 1400, height: 900 }, colorScheme: "light" },
  { form: "wide and dark", viewport: { width: 1400, height: 900 }, colorScheme: "dark" },
  { form: "medium and light", viewport: { width: 768, height: 1024 }, colorScheme: "light" },
  { form: "narrow and light", viewport: { width: 390, height: 844 }, colorScheme: "light" },
  { form: "narrow and dark", viewport: { width: 390, height: 844 }, colorScheme: "dark" },
] as const;

describeWithChromium(`pages of the console ${inChromium}`, () => {
  let installation: Installation;
  let browser: Browser;
  beforeAll(async () => {
    installation = await startInstallation({ config: showcase });
    await fillInstallation(installation);
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await installation.stop();
  });

  const picture = async (page: Page, name: string, form: string): Promise<void> => {
    if (pictures === undefined) return;
    await page.screenshot({ path: join(pictures, `${name}-${form.replaceAll(" and ", "-")}.png`) });
  };

  test.each(forms)("are all accessible and without errors when $form", async ({ form, ...options }) => {
    const visited: Visit = await visit(browser, new URL(installation.baseUrl).origin, options);
    const { page, complaints } = visited;
    const found: Record<string, readonly string[]> = {};
    await page.goto("/console");
    await page.getByRole("heading", { name: "Sign in to Sluice" }).waitFor();
    found["sign-in"] = await findBarriers(page);
    await picture(page, "sign-in", form);
    await signInTo(visited, installation.managementKey);
    for (const { path, title, shows } of pages) {
      await page.goto(path.startsWith("/docs") ? path : `/console${path}`);
      await page.getByRole("heading", { level: 1, name: title, includeHidden: true }).waitFor();
      await page.getByRole("main").getByText(shows, { exact: true }).first().waitFor();
      found[path] = await findBarriers(page);
      await picture(page, path === "" ? "overview" : path.slice(1).replaceAll(/[^a-z0-9-]+/gi, "-"), form);
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      if (Number(overflow) > 0) complaints.push(`${path} is ${String(overflow)} px too wide`);
    }
    expect(Object.fromEntries(Object.entries(found).filter(([, barriers]) => barriers.length > 0))).toEqual({});
    expect(complaints).toEqual([]);
  });
});
