/**
 * Sends random bodies of each format over real sockets to a whole installation, at once or in pieces, and checks each answer against the document.
 */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { validate } from "../../../support/answers/published.ts";
import { type Installation, startInstallation } from "../../../support/installation.ts";
import { Random } from "../../../support/random.ts";
import { generateBody } from "../../../support/random-requests/bodies.ts";
import type { FuzzedFormat } from "../../../support/random-requests/format.ts";
import { formats } from "../../../support/random-requests/formats.ts";

export interface SocketFuzzOptions {
  readonly seed: number;
  readonly count: number;
  /** Number of the first request. */
  readonly from?: number;
  /** Whether the installation runs a Postgres of its own, outside of a test run. */
  readonly embeddedPostgres?: boolean;
  readonly progress?: (requests: number) => void;
}

export interface SocketFuzzReport {
  readonly requests: number;
  /** Number of answers by path and status. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly complaints: readonly string[];
}

interface Asked {
  readonly path: string;
  readonly format: FuzzedFormat;
  /** Name of the answer's schema in the document; absent if requests at this path get no answer with a body. */
  readonly answer?: string;
}

/** Requests for each format. Every model is the built-in one, so embeddings are refused. */
const asked: readonly Asked[] = [
  { path: "/responses", format: formats.responses, answer: "Response" },
  { path: "/chat/completions", format: formats.chat, answer: "ChatCompletion" },
  { path: "/messages", format: formats.messages, answer: "MessagesMessage" },
  { path: "/messages/count_tokens", format: formats.count_tokens, answer: "MessagesTokenCount" },
  { path: "/embeddings", format: formats.embeddings },
  { path: "/responses/compact", format: formats.compact, answer: "CompactedConversation" },
];

const config = `
providers: [{id: echo, dialect: echo}]
models: [{id: sluice/echo, endpoints: [{provider: echo}]}]
model_aliases: [{match: "*", model: sluice/echo}]
`;

const concurrency = 8;
const maxComplaints = 20;
/** Milliseconds: longer than the built-in model's longest answer on a machine ten times as slow. */
const limitMs = 60_000;

export async function socketCampaign({
  seed,
  count,
  from = 0,
  embeddedPostgres = false,
  progress,
}: SocketFuzzOptions): Promise<SocketFuzzReport> {
  const installation = await startInstallation({ config, embeddedPostgres });
  const pids = installation.pids();
  const statuses = new Map<string, number>();
  const complaints: string[] = [];
  let next = from;
  let done = 0;
  const work = async () => {
    while (next < from + count && complaints.length < maxComplaints) {
      const number = next++;
      const { path } = asked[number % asked.length] as Asked;
      const { status, complaint } = await tryBody(installation, seed, number);
      statuses.set(`${path} ${status}`, (statuses.get(`${path} ${status}`) ?? 0) + 1);
      if (complaint) complaints.push(`--seed ${seed} --at ${number}\n${path}: ${complaint}`);
      if (++done % 1_000 === 0) progress?.(done);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
    if (JSON.stringify(installation.pids()) !== JSON.stringify(pids))
      complaints.push("a process has ended and was restarted");
  } finally {
    await installation.stop();
  }
  return { requests: next - from, statuses, complaints };
}

interface Tried {
  readonly status: number;
  readonly complaint: string | undefined;
}

async function tryBody(installation: Installation, seed: number, number: number): Promise<Tried> {
  const { path, format, answer } = asked[number % asked.length] as Asked;
  const body = generateBody(seed, number, format);
  try {
    const response = await send(installation, path, body, new Random(seed, number));
    const status = response.statusCode ?? 0;
    const told = await text(response);
    return { status, complaint: problemOf(response, told, format, answer) };
  } catch (error) {
    return { status: 0, complaint: `no answer: ${String(error)}\n${body.toString().slice(0, 500)}` };
  }
}

/** Sends a body: a third of them with their length, a third in pieces, and a third after the server's 100 Continue. */
async function send(installation: Installation, path: string, body: Buffer, random: Random): Promise<IncomingMessage> {
  const way = random.below(3);
  const outgoing = request(`${installation.baseUrl}${path}`, {
    method: "POST",
    signal: AbortSignal.timeout(limitMs),
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      ...(way !== 1 && { "content-length": body.length }),
      ...(way === 2 && { expect: "100-continue" }),
    },
  });
  const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
  if (way === 2) {
    outgoing.flushHeaders();
    await Promise.race([once(outgoing, "continue"), answered]);
  }
  const middle = random.below(body.length + 1);
  if (way === 1) outgoing.write(body.subarray(0, middle));
  outgoing.end(way === 1 ? body.subarray(middle) : body);
  return (await answered)[0];
}

function problemOf(
  { statusCode: status = 0, headers }: IncomingMessage,
  told: string,
  { folds, schemas }: FuzzedFormat,
  answer: string | undefined,
): string | undefined {
  if (status >= 500) return `status ${status}: ${told.slice(0, 500)}`;
  const type = headers["content-type"] ?? "";
  try {
    if (status !== 200) return listed(validate(schemas.error?.(status) ?? "", JSON.parse(told)), told);
    if (type.startsWith("text/event-stream")) return streamProblem(told, folds);
    return answer === undefined ? `answered: ${told.slice(0, 200)}` : listed(validate(answer, JSON.parse(told)), told);
  } catch (error) {
    return `unlike the document: ${String(error)}\n${told.slice(0, 500)}`;
  }
}

/** The fault of a stream. A stream may also end in a failure, whose end differs from that of an answer. */
function streamProblem(told: string, folds: FuzzedFormat["folds"]): string | undefined {
  if (folds === undefined) return told.endsWith("data: [DONE]\n\n") ? undefined : `no end: ${told.slice(-300)}`;
  folds.stream(told);
  return undefined;
}

const listed = (problems: readonly string[], told: string): string | undefined =>
  problems.length === 0 ? undefined : `unlike the document: ${problems.slice(0, 3).join("; ")}\n${told.slice(0, 500)}`;
