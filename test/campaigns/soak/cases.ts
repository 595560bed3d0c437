/** The requests of the campaign: models that work and models whose provider fails as in the fault table, with the permitted outcomes of each. */
import { type FaultRow, type ObservedFailure, faultTable } from "../../support/providers/fault-table.ts";
import type { SocketFailure } from "../../support/providers/faulty-provider.ts";
import type { ClientBehaviour, StreamOutcome } from "./client.ts";
import { longAnswerAct, pacedStream } from "./provider.ts";

export interface SoakCase {
  readonly model: string;
  /** Outcomes permitted for clients that stay connected. */
  readonly expected: ReadonlySet<string>;
}

/** Time limit of a turn in milliseconds, shorter than limits.status_gate_ms so a turn that is not served has an error status. */
const turnMs = 8_000;

/** Outcomes of a turn that ended by its time limit, or began after its status gate had opened. */
const late: ReadonlySet<string> = new Set(["failed", "status 408"]);

/** Whether a turn failed only because the machine was too slow for it or for the client. */
export const isLateOutcome = ({ expected }: SoakCase, { outcome, ms }: StreamOutcome): boolean =>
  ms >= turnMs && late.has(outcome) && !expected.has(outcome);

const faults = faultTable.filter(({ act, only }) => act !== undefined && only !== "whole");
const nameOf = ({ phase, name }: FaultRow) => `${phase}-${name}`.replaceAll(" ", "-");
const outcomeOf = ({ status, terminal }: ObservedFailure) => terminal?.replace("response.", "") ?? `status ${status}`;

export const providerActs: Readonly<Record<string, SocketFailure>> = {
  paced: pacedStream,
  long: longAnswerAct,
  ...Object.fromEntries(faults.map((row) => [nameOf(row), row.act as SocketFailure])),
};

export const ordinaryCase: SoakCase = { model: "soak/paced", expected: new Set(["completed"]) };
export const largeCase: SoakCase = { model: "soak/long", expected: ordinaryCase.expected };

/**
 * Cases for each fault: at a single endpoint, and at the first of two endpoints. The second one serves, and comes first while the faulty one is
 * ejected.
 */
export const faultyCases: readonly SoakCase[] = faults.flatMap((row) => [
  { model: `soak/${nameOf(row)}`, expected: new Set([outcomeOf(row.one)]) },
  { model: `soak/${nameOf(row)}-or-paced`, expected: new Set([outcomeOf(row.three), "completed"]) },
]);

export const isExpectedOutcome = ({ expected }: SoakCase, manner: ClientBehaviour, outcome: string): boolean =>
  expected.has(outcome) || (manner.startsWith("leaves") && outcome === "left");

/** The configuration file. @param url URL of the provider */
export function buildSoakConfig(url: string): string {
  const pricing = { prompt: "1", completion: "2" };
  const served = ["paced", "long"];
  return JSON.stringify({
    limits: { turn_ms: turnMs, stream_ms: turnMs, streams_per_key: 100_000 },
    providers: [
      ...served.map((id) => ({ id, dialect: "chat", base_url: `${url}/${id}` })),
      ...faults.map((row) => ({
        id: nameOf(row),
        dialect: "chat",
        base_url: `${url}/${nameOf(row)}`,
        ...(row.timeouts && { timeouts: row.timeouts }),
      })),
    ],
    models: [
      ...served.map((provider) => ({ id: `soak/${provider}`, endpoints: [{ provider, pricing }] })),
      ...faults.map(nameOf).flatMap((provider) => [
        { id: `soak/${provider}`, endpoints: [{ provider, pricing }] },
        {
          id: `soak/${provider}-or-paced`,
          endpoints: [
            { provider, pricing },
            { provider: "paced", pricing },
          ],
        },
      ]),
    ],
  });
}
