/** Items with fields of undocumented shapes: providers and tools send them, and every answer with one still reaches its client whole. */
import { Ladder } from "@sluice/gateway/doors/responses/ladder.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ResponsesTranslator } from "@sluice/inference-svc/models/upstream/responses/stream.js";
import { toWire } from "@sluice/inference-svc/engine/wire.js";
import { expect, test } from "@jest/globals";
import { testRequest } from "../inference-svc/asking.ts";
import { blockFilter, runGuarded } from "../inference-svc/features/guardrails/gating.ts";
import { type Json, itemKinds } from "../inference-svc/models/dialects/item-stories.ts";
import { itemAddedEvent, completedEvent, itemDoneEvent } from "../inference-svc/features/guardrails/reading.ts";
import { parseSse } from "../support/answers/sse.ts";

const shapes: readonly unknown[] = [
  "a text",
  7,
  null,
  { type: "output_text", text: "x" },
  [null],
  ["a text", [null], {}],
  [{ type: "output_text", text: 7 }],
  [{ type: "refusal", refusal: null }],
  [{ type: {}, text: "x" }],
  [{ type: "constructor", text: "x" }],
];
/** Fields read somewhere between provider and client. */
const fields = "content summary arguments input code operation action name status phase output result tools".split(" ");
/** The last is a property name of every JavaScript object. */
const types = [...itemKinds.map(({ type }) => type), "later_kind", "constructor"];

const echo = { instructionsJson: "null", beforeTier: '"tools":[]', afterTier: '"store":false' };
const newObject = () => new ResponseObject({ id: "resp_1", createdAt: 1, model: "acme/large-2", echo });

function read(item: object): readonly TurnEvent[] {
  const given: TurnEvent[] = [];
  const target = { upstreamModel: "large-2", tier: "default", original: false };
  const translator = new ResponsesTranslator(testRequest(), target, (event) => given.push(event));
  const events = [
    itemAddedEvent(0, { ...item, status: "in_progress" }),
    itemDoneEvent(0, item),
    completedEvent([item]),
  ];
  for (const event of events) translator.event(undefined, JSON.stringify(event));
  return given;
}

/** The response sent to a client, from the last event of a stream. @throws what breaks on the way */
async function delivered(item: object, isGuarded: boolean): Promise<unknown> {
  const given = read(item);
  const { events, fault } = await runGuarded([given], isGuarded ? [blockFilter("plutonium")] : []);
  if (fault) throw fault.cause ?? fault;
  const ladder = new Ladder(newObject());
  const written = ladder.events(toWire(events, () => new Uint8Array()).events);
  return parseSse(written).events.at(-1)?.["response"];
}

async function complaintOf(type: string, field: string, shape: unknown): Promise<string | undefined> {
  const story: Json | undefined = itemKinds.find((kind) => kind.type === type)?.story.item;
  const item = { ...story, type, id: "item_0", [field]: shape };
  try {
    for (const isGuarded of [false, true]) {
      expect(await delivered(item, isGuarded)).toMatchObject({ status: "completed", output: [{ type, id: "item_0" }] });
    }
  } catch (error) {
    return `${type}.${field} = ${JSON.stringify(shape)}: ${String(error)}`;
  }
}

test.each(types)("an item %s with a field of any shape is delivered, with and without a guardrail", async (type) => {
  const complaints: unknown[] = [];
  for (const field of fields) for (const shape of shapes) complaints.push(await complaintOf(type, field, shape));
  expect(complaints.filter((complaint) => complaint !== undefined)).toEqual([]);
});
