/** JSON written piece by piece equals the output of `JSON.stringify`, except for the parts that are written verbatim. */
import { expect, test } from "@jest/globals";
import { Verbatim, jsonText } from "@sluice/inference-svc/models/upstream/json.js";
import fc from "../../../support/properties.ts";

test("any value of a provider request is written as JSON.stringify writes it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      // A member `__proto__` is an ordinary member, also after parsing.
      const read = JSON.parse(JSON.stringify(value)) as unknown;
      expect(jsonText(read)).toBe(JSON.stringify(read));
    }),
    { numRuns: 3_000 },
  );
});

test("verbatim parts of a provider request stay unchanged, and undefined members are left out", () => {
  const list = [new Verbatim("1.50"), undefined, { b: new Verbatim('"\\u0041"'), c: undefined }];
  expect(jsonText({ a: list, d: {}, e: [] })).toBe('{"a":[1.50,null,{"b":"\\u0041"}],"d":{},"e":[]}');
});
