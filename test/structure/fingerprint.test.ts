/** Comments, test titles and pages in direct English: few relative clauses and verbs of speech per 1,000 words. */
import { describe, expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { readComments } from "./comments.ts";
import {
  type Mark,
  type TextKind,
  countMark,
  findTitleFault,
  markNames,
  pageRooms,
  readProse,
  readTextKinds,
  readTitles,
  textKinds,
} from "./fingerprint.ts";
import { drawSample, readCountsOptions, readNames, readTestTitles } from "./sample.ts";
import { readSources, rooms } from "./sources.ts";

/** Maximum of marked words per 1,000. Well-kept projects of the field have 11 to 18, at most 0.7 and none. */
const goals: Readonly<Record<Mark, number>> = {
  "that, which, whose": 20,
  "told, said, asked, heard": 1,
  "alone, beside, in the place of": 0.2,
};

/** Marked words allowed in every room: in a small room, a single word can exceed a limit per 1,000. */
const maxFreeWords = 3;

const texts = readTextKinds(root);

/** @returns the ten worst files when the texts of the whole tree, or of a room, are above their limit */
function findWorst(kind: TextKind, scope: string, mark: Mark): readonly string[] {
  const limit = goals[mark];
  const found = texts[kind].filter(({ room }) => scope === "all" || room === scope);
  const { marked, perThousand, worst } = countMark(found, mark, limit);
  return marked <= maxFreeWords || perThousand < limit ? [] : worst;
}

describe.each(textKinds)("%s of the project", (kind) => {
  const scopes = [...rooms, ...pageRooms].filter((scope) => texts[kind].some(({ room }) => room === scope));
  const rows = ["all", ...scopes].flatMap((scope) => markNames.map((mark) => ({ scope, mark })));

  test.each(rows)("have few of the words $mark in the room $scope", ({ scope, mark }) => {
    expect(findWorst(kind, scope, mark)).toEqual([]);
  });
});

describe("marked words of roundabout English are found", () => {
  const plant = (text: string, path = "test/planted.test.ts") => ({ path, room: "test", text });
  const sentences: readonly [string, Mark][] = [
    ["Turns which a process has begun", "that, which, whose"],
    ["A key that has no budget", "that, which, whose"],
    ["Models whose providers fail", "that, which, whose"],
    ["The gateway is told of a model", "told, said, asked, heard"],
    ["Limits as SAID by a provider", "told, said, asked, heard"],
    ["The model asked for", "told, said, asked, heard"],
    ["A caller that is heard", "told, said, asked, heard"],
    ["The server alone decides", "alone, beside, in the place of"],
    ["Beside the first", "alone, beside, in the place of"],
    ["A name in the place of an id", "alone, beside, in the place of"],
  ];

  test.each(sentences)("in comments, titles and pages: %s", (sentence, mark) => {
    const comments = [`/** ${sentence}. */`, `/**\n * ${sentence}.\n */`, `f();\n// First line.\n// ${sentence}.`];
    const titles = [
      `test("${sentence}", () => {});`,
      `describe("outer", () => {\n  it.each(rows)("${sentence}", async () => {});\n});`,
      `describe.each\`a\${1}\`(\`\${a} ${sentence}\`, () => {});`,
    ];
    const pages = [`# ${sentence}`, `- ${sentence}, \`a\``, `| a | ${sentence} |`, `[${sentence}](page.md)`];
    const found = [
      ...comments.map((text) => readComments(plant(text))),
      readComments(plant(`message A {\n  // ${sentence}.\n  string a = 1;\n}\n`, "proto/planted.proto")),
      ...titles.map((text) => readTitles(plant(text))),
      ...pages.map((text) => readProse(plant(text, "test/planted.md"))),
    ];
    expect(found.map((remarks) => countMark(remarks, mark).marked)).toEqual(found.map(() => 1));
  });

  test("neither in code, strings and remarks behind code nor in parts of a page without prose", () => {
    const code = 'const that = which("told", (beside) => 1); // said\n/a/.test("asked", 1);\nexpect("heard");';
    const page = [
      "---\n\n```sh\nthat\n```\n",
      "~~~\nwhich\n~~~\n",
      "1. a:\n\n   ```js\n   said\n   ```\n",
      "<!-- told -->",
      "`whose` and ``a ` said`` and [a](said.md) and https://a.example/asked\n",
      "| `beside` |",
      "[a]: alone.md",
    ].join("\n");
    const found = [readComments(plant(code)), readTitles(plant(code)), readProse(plant(page))].flat();
    for (const mark of markNames) expect(countMark(found, mark)).toMatchObject({ marked: 0, worst: [] });
  });

  test("with the files of the highest excess first, at most ten", () => {
    const plants = Array.from({ length: 12 }, (_, index) =>
      plant(`// ${"that ".repeat(index + 1)}\n// ${"word ".repeat(5 * index + 4)}`, `test/${index}.ts`),
    );
    const { words, marked, perThousand, worst } = countMark(plants.flatMap(readComments), markNames[0] as Mark, 100);
    expect([words, marked, perThousand.toFixed(1)]).toEqual([456, 78, "171.1"]);
    expect(worst).toHaveLength(10);
    expect(worst[0]).toMatch(/^test\/11\.ts: 12 in 71 words, such as line 1: that that/);
  });

  test("with the line of the first one in a long page", () => {
    const page = `Text.\n\n${"word ".repeat(40)}\na key that\n${"word ".repeat(40)}`;
    const [worst] = countMark(readProse(plant(page)), markNames[0] as Mark).worst;
    expect(worst).toMatch(/^test\/planted\.test\.ts: 1 in 84 words, such as line 4: [word ]+ a key that [word ]+$/);
  });

  test("with the line of a paragraph or title, and a title with its suites", () => {
    const page = "# Title\n\n```\ncode\n```\n\nA text\nof two lines.\n";
    expect(readProse(plant(page)).map(({ line, text }) => [line, text])).toEqual([
      [1, "# Title"],
      [7, "A text\nof two lines."],
    ]);
    const code = 'describe("a", () => {\n  describe("b", () => {});\n  test("c", () => {});\n});';
    expect(readTitles(plant(code)).map(({ line, suites, text }) => [line, ...suites, text])).toEqual([
      [1, "a"],
      [2, "a", "b"],
      [3, "a", "c"],
    ]);
  });
});

describe("the title of a test", () => {
  const plant = (text: string) => readTitles({ path: "test/planted.test.ts", room: "test", text });

  test("is a sentence about the product", () => {
    const titles = readSources(root)
      .filter(({ room }) => room === "test")
      .flatMap(readTitles);
    const faulty = titles.flatMap((title) => {
      const fault = findTitleFault(title);
      return fault ? [`${title.path}:${title.line}: "${title.text}" ${fault}`] : [];
    });
    expect(titles.length).toBeGreaterThan(1_000);
    expect(faulty).toEqual([]);
  });

  test.each([
    ['test("a whole answer", () => {});', "has no verb"],
    ['describe("settings", () => {\n  test.each(rows)("%s: the tier", () => {});\n});', "has no verb"],
    ['test("and no others stay", () => {});', "begins like the rest of another sentence"],
    [
      'describe("a file", () => {\n  it("which fails is left out", () => {});\n});',
      "begins like the rest of another sentence",
    ],
    ['test.each(rows)("%j is refused", () => {});', "begins with a value, without a noun for it"],
    ['test("keeps everything in one namespace", () => {});', "lacks its subject"],
    ['test("its tokens stay with it", () => {});', "lacks its subject"],
  ])("is refused when it is none: %s", (text, fault) => {
    expect(plant(text).flatMap((title) => findTitleFault(title) ?? [])).toEqual([fault]);
  });

  test.each([
    'describe("an address", () => {\n  test.each(rows)("%s is public", () => {});\n});',
    'describe("a key is refused", () => {\n  test("with a wrong checksum", () => {});\n});',
    'test.each(rows)("the setting %j is refused", () => {});',
    'test("calls are counted by their outcome", () => {});',
    '(helm ? describe : describe.skip)("the chart", () => {\n  test("runs both jobs before each upgrade", () => {});\n});',
    'describeWithRedis("with Redis", () => {\n  test.each(rows)("counts %s once", () => {});\n});',
  ])("may continue the title of its suite: %s", (text) => {
    expect(plant(text).flatMap((title) => findTitleFault(title) ?? [])).toEqual([]);
  });
});

describe("a sample of texts", () => {
  const values = Array.from({ length: 100 }, (_, index) => index);

  test("is the same for the same seed and holds no value twice", () => {
    const sample = drawSample(values, 7, 60);
    expect(drawSample(values, 7, 60)).toEqual(sample);
    expect(drawSample(values, 8, 60)).not.toEqual(sample);
    expect(new Set(sample).size).toBe(60);
    expect(drawSample(values, 7, 200).toSorted((a, b) => a - b)).toEqual(values);
  });

  test("names each exported name with the line of its declaration", () => {
    const text = "/** A. */\nexport const limit = 1;\nexport interface Limit {}\nexport async function read() {}\n";
    expect(readNames({ path: "proto/a.ts", room: "proto", text }).map(({ line, text: name }) => [line, name])).toEqual([
      [2, "limit"],
      [3, "Limit"],
      [4, "read"],
    ]);
  });

  test("has the titles of tests, each with its suites, and no suite by itself", () => {
    const code = 'describe("a key", () => {\n  test("expires", () => {});\n});';
    const file = { path: "test/planted.test.ts", room: "test", text: code };
    expect(readTestTitles(file).map(({ line, text }) => [line, text])).toEqual([[2, "a key > expires"]]);
  });

  test("is chosen by kind, seed and count on the command line", () => {
    const options = ["--sample", "titles", "--seed", "7", "--count", "5"];
    expect(readCountsOptions(options)).toEqual({ checkout: undefined, sample: "titles", seed: 7, count: 5 });
    expect(readCountsOptions(["/other"])).toMatchObject({ checkout: "/other", sample: undefined, count: 60 });
    expect(() => readCountsOptions(["--sample", "strings"])).toThrow("--sample must be one of comments, titles, names");
    expect(() => readCountsOptions(["--count", "0"])).toThrow("--count must be a whole number from 1 to 10000");
  });
});
