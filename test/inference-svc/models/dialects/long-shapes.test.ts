/** The time to read an answer grows linearly with its length, in every format and for every shape of its items. */
import { describe, expect, test } from "@jest/globals";
import { isLinear } from "../../../support/clock.ts";
import { testRequest } from "../../asking.ts";
import { canCarryScene, keepsOrder, wireFormats } from "./scenes/formats.ts";
import type { WireFormat } from "./scenes/format.ts";
import { readAtBoundaries } from "./scenes/reading.ts";
import type { Scene } from "./scenes/scene.ts";
import { longShapes } from "./scenes/shapes.ts";

/** Reads the events of a stream, which are written only once. */
function reader(format: WireFormat, sceneOf: (count: number) => Scene, isWhole: boolean) {
  const written = new Map<number, readonly Uint8Array[]>();
  return (count: number) => {
    let reads = written.get(count);
    if (reads === undefined) {
      const scene = sceneOf(count);
      written.set(count, (reads = isWhole ? [Buffer.from(format.whole(scene))] : format.stream(scene)));
      return;
    }
    const type = isWhole ? "application/json" : format.dialect.framing.type;
    let events = 0;
    readAtBoundaries({ ...format, request: testRequest() }, type, reads, (batch) => void (events += batch.length));
    expect(events).toBeGreaterThan(0);
  };
}

describe.each(wireFormats)("an answer in the format $name", (format) => {
  const possible = longShapes.filter(([, sceneOf]) => canCarryScene(format, sceneOf(2)));
  const rows = possible.flatMap(([shape, sceneOf]) => {
    const streamed = ["streamed", shape, reader(format, sceneOf, false)] as const;
    return keepsOrder(format, sceneOf(2))
      ? [streamed, ["whole", shape, reader(format, sceneOf, true)] as const]
      : [streamed];
  });

  test.each(rows)("takes time linear in its length: %s, with %s", async (_form, _shape, read) => {
    for (const count of [250, 2_000]) read(count);
    expect(await isLinear(250, read)).toBe(true);
  });
});
