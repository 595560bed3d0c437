/** Lists of tags as text, and the tags of a request together with those of its key. */
import { describe, expect, test } from "@jest/globals";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import {
  admittedTags,
  maxTags,
  parseTagNames,
  parseTags,
  readRecordedTags,
  recordedTags,
  tagNamesText,
  tagsText,
} from "@sluice/proto/lib/turns/tags.js";
import fc from "../support/properties.ts";

const refusal = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
  throw new Error("not refused");
};

describe("a list of tags", () => {
  const someText = (max: number) =>
    fc.string({ unit: "grapheme", minLength: 1, maxLength: max }).filter((text) => !/\p{Cc}|\p{Surrogate}/u.test(text));
  const someName = someText(32).filter(
    (name) => !/[[\]]/.test(name) && Array.from(name).length <= 64 && name !== "__proto__",
  );
  const someValue = someText(64).filter((value) => Array.from(value).length <= 256);

  test("gives the same tags when it is written and read", () => {
    const someTags = fc.uniqueArray(fc.tuple(someName, someValue), { maxLength: maxTags, selector: ([name]) => name });
    fc.assert(
      fc.property(someTags, (tags) => {
        expect(parseTags(tagsText(tags), "tags")).toEqual(tags);
        const names = tags.map(([name]) => name);
        expect(parseTagNames(tagNamesText(names), "tags")).toEqual(names);
      }),
    );
  });

  test("ignores white space around names and values, and takes equals signs in values", () => {
    expect(parseTags(" team = search ,env=prod,  q=a=b ", "tags")).toEqual([
      ["team", "search"],
      ["env", "prod"],
      ["q", "a=b"],
    ]);
    expect(parseTags("", "tags")).toEqual([]);
    expect(parseTags("name%2C%3D=50%25, city=Z%C3%BCrich", "tags")).toEqual([
      ["name,=", "50%"],
      ["city", "Zürich"],
    ]);
  });

  test.each([
    ["team", "list of pairs"],
    ["team=", "at least 1 character"],
    ["=search", "at least 1 character"],
    ["team=a,", "list of pairs"],
    ["team=a,team=b", "each name at most once"],
    ["team=100%", "percent"],
    ["team=%FF", "percent"],
    ["team=a%00b", "control characters"],
    ["team=a%0Ab", "control characters"],
    ["te%0Dam=a", "control characters"],
    ["team[]=a", "brackets"],
    ["__proto__=a", "reserved"],
    [`${"n".repeat(65)}=a`, "at most 64 characters"],
    [`team=${"v".repeat(257)}`, "at most 256 characters"],
    [Array.from({ length: 17 }, (_, n) => `t${n}=v`).join(","), "at most 16 tags"],
  ])("refuses %j", (text, words) => {
    expect(refusal(() => parseTags(text, "x-sluice-tags"))).toMatch(new RegExp(`^x-sluice-tags: .*${words}`));
    expect(readRecordedTags(text)).toBeNull();
  });

  test("counts characters, not bytes or halves of characters", () => {
    expect(parseTags(`${"😀".repeat(64)}=${"ü".repeat(256)}`, "tags")).toHaveLength(1);
  });
});

describe("tags of a request", () => {
  const key = { tags: "team=search", requiredTags: [] as string[] };
  const none = { tags: "", requiredTags: [] as string[] };

  test("are those of the key, then of the header, then of metadata", () => {
    const request = { tags: "team=ads, env=prod", metadata: { team: "x", env: "y", run: "7" } };
    expect(readRecordedTags(recordedTags(request, key))).toEqual({ team: "search", env: "prod", run: "7" });
    expect(recordedTags({ tags: "", metadata: {} }, key)).toBe("team=search");
    expect(recordedTags({ tags: "", metadata: {} }, none)).toBe("");
    for (const asked of [request, { tags: "", metadata: {} }, { tags: "", metadata: { run: "7" } }]) {
      for (const of of [key, none]) expect(admittedTags(asked, of)).toBe(recordedTags(asked, of));
    }
  });

  test("leave out metadata that is no tag", () => {
    const metadata = { long: "v".repeat(257), empty: "", line: "a\nb", team: "ads" };
    expect(readRecordedTags(recordedTags({ tags: "", metadata }, none))).toEqual({ team: "ads" });
  });

  test("are refused above sixteen together, under the name of the place with too many", () => {
    const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`t${n}`, "v"]));
    expect(() => admittedTags({ tags: "", metadata: pairs(16) }, none)).not.toThrow();
    expect(refusal(() => admittedTags({ tags: "", metadata: pairs(16) }, key))).toMatch(/^metadata: at most 16 tags/);
    expect(refusal(() => admittedTags({ tags: "a=b", metadata: pairs(16) }, none))).toMatch(
      /^x-sluice-tags: at most 16/,
    );
    const recorded = readRecordedTags(recordedTags({ tags: "a=b", metadata: pairs(16) }, key));
    expect(Object.keys(recorded ?? {})).toHaveLength(16);
    expect(recorded).toMatchObject({ team: "search", a: "b" });
  });

  test("are refused without a tag required by the workspace, unless the key has it", () => {
    const requiring = { tags: "", requiredTags: ["team", "env"] };
    expect(refusal(() => admittedTags({ tags: "env=prod", metadata: {} }, requiring))).toMatch(/requires the tag team/);
    expect(() => admittedTags({ tags: "env=prod", metadata: { team: "ads" } }, requiring)).not.toThrow();
    expect(() => admittedTags({ tags: "env=prod", metadata: {} }, { ...requiring, tags: "team=search" })).not.toThrow();
  });

  test("in a malformed list are replaced by those of the key in the record of the refusal", () => {
    expect(recordedTags({ tags: "nonsense", metadata: {} }, key)).toBe("team=search");
  });
});
