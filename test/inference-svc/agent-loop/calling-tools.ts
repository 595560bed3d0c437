/** Tools that call models, over scripted providers: `outer` answers the request, and `other` is the model behind a tool. */
import { expect } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { OutputItem, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { ConfigFile } from "@sluice/proto/config/config-file.js";
import { type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";
import {
  type TestScope,
  type Engine,
  testRequest,
  testConfig,
  newScope,
  unlimitedBudget,
  openEngine,
  runTestTurn,
} from "../asking.ts";

export interface SentRequest {
  readonly messages: { readonly role: string; readonly content: string }[];
  readonly [field: string]: unknown;
}

export class ToolInstallation {
  readonly outer: Upstream;
  readonly other: Upstream;
  readonly engine: Engine;
  /** Whether the budget of keys is used up. */
  isSpent = false;

  private constructor(outer: Upstream, other: Upstream, changes: Partial<ConfigFile>) {
    this.outer = outer;
    this.other = other;
    const provider = (id: string, url: string) => ({ id, dialect: "chat", base_url: `${url}/v1`, api_keys: ["k"] });
    const model = (id: string, at: string, more: object = {}) => ({
      id,
      endpoints: [{ provider: at, pricing: { prompt: "1", completion: "2", image_output: "3" } }],
      ...more,
    });
    const file = testConfig({
      providers: [provider("outer", outer.url), provider("other", other.url)],
      models: [
        model("acme/outer", "outer"),
        model("acme/other", "other"),
        model("acme/painter", "other", { output_modalities: ["text", "image"] }),
      ],
    });
    this.engine = openEngine({ ...file, ...changes }, undefined, undefined, {
      reserve: () =>
        this.isSpent
          ? Promise.reject(new Fault(FaultReason.PAYMENT_REQUIRED, "Spent"))
          : Promise.resolve(unlimitedBudget),
    });
  }

  static async open(changes: Partial<ConfigFile> = {}): Promise<ToolInstallation> {
    const [outer, other] = await Promise.all([startUpstream(), startUpstream()]);
    return new ToolInstallation(outer, other, changes);
  }

  async stop(): Promise<void> {
    await this.engine.upstreams.close();
    await Promise.all([this.outer.stop(), this.other.stop()]);
  }

  run(fields: Partial<TurnRequest> & { text?: string }, testScope = newScope()) {
    return runTestTurn(this.engine.turn, testRequest({ models: ["acme/outer"], stream: false, ...fields }), testScope);
  }

  sent(who: "outer" | "other", index = -1): SentRequest {
    return this[who].requests.at(index)?.json as unknown as SentRequest;
  }
}

/** The finished items of an answer. */
export const finishedItems = (events: readonly TurnEvent[]): readonly OutputItem[] =>
  events.flatMap((event) => (event.type === "item.end" ? [event.item] : []));

/** Names and payloads of an item's events, except those that every item has. */
export const progressEvents = (events: readonly TurnEvent[]): readonly (readonly [string, Record<string, unknown>])[] =>
  events.flatMap((event) => (event.type === "native" ? [[event.name, JSON.parse(event.payloadJson)] as const] : []));

/** Fails unless a leaving client ends the call of the model behind a tool within 250 ms. @param turn a turn whose tool calls the other model */
export async function expectPromptEnd(
  testConfig: ToolInstallation,
  turn: (testScope: TestScope) => Promise<unknown>,
): Promise<void> {
  testConfig.other.script([{ chunks: [{ sse: [chatChunk({ content: "A" })] }], hang: true }]);
  const testScope = newScope();
  const before = testConfig.engine.closed.length;
  const reached = testConfig.other.nextRequest();
  const running = turn(testScope);
  await reached;
  const closed = testConfig.other.nextClose();
  const leftAt = performance.now();
  testScope.abort.abort(new Error("left"));
  expect((await closed) - leftAt).toBeLessThan(250);
  await running.catch(() => {});
  const ended = testConfig.engine.closed.slice(before).map(({ status }) => status);
  expect(new Set(ended)).toEqual(new Set(["completed", "cancelled"]));
}
