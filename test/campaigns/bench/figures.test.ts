/** Evaluation of measurements: places, kinds of code, memory of a stream, and inconclusive rounds. */
import { expect, test } from "@jest/globals";
import { labelOf } from "./counts/labels.ts";
import { kibText, memoryOfStream } from "./measure/memory.ts";
import { medianInterval, pairedRounds } from "./measure/rounds.ts";
import { kindOf } from "./profile/kinds.ts";
import type { PerfFrame } from "./profile/perf.ts";
import { placeOf } from "./profile/places.ts";

test("a place in a profile is named by its function and the nearest calling function of Sluice", () => {
  const dependency = { name: "write", file: "file:///app/node_modules/koa/lib/a.js", line: 3 };
  const sluice = { name: "serve", file: "file:///app/gateway/edge/http/server.ts", line: 14 };
  expect(labelOf([dependency, sluice])).toBe("write koa/lib/a.js:3 < serve gateway/edge/http/server.ts:14");
  expect(labelOf([sluice, dependency])).toBe("serve gateway/edge/http/server.ts:14");
  expect(labelOf([{ name: "then", file: "", line: 0 }])).toBe("then");
});

test.each([
  ["JS:*run file:///app/gateway/bundle/main.js:28:14", "/tmp/perf-7.map", "optimised JavaScript"],
  ["JS:wasm-function[20]-20-turbofan", "/tmp/perf-7.map", "WebAssembly"],
  ["Builtins_KeyedLoadIC_Megamorphic", "/usr/bin/node", "inline-cache builtins"],
  ["Builtins_LdaZeroHandler", "/usr/bin/node", "interpreter"],
  ["Builtins_PromiseConstructor", "/usr/bin/node", "promises, generators, microtasks"],
  ["v8::internal::Scavenger::ScavengePage", "/usr/bin/node", "garbage collection"],
  ["v8::internal::compiler::GraphReducer::ReduceTop", "/usr/bin/node", "compiling"],
  ["v8::internal::LookupIterator::LookupInRegularHolder<false>", "/usr/bin/node", "V8 runtime in C++"],
  ["llhttp__internal_execute", "/usr/bin/node", "Node in C++"],
  ["_int_malloc", "/usr/lib/libc.so.6", "malloc and free"],
  ["do_syscall_64", "[kernel.kallsyms]", "kernel"],
])("the profiler's name %s has the right kind of function", (symbol, file, kind) => {
  expect(kindOf({ symbol, file })).toBe(kind);
});

test("a profile sample counts for the nearest function of Sluice, or for the running function without one", () => {
  const frame = (symbol: string) => ({ symbol, file: "/tmp/perf-7.map" });
  const own = frame("JS:*ended file:///app/gateway/doors/responses/answer-writer.ts:83:10");
  const theirs = frame("JS:*run file:///app/node_modules/jest/dist/run.js:1:1");
  const nodes = frame("JS:^clearBuffer node:internal/streams/writable:744:21");
  const kernel = { symbol: "do_syscall_64", file: "[kernel.kallsyms]" };
  const placeIn = (...frames: PerfFrame[]) => placeOf({ pid: 7, frames });
  expect(placeIn(kernel, nodes, theirs, own, nodes)).toBe("ended gateway/doors/responses/answer-writer.ts:83");
  expect(placeIn(kernel, nodes)).toBe("clearBuffer node:internal/streams/writable:744");
  expect(placeIn(kernel)).toBe("(kernel without JavaScript)");
});

test("a stream's memory is printed as a sum over the processes, also in one-process mode", () => {
  const kib = 1_024;
  const two = memoryOfStream(
    { inUse: [500 * kib, 700 * kib], resident: [800 * kib, 900 * kib] },
    { inUse: [600 * kib, 900 * kib], resident: [950 * kib, 1_100 * kib] },
    10,
  );
  expect(two).toEqual({ inUse: [10, 20], resident: [15, 20] });
  expect(kibText(two.inUse)).toBe("30.0 KiB (gateway 10.0, inference-svc 20.0)");
  const one = memoryOfStream({ inUse: [0], resident: [0] }, { inUse: [300 * kib], resident: [400 * kib] }, 10);
  expect(kibText(one.inUse)).toBe("30.0 KiB");
});

test("bench rounds are inconclusive when the reference varied too much or the machine was busy", async () => {
  const rounds = (referenceUs: readonly number[], foreignShare = 0) =>
    pairedRounds(
      referenceUs.length,
      async (round) => ({ referenceUs: referenceUs[round] ?? Number.NaN, foreignShare }),
      () => false,
    );
  expect(await rounds([70, 80, 90])).toMatchObject({ inconclusive: false, rejected: 0 });
  expect(await rounds([75, 100, 125])).toMatchObject({
    inconclusive: true,
    rejected: 0,
    spread: { leastUs: 75, mostUs: 125 },
  });
  expect(await rounds([70, 80, 90], 0.5)).toMatchObject({ inconclusive: true, rejected: 3 });
});

test("the interval of a median leaves out the outer ranks, except with few values", () => {
  const values = Array.from({ length: 24 }, (_, index) => 24 - index);
  expect(medianInterval(values)).toEqual({ from: 8, to: 17 });
  expect(medianInterval([3, 1, 2])).toEqual({ from: 1, to: 3 });
});
