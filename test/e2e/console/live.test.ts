/** Open requests, watched and ended by an administrator. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { parseSse } from "../../support/answers/sse.ts";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Collector, startCollector } from "../../support/collector.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

let collector: Collector;
let upstream: Upstream;
let installation: Installation;
let origin: string;

beforeAll(async () => {
  upstream = await startUpstream([{ chunks: [{ sse: [chatChunk({ content: "begun " })] }], hang: true }]);
  // Requests have trace ids if tracing is enabled.
  collector = await startCollector();
  installation = await startInstallation({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
    inferenceReplicas: 2,
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1", timeouts: {idle_ms: 600000}}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
limits: {status_gate_ms: 300}
console: {trace_url: "https://traces.example/trace/{trace_id}?from=sluice"}
`,
  });
  ({ origin } = new URL(installation.baseUrl));
});
afterAll(async () => {
  await installation.stop();
  await upstream.stop();
  await collector.stop();
});

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";

/** A provider's stream without an end. */
async function openStream(user: string): Promise<{ readonly id: string; readonly rest: Promise<string> }> {
  const response = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
    },
    body: JSON.stringify({ model: "acme/large-2", input: "Hello", stream: true, user }),
  });
  return { id: response.headers.get("x-generation-id") as string, rest: response.text() };
}

interface Snapshot {
  readonly total: number;
  readonly turns: readonly { readonly id: string; readonly user: string; readonly text_units: number }[];
}

async function signIn(key = installation.managementKey): Promise<string> {
  const { headers } = await fetch(`${origin}/console/api/session`, {
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ management_key: key }),
  });
  return (headers.get("set-cookie") as string).split(";")[0] as string;
}

const watch = (cookie: string, signal?: AbortSignal) =>
  fetch(`${origin}/console/api/live`, { headers: { cookie }, ...(signal && { signal }) });

/** Reads snapshots until one matches. */
async function readUntil(cookie: string, fits: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
  const stop = new AbortController();
  const { body } = await watch(cookie, stop.signal);
  let text = "";
  for await (const piece of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    text += piece;
    const lines = text.split("\n\n").slice(0, -1);
    const fitting = lines.map((line) => JSON.parse(line.slice("data: ".length)) as Snapshot).find(fits);
    if (!fitting) continue;
    stop.abort();
    return fitting;
  }
  throw new Error(`no snapshot fits: ${text}`);
}

/** Whether a request of the end user is on record. */
async function isRecorded(user: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${installation.managementKey}` };
  const answer = await fetch(`${installation.baseUrl}/generations?user=${user}`, { headers });
  return ((await answer.json()) as { data: readonly unknown[] }).data.length > 0;
}

const end = (cookie: string, id: string) =>
  fetch(`${origin}/console/api/live/${id}`, {
    method: "DELETE",
    headers: { cookie, origin, "content-type": "application/json" },
  });

async function makeWorkspaceKey(): Promise<string> {
  const { stdout: workspace } = await installation.admin("workspaces", "create", "--name", "other");
  const { stdout } = await installation.admin(
    "keys",
    "create",
    "--management",
    "--workspace",
    workspace.trim(),
    "--name",
    "theirs",
    "--json",
  );
  return (JSON.parse(stdout) as { readonly key: string }).key;
}

describe("open requests", () => {
  test("are shown with the size of their answers, from every process, and only to their own workspace", async () => {
    const streams = await Promise.all(["ann", "ben", "cem", "dot"].map(openStream));
    const ids = streams.map(({ id }) => id).toSorted();
    const cookie = await signIn();
    const { total, turns } = await readUntil(
      cookie,
      (seen) => seen.turns.filter((turn) => turn.text_units > 0).length === 4,
    );
    expect(total).toBe(4);
    expect(turns.map(({ id }) => id).toSorted()).toEqual(ids);
    expect(turns.map(({ user }) => user).toSorted()).toEqual(["ann", "ben", "cem", "dot"]);
    expect(JSON.stringify(turns)).not.toContain("Hello");

    const theirs = await signIn(await makeWorkspaceKey());
    expect(await readUntil(theirs, () => true)).toMatchObject({ total: 0, turns: [] });
    expect((await end(theirs, ids[0] as string)).status).toBe(404);
    for (const id of ids) expect((await end(cookie, id)).status).toBe(204);
    await Promise.all(streams.map(({ rest }) => rest));
  });

  test("are ended with an error that names the cause, a record and an entry in the audit log", async () => {
    const { id, rest } = await openStream("eve");
    const cookie = await signIn();
    await readUntil(cookie, ({ turns }) => turns.some((turn) => turn.id === id));
    expect((await end(cookie, id)).status).toBe(204);
    expect(parseSse(await rest).events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { error: { message: "An administrator ended this request" } },
    });
    expect((await end(cookie, id)).status).toBe(404);
    await eventually(async () => {
      const { stdout } = await installation.admin("audit", "list", "--json", "--action", "turns.end", "--target", id);
      return stdout.includes(id);
    });
    await eventually(async () => {
      const found = await fetch(`${installation.baseUrl}/generation?id=${id}`, {
        headers: { authorization: `Bearer ${installation.managementKey}` },
      });
      return found.status === 200;
    });
  });

  test("are ended and recorded as ended even while a process does not answer", async () => {
    const streams = await Promise.all(["gil", "hal", "ida", "jon"].map(openStream));
    const cookie = await signIn();
    await readUntil(cookie, ({ total }) => total === streams.length);
    const pid = installation.pids()["inference-svc-1"] as number;
    process.kill(pid, "SIGSTOP");
    try {
      const ends = streams.map(async ({ id }) => (await end(cookie, id)).status);
      expect(await Promise.race(ends)).toBe(204);
      const statuses = await Promise.all(ends);
      const ended = streams.filter((_, n) => statuses[n] === 204);
      expect([ended.length > 0, ended.length < streams.length]).toEqual([true, true]);
      for (const { id } of ended) {
        const { stdout } = await installation.admin("audit", "list", "--json", "--action", "turns.end", "--target", id);
        expect(stdout).toContain(id);
      }
    } finally {
      process.kill(pid, "SIGCONT");
    }
    // A resumed process may take longer than one request waits, and may still carry out a pending end.
    for (const { id } of streams) await eventually(async () => (await end(cookie, id)).status === 404);
    await Promise.all(streams.map(({ rest }) => rest));
  });

  test("can be ended by several people at the same time", async () => {
    const cookie = await signIn();
    const endMany = async () => {
      const statuses: number[] = [];
      while (statuses.length < 50) statuses.push((await end(cookie, "gen-nobodyhasthis")).status);
      return statuses;
    };
    const statuses = await Promise.all(Array.from({ length: 4 }, endMany));
    expect(new Set(statuses.flat())).toEqual(new Set([404]));
  });

  test("are no longer reported to a session that has ended", async () => {
    const cookie = await signIn();
    const watched = (await watch(cookie)).text();
    await fetch(`${origin}/console/api/session`, {
      method: "DELETE",
      headers: { cookie, origin, "content-type": "application/json" },
    });
    expect(await watched).toMatch(/event: over\ndata: \{\}\n\n$/);
    expect((await watch(cookie)).status).toBe(401);
  });
});

describeWithChromium(`the page of open requests ${inChromium}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  test("shows a request, ends it, and keeps it among the ended requests", async () => {
    const { id, rest } = await openStream("fay");
    const visited = await visit(browser, origin);
    const { page, complaints } = visited;
    await signInTo(visited, installation.managementKey);
    await page.getByRole("link", { name: "Live" }).click();
    await page.getByText("1 open request").waitFor();
    await page.getByText("answering", { exact: true }).waitFor();
    await page.getByRole("button", { name: "End…" }).click();
    await page.getByRole("dialog").getByText(id).waitFor();
    await page.getByRole("button", { name: "End request" }).click();
    await page.getByText("Nothing is running").waitFor();
    await page.getByRole("heading", { name: "Ended while you watch" }).waitFor();
    expect(await rest).toContain("An administrator ended this request");

    await eventually(() => isRecorded("fay"));
    await page.goto(`/console/calls?user=fay`);
    await page.getByRole("rowheader").getByRole("link").click();
    const link = page.getByRole("link", { name: traceId });
    expect(await link.getAttribute("href")).toBe(`https://traces.example/trace/${traceId}?from=sluice`);
    expect(complaints).toEqual([]);
  });
});
