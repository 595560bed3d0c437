/** Pages show the cost in the ledger, to the last picodollar: of answers, of refusals, and of calls lost with their process. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import type { Browser, Locator, Page } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { type Visit, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const picosPerDollar = 12;

/** Dimensions of the explorer, each with the value of an existing row. */
const units = [
  ["Model", "acme/large"],
  ["Key", "second"],
  ["Provider", "acme"],
  ["End user", "ada"],
  ["Status", "200"],
  ["Guardrail", "No guardrail"],
  ["Format", "responses"],
] as const;

/** Picodollars of a text such as `$1,234.000000000001`. */
function picos(text: string): bigint {
  const [whole = "", part = ""] = text.replaceAll(/[$,]/g, "").split(".");
  return BigInt(whole + part.padEnd(picosPerDollar, "0"));
}

describeWithChromium(`sums in the console ${inChromium}`, () => {
  let acme: Upstream;
  let installation: Installation;
  let browser: Browser;
  let database: pg.Client;
  beforeAll(async () => {
    acme = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "0.123457", completion: "7.654321"}}]}
  - {id: acme/small, endpoints: [{provider: acme, pricing: {prompt: "0.010203", completion: "0.000007"}}]}
`,
    });
    browser = await openBrowser();
    database = new pg.Client({ connectionString: installation.databaseUrl });
    await database.connect();
  });
  afterAll(async () => {
    await database?.end();
    await browser?.close();
    await installation?.stop();
    await acme?.stop();
  });

  const sendRequest = (body: object, key = installation.apiKey) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large", input: "Hello", user: "ada", ...body }),
    });

  const status = async (...args: Parameters<typeof sendRequest>): Promise<number> => {
    const answer = await sendRequest(...args);
    await answer.text();
    return answer.status;
  };

  async function manage(path: string, body: object): Promise<{ readonly key: string }> {
    const answer = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { readonly key: string };
  }

  /** A stream with its process killed in the middle. */
  async function loseCall(): Promise<void> {
    acme.script([{ chunks: [{ sse: [chatChunk({ content: "begun!" })] }], hang: true }]);
    const reader = (await sendRequest({ stream: true })).body?.getReader();
    for (let text = ""; !text.includes("begun!"); ) {
      text += Buffer.from((await reader?.read())?.value ?? []).toString();
    }
    process.kill(installation.pids()["inference-svc"] as number, "SIGKILL");
    await reader?.cancel().catch(() => {});
  }

  async function use(): Promise<void> {
    const usage = { prompt_tokens: 1_234_567, completion_tokens: 89, total_tokens: 1_234_656 };
    const answered = [chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage })];
    await manage("/end-users", { user: "ada" });
    const { key } = await manage("/keys", { name: "second" });
    acme.script(answered);
    const tagged = { metadata: { team: "search, web" } };
    for (const body of [tagged, { model: "acme/small" }, { user: "bob" }]) expect(await status(body)).toBe(200);
    expect(await status({ model: "acme/small" }, key)).toBe(200);
    expect(await status({ temperature: 9 })).toBe(400);
    await loseCall();
    process.kill(installation.pids()["admin-svc"] as number, "SIGKILL");
    acme.script(answered);
    await eventually(async () => (await status({}, key)) === 200);
  }

  const ledger = async (condition = "true"): Promise<bigint> => {
    const { rows } = await database.query<{ usd: string }>(
      `select coalesce(sum(cost_usd), 0)::text as usd from all_calls where payer = 'key' and ${condition}`,
    );
    return picos(rows[0]?.usd ?? "");
  };

  const recorded = async (outcome: string): Promise<number> =>
    (await database.query("select from all_turns where outcome = $1", [outcome])).rows.length;

  const total = async (amounts: Locator): Promise<bigint> => {
    await amounts.first().waitFor();
    const texts = await amounts.evaluateAll((found) => found.map((each) => each.getAttribute("title") ?? ""));
    return texts.reduce((sum, text) => sum + picos(text), 0n);
  };

  const rows = (page: Page) => page.locator("tbody td [title^='$']");

  const signedIn = async (): Promise<Visit> => {
    const visited = await visit(browser, new URL(installation.baseUrl).origin);
    await signInTo(visited, installation.managementKey);
    return visited;
  };

  // Each part has a separate time limit, because a busy machine is slow.
  beforeAll(async () => {
    await use();
    // Records arrive some time after their answers, and a page opened earlier does not show them.
    for (const [outcome, count] of Object.entries({ completed: 5, refused: 1, lost: 1 })) {
      await eventually(async () => (await recorded(outcome)) >= count);
    }
    const { stdout } = await installation.admin("ledger", "check");
    expect(stdout).toContain("1 of them lost calls");
  });

  test("equal the ledger in lists, after kills of processes", async () => {
    const { page, complaints } = await signedIn();
    const whole = await ledger();
    const lost = await ledger("status = 'lost'");
    expect(lost).toBeGreaterThan(0n);
    const overview = await total(page.locator(".figure", { hasText: "Last 30 days" }).locator("[title]"));
    const shown: Record<string, bigint> = { overview };
    for (const path of [
      "explorer?tab=requests&provider=acme",
      "explorer?tab=requests&status=200",
      "explorer?tab=requests&status=400",
      "keys",
      "workspaces",
      "end-users",
    ]) {
      await page.goto(`/console/${path}`);
      shown[path] = await total(rows(page));
    }
    expect(shown).toEqual({
      overview: whole,
      // These filters find calls and no refusals, which would fill more than one page.
      "explorer?tab=requests&provider=acme": whole,
      "explorer?tab=requests&status=200": whole - lost,
      "explorer?tab=requests&status=400": 0n,
      // Each row shows its total cost and its cost of this month.
      keys: whole * 2n,
      workspaces: whole,
      // The list holds registered end users; bob is not registered.
      "end-users": await ledger(`"user" = 'ada'`),
    });
    expect(complaints).toEqual([]);
  });

  test("equal the ledger in usage, for every grouping", async () => {
    const { page, complaints } = await signedIn();
    const whole = await ledger();
    await page.goto("/console/explorer?tab=requests&show=sums");
    for (const [by, value] of units) {
      await page.getByLabel("Group by", { exact: true }).selectOption({ label: by });
      await page.getByRole("rowheader", { name: value, exact: true }).waitFor();
      expect([by, await total(rows(page))]).toEqual([by, whole]);
    }
    expect(complaints).toEqual([]);
  });

  test("equal the ledger by tag, and link to the requests with a value of the tag", async () => {
    const { page, complaints } = await signedIn();
    await page.goto("/console/explorer?tab=requests&show=sums");
    await page.getByLabel("Group by", { exact: true }).selectOption({ label: "Tag…" });
    await page.getByLabel("Group by: tag").fill("team");
    await page.getByLabel("Group by: tag").press("Enter");
    await page.getByRole("rowheader", { name: "No team", exact: true }).waitFor();
    expect(await total(rows(page))).toBe(await ledger());
    await page.getByRole("rowheader", { name: "search, web", exact: true }).getByRole("link").click();
    await page.getByText("Tags: team=search%2C web").waitFor();
    await page.getByRole("rowheader", { name: "No team", exact: true }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "List of requests" }).click();
    await page.locator("tr.row-link a").first().click();
    await page.getByRole("link", { name: "team=search, web" }).waitFor();
    expect(complaints).toEqual([]);
  });
});
