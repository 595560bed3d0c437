/** Builds the ledger records of the demo's requests, in the form in which inference processes deliver them. */
import { randomUUID } from "node:crypto";
import { newId, newUuid } from "@sluice/proto/lib/ids/id.js";
import { toDecimal } from "@sluice/proto/lib/ledger/money.js";
import type { NewTurnRecord } from "../../store/ledger/turn-record.ts";
import type { NewUsageRecord, UsageBatch } from "../../store/ledger/usage-batch.ts";
import type { DemoRequest } from "./draw.ts";
import { guardrailRule } from "./scenario.ts";

/** The workspace for which records are made, with its keys. */
export interface DemoPlace {
  readonly workspaceId: string;
  /** Hashes of the keys by the names of their applications. */
  readonly keys: ReadonlyMap<string, string>;
  readonly guardrailId: string;
}

type Outcome = Pick<
  NewTurnRecord,
  | "outcome"
  | "http_status"
  | "error_type"
  | "provider_error"
  | "provider_code"
  | "guardrail_id"
  | "rule"
  | "guardrail_action"
>;

const unfailed = {
  error_type: null,
  provider_error: null,
  provider_code: null,
  guardrail_id: null,
  rule: null,
  guardrail_action: null,
} as const;

const outcomeOf = (outcome: DemoRequest["outcome"], { guardrailId }: DemoPlace): Outcome =>
  ({
    completed: { ...unfailed, outcome: "completed", http_status: 200 },
    incomplete: { ...unfailed, outcome: "incomplete", http_status: 200 },
    cancelled: { ...unfailed, outcome: "cancelled", http_status: 499 },
    refused: {
      ...unfailed,
      outcome: "refused",
      http_status: 403,
      error_type: "permission_denied",
      guardrail_id: guardrailId,
      rule: guardrailRule,
      guardrail_action: "block" as const,
    },
    "over-limit": {
      ...unfailed,
      outcome: "failed",
      http_status: 429,
      error_type: "rate_limit_exceeded",
      provider_error: "http_429",
      provider_code: "rate_limit_exceeded",
    },
    outage: {
      ...unfailed,
      outcome: "failed",
      http_status: 502,
      error_type: "provider_unavailable",
      provider_error: "http_529",
      provider_code: "overloaded_error",
    },
    failed: {
      ...unfailed,
      outcome: "failed",
      http_status: 502,
      error_type: "provider_unavailable",
      provider_error: "timeout_first_event",
    },
  })[outcome];

/** Makes batches of records. Each run counts as one process, so the numbers of its records have no gap. */
export class DemoRecords {
  readonly #place: DemoPlace;
  readonly #process = { boot_id: randomUUID(), instance: "demo" };
  #calls = 0;
  #turns = 0;

  constructor(place: DemoPlace) {
    this.#place = place;
  }

  batch(requests: readonly DemoRequest[]): UsageBatch {
    const records: NewUsageRecord[] = [];
    const turns: NewTurnRecord[] = [];
    for (const request of requests) {
      const turn = this.#turn(request);
      turns.push(turn);
      if (turn.outcome !== "refused") records.push(this.#call(request, turn));
    }
    return { records, turns };
  }

  #turn(request: DemoRequest): NewTurnRecord {
    const { application, at, outcome, firstMs, durationMs } = request;
    const isAnswered = outcome === "completed" || outcome === "incomplete";
    return {
      ...this.#process,
      ...outcomeOf(outcome, this.#place),
      sequence: String(++this.#turns),
      generation_id: newId("gen-", at),
      request_id: newId("req_", at),
      workspace_id: this.#place.workspaceId,
      key_hash: this.#place.keys.get(application.name) ?? "",
      opened_at: new Date(at),
      duration_ms: outcome === "refused" ? 2 : durationMs,
      first_ms: isAnswered ? firstMs : null,
      door: application.door,
      operation: application.door === "embeddings" ? "embed" : "turn",
      requested_model: request.model.slug,
      streamed: application.door !== "embeddings",
      user: request.user ?? null,
      session_id: request.session ?? null,
      trace_id: null,
      tags: null,
      requests: 1,
    };
  }

  #call(request: DemoRequest, turn: NewTurnRecord): NewUsageRecord {
    const { model, prompt, answer, cached } = request;
    const { outcome, generation_id, request_id, workspace_id, key_hash, opened_at, duration_ms, first_ms } = turn;
    const isPaid = outcome === "completed" || outcome === "incomplete";
    return {
      ...this.#process,
      generation_id,
      request_id,
      workspace_id,
      key_hash,
      opened_at,
      duration_ms,
      first_ms,
      turn_id: newUuid(),
      attempt: 1,
      sequence: String(++this.#calls),
      model: model.slug,
      provider: model.provider,
      upstream_model: model.slug.split("/")[1] ?? model.slug,
      service_tier: isPaid ? "default" : "",
      status: outcome === "completed" || outcome === "incomplete" || outcome === "cancelled" ? outcome : "failed",
      http_status: turn.http_status,
      is_estimated: false,
      cost_usd: isPaid ? toDecimal(costOf(request)) : null,
      streamed: turn.streamed,
      user: turn.user,
      session_id: turn.session_id,
      tags: turn.tags,
      finish_reason: isPaid ? (outcome === "completed" ? "stop" : "length") : null,
      operation: turn.operation === "embed" ? "embed" : "turn",
      payer: "key",
      door: turn.door,
      task: null,
      input_tokens: isPaid ? prompt : null,
      cached_tokens: isPaid ? cached : null,
      cache_write_tokens: isPaid ? 0 : null,
      output_tokens: isPaid ? answer : null,
      reasoning_tokens: isPaid ? 0 : null,
    };
  }
}

/**
 * Cost in picodollars: a price of N USD per million tokens is N million picodollars per token; a cached token costs a
 * tenth.
 */
function costOf({ model: { input, output }, prompt, cached, answer }: DemoRequest): bigint {
  const tenths = BigInt(Math.round(input * 100_000));
  const fresh = BigInt(prompt - cached) * tenths * 10n;
  return fresh + BigInt(cached) * tenths + BigInt(answer) * BigInt(Math.round(output * 1_000_000));
}
