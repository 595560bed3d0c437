/**
 * Every fault of a provider, in every phase, streamed and whole, with one endpoint and with three: the client's answer, the number of provider
 * calls, the retry hints, and that no socket of a failed attempt stays open.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type FaultRow, type ObservedFailure, faultTable } from "../../support/providers/fault-table.ts";
import { type FaultyProvider, startFaultyProvider, startWithoutTls } from "../../support/providers/faulty-provider.ts";
import { freePort } from "../../support/runner/free-ports.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatStream, startUpstream } from "../../support/providers/upstream.ts";

/** Number of concurrent cases: most of them wait for a timer. */
const atOnce = 24;

interface Case {
  readonly id: string;
  readonly row: FaultRow;
  readonly stream: boolean;
  readonly endpoints: 1 | 3;
}

const cases: readonly Case[] = faultTable.flatMap((row) =>
  [true, false].flatMap((stream) => {
    if (row.only === (stream ? "whole" : "stream")) return [];
    const id = `${row.phase.replaceAll(" ", "-")}-${row.name}-${stream ? "stream" : "whole"}`;
    return ([1, 3] as const).map((endpoints) => ({ id: `${id}-${endpoints}`, row, stream, endpoints }));
  }),
);

/** Outcome of a case, in the terms of the table. */
interface Found {
  readonly seen: Omit<ObservedFailure, "retryAfter">;
  readonly retryAfter: number | undefined;
  /** Terminal events, and what ended the stream. */
  readonly terminals: number;
  readonly done: boolean;
  readonly error: unknown;
}

const actName = ({ phase, name, only }: FaultRow) => `${phase}-${name}-${only ?? "both"}`.replaceAll(" ", "-");

describe("the fault matrix of providers", () => {
  let faulty: FaultyProvider;
  let good: Upstream;
  let installation: Installation;
  const untalkative: { url: string; stop(): Promise<void> }[] = [];
  const found = new Map<string, Found>();

  beforeAll(async () => {
    faulty = await startFaultyProvider(
      Object.fromEntries(faultTable.flatMap((row) => (row.act ? [[actName(row), row.act]] : []))),
    );
    good = await startUpstream([chatStream("Good.")]);
    const [silent, reset, nonsense] = await Promise.all([
      startWithoutTls(() => {}),
      startWithoutTls((socket) => socket.resetAndDestroy()),
      startWithoutTls((socket) => void socket.end("NONSENSE\r\n\r\n")),
    ]);
    untalkative.push(silent, reset, nonsense);
    const lost: Readonly<Record<string, string>> = {
      silent: silent.url,
      reset: reset.url,
      nonsense: nonsense.url,
      refused: `http://127.0.0.1:${await freePort()}`,
    };
    const urlOf = ({ row, id }: Case, index: number) =>
      row.act ? `${faulty.url}/${actName(row)}/${id}/${index}` : (lost[row.name] as string);
    installation = await startInstallation({
      config: JSON.stringify({
        limits: { turn_ms: 8_000, stream_ms: 8_000, streams_per_key: 64 },
        providers: [
          { id: "good", dialect: "chat", base_url: `${good.url}/v1` },
          ...cases.flatMap((one) =>
            [0, 1].slice(0, one.endpoints).map((index) => ({
              id: `${one.id}-${index}`,
              dialect: "chat",
              base_url: urlOf(one, index),
              ...(one.row.timeouts && { timeouts: one.row.timeouts }),
            })),
          ),
        ],
        models: cases.map(({ id, endpoints }) => ({
          id,
          endpoints:
            endpoints === 1
              ? [{ provider: `${id}-0` }]
              : [{ provider: `${id}-0` }, { provider: `${id}-1` }, { provider: "good" }],
        })),
      }),
    });
    const left = [...cases];
    const sendRequest = async () => {
      for (let one = left.pop(); one !== undefined; one = left.pop()) found.set(one.id, await outcome(one));
    };
    await Promise.all(Array.from({ length: atOnce }, sendRequest));
  }, 300_000);

  afterAll(async () => {
    await installation?.stop();
    await Promise.all([faulty?.stop(), good?.stop(), ...untalkative.map((server) => server.stop())]);
  });

  async function outcome({ id, stream }: Case): Promise<Found> {
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${installation.apiKey}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ model: id, input: "Hi", stream }),
    });
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("Half")) faulty.seen(id);
    }
    const hint = response.headers.get("retry-after");
    const common = { retryAfter: hint === null ? undefined : Number(hint) };
    if (!stream || response.status !== 200) {
      const body = JSON.parse(text) as { service_metadata?: { attempts?: unknown[] }; error?: unknown };
      const attempts = body.service_metadata?.attempts?.length ?? 0;
      return { ...common, seen: { status: response.status, attempts }, terminals: 0, done: false, error: body.error };
    }
    const { events } = parseSse(text);
    const terminals = events.filter(({ type }) => /^response\.(?:completed|failed|incomplete)$/.test(type));
    const last = terminals.at(-1) as unknown as {
      type: NonNullable<ObservedFailure["terminal"]>;
      response: { service_metadata: { attempts: unknown[] }; error: unknown };
    };
    return {
      ...common,
      seen: { status: 200, attempts: last.response.service_metadata.attempts.length, terminal: last.type },
      terminals: terminals.length,
      done: text.endsWith("data: [DONE]\n\n"),
      error: last.response.error,
    };
  }

  /** The expected outcome; members that only streams have are left out for whole answers. */
  const wanted = ({ row, stream, endpoints }: Case): Omit<ObservedFailure, "retryAfter"> => {
    const { status, attempts, terminal } = endpoints === 1 ? row.one : row.three;
    return { status, attempts, ...(stream && terminal && { terminal }) };
  };

  test.each(cases.map((one) => [one.id, one] as const))("%s gives the documented failure", async (id, one) => {
    const { seen, retryAfter, terminals, done, error } = found.get(id)!;
    expect([seen, error]).toEqual([
      wanted(one),
      seen.status === 200 && seen.terminal !== "response.failed" ? error : expect.anything(),
    ]);
    const [least, most] = (one.endpoints === 1 ? one.row.one : one.row.three).retryAfter ?? [];
    if (least === undefined || most === undefined) expect(retryAfter).toBeUndefined();
    else expect([retryAfter! >= least, retryAfter! <= most]).toEqual([true, true]);
    if (one.stream && seen.status === 200) expect([terminals, done]).toEqual([1, true]);
    if (!one.row.act) return;
    // The number of provider calls equals the receipt's; the working provider counts for one.
    const good = one.endpoints === 3 && seen.attempts > 1 ? 1 : 0;
    expect(faulty.requests(id)).toBe(seen.attempts - good);
    const kept = one.row.clean ? Math.min(2, one.endpoints) : 0;
    await eventually(() => Promise.resolve(faulty.sockets(id) <= kept));
  });

  test("a working provider is called once for each case with a fallback", async () => {
    expect(good.requests.length).toBe(
      cases.filter(({ endpoints, row }) => endpoints === 3 && row.three.attempts > 1).length,
    );
    await eventually(() => Promise.resolve(good.openSockets <= atOnce));
  });
});
