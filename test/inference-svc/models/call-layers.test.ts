/** The order of the layers around a call: no layer that may refuse a call stands inside the layer of its budget reservation. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type CallLayer, buildModelCaller, callLayers } from "@sluice/inference-svc/models/ask.js";
import { Router } from "@sluice/inference-svc/models/routing/choose/router.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { noPackages } from "@sluice/inference-svc/models/upstream/ai-sdk/load.js";
import { endpointFeatures } from "@sluice/inference-svc/stack.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Upstream, chatStream, startUpstream } from "../../support/providers/upstream.js";
import { newScope, openParts, runTestTurn, stackSecret, testConfig, testRequest, unlimitedBudget } from "../asking.js";

let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream([chatStream("fine")]);
});
afterEach(() => upstream.stop());

/** Layers inside the reservation, each with the reason why no other model is called under the same call number after the layer fails. */
const withinReservation: ReadonlyMap<string, string> = new Map([
  ["record", "a ledger that cannot record ends the request"],
  ["bill", "it gives the call its number"],
]);

/** Layers between the reservation and the provider that may refuse a call, as far as the list shows. */
function misplaced(layers: readonly CallLayer[]): readonly string[] {
  const names = layers.map(({ name }) => name);
  return names.slice(names.indexOf("budget") + 1).filter((name) => !withinReservation.has(name));
}

/** Refuses calls of the model `large`. */
const refusing: CallLayer = {
  name: "refusing",
  layer:
    ({ model }) =>
    (turn) =>
    (request, scope) => {
      if (model === "large") throw new Fault(FaultReason.PERMISSION_DENIED, "Refused");
      return turn(request, scope);
    },
};

/** Reservations for a request whose first model is refused in the last layer before those of the call itself. */
async function countReservations(layers: readonly CallLayer[]): Promise<number> {
  const config = testConfig({
    providers: [{ id: "acme", name: "Acme", dialect: "chat", base_url: `${upstream.url}/v1` }],
    models: ["large", "small"].map((id) => ({ id, endpoints: [{ provider: "acme" }] })),
  });
  let reservations = 0;
  const reserve = async () => {
    reservations++;
    return unlimitedBudget;
  };
  const records = new EndpointRecords();
  const { parts, engine } = openParts(config, records, noPackages, { reserve });
  const { catalog, upstreams } = parts;
  const router = new Router({ catalog, support: upstreams, secret: stackSecret, records, cooldown: () => undefined });
  const turn = buildModelCaller({ ...parts, router, endpointFeatures }, layers);
  const { fault } = await runTestTurn(
    turn,
    testRequest({ models: ["large", "small"] }),
    newScope({ keyHash: "key", hasBudget: true }),
  );
  expect(fault).toBeUndefined();
  await engine.upstreams.close();
  return reservations;
}

const planted = (place: number): readonly CallLayer[] => callLayers.toSpliced(place, 0, refusing);
const places = callLayers.map(({ name }, place) => ({ name, place }));
const budgetPlace = callLayers.findIndex(({ name }) => name === "budget");

test("no layer that may refuse a call stands inside the layer of the budget's reservation", () => {
  expect(budgetPlace).toBeGreaterThan(0);
  expect(misplaced(callLayers)).toEqual([]);
  const inside = callLayers.slice(budgetPlace + 1).map(({ name }) => name);
  expect([...withinReservation.keys()].sort()).toEqual([...inside].sort());
});

test("the check of the order of layers finds a new or moved layer inside the reservation", () => {
  for (let place = budgetPlace + 1; place <= callLayers.length; place++)
    expect(misplaced(planted(place))).toEqual(["refusing"]);
  for (let place = 0; place <= budgetPlace; place++) expect(misplaced(planted(place))).toEqual([]);
  for (const moved of callLayers.slice(0, budgetPlace)) {
    const others = callLayers.filter((layer) => layer !== moved);
    expect(misplaced([...others, moved])).toEqual([moved.name]);
  }
});

test.each(places.filter(({ place }) => place <= budgetPlace))(
  "a model that is refused outside of $name reserves no budget",
  async ({ place }) => {
    expect(await countReservations(planted(place))).toBe(1);
  },
);

test.each(places.filter(({ place }) => place > budgetPlace))(
  "a model that is refused inside the reservation, outside of $name, reserves a budget without a use",
  async ({ place }) => {
    expect(await countReservations(planted(place))).toBe(2);
  },
);
