/**
 * Measures the console in Chromium on a whole installation: `node test/dist/campaigns/bench/console.js` (four minutes). First paint, pages of a million
 * requests, the time until a request is listed, and the gateway's cost of a page watching a thousand streams. The machine's other load is printed,
 * because times of a busy machine mean little.
 */
import { loadavg } from "node:os";
import type { Browser, Page } from "playwright-core";
import pg from "pg";
import { openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { chatChunk, startUpstream } from "../../support/providers/upstream.ts";
import { cpuNs } from "../../support/machine.ts";
import { median } from "./measure/rounds.ts";

const turns = 1_000_000;
const streams = 1_000;
const rounds = 15;
const windowMs = 20_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const show = (name: string, values: readonly number[]): void =>
  say(`${name}: median ${Math.round(median(values))} ms, most ${Math.round(Math.max(...values))} ms`);

async function fill({ databaseUrl }: Installation): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query(`
    alter table turns disable trigger user;
    insert into turns (
      generation_id, key_hash, workspace_id, request_id, opened_at, duration_ms, door, operation, model, provider, service_tier, outcome,
      http_status, streamed, requests, attempts, cost_usd, input_tokens, cached_tokens, output_tokens, reasoning_tokens, is_estimated,
      last_attempt, is_recorded
    )
    select 'gen-' || n, key.hash, key.workspace_id, 'req_' || n, now() - (n * 2.592) * interval '1 s', 900, 'responses', 'turn',
      'acme/model-' || n % 20, 'acme', 'default', 'completed', 200, true, 1, 1, 0.0001, 1200, 400, 300, 10, false, 1, true
    from generate_series(1, ${turns}) as numbers (n), (select hash, workspace_id from api_keys where kind = 'inference' limit 1) as key;
    alter table turns enable trigger user;
    analyze turns`);
  await client.end();
}

/**
 * JavaScript for the time of the first contentful paint, in milliseconds since the navigation began. The browser may report it after the page has
 * loaded.
 */
const firstPaint = `new Promise((resolve) =>
  new PerformanceObserver((list) => {
    const [paint] = list.getEntriesByName("first-contentful-paint");
    if (paint) resolve(paint.startTime);
  }).observe({ type: "paint", buffered: true }))`;

async function measurePaint(page: Page): Promise<void> {
  const paints: number[] = [];
  for (let n = 0; n < rounds; n++) {
    await page.goto("/console");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    paints.push(Number(await page.evaluate(firstPaint)));
  }
  show("first paint of the overview", paints);
}

async function measureList(page: Page): Promise<void> {
  const took: number[] = [];
  await page.goto("/console/explorer?tab=requests");
  for (let n = 0; n < rounds; n++) {
    const first = page.locator("tbody tr").first();
    const before = await first.getByRole("link").first().getAttribute("href");
    const began = performance.now();
    await page.getByRole("link", { name: "Older" }).click();
    await page.locator(`tbody tr:first-child th a:not([href="${before}"])`).waitFor();
    took.push(performance.now() - began);
  }
  show(`the next page of ${turns.toLocaleString("en")} requests, from the click to its rows`, took);
}

async function measureSeen(page: Page, { baseUrl, apiKey }: Installation): Promise<void> {
  const took: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const response = await fetch(`${baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input: "Hello" }),
    });
    await response.text();
    const ended = performance.now();
    const request = response.headers.get("x-request-id") ?? "";
    do await page.goto(`/console/explorer?q=${request}`);
    while (!(await isListed(page)));
    took.push(performance.now() - ended);
  }
  show("from the end of a request to its row", took);
}

async function isListed(page: Page): Promise<boolean> {
  await page.locator("tbody tr, .empty").first().waitFor();
  return (await page.locator("tbody tr").count()) > 0;
}

/** Processor time of the gateway in a window, as a share of one processor. */
async function gatewayShare(installation: Installation): Promise<number> {
  const pid = installation.pids()["gateway"] ?? 0;
  const [began, used] = [performance.now(), cpuNs(pid)];
  await new Promise((resolve) => setTimeout(resolve, windowMs));
  return (cpuNs(pid) - used) / 1e6 / (performance.now() - began);
}

async function measureLive(page: Page, installation: Installation): Promise<void> {
  const leave = new AbortController();
  // Open responses are kept, because fetch cancels a stream when its response is garbage-collected.
  const open: Response[] = [];
  for (let n = 0; n < streams; n++) {
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large-2", input: "Hello", stream: true }),
      signal: leave.signal,
    });
    if (response.status !== 200) throw new Error(`stream ${n}: ${response.status} ${await response.text()}`);
    open.push(response);
  }
  const shares: { readonly without: number[]; readonly watched: number[] } = { without: [], watched: [] };
  for (let n = 0; n < 3; n++) {
    await page.goto("/console/audit");
    shares.without.push(await gatewayShare(installation));
    await page.goto("/console/live");
    await page.getByText(`${streams.toLocaleString("en")} open requests`).waitFor();
    shares.watched.push(await gatewayShare(installation));
  }
  leave.abort();
  const percent = (values: readonly number[]) => `${(median(values) * 100).toFixed(1)} %`;
  say(
    `gateway with ${open.length} silent streams: ${percent(shares.without)} of a core; with a page that watches them: ${percent(shares.watched)}`,
  );
}

async function measure(installation: Installation, browser: Browser): Promise<void> {
  const visited = await visit(browser, new URL(installation.baseUrl).origin);
  await signInTo(visited, installation.managementKey);
  const { page } = visited;
  await measurePaint(page);
  say(`writing ${turns.toLocaleString("en")} requests`);
  await fill(installation);
  await measureList(page);
  await measureSeen(page, installation);
  await measureLive(page, installation);
}

say(`load average ${loadavg()[0]?.toFixed(1)}`);
const upstream = await startUpstream([{ chunks: [{ sse: [chatChunk({ content: "begun " })] }], hang: true }]);
const installation = await startInstallation({
  embeddedPostgres: true,
  config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1", timeouts: {idle_ms: 600000}}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
limits: {streams_per_key: 2000}
`,
});
const browser = await openBrowser();
try {
  await measure(installation, browser);
} finally {
  await browser.close();
  await installation.stop();
  await upstream.stop();
}
