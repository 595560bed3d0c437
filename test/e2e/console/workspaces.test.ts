/** A management key of the account in the console: it opens the workspace of a team, works in it, and deletes it. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { findBarriers, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";

describeWithChromium(`workspaces in the console ${inChromium}`, () => {
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

  test("are opened, filled and deleted with a management key of the account", async () => {
    await installation.admin("demo", "--days", "2");
    const made = await installation.admin("keys", "create", "--management", "--account", "--name", "account", "--json");
    const visited = await visit(browser, new URL(installation.baseUrl).origin);
    const { page, complaints } = visited;
    await signInTo(visited, (JSON.parse(made.stdout) as { readonly key: string }).key);
    const switcher = page.getByLabel("Workspace", { exact: true });
    await switcher.selectOption("demo");
    await page.waitForURL(/\/console$/);
    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await page.getByText("coding-agents").first().waitFor();
    await page.reload();
    await page.getByText("coding-agents").first().waitFor();
    await page.getByRole("link", { name: "Workspaces", exact: true }).click();
    const row = page.getByRole("row", { name: /demo/ });
    expect(await findBarriers(page)).toEqual([]);
    await switcher.selectOption("default");
    await page.getByRole("link", { name: "Workspaces", exact: true }).click();
    await row.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete workspace" }).click();
    await row.waitFor({ state: "detached" });
    const { stdout } = await installation.admin("workspaces", "list", "--deleted");
    expect(stdout).toContain("demo, deleted");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("get permissions in a form, and keep them when the form is saved again", async () => {
    const visited = await visit(browser, new URL(installation.baseUrl).origin);
    const { page, complaints } = visited;
    await signInTo(visited, installation.managementKey);
    const permissions = async (): Promise<unknown> => {
      const { stdout } = await installation.admin("workspaces", "list", "--json");
      return (JSON.parse(stdout) as readonly { readonly permissions: unknown }[])[0]?.permissions;
    };
    const edit = async () => {
      await page.goto("/console/workspaces");
      await page.getByRole("button", { name: "default", exact: true }).click();
      await page.getByText("More settings").click();
    };
    const save = async () => {
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await edit();
    await page.getByLabel("Models", { exact: true }).selectOption({ label: "Only these" });
    await page.getByLabel("Names of models").fill("sluice/*\nacme/large");
    await page.getByLabel("MCP servers", { exact: true }).selectOption({ label: "Only these" });
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findBarriers(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await save();
    const lists = { models: ["sluice/*", "acme/large"], mcp_servers: [] };
    expect(await permissions()).toEqual(lists);
    await edit();
    expect(await page.getByLabel("Names of models").inputValue()).toBe("sluice/*\nacme/large");
    await save();
    expect(await permissions()).toEqual(lists);
    await edit();
    for (const name of ["Models", "MCP servers"]) {
      await page.getByLabel(name, { exact: true }).selectOption({ label: "Not limited" });
    }
    await save();
    expect(await permissions()).toBeNull();
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
