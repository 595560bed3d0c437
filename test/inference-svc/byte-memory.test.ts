/** The memory of JSON texts by their bytes: repeated tools and text formats. */
import { describe, expect, test } from "@jest/globals";
import { ByteMemory } from "@sluice/proto/lib/json/byte-memory.js";
import { listProblems, parseTurnRequest } from "../support/answers/parse-turn-request.js";

const bytes = (text: string): Buffer => Buffer.from(text);

describe("the cache of texts by their bytes", () => {
  test("finds a text by its bytes, and no other", () => {
    const memory = new ByteMemory<number>();
    memory.keep(bytes("[1]"), 1);
    memory.keep(bytes("[2]"), 2);
    expect(memory.find(bytes("[1]"))).toBe(1);
    expect(memory.find(bytes("[2]"))).toBe(2);
    expect(memory.find(bytes("[3]"))).toBeUndefined();
  });

  test("keeps a copy, because the buffer of a request is used again", () => {
    const memory = new ByteMemory<number>();
    const shared = bytes("[1]");
    memory.keep(shared, 1);
    shared[1] = 0x32;
    expect(memory.find(shared)).toBeUndefined();
    expect(memory.find(bytes("[1]"))).toBe(1);
  });

  test("distinguishes texts with the same checksum", () => {
    // Two texts with the same CRC-32.
    const [one, other] = [bytes("plumless"), bytes("buckeroo")];
    const memory = new ByteMemory<number>();
    memory.keep(one, 1);
    expect(memory.find(other)).toBeUndefined();
    memory.keep(other, 2);
    expect(memory.find(other)).toBe(2);
    expect(memory.find(one)).toBeUndefined();
  });

  test("forgets the least recently used first, and keeps no text of more than 256 KiB", () => {
    const memory = new ByteMemory<number>();
    const text = (n: number) => Buffer.alloc(256 * 1024, n);
    for (let n = 0; n < 16; n++) memory.keep(text(n), n);
    expect(memory.find(text(0))).toBe(0);
    memory.keep(text(16), 16);
    expect(memory.find(text(0))).toBe(0);
    expect(memory.find(text(1))).toBeUndefined();
    memory.keep(Buffer.alloc(256 * 1024 + 1), 17);
    expect(memory.find(Buffer.alloc(256 * 1024 + 1))).toBeUndefined();
  });
});

describe("repeated tools in requests", () => {
  const aliases = ["acme:"];
  const tools = [{ type: "function", name: "f", parameters: { type: "object" } }, { type: "acme:web_search" }];

  test("give the same parsed list", () => {
    const first = parseTurnRequest({ tools }, { aliases }).tools;
    expect(parseTurnRequest({ tools }, { aliases }).tools).toBe(first);
    expect(first).toMatchObject([{ type: "function" }, { kind: "service:web_search", spelling: "acme:web_search" }]);
  });

  test("are parsed again after a change of the configured aliases", () => {
    parseTurnRequest({ tools }, { aliases });
    expect(listProblems({ tools }, { aliases: [] })).toEqual(["tools.1.type: unknown type acme:web_search"]);
  });

  test("can be chosen, and are reported as missing without the chosen one", () => {
    const choosing = (name: string) => listProblems({ tools, tool_choice: { type: "function", name } }, { aliases });
    expect([choosing("f"), choosing("f"), choosing("g")]).toEqual([
      [],
      [],
      ["tool_choice.name: is not among the tools"],
    ]);
  });

  test("have the same problems again", () => {
    const twice = [...tools, { type: "function", name: "f" }];
    const problems = listProblems({ tools: twice }, { aliases });
    expect(problems).toEqual(["tools.2.name: f is the name of an earlier tool"]);
    expect(listProblems({ tools: twice }, { aliases })).toEqual(problems);
  });
});
