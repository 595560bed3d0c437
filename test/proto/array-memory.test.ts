/** Remembered arrays are found again by their bytes, and scans with and without a memory give equal results. */
import { describe, expect, test } from "@jest/globals";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { ArrayMemory, minRememberedBytes } from "@sluice/proto/lib/json/array-memory.js";
import { createScannedArrays } from "@sluice/proto/lib/json/elements.js";
import { jsonLimits } from "@sluice/proto/lib/json/limits.js";
import { scanObject, scanRepeated } from "@sluice/proto/lib/json/scan.js";
import { type JsonMember, elementAt, elementsOf } from "@sluice/proto/lib/json/span.js";
import fc from "../support/properties.js";

/** Elements long enough for the array to be remembered. */
const longElements = (count: number, start = 0) =>
  Array.from({ length: count }, (_, index) => `${start + index} ${"x".repeat(900)}`);

/** The text of an array up to the end of its last element, as the memory is given it. */
const open = (elements: readonly unknown[]) => Buffer.from(JSON.stringify(elements).slice(0, -1));
const whole = (elements: readonly unknown[]) => Buffer.from(JSON.stringify(elements));

describe("the memory of request arrays", () => {
  test("finds the elements shared with an earlier array of the same owner", () => {
    const memory = new ArrayMemory<unknown>();
    const elements = longElements(8);
    memory.keep("a", open(elements), elements, undefined);
    const longer = whole([...elements, "more"]);
    expect(memory.find("a", longer, 0)).toMatchObject({ count: 8, length: open(elements).length });
    expect(memory.find("a", whole([...elements.slice(0, 5), "other", "z".repeat(900)]), 0)?.count).toBe(5);
    expect(memory.find("a", whole(["other", ...elements]), 0)).toBeUndefined();
    expect(memory.find("b", longer, 0)).toBeUndefined();
  });

  test("treats a longer number as a different element", () => {
    const memory = new ArrayMemory<unknown>();
    const elements = [...longElements(3), 12];
    memory.keep("a", open(elements), elements, undefined);
    expect(memory.find("a", whole([...longElements(3), 12, 3]), 0)?.count).toBe(4);
    expect(memory.find("a", whole([...longElements(3), 123]), 0)?.count).toBe(3);
  });

  test("keeps a few conversations with equal beginnings, and the last state of each", () => {
    const memory = new ArrayMemory<unknown>();
    const conversation = (name: string, steps: number) => [
      ...longElements(1),
      ...longElements(steps).map((element) => `${name} ${element}`),
    ];
    for (const name of ["a", "b", "c", "d"]) {
      for (let steps = 3; steps < 10; steps += 2) {
        const elements = conversation(name, steps);
        const known = memory.find("k", whole(elements), 0);
        if (steps > 3) expect(known?.count).toBeGreaterThan(elements.length - 3);
        memory.keep("k", open(elements), elements, known);
      }
    }
    for (const name of ["a", "b", "c", "d"]) {
      expect(memory.find("k", whole(conversation(name, 9)), 0)?.count).toBe(10);
    }
    memory.keep("k", open(conversation("e", 4)), conversation("e", 4), undefined);
    expect(memory.find("k", whole(conversation("a", 9)), 0)?.count).toBe(1);
    expect(memory.find("k", whole(conversation("e", 9)), 0)?.count).toBe(5);
  });

  test("copies an array again once an eighth of it is new", () => {
    const memory = new ArrayMemory<unknown>();
    const keep = (count: number) => {
      const elements = longElements(count);
      return memory.keep("k", open(elements), elements, memory.find("k", whole(elements), 0)) !== undefined;
    };
    expect([16, 16, 17, 18, 19, 20].map(keep)).toEqual([true, false, false, false, true, false]);
    expect(memory.find("k", whole(longElements(20)), 0)?.count).toBe(19);
  });

  test("forgets the least recently used arrays, beyond its size", () => {
    const memory = new ArrayMemory<unknown>();
    const large = (name: string) => [name, ...Array.from({ length: 4 }, () => "x".repeat(60_000))];
    const keep = (name: string) => memory.keep("k", open(large(name)), large(name), undefined);
    const has = (name: string) => memory.find("k", whole(large(name)), 0) !== undefined;
    keep("first");
    keep("second");
    for (let number = 0; number < 32; number++) {
      keep(`other ${number}`);
      expect(has("first")).toBe(true);
    }
    keep("last");
    expect([has("first"), has("second"), has("last")]).toEqual([true, false, true]);
  });

  test("counts data attached to an array, for the lifetime of the array", () => {
    const memory = new ArrayMemory<unknown>();
    const keep = (name: string) => {
      const elements = [name, ...longElements(4)];
      return memory.keep("k", open(elements), elements, undefined)!;
    };
    const has = (name: string) => memory.find("k", whole([name, ...longElements(4)]), 0) !== undefined;
    const kept = ["first", "second", "third"].map(keep);
    memory.grow(kept[1]!, 8_380_000);
    expect(["first", "second", "third"].map(has)).toEqual([false, true, true]);
    memory.grow(kept[0]!, 8_380_000);
    expect(["second", "third"].map(has)).toEqual([true, true]);
    // Looking them up has made the second the older one.
    memory.grow(kept[2]!, 100_000);
    expect(["second", "third"].map(has)).toEqual([false, true]);
    const names = Array.from({ length: 100 }, (_, index) => `other ${index}`);
    for (const name of names) keep(name);
    expect([...names, "third"].map(has)).toEqual([...names, "third"].map(() => true));
  });

  test("counts more for an element than the size of its text", () => {
    const memory = new ArrayMemory<unknown>();
    const tiny = (name: string) => [name, ...Array.from({ length: 100_000 }, () => 0)];
    const has = (name: string) => memory.find("k", whole(tiny(name)), 0) !== undefined;
    for (const name of ["first", "second"]) memory.keep("k", open(tiny(name)), tiny(name), undefined);
    expect(["first", "second"].map(has)).toEqual([false, true]);
  });

  test("takes neither short arrays nor arrays that would evict too many others", () => {
    const memory = new ArrayMemory<unknown>();
    const huge = Array.from({ length: 4 }, () => "x".repeat(100_000));
    const few = ["x".repeat(2_000), "y".repeat(2_000)];
    for (const elements of [huge, few]) {
      memory.keep("k", open(elements), elements, undefined);
      expect(memory.find("k", whole(elements), 0)).toBeUndefined();
    }
  });
});

describe("a scan of JSON with this memory", () => {
  const said = (scan: () => unknown): unknown => {
    try {
      return scan();
    } catch (error) {
      if (error instanceof Fault) return error.message;
      throw error;
    }
  };

  /** A member, and the places of its elements. */
  const withEnds =
    (bytes: Buffer) =>
    ({ key, start, end, array }: JsonMember) => {
      expect(array?.elements.length).toBe(array?.ends.length);
      const elements = array?.ends.map((_, index) => elementAt(bytes, start, array.ends, index));
      return { key, start, end, elements: elements ?? [] };
    };
  /** Arrays too short to be remembered are not noted. */
  const withFoundEnds =
    (bytes: Buffer) =>
    ({ key, start, end }: JsonMember) => {
      const isShort = bytes.length - start < minRememberedBytes;
      return { key, start, end, elements: isShort ? [] : elementsOf(bytes, start) };
    };

  const padded = fc.record({ note: fc.constantFrom("x".repeat(700), `"${"é".repeat(500)}`), value: fc.jsonValue() });
  /** A conversation, the number of elements repeated by the next body, and replacements for the others. */
  const step = fc.tuple(fc.nat({ max: 8 }), fc.array(padded, { maxLength: 4 }));
  const damage = fc.option(fc.tuple(fc.nat(), fc.constantFrom("", '"', "\\", ",", "}", "]", "[", "0", "\u0001", " ")), {
    freq: 3,
  });
  const body = (input: readonly unknown[], indent: number | undefined) =>
    JSON.stringify({ model: "a/b", input, tools: input.slice(0, 4), last: 1 }, undefined, indent);

  test("gives the same result with and without a memory", () => {
    const history = fc.array(padded, { minLength: 4, maxLength: 6 });
    const steps = fc.array(fc.tuple(step, damage), { maxLength: 5 });
    let repeated = 0;
    fc.assert(
      fc.property(history, steps, fc.constantFrom(undefined, 1), (first, changes, indent) => {
        const memory = createScannedArrays();
        let input: unknown[] = first;
        const scanned = [body(input, indent)];
        for (const [[kept, added], damaged] of changes) {
          input = [...input.slice(0, kept), ...added];
          let text = body(input, indent);
          if (damaged) {
            const place = damaged[0] % text.length;
            text = text.slice(0, place) + damaged[1] + text.slice(place + 1);
          }
          scanned.push(text);
        }
        for (const text of [...scanned, ...scanned]) {
          const bytes = Buffer.from(text);
          const expected = said(() => scanObject(bytes, "body").map(withFoundEnds(bytes)));
          expect(said(() => scanRepeated(bytes, "body", memory, "key").map(withEnds(bytes)))).toEqual(expected);
          if (memory.find("key", bytes, bytes.indexOf("[")) !== undefined) repeated++;
        }
      }),
      { numRuns: 300 },
    );
    expect(repeated).toBeGreaterThan(300);
  });

  test("counts the values of known elements towards the limit", () => {
    const memory = createScannedArrays();
    const element = `[${"1,".repeat(30_000)}1]`;
    const elements = (count: number) =>
      Buffer.from(`{"input":[${Array.from({ length: count }, () => element).join()}]}`);
    expect(scanRepeated(elements(4), "body", memory, "key")).toHaveLength(1);
    expect(memory.find("key", elements(4), 9)?.count).toBe(4);
    expect(scanRepeated(elements(6), "body", memory, "key")).toHaveLength(1);
    const refused = said(() => scanRepeated(elements(7), "body", memory, "key"));
    expect(refused).toMatch(`more than ${jsonLimits.tokens} values and keys`);
  });
});
