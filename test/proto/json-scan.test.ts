/** The scanner refuses texts that parsers read in different ways, and accepts only texts that JSON.parse accepts. */
import { describe, expect, test } from "@jest/globals";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { jsonLimits } from "@sluice/proto/lib/json/limits.js";
import { pieceBytes, scanObject, scanObjectInPieces, scanValue } from "@sluice/proto/lib/json/scan.js";
import { type ByteSpan, elementsOf, memberOf, membersOf, removeLineBreaks } from "@sluice/proto/lib/json/span.js";
import fc from "../support/properties.js";

const refusal = (text: string | Buffer): string => {
  try {
    scanObject(Buffer.from(text), "body");
  } catch (error) {
    expect(error).toBeInstanceOf(Fault);
    expect((error as Fault).status).toBe(400);
    return (error as Fault).message;
  }
  return "accepted";
};

const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
const bytes = (...parts: readonly (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from([part]))));

describe("the JSON scanner refuses, and names the byte,", () => {
  test.each<[string, string | Buffer, string]>([
    ["brackets without end", "[".repeat(1_000_000), "body: must be a JSON object"],
    ["objects without end", '{"a":'.repeat(100_000), "body: nested deeper than 64 at byte 320"],
    ["depth 65", nested(65), "body: nested deeper than 64 at byte 68"],
    ["a key twice", '{"model":"a","model":"b"}', 'body: duplicate key "model" at byte 13'],
    ["a key twice, once escaped", '{"model":"a","mod\\u0065l":"b"}', 'body: duplicate key "model" at byte 13'],
    ["a key twice in an item", '{"input":[{"role":"user","role":"x"}]}', 'body: duplicate key "role" at byte 25'],
    [
      "a key twice in a part",
      '{"input":[{"content":[{"text":"a","text":"b"}]}]}',
      'body: duplicate key "text" at byte 34',
    ],
    [
      "a key twice in what a part holds",
      '{"input":[{"content":[{"file":{"id":"a","id":"b"}}]}]}',
      'body: duplicate key "id" at byte 40',
    ],
    ["infinity", '{"a":1e400}', "body: number out of range at byte 5"],
    ["a long number", `{"a":${"1".repeat(33)}}`, "body: number of more than 32 characters at byte 5"],
    ["a long key", `{"${"k".repeat(1_025)}":1}`, "body: key of more than 1024 bytes at byte 1"],
    ["a leading zero", '{"a":01}', "body: invalid number at byte 5"],
    ["a bare minus", '{"a":-}', "body: invalid number at byte 5"],
    ["a bare point", '{"a":1.}', "body: invalid number at byte 5"],
    ["a plus sign", '{"a":+1}', "body: invalid JSON, expected a value at byte 5"],
    ["NaN", '{"a":NaN}', "body: invalid JSON, expected a value at byte 5"],
    ["Infinity", '{"a":Infinity}', "body: invalid JSON, expected a value at byte 5"],
    ["a misspelt word", '{"a":nul}', "body: invalid JSON, expected a value at byte 5"],
    ["a trailing comma", '{"a":1,}', "body: invalid JSON, expected a key in double quotes at byte 7"],
    ["a trailing comma in an array", '{"a":[1,]}', "body: invalid JSON, expected a value at byte 8"],
    ["a comment", '{"a":1/**/}', "body: invalid JSON, expected ',' or '}' at byte 6"],
    ["single quotes", "{'a':1}", "body: invalid JSON, expected a key in double quotes at byte 1"],
    ["a missing colon", '{"a" 1}', "body: invalid JSON, expected ':' at byte 5"],
    ["a byte order mark", bytes(0xef, 0xbb, 0xbf, "{}"), "body: byte order mark at byte 0"],
    ["nothing", "", "body: must not be empty"],
    ["null", "null", "body: must be a JSON object"],
    ["an array", "[]", "body: must be a JSON object"],
    ["a string", '"x"', "body: must be a JSON object"],
    ["a number", "42", "body: must be a JSON object"],
    ["two values", "{}{}", "body: unexpected data after the end of the JSON value at byte 2"],
    ["a value that ends early", '{"a":[1', "body: unexpected end of JSON at byte 7"],
    ["a string that ends early", '{"a":"b', "body: unterminated string at byte 5"],
    ["a raw NUL", '{"a":"b\0c"}', "body: raw control character in a string at byte 7"],
    ["a raw line break", '{"a":"b\nc"}', "body: raw control character in a string at byte 7"],
    ["an unknown escape", '{"a":"\\x41"}', "body: invalid escape at byte 6"],
    ["a cut escape", '{"a":"\\u00g0"}', "body: invalid escape at byte 6"],
    ["FF", bytes('{"a":"', 0xff, '"}'), "body: invalid UTF-8 at byte 6"],
    ["an overlong slash", bytes('{"a":"', 0xc0, 0xaf, '"}'), "body: invalid UTF-8 at byte 6"],
    ["an encoded surrogate", bytes('{"a":"', 0xed, 0xa0, 0x80, '"}'), "body: invalid UTF-8 at byte 6"],
    ["beyond Unicode", bytes('{"a":"', 0xf4, 0x90, 0x80, 0x80, '"}'), "body: invalid UTF-8 at byte 6"],
    ["UTF-16", Buffer.from('{"a":1}', "utf16le"), "body: invalid JSON, expected a key in double quotes at byte 1"],
    ["a lone high surrogate", '{"user":"\\ud800"}', "body: lone surrogate at byte 9"],
    ["a lone low surrogate", '{"user":"\\udc00"}', "body: lone surrogate at byte 9"],
    ["a pair the wrong way round", '{"user":"\\udc00\\ud800"}', "body: lone surrogate at byte 9"],
    ["a pair over two strings", '{"a":"\\ud83d","b":"\\ude00"}', "body: lone surrogate at byte 6"],
  ])("%s", (_, text, message) => {
    expect(refusal(text)).toBe(message);
  });

  test("30 MB of [], by the number of its tokens, before they use memory", () => {
    const text = `{"a":[${"[],".repeat(10_000_000)}[]]}`;
    const before = process.memoryUsage().heapUsed;
    expect(refusal(Buffer.from(text))).toMatch(/^body: more than 200000 values and keys at byte /);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 2 ** 20);
  });

  test("more keys than a form may have", () => {
    const object = (keys: number) => `{${Array.from({ length: keys }, (_, i) => `"${i}":0`).join(",")}}`;
    expect(refusal(object(jsonLimits.keys))).toBe("accepted");
    expect(refusal(object(jsonLimits.keys + 1))).toMatch(/more than 10000 keys/);
  });

  test("a duplicate among many keys", () => {
    const keys = Array.from({ length: 500 }, (_, i) => `"${i}":0`).join(",");
    expect(refusal(`{${keys},"250":0}`)).toMatch(/^body: duplicate key "250"/);
  });
});

describe("the JSON scanner accepts", () => {
  test.each([
    ["depth 64", nested(64)],
    ["a number of 32 characters", `{"a":${"1".repeat(32)}}`],
    ["a key of 1 KiB", `{"${"k".repeat(1_024)}":1}`],
    ["a surrogate pair", '{"a":"\\ud83d\\ude00"}'],
    ["space everywhere", ' \r\n\t{ "a" : [ 1 , 2 ] , "b" : { } } \n'],
    ["the names of an object's own machinery", '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}'],
    ["one key in two objects", '{"a":{"k":1},"b":{"k":2},"k":3}'],
    ["every form of number", '{"a":[0,-0,1.0,1e0,1E+2,-12.5e-3]}'],
  ])("%s", (_, text) => {
    expect(refusal(text)).toBe("accepted");
  });

  test("200,000 values and keys, and not one more", () => {
    const values = (count: number) => `{"a":[${Array.from({ length: count }, () => "1").join(",")}]}`;
    expect(refusal(values(jsonLimits.tokens - 3))).toBe("accepted");
    expect(refusal(values(jsonLimits.tokens - 2))).toMatch(/more than 200000/);
  });
});

/** Any JSON value as text, compact or indented. */
const jsonText = fc
  .tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, "\t"))
  .map(([value, indent]) => JSON.stringify({ value, other: [value] }, undefined, indent));

describe("properties of the JSON scanner:", () => {
  test("accepted texts are accepted by JSON.parse, and the spans are the members", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const body = Buffer.from(text);
        const members = scanObject(body, "body");
        const read = members.map(({ key, start, end }) => [key, JSON.parse(body.toString("utf8", start, end))]);
        expect(read).toEqual(Object.entries(JSON.parse(text) as object));
      }),
      { numRuns: 2_000 },
    );
  });

  test("a damaged text is accepted only if JSON.parse accepts it", () => {
    const damage = fc.tuple(
      jsonText,
      fc.nat(),
      fc.constantFrom("", '"', "\\", ",", "}", "]", "0", "-", "\u0001", "é", "."),
    );
    fc.assert(
      fc.property(damage, ([text, at, replacement]) => {
        const place = at % text.length;
        const damaged = text.slice(0, place) + replacement + text.slice(place + 1);
        let accepted = true;
        try {
          scanValue(Buffer.from(damaged), "body");
        } catch {
          accepted = false;
        }
        if (accepted) expect(() => JSON.parse(damaged) as unknown).not.toThrow();
      }),
      { numRuns: 10_000 },
    );
  });

  test("members and elements are found as a parser finds them", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()), (object, array) => {
        const objectText = Buffer.from(JSON.stringify(object, undefined, 1));
        const read = (json: Buffer, { start, end }: ByteSpan): unknown => JSON.parse(json.toString("utf8", start, end));
        const members = membersOf(objectText).map((member) => [member.key, read(objectText, member)]);
        expect(members).toEqual(Object.entries(JSON.parse(objectText.toString()) as object));
        for (const [key, value] of members as [string, unknown][]) {
          expect(read(objectText, memberOf(objectText, 0, key) as ByteSpan)).toEqual(value);
        }
        expect(memberOf(objectText, 0, "\u0000absent")).toBeUndefined();
        const arrayText = Buffer.from(` ${JSON.stringify(array, undefined, 1)}`);
        expect(elementsOf(arrayText).map((span) => read(arrayText, span))).toEqual(JSON.parse(arrayText.toString()));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(['{"a":null,"b":[1]}', '{"a":5}', '{"a":"x,]","b":2}', '{"a":true,"b":{"c":[1]}}', '{"a": false }'])(
    "a value of another kind has no members and no elements: %s",
    (text) => {
      const json = Buffer.from(text);
      const { start } = memberOf(json, 0, "a") as ByteSpan;
      expect(elementsOf(json, start)).toEqual([]);
      expect(membersOf(json, start)).toEqual([]);
      expect(memberOf(json, start, "b")).toBeUndefined();
      expect(elementsOf(json)).toEqual([]);
      expect(membersOf(Buffer.from("[1]"))).toEqual([]);
    },
  );

  test("a single line gives the same result", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const line = removeLineBreaks(Buffer.from(text));
        expect(line).not.toMatch(/[\r\n]/);
        expect(JSON.parse(line)).toEqual(JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test("digits of numbers are kept when JSON is written in a single line", () => {
    expect(removeLineBreaks(Buffer.from('[\r\n 12345678901234567890 ,\n"a \\n b" ]'))).toBe(
      '[12345678901234567890,"a \\n b"]',
    );
  });
});

describe("a long text in the JSON scanner", () => {
  const long = "x".repeat(pieceBytes);
  const inPieces = async (text: string) => {
    let pauses = 0;
    const bytesOf = Buffer.from(text);
    const said = await scanObjectInPieces(bytesOf, "body", async () => void pauses++).catch(
      ({ message }: Fault) => message,
    );
    return { pauses, said };
  };
  /** Shifts the text so that a piece ends between any two of its bytes. */
  const shifted = (text: string) => `{"a":"${long.slice(text.length)}${text}`;

  test.each([
    ["a member", '","b":1}', []],
    ["escapes", '\\n\\u00e9\\ud83d\\ude00"}', []],
    ["numbers and words", '","b":[-12.5e-3,true,null]}', []],
    ["white space", '" ,\n "b" : { "c" : 1 } } ', []],
    ["a key twice", '","bb":1,"bb":2}', /^body: duplicate key "bb" at byte \d+$/],
    ["a lone surrogate", '\\ud83d"}', /^body: lone surrogate at byte \d+$/],
    ["a string without end", "abc", "body: unterminated string at byte 5"],
    ["an object without end", '","b":1', /^body: unexpected end of JSON at byte \d+$/],
    ["something behind the end", '"} x', /^body: unexpected data after the end of the JSON value at byte \d+$/],
  ])("gives the same result in pieces, at every cut: %s", async (_, rest, expected) => {
    for (let at = 0; at <= rest.length; at++) {
      const text = shifted(rest).slice(0, 6) + "y".repeat(at) + shifted(rest).slice(6);
      const { pauses, said } = await inPieces(text);
      const message = refusal(text);
      expect(said).toEqual(message === "accepted" ? scanObject(Buffer.from(text), "body") : message);
      if (typeof expected === "string" || expected instanceof RegExp) expect(message).toMatch(expected);
      else expect([message, pauses]).toEqual(["accepted", Math.ceil(text.length / pieceBytes) - 1]);
    }
  });

  test("is read no further once its reader is gone", async () => {
    const stop = () => Promise.reject(new Error("nobody"));
    await expect(scanObjectInPieces(Buffer.from(shifted('"}') + " ".repeat(9)), "body", stop)).rejects.toThrow(
      "nobody",
    );
  });
});
