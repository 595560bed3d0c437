/** Values that are known to break programs. */

export const unusualTexts: readonly string[] = [
  "",
  "a",
  "Hello there, what is new?",
  "{}",
  '{"a":1}',
  "null",
  "__proto__",
  "constructor",
  "toString",
  "\u0000",
  "a\u0000b",
  "\u2028",
  "line\nbreak\r\n",
  "\u{1F600}",
  "e\u0301",
  "\u202Eright to left",
  "\uFEFF",
  "\uFFFF",
  " surrounded ",
  "https://example.org/a.png",
  "data:image/png;base64,iVBORw0KGgo=",
  "AAAA",
  "2026-01-31",
  "Europe/Vienna",
  "service:web_search",
  "vendor:web_search",
  "[DONE]",
  "data: [DONE]\n\n",
  "0.25",
];

/** Lengths of texts at and around the limits of the contract. */
export const boundaryLengths: readonly number[] = [
  1, 20, 21, 64, 65, 128, 129, 200, 201, 256, 257, 512, 513, 1_024, 1_025,
];

export const unusualNumbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  1.5,
  2,
  2.000_001,
  -2.5,
  20,
  21,
  30,
  31,
  2_147_483_647,
  2_147_483_648,
  -2_147_483_648,
  Number.MAX_SAFE_INTEGER,
  1e21,
  1e-9,
  1e308,
];

export const unusualKeys: readonly string[] = [
  "a",
  "type",
  "id",
  "name",
  "__proto__",
  "constructor",
  "x".repeat(64),
  "\u{1F600}",
  "a.b",
];
