import { describe, expect, test } from "@jest/globals";
import { TurnTable } from "@sluice/proto/lib/lane/turn-table.js";

describe("turn table", () => {
  test("finds an added turn until it is deleted, and uses its place again", () => {
    const table = new TurnTable<string>();
    for (const id of [1, 2, 3]) table.add(id, `turn ${id}`);
    expect(table.delete(2)).toBe(true);
    expect(table.delete(2)).toBe(false);
    table.add(4_000_000_000, "another");
    expect([1, 2, 3, 4_000_000_000].map((id) => table.get(id))).toEqual(["turn 1", undefined, "turn 3", "another"]);
    expect(table.size).toBe(3);
  });

  test("returns every turn when it is cleared, and can be filled again", () => {
    const table = new TurnTable<string>();
    for (const id of [1, 2, 3]) table.add(id, `turn ${id}`);
    table.delete(1);
    table.add(4, "turn 4");
    expect(table.clear()).toEqual(["turn 2", "turn 3", "turn 4"]);
    expect([table.size, table.get(2)]).toEqual([0, undefined]);
    table.add(5, "turn 5");
    expect(table.clear()).toEqual(["turn 5"]);
  });
});
