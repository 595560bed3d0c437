/** How the values of a JSON text are counted before it is parsed. */
import { describe, expect, test } from "@jest/globals";
import { ValueCount, countValues, maxValues, parseWithin } from "@sluice/proto/lib/json/values.js";

describe("the number of JSON values in a text", () => {
  test.each<[json: string, values: number]>([
    ["[]", 1],
    ["{}", 1],
    ['""', 1],
    ['{"a":[{"b":"c"}]}', 6],
    ["[1,2,3,4,5,6,7,8,9]", 2],
    ["[true,false,null]", 1.25],
    [String.raw`"[1,{\"a\":\\\"]}"`, 1],
    ['["\u{1f600}[","\u0122,"]', 3.125],
  ])("of %s is %d, in pieces cut anywhere", (json, values) => {
    expect(countValues(json)).toBe(values);
    const bytes = Buffer.from(json);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const count = new ValueCount();
        for (const [start, end] of [
          [0, first],
          [first, second],
          [second, bytes.length],
        ])
          count.add(bytes.subarray(start, end));
        expect(count.total).toBe(values);
      }
    }
  });

  test("is limited in a text within a text", () => {
    const arrays = (count: number) => `[${"[],".repeat(count - 2)}[]]`;
    const most = Math.floor(maxValues / 1.125);
    expect(parseWithin(arrays(most))).toHaveLength(most - 1);
    expect(() => parseWithin(arrays(maxValues))).toThrow("more than 1000000 JSON values");
    expect(() => parseWithin("[")).toThrow(SyntaxError);
  });
});
