/** Ejection of endpoints by their own failures and by news of other processes. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { Ejection } from "@sluice/inference-svc/models/routing/attempt/ejection.js";

const longestEjectionMs = 36_000;

let ejection: Ejection;
let told: boolean[];
let now: number;
beforeEach(() => {
  told = [];
  now = 1_000;
  ejection = new Ejection((failing) => told.push(failing));
});

function fail(): void {
  ejection.begin(now).end("failed", now);
}

function succeed(): void {
  const attempt = ejection.begin(now);
  attempt.committed(now);
  attempt.end("well", now);
}

describe("an ejection by this process", () => {
  test("is reported to other processes once, and its end once", () => {
    for (let n = 0; n < 5; n++) fail();
    expect([ejection.state(now), told]).toEqual(["ejected", [true]]);
    now += longestEjectionMs;
    succeed();
    expect([ejection.state(now), told]).toEqual(["in use", [true, false]]);
  });
});

describe("news of a failing endpoint from another process", () => {
  test("let one request try it, and its failure ejects the endpoint", () => {
    ejection.noteNews(true, now);
    expect(ejection.state(now)).toBe("on trial");
    expect([ejection.claim(now), ejection.claim(now)]).toEqual([true, false]);
    expect(told).toEqual([]);
    fail();
    expect([ejection.state(now), told]).toEqual(["ejected", [true]]);
  });

  test("end with an answer of the endpoint, and are not passed on", () => {
    ejection.noteNews(true, now);
    succeed();
    expect([ejection.state(now), told]).toEqual(["in use", []]);
    for (let n = 0; n < 4; n++) fail();
    expect(ejection.state(now)).toBe("in use");
  });

  test("do not end by an answer to an earlier request", () => {
    const before = ejection.begin(now);
    now += 1;
    ejection.noteNews(true, now);
    before.committed(now);
    before.end("well", now);
    expect(ejection.state(now)).toBe("on trial");
  });

  test("are dropped after 30 s without a try", () => {
    ejection.noteNews(true, now);
    expect(ejection.state(now + 29_999)).toBe("on trial");
    expect(ejection.state(now + 30_000)).toBe("in use");
    expect(told).toEqual([]);
  });

  test("are cancelled by news that it answers", () => {
    ejection.noteNews(true, now);
    ejection.noteNews(false, now);
    expect([ejection.state(now), told]).toEqual(["in use", []]);
  });

  test("change nothing where the endpoint is ejected already", () => {
    for (let n = 0; n < 5; n++) fail();
    const left = ejection.remainingMs(now);
    ejection.noteNews(true, now);
    expect(ejection.remainingMs(now)).toBe(left);
  });
});

describe("news of an answering endpoint from another process", () => {
  test("let one request try it at once, and its failure ejects the endpoint for longer", () => {
    for (let n = 0; n < 5; n++) fail();
    ejection.noteNews(false, now);
    expect([ejection.state(now), ejection.claim(now), ejection.claim(now)]).toEqual(["on trial", true, false]);
    fail();
    expect(ejection.remainingMs(now)).toBeGreaterThanOrEqual(60_000);
  });

  test("change nothing where the endpoint is in use", () => {
    ejection.noteNews(false, now);
    expect([ejection.state(now), ejection.failing]).toEqual(["in use", false]);
  });
});
