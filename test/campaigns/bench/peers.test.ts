/** The parts of `--peers` testable without other gateways: descriptions, and the report. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { readOptions } from "./options.ts";
import { type Cell, type PeerRow, peerParts } from "./peers/rows.ts";
import { describeStalledStream } from "./peers/streams.ts";
import { featureNames } from "./peers/peer.ts";
import { peers } from "./peers/peers.ts";
import { sluice } from "./peers/sluice.ts";
import { type Column, peerReport } from "./peers/table.ts";
import type { LoadSubject } from "./subject.ts";

test.each(Object.entries(peers))(
  "the peer gateway %s is described in full, at one version, and configured with loopback addresses only",
  (id, peer) => {
    expect(peer.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(Object.keys(peer.features)).toEqual(Object.keys(featureNames));
    const folder = mkdtempSync(join(tmpdir(), "sluice-peers-test-"));
    try {
      const program = peer.program({ folder, port: 20_001, upstreamPort: 20_002, models: ["bench/json"] });
      const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
      const said = JSON.stringify([program.args, program.headers, files]);
      expect(program.command.includes(id) || program.args.some((arg) => arg.includes(id))).toBe(true);
      expect(said).toContain("20001");
      expect(said.match(/https?:..[^/"\\]+/g)).toEqual(["http://127.0.0.1:20002"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

const subject = (name: string): LoadSubject => ({ name, target: { port: 1, format: "chat", key: "none" }, pids: [] });
const own = subject("own");
const quick = subject("quick");
const broken = subject("broken");
const pipe = subject("pipe");
const columns: readonly Column[] = [
  { title: "Sluice, /responses", subject: own, kind: "sluice" },
  { title: "Quick 1.0.0", subject: quick, kind: "peer" },
  { title: "Broken 2.0.0", subject: broken, kind: "peer" },
  { title: "a pipe", subject: pipe, kind: "pipe" },
];

function reportOf(...rows: readonly PeerRow[]): string {
  const described = [{ ...sluice, version: "abc1234" }];
  return peerReport({ head: "head", columns, rows, described, absent: new Map([["Gone", "nobody serves it"]]) });
}

test("the peer report names the leading gateway, also when it is not Sluice, and the absent ones", () => {
  const cells = (ownUs: number) =>
    new Map([
      [own, { text: `${ownUs} us`, value: ownUs }],
      [quick, { text: "50 us", value: 50 }],
      [broken, { text: "cannot: status 500" }],
      [pipe, { text: "1 us", value: 1 }],
    ]);
  const report = reportOf({ measure: "a", cells: cells(70) }, { measure: "b", cells: cells(20) });
  expect(report).toContain("| a | 70 us | 50 us | cannot: status 500 | 1 us |");
  expect(report).toContain('- Quick 1.0.0 is ahead in "a": 50 us against 70 us of Sluice, /responses.');
  expect(report).toContain('- Sluice, /responses is ahead in "b": 20 us against 50 us of Quick 1.0.0.');
  expect(report).toContain("- Gone is absent: nobody serves it.");
});

test("no gateway leads the peer report without figures of both sides, or on a busy machine", () => {
  const alone = new Map([[own, { text: "1 us", value: 1 }]]);
  const both = new Map([...alone, [quick, { text: "2 us", value: 2 }]]);
  const report = reportOf({ measure: "a", cells: alone }, { measure: "b", cells: both, inconclusive: true });
  expect(report).toContain("| a | 1 us |  |  |  |");
  expect(report).toContain("| b (inconclusive) | 1 us | 2 us |  |  |");
  expect(report).toContain("say nothing");
  expect(report).not.toContain("is ahead");
});

const inRounds = (...rounds: readonly number[]) => ({ text: "some us", value: 1, rounds });

test("a figure of the peer report is a multiple of the first column within single rounds", () => {
  const cells = new Map([
    [own, inRounds(10, 20, 40, 10)],
    [quick, inRounds(20, 42, 76, 20)],
  ]);
  const report = reportOf({ measure: "a", cells });
  expect(report).toContain("| a | some us | some us, 2.00x (1.90x to 2.10x) |  |  |");
  expect(report).toContain("Settled: no multiple differs by more than 10 %");
});

test("the peer report names each multiple likely to differ in another run", () => {
  const cells = new Map<LoadSubject, Cell>([
    [own, inRounds(10, 10, 10, 10)],
    [quick, inRounds(40, 40, 48, 48)],
    [broken, { text: "cannot: status 500" }],
    [pipe, inRounds(100, 100, 109, 109)],
  ]);
  const report = reportOf({ measure: "a", cells });
  expect(report).toContain('- Not settled: Quick 1.0.0 in "a", 4.00x and 4.80x.');
  expect(report).not.toMatch(/Not settled: a pipe|Settled: no/);
});

test.each([
  [{ comments: 0, endedMs: undefined, last: "" }, "no end, nothing"],
  [{ comments: 9, endedMs: undefined, last: "" }, "no end, 9 comments"],
  [{ comments: 3, endedMs: 60_400, last: "event: error" }, 'after 60 s: "event: error", 3 comments before'],
  [{ comments: 0, endedMs: 900, last: 'data: {"error":{"message":"Too late."}}' }, 'after 1 s: "Too late."'],
  [{ comments: 0, endedMs: 5_000, last: "" }, "after 5 s: the connection ends without a word"],
])("a stalled stream is described by its end and its last event: %j", (stalled, text) => {
  expect(describeStalledStream(stalled)).toBe(text);
});

test("the modes of the bench have distinct names", () => {
  expect(readOptions(["--peers", "--quick"])).toMatchObject({ peersAt: { rounds: 2 }, parts: new Set(peerParts) });
  expect(readOptions(["--peers", "--only", "events"])).toMatchObject({ parts: new Set(["events"]) });
  expect(() => readOptions(["--peers", "--only", "U"])).toThrow(/unknown scenario: U/);
  expect(readOptions(["--install-peers"])).toEqual({ installs: true });
  expect(readOptions(["--reference", "nginx,litellm"])).toMatchObject({ references: ["nginx", "litellm"] });
  expect(() => readOptions(["--reference", "nobody"])).toThrow("nobody");
});
