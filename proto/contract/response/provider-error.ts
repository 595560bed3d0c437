/** Words for failures of a provider. They contain no host, no address and no text of a prompt. */
import { type Shape, described, word } from "../../lib/validation/shape.ts";

const kinds = {
  dns: "its host has no address",
  connect_refused: "no server listens there",
  timeout_connect: "it did not accept the connection in time",
  tls: "the encrypted connection failed, often for a certificate",
  connection_lost: "the connection ended before the answer began",
  timeout_first_event: "the answer did not begin in time",
  timeout: "the answer paused for too long",
  cut: "the answer ended before it was whole",
  error_event: "the answer contained an error after a status of success",
  bad_answer: "the answer could not be used",
  credentials: "the cloud gave no credentials for it",
} as const;

const words = Object.keys(kinds) as (keyof typeof kinds)[];

/** A failure other than a refusal with an HTTP status. */
export type UnansweredKind = keyof typeof kinds;

/** Every failure of a provider: `http_500` and the like for a refusal with this status. */
export type ProviderErrorKind = UnansweredKind | `http_${number}`;

const meanings = words.map((kind) => `\`${kind}\`: ${kinds[kind]}`).join("; ");

export const unansweredKind: Shape = described(
  word(...words),
  `What went wrong at the provider, unless it answered with an HTTP status of failure. ${meanings}.`,
);

/** Describes a ProviderErrorKind in a record. */
export const providerErrorMeaning = `What went wrong at the provider, where the turn failed for it. \`http_500\` and the like: it answered with that status. ${meanings}.`;
