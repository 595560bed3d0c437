import { describe, expect, test } from "@jest/globals";
import { SlotMap } from "@sluice/proto/lib/load/slot-map.js";

const filled = (...ids: number[]): SlotMap<number, string> => {
  const map = new SlotMap<number, string>();
  for (const id of ids) map.set(id, `turn ${id}`);
  return map;
};

describe("the slot map", () => {
  test("finds an added value until it is deleted, and uses its slot again", () => {
    const map = filled(1, 2, 3);
    expect(map.delete(2)).toBe(true);
    expect(map.delete(2)).toBe(false);
    map.set(4_000_000_000, "another");
    expect([1, 2, 3, 4_000_000_000].map((id) => map.get(id))).toEqual(["turn 1", undefined, "turn 3", "another"]);
    expect(map.size).toBe(3);
  });

  test("replaces the value of a key", () => {
    const map = filled(1, 2);
    map.set(1, "another");
    map.set(3, "turn 3");
    expect(map.size).toBe(3);
    expect(map.values()).toEqual(["another", "turn 2", "turn 3"]);
  });

  test("returns every value when it is cleared, and can be filled again", () => {
    const map = filled(1, 2, 3);
    map.delete(1);
    map.set(4, "turn 4");
    expect(map.clear()).toEqual(["turn 2", "turn 3", "turn 4"]);
    expect([map.size, map.get(2)]).toEqual([0, undefined]);
    map.set(5, "turn 5");
    expect(map.clear()).toEqual(["turn 5"]);
  });
});
