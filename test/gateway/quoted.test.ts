/** A text is quoted as by JSON.stringify, by the fast path and by the general one. */
import { expect, test } from "@jest/globals";
import { toJsonString } from "@sluice/gateway/edge/turns/json.js";
import fc, { codePoint } from "../support/properties.js";

test.each([0, 10, 64, 65, 500])(
  "a text of %i letters around any characters is quoted as by JSON.stringify",
  (length) => {
    const letters = "x".repeat(length);
    for (let code = 0; code <= 0xffff; code++) {
      const character = String.fromCharCode(code);
      // A direct comparison of all texts would take a minute.
      if (toJsonString(letters + character) !== JSON.stringify(letters + character))
        throw new Error(`character ${code}`);
    }
    const texts = fc.string({ unit: codePoint, maxLength: 80 });
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const text = before + letters + after;
        expect(toJsonString(text)).toBe(JSON.stringify(text));
      }),
    );
  },
);
