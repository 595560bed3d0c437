/** Failures of providers, and senseless requests, as a client sees them. */
import type { Row, RowCase } from "../row.ts";
import { greetingMessage } from "./asks.ts";

const row = (name: string, ...cases: readonly RowCase[]): Row => ({ name, cases });

const failures: readonly Row[] = (
  [
    [400, 400],
    [401, 502],
    [402, 502],
    [403, 502],
    [404, 404],
    [408, 524],
    [413, 413],
    [422, 422],
    [429, 429],
    [500, 502],
    [502, 502],
    [503, 502],
    [504, 524],
    [529, 529],
  ] as const
).map(([from, to]) =>
  row(`7 a provider's ${from}`, {
    on: ["chat", "messages"],
    says: [{ fails: { status: from, message: "Broken words" } }],
    refused: [to, /\w/],
  }),
);

const requestErrors: readonly Row[] = [
  row("7 401 without a key", { headers: { authorization: "" }, on: ["chat"], refused: [401, /Authentication header/] }),
  row("7 401 with another key", {
    headers: { authorization: "Bearer sk-sl-none" },
    on: ["chat"],
    refused: [401, /\w/],
  }),
  row("7 404 for an unknown model", { on: ["nobody/none"], refused: [404, /nobody\/none/] }),
  row("7 400 for several problems at once", {
    ask: { temperature: 9, top_p: 9 },
    on: ["chat"],
    refused: [400, /and 1 more/],
  }),
  row("7 receipt of a refusal", { ask: { provider: { only: ["nobody"] } }, on: ["chat"], refused: [404, /\w/] }),
  row("4.1 X-Service-Metadata disabled", {
    headers: { "x-service-metadata": "disabled" },
    ask: { input: [greetingMessage] },
    on: ["chat"],
    back: { status: "completed" },
  }),
];

export const failureRows: readonly Row[] = [...failures, ...requestErrors];
