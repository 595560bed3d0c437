/** Sends the request of a case to one model, and compares the provider's request and the client's answer with the case. */
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { validateError, validateEvents, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import type { Installation } from "../../support/installation.ts";
import { isKey, namedKeys } from "../../support/named-keys.ts";
import { type RowOutcome, type Pattern, type RowCase, type RowDialect, findMissingPart } from "./row.ts";
import type { RowServices } from "./services.ts";
import { servicesOrigin, uniqueWord } from "./table/asks.ts";

export interface RowInstallations {
  readonly services: RowServices;
  readonly full: Installation;
  readonly bare: Installation;
}

interface Answered {
  readonly status: number;
  /** The response, whole or from the end of a stream, or the body of a failure. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly types: readonly string[];
  /** Faults that no answer may have. */
  readonly broken: readonly string[];
}

type Finding = Pick<RowOutcome, "verdict" | "says">;

export async function runCase(tried: RowCase, on: string, installations: RowInstallations): Promise<RowOutcome> {
  const { services } = installations;
  const placed = (says: RowCase["says"] = [{}]) => JSON.parse(place(says, services)) as typeof says;
  services.script(placed(tried.says), placed(tried.otherSays));
  const answered = await sendRequest(tried, on, tried.bare ? installations.bare : installations.full, services);
  return { on, ...findingOf(tried, on, answered, services) };
}

let requests = 0;

/** The value as JSON, with the services' real origin in place of the placeholder. */
const place = (value: unknown, { origin }: RowServices): string =>
  JSON.stringify(value).replaceAll(servicesOrigin, origin).replaceAll(uniqueWord, `u${requests++}`);

async function sendRequest(
  tried: RowCase,
  on: string,
  installation: Installation,
  services: RowServices,
): Promise<Answered> {
  const model = on.includes("/") ? on : `t/${on}`;
  const response = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
      ...tried.headers,
    },
    body: place({ model, input: "Hi", ...tried.ask }, services),
  });
  const { status } = response;
  const text = await response.text();
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const body = JSON.parse(text) as Record<string, unknown>;
    return { status, body, types: [], broken: status === 200 ? validateResponse(body) : validateError(status, body) };
  }
  const stream = parseSse(text);
  const types = stream.events.map(({ type }) => type);
  const body = (stream.events.at(-1) as { response?: Answered["body"] } | undefined)?.response ?? {};
  return { status, body, types, broken: [...brokenRules(stream), ...validateEvents(stream.events)] };
}

function brokenRules(stream: ReturnType<typeof parseSse>): string[] {
  try {
    checkLadder(stream, false);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

function findingOf(tried: RowCase, on: string, answered: Answered, services: RowServices): Finding {
  const { status, body, broken } = answered;
  const message = (body["error"] as { message?: string } | null | undefined)?.message ?? "";
  const strange = namedKeys(message).find((key) => !isKey(key));
  if (strange !== undefined) return wrong(`${status} names ${strange}, which is no key: ${message}`);
  if (broken[0] !== undefined) return wrong(`${status} ${broken[0]}`);
  if (tried.refused) return refusalFinding(tried.refused, status, message);
  if (status >= 500) return wrong(`${status} ${message}`);
  if (status !== 200) return { verdict: "refused", says: `${status} ${message}` };
  const lacking =
    sentFinding(tried, on as RowDialect, answered, services) ??
    serviceFinding(tried, services) ??
    backFinding(tried, answered);
  return lacking ?? { verdict: "works", says: "200" };
}

const wrong = (says: string): Finding => ({ verdict: "wrong", says });

function refusalFinding([status, pattern]: readonly [number, RegExp], got: number, message: string): Finding {
  const says = `${got} ${message}`.trim();
  return { verdict: got === status && pattern.test(message) ? "works" : "missing", says };
}

/** Fields that the receipt reports as unsent, each as path=reason. */
const notSentIn = ({ body }: Answered): string[] => {
  const { params } = (body["service_metadata"] ?? {}) as { readonly params?: { readonly not_sent?: unknown[] } };
  return (params?.not_sent ?? []).map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
};

function sentFinding(tried: RowCase, on: RowDialect, answered: Answered, { calls }: RowServices): Finding | undefined {
  const main = calls.filter(({ service }) => ["chat", "responses", "messages", "gemini", "converse"].includes(service));
  const lost = tried.lost?.[on];
  const notSent = notSentIn(answered);
  if (lost !== undefined) {
    const isNamed = notSent.some((each) => each.includes(lost));
    return isNamed ? undefined : { verdict: "missing", says: `200, not_sent names ${notSent.join() || "nothing"}` };
  }
  if (tried.unsent && main.some(({ text }) => tried.unsent?.test(text)))
    return { verdict: "missing", says: `200, the provider is sent ${tried.unsent}` };
  const pattern: Pattern = tried.sentBy?.[on] ?? tried.sent;
  if (pattern === undefined) return undefined;
  const last = main.at(-1);
  const lacking = last
    ? findMissingPart(pattern instanceof RegExp ? last.text : last.value, pattern)
    : "nothing was sent";
  if (lacking === undefined) return undefined;
  return {
    verdict: "missing",
    says: `200, sent: ${lacking}${notSent.length > 0 ? `; not_sent: ${notSent.join()}` : ""}`,
  };
}

function serviceFinding({ to = {} }: RowCase, { calls }: RowServices): Finding | undefined {
  for (const [name, pattern] of Object.entries(to)) {
    const received = calls.filter(({ service }) => service === name);
    const has = received.some(
      ({ text, value }) => findMissingPart(pattern instanceof RegExp ? text : value, pattern) === undefined,
    );
    if (!has)
      return { verdict: "missing", says: `200, ${name} got ${received.at(-1)?.text.slice(0, 80) ?? "nothing"}` };
  }
  return undefined;
}

function backFinding({ back, events = [] }: RowCase, { body, types }: Answered): Finding | undefined {
  const lacking = back === undefined ? undefined : findMissingPart(body, back);
  if (lacking !== undefined) return { verdict: "missing", says: `200, answer: ${lacking}` };
  let at = -1;
  for (const type of events) {
    at = types.indexOf(type, at + 1);
    if (at === -1) return { verdict: "missing", says: `200, no ${type} in its place` };
  }
  return undefined;
}
